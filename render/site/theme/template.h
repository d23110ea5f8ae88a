/* template.h - the small language of themes: HTML with holes. No logic beyond lists and conditions, no code.
 *
 *   {{name}}         text, escaped for text and for quoted attributes {{~name}}        a sentence: as {{name}}, with
 *   options such as --batch as code and numbers kept with their units {{%name}}        a relative link, percent-encoded
 *   {{{name}}}       unchanged; only for HTML that the program made {{#name}}...{{/name}}   once for each item of a
 *   list; once for an object, a true or a text that is not empty. A list cannot be opened inside itself.
 *   {{^name}}...{{/name}}   when the section above would show nothing {{>name}}        the theme's template name.html,
 *   in place {{! comment}} A name may have dots (run.label); "." is the item itself. Names are looked for in the
 *   innermost section first. A name that does not exist at all is an error, so that a typing mistake does not silently
 *   lose a table. Lines that hold only a section tag, a comment or a partial leave no blank line. */
#ifndef RENDER_SITE_THEME_TEMPLATE_H
#define RENDER_SITE_THEME_TEMPLATE_H

#include "lib/base/buf.h"

#include <jansson.h>

struct template;

/** template_parse - cut the text into pieces and match the sections.
 *  name    for messages: "index.html". copied
 *  text    copied
 *  out     gives; template_free accepts NULL
 *  errors  DCR_FAIL naming template and line: a tag or a section that is never closed, closed wrongly, or empty */
int template_parse(struct template **out, const char *name, const char *text, size_t len,
                   struct dcr_err *err) DCR_MUST_CHECK;
void template_free(struct template *t);

/* Source of the templates for {{>name}}. returns  borrows; NULL with the sentence in err */
struct template_source {
    const struct template *(*find)(void *ctx, const char *name, struct dcr_err *err);
    void *ctx;
};

/** template_render - append the filled template to out.
 *  data    an object; borrows. Strings, booleans, null (shows nothing), integers, lists, objects
 *  errors  DCR_FAIL naming template and line: an unknown name, a value of the wrong kind, partials nested deeper than 8
 */
int template_render(const struct template *t, const json_t *data, const struct template_source *partials,
                    struct dcr_buf *out, struct dcr_err *err) DCR_MUST_CHECK;

#endif
