/* parsers.h - one pair of functions a format: *_is tells it by the beginning of the file (decompressed, without
 * byte-order mark and leading space; head[n] is readable), *_read puts what it says into the run. A format is added as
 * a line here and one in the table of import.c. Inside render/import only.
 *
 * *_read: s is from its first byte; DCR_FAIL with a sentence that names s->name when the file is broken: nothing of it
 * is kept then. */
#ifndef RENDER_IMPORT_PARSERS_H
#define RENDER_IMPORT_PARSERS_H

#include "lib/stream.h"
#include "render/model/build.h"

#define IMPORT_FORMATS(X)                                           \
    X(IMPORT_RUN, ddp_scaling) /* results of a scaling benchmark */ \
    X(IMPORT_PART, chrome)     /* Kineto and other Chrome traces */

#define X(kind, name)                          \
    int name##_is(const char *head, size_t n); \
    int name##_read(struct run *r, struct dcr_stream *s, struct dcr_err *err) DCR_MUST_CHECK;
IMPORT_FORMATS(X)
#undef X

#endif
