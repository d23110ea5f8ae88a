/* markdown.h - Markdown to HTML through cmark (CommonMark), with two extensions for reports: pipe tables as forges
 * write them, and headings that can be linked to. Raw HTML and script links are dropped. */
#ifndef RENDER_SITE_THEME_MARKDOWN_H
#define RENDER_SITE_THEME_MARKDOWN_H

#include "lib/base/buf.h"

/** markdown_to_html - append the HTML of a document. Headings are one level lower, because the page has its own
 *  heading. They get an id: the prefix and their words in lower case joined by hyphens, "-2" and so on after repeated
 *  ones. Links to "#words" lead to the prefixed id. A paragraph whose second line is a row of dashes between pipes is a
 *  table; its first row is the head. errors DCR_FATAL: no memory */
int markdown_to_html(const char *text, size_t len, const char *prefix, struct dcr_buf *out,
                     struct dcr_err *err) DCR_MUST_CHECK;

#endif
