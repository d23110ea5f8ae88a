/* text.h - a page as plain text. All wrapping of text is here. Test: tests/unit/test_doc.c */
#ifndef RENDER_WRITE_TEXT_H
#define RENDER_WRITE_TEXT_H

#include "render/doc/doc.h"

/** write_text - append the page: paragraphs wrapped at 96 columns, headings underlined, tables in columns as wide as
 *  their content. An empty line separates blocks of different kinds. The content of details is indented. */
void write_text(const struct doc *d, struct dcr_buf *out);

#endif
