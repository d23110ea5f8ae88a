/* markdown.h - a page as Markdown: CommonMark 0.30, with pipe tables as forges render them. All escaping of Markdown is
 * here, so that a job named `<script>` or `| a |` is text. Test: tests/unit/test_doc.c */
#ifndef RENDER_WRITE_MARKDOWN_H
#define RENDER_WRITE_MARKDOWN_H

#include "render/doc/doc.h"

/** write_markdown - append the page; an empty line stands between two blocks, none at the end. */
void write_markdown(const struct doc *d, struct dcr_buf *out);

#endif
