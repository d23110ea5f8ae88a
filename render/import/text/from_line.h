/* from_line.h - a stream that starts at the line with certain words, because tools print sentences before their tables.
 * Inside render/import only. */
#ifndef RENDER_IMPORT_TEXT_FROM_LINE_H
#define RENDER_IMPORT_TEXT_FROM_LINE_H

#include "lib/base/stream.h"

enum { FROM_LINE_BYTES = 1 << 16 }; /* the line must begin within so many bytes */

struct from_line {
    struct dcr_stream *inner;
    size_t len, pos;
    char bytes[FROM_LINE_BYTES];
};

/** line_with - the beginning of the first line in [head, head + n) that holds all words; NULL when there is none.
 *  words    ends with NULL */
const char *line_with(const char *head, size_t n, const char *const *words);
/** from_line_open - the stream of s from that line on (from its first byte when there is none). f lives as long.
 *  s        borrows
 *  returns  0, or the failure of s */
int from_line_open(struct from_line *f, struct dcr_stream *s, const char *const *words, struct dcr_stream *out,
                   struct dcr_err *err) DCR_MUST_CHECK;

#endif
