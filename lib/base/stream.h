/* stream.h - "bytes from somewhere": the one shape in which tar members, files and memory reach the parsers. */
#ifndef DCR_STREAM_H
#define DCR_STREAM_H

#include "lib/base/err.h"

#include <stddef.h>
#include <sys/types.h>

struct dcr_stream {
    /* returns bytes placed in out (1..n), 0 at the end, negative grade on failure (sentence in err) */
    ssize_t (*read)(void *ctx, void *out, size_t n, struct dcr_err *err);
    void *ctx;
    const char *name; /* for messages: "results/a.tar: metrics.csv". borrows */
};

/** dcr_stream_read_full - fill out with exactly n bytes unless the data end first.
 *  returns  bytes placed, or a negative grade */
ssize_t dcr_stream_read_full(struct dcr_stream *s, void *out, size_t n, struct dcr_err *err);

/** dcr_stream_drain - read to the end and forget. */
int dcr_stream_drain(struct dcr_stream *s, struct dcr_err *err) DCR_MUST_CHECK;

struct dcr_memory {
    const char *bytes;
    size_t len, pos;
};
/** dcr_stream_memory - a stream over m, which the caller fills and keeps alive. */
struct dcr_stream dcr_stream_memory(struct dcr_memory *m, const char *name);
/** dcr_stream_fd - a stream over an open descriptor; closing stays with the caller. fd is kept by pointer. */
struct dcr_stream dcr_stream_fd(int *fd, const char *name);

struct dcr_buf;
/** dcr_stream_slurp - append everything to out; more than max bytes is DCR_FAIL. */
int dcr_stream_slurp(struct dcr_stream *s, struct dcr_buf *out, size_t max, struct dcr_err *err) DCR_MUST_CHECK;

/* The lines of a stream: set s, zero the rest. Nothing to release. */
struct dcr_lines {
    struct dcr_stream *s;
    size_t n, at; /* bytes in piece, and how many of them were returned */
    char piece[16384];
};
/** dcr_next_line - replaces the content of line by the next line without its end.
 *  returns  0, DCR_END; DCR_FAIL: longer than 64 MiB; or the grade of the stream */
int dcr_next_line(struct dcr_lines *l, struct dcr_buf *line, struct dcr_err *err) DCR_MUST_CHECK;

#endif
