/* theme.h - a folder of templates and one style sheet, which decide the look of the site. docs/themes.md shows how to
 * make one. */
#ifndef RENDER_SITE_THEME_THEME_H
#define RENDER_SITE_THEME_THEME_H

#include "render/site/theme/template.h"

struct theme;

/** theme_open - read style.css; templates are read when first used.
 *  dir     NULL or "": "default" in ../share/dcreport/themes beside the program, or in themes/ of a source tree up to
 *          three folders above it
 *  out     gives; theme_close accepts NULL
 *  errors  DCR_FAIL: no such folder, or it has no style.css; every place that was tried is named */
int theme_open(struct theme **out, const char *dir, struct dcr_err *err) DCR_MUST_CHECK;
void theme_close(struct theme *t);

/** theme_style - the style sheet. borrows. */
const char *theme_style(const struct theme *t);

/* The scripts that a page may run. */
enum page_kind { PAGE_PLAIN, PAGE_TIMELINE, N_PAGE_KINDS };
/** theme_csp - the Content-Security-Policy of a page: nothing but this style sheet and the program's own scripts (by
 * their SHA-256) and the site's own pictures. The timeline's script may load further ones: its data. borrows. */
const char *theme_csp(const struct theme *t, enum page_kind kind);

/** theme_render - fill the theme's template name.html. errors as template_render; DCR_FAIL: it cannot be read */
int theme_render(struct theme *t, const char *name, const json_t *data, struct dcr_buf *out,
                 struct dcr_err *err) DCR_MUST_CHECK;

#endif
