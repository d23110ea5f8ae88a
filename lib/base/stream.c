/* stream.c - see stream.h. */
#include "lib/base/stream.h"
#include "lib/base/buf.h"
#include "lib/base/progress.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

ssize_t dcr_stream_read_full(struct dcr_stream *s, void *out, size_t n, struct dcr_err *err)
{
    size_t got = 0;
    while (got < n) {
        ssize_t k = s->read(s->ctx, (char *)out + got, n - got, err);
        if (k < 0)
            return k;
        if (k == 0)
            break;
        got += (size_t)k;
    }
    return (ssize_t)got;
}

int dcr_stream_drain(struct dcr_stream *s, struct dcr_err *err)
{
    char piece[16384];
    ssize_t k;
    do
        k = s->read(s->ctx, piece, sizeof piece, err);
    while (k > 0);
    return (int)k;
}

static ssize_t memory_read(void *ctx, void *out, size_t n, struct dcr_err *err)
{
    (void)err;
    struct dcr_memory *m = ctx;
    size_t left = m->len - m->pos;
    if (n > left)
        n = left;
    if (n)
        memcpy(out, m->bytes + m->pos, n);
    m->pos += n;
    return (ssize_t)n;
}

struct dcr_stream dcr_stream_memory(struct dcr_memory *m, const char *name)
{
    return (struct dcr_stream){memory_read, m, name};
}

static ssize_t fd_read(void *ctx, void *out, size_t n, struct dcr_err *err)
{
    for (;;) {
        ssize_t k = read(*(int *)ctx, out, n);
        if (k >= 0) {
            progress_read(k);
            return k;
        }
        if (errno != EINTR)
            return dcr_err_sys(err, DCR_FATAL, "cannot read");
    }
}

struct dcr_stream dcr_stream_fd(int *fd, const char *name)
{
    return (struct dcr_stream){fd_read, fd, name};
}

int dcr_stream_slurp(struct dcr_stream *s, struct dcr_buf *out, size_t max, struct dcr_err *err)
{
    char piece[16384];
    size_t total = 0;
    for (;;) {
        ssize_t k = s->read(s->ctx, piece, sizeof piece, err);
        if (k < 0)
            return dcr_err_while(err, "reading '%s'", s->name);
        if (k == 0)
            return 0;
        total += (size_t)k;
        if (total > max)
            return dcr_err_set(err, DCR_FAIL, "'%s' is larger than %zu bytes", s->name, max);
        dcr_buf_add(out, piece, (size_t)k);
        if (out->failed)
            return dcr_err_mark(err, DCR_ERR_MACHINE,
                                dcr_err_set(err, DCR_FATAL, "out of memory reading '%s'", s->name));
    }
}

int dcr_next_line(struct dcr_lines *l, struct dcr_buf *line, struct dcr_err *err)
{
    enum { MAX_LINE_BYTES = 64 << 20 };
    dcr_buf_clear(line);
    for (;;) {
        const char *from = l->piece + l->at, *end = memchr(from, '\n', l->n - l->at);
        size_t n = end ? (size_t)(end - from) : l->n - l->at;
        dcr_buf_add(line, from, n);
        l->at += n + (end != NULL);
        if (end)
            return DCR_OK;
        if (line->failed)
            return dcr_err_mark(err, DCR_ERR_MACHINE,
                                dcr_err_set(err, DCR_FATAL, "out of memory reading '%s'", l->s->name));
        if (line->len > MAX_LINE_BYTES)
            return dcr_err_set(err, DCR_FAIL, "cannot use '%s': a line is longer than %d bytes", l->s->name,
                               MAX_LINE_BYTES);
        ssize_t k = l->s->read(l->s->ctx, l->piece, sizeof l->piece, err);
        if (k < 0)
            return (int)k;
        if (k == 0)
            return line->len ? DCR_OK : DCR_END;
        l->n = (size_t)k;
        l->at = 0;
    }
}
