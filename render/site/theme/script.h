/* script.h - the site's own JavaScript, inside the program: themes have none. Pages contain each script unchanged, and
 * their policy allows exactly these bytes. */
#ifndef RENDER_SITE_THEME_SCRIPT_H
#define RENDER_SITE_THEME_SCRIPT_H

/** script_site - tables that sort and filter, on every page. borrows, static. */
const char *script_site(void);
/** script_timeline - the timeline; it loads data files as it needs them. borrows, static. */
const char *script_timeline(void);
/** document_metrics, document_glossary - docs/metrics.md and docs/glossary.md: Markdown. borrows, static. */
const char *document_metrics(void);
const char *document_glossary(void);

#endif
