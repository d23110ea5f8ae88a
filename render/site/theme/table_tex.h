/* table_tex.h - writes a table of the site as LaTeX (booktabs). Called by table_files.c. */
#ifndef RENDER_SITE_THEME_TABLE_TEX_H
#define RENDER_SITE_THEME_TABLE_TEX_H

#include "lib/base/buf.h"

#include <jansson.h>

/** table_tex - a whole `table`, or `longtable` when it is longer than a page. It fits the line it is put in: columns of
 * words are broken if a line is too short for them, columns of numbers never. The packages it needs are named in a
 *  comment at its head; nothing in it needs more than pdflatex.
 *  table    borrows; as view_table makes it
 *  label    for \label{tab:...}
 *  sources  the origin of the numbers, one line
 *  out      is added to; sticky failure as dcr_buf has it. Test: tests/unit/test_table_tex.c */
void table_tex(const json_t *table, const char *label, const char *sources, struct dcr_buf *out);

#endif
