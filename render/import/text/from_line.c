/* from_line.c - see from_line.h. */
#include "render/import/text/from_line.h"

#include <string.h>

const char *line_with(const char *head, size_t n, const char *const *words)
{
    const char *end = head + n;
    for (const char *p = head; p < end;) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        size_t len = (size_t)((stop ? stop : end) - p);
        int k = 0;
        while (words[k] && memmem(p, len, words[k], strlen(words[k])))
            k++;
        if (!words[k])
            return p;
        p = stop ? stop + 1 : end;
    }
    return NULL;
}

static ssize_t from_line_read(void *ctx, void *out, size_t n, struct dcr_err *err)
{
    struct from_line *f = ctx;
    size_t k = f->len - f->pos;
    if (k == 0)
        return f->inner->read(f->inner->ctx, out, n, err);
    k = k < n ? k : n;
    memcpy(out, f->bytes + f->pos, k);
    f->pos += k;
    return (ssize_t)k;
}

int from_line_open(struct from_line *f, struct dcr_stream *s, const char *const *words, struct dcr_stream *out,
                   struct dcr_err *err)
{
    ssize_t k = dcr_stream_read_full(s, f->bytes, sizeof f->bytes, err);
    if (k < 0)
        return (int)k;
    const char *line = line_with(f->bytes, (size_t)k, words);
    f->inner = s;
    f->len = (size_t)k;
    f->pos = line ? (size_t)(line - f->bytes) : 0;
    *out = (struct dcr_stream){from_line_read, f, s->name};
    return 0;
}
