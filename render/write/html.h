/* html.h - a page as the body of an HTML page. Test: tests/unit/test_doc.c */
#ifndef RENDER_WRITE_HTML_H
#define RENDER_WRITE_HTML_H

#include "render/doc/doc.h"

/** write_html - append the page. Headings get an id: their words in lower case joined by hyphens, "-2" and so on after
 *  repeated ones. */
void write_html(const struct doc *d, struct dcr_buf *out);

#endif
