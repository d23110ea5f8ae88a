/* gunzip.c - see gunzip.h. */
#include "render/import/text/gunzip.h"

#include "render/import/text/json_window.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { HEAD_BYTES = GUNZIP_HEAD_BYTES, IN_BYTES = 1 << 16 };

struct gunzip {
    struct dcr_stream *from;
    z_stream z;
    int is_gzip, is_open, is_member_end, is_end, is_failed;
    size_t in_filled, in_pos; /* compressed (or plain) bytes that were read ahead */
    size_t head_len, head_pos;
    unsigned char in[IN_BYTES];
    char head[HEAD_BYTES + WINDOW_PAD];
};

static int refill(struct gunzip *g, struct dcr_err *err)
{
    if (g->in_pos < g->in_filled)
        return 0;
    ssize_t k = g->from->read(g->from->ctx, g->in, sizeof g->in, err);
    if (k < 0)
        return (int)k;
    g->in_pos = 0;
    g->in_filled = (size_t)k;
    return 0;
}

static ssize_t plain(struct gunzip *g, void *out, size_t n, struct dcr_err *err)
{
    size_t k = g->in_filled - g->in_pos;
    if (k == 0)
        return g->from->read(g->from->ctx, out, n, err);
    k = k < n ? k : n;
    memcpy(out, g->in + g->in_pos, k);
    g->in_pos += k;
    return (ssize_t)k;
}

static int damaged(struct gunzip *g, struct dcr_err *err)
{
    return dcr_err_set(err, DCR_FAIL, "'%s' is damaged gzip data (%s); copy it again", g->from->name,
                       g->z.msg ? g->z.msg : "invalid data");
}

/* After a member another one begins, or the data end. Zeros after the last member are padding, as in gzip. */
static int next_member(struct gunzip *g, struct dcr_err *err)
{
    for (;;) {
        int rc = refill(g, err);
        if (rc)
            return rc;
        if (g->in_pos == g->in_filled) {
            g->is_end = 1;
            return 0;
        }
        if (g->in[g->in_pos] != 0)
            break;
        g->in_pos++;
    }
    if (g->in[g->in_pos] != 0x1f)
        return dcr_err_set(err, DCR_FAIL, "'%s' has other bytes after its gzip data; copy it again", g->from->name);
    g->is_member_end = 0;
    return inflateReset(&g->z) == Z_OK ? 0 : damaged(g, err);
}

static ssize_t inflated(struct gunzip *g, void *out, size_t n, struct dcr_err *err)
{
    g->z.next_out = out;
    g->z.avail_out = (uInt)(n < (1u << 30) ? n : 1u << 30);
    size_t wanted = g->z.avail_out;
    while (g->z.avail_out == wanted && !g->is_end) {
        int rc = g->is_member_end ? next_member(g, err) : refill(g, err);
        if (rc)
            return rc;
        if (g->is_end)
            break;
        if (g->in_pos == g->in_filled)
            return dcr_err_set(err, DCR_FAIL, "'%s' is cut in the middle of its gzip data; copy it again",
                               g->from->name);
        g->z.next_in = g->in + g->in_pos;
        g->z.avail_in = (uInt)(g->in_filled - g->in_pos);
        rc = inflate(&g->z, Z_NO_FLUSH);
        g->in_pos = g->in_filled - g->z.avail_in;
        if (rc == Z_STREAM_END)
            g->is_member_end = 1;
        else if (rc != Z_OK && rc != Z_BUF_ERROR && g->z.avail_out == wanted) /* else the next call reports it */
            return damaged(g, err);
    }
    return (ssize_t)(wanted - g->z.avail_out);
}

static ssize_t body(struct gunzip *g, void *out, size_t n, struct dcr_err *err)
{
    return g->is_gzip ? inflated(g, out, n, err) : plain(g, out, n, err);
}

static ssize_t gunzip_read(void *ctx, void *out, size_t n, struct dcr_err *err)
{
    struct gunzip *g = ctx;
    size_t k = g->head_len - g->head_pos;
    if (k == 0)
        return body(g, out, n, err);
    k = k < n ? k : n;
    memcpy(out, g->head + g->head_pos, k);
    g->head_pos += k;
    return (ssize_t)k;
}

int gunzip_open(struct gunzip **out, struct dcr_stream *s, struct dcr_err *err)
{
    struct gunzip *g = calloc(1, sizeof *g);
    *out = NULL;
    if (!g)
        return dcr_err_set(err, DCR_FATAL, "out of memory reading '%s'", s->name);
    g->from = s;
    ssize_t k = dcr_stream_read_full(s, g->in, sizeof g->in, err);
    if (k < 0)
        goto fail;
    g->in_filled = (size_t)k;
    g->is_gzip = k > 2 && g->in[0] == 0x1f && g->in[1] == 0x8b;
    if (g->is_gzip) {
        g->is_open = inflateInit2(&g->z, 15 + 16) == Z_OK;
        if (!g->is_open) {
            k = dcr_err_set(err, DCR_FATAL, "out of memory reading '%s'", s->name);
            goto fail;
        }
    }
    while (g->head_len < HEAD_BYTES) {
        k = body(g, g->head + g->head_len, HEAD_BYTES - g->head_len, err);
        g->is_failed = k == DCR_FAIL && g->is_gzip && g->head_len > 0; /* reading on gives the failure */
        if (k == 0 || g->is_failed)
            break;
        if (k < 0)
            goto fail;
        g->head_len += (size_t)k;
    }
    *out = g;
    return 0;
fail:
    gunzip_close(g);
    return (int)k;
}

struct dcr_stream gunzip_stream(struct gunzip *g)
{
    return (struct dcr_stream){gunzip_read, g, g->from->name};
}

const char *gunzip_head(const struct gunzip *g, size_t *n)
{
    *n = g->head_len;
    return g->head;
}

int gunzip_is_failed(const struct gunzip *g)
{
    return g->is_failed;
}

int gunzip_is_compressed(const struct gunzip *g)
{
    return g->is_gzip;
}

void gunzip_close(struct gunzip *g)
{
    if (!g)
        return;
    if (g->is_open)
        inflateEnd(&g->z);
    free(g);
}
