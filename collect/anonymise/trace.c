/* trace.c - see trace.h. Test: tests/integration/collect_anonymise.sh */
#include "collect/anonymise/trace.h"

#include "lib/base/hash.h"
#include "lib/base/map.h"
#include "lib/archive/format.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OLD_HEADER_BYTES = 128, MAX_BLOCK_BYTES = 16 << 20 }; /* the fingerprint covers this much of the header */

struct rewrite {
    struct hide *h;
    documents_sink sink;
    void *ctx;
    uint32_t print; /* of what was written */
    uint32_t block_bytes;
    unsigned char *in, *block;      /* one block each */
    struct dct_block_header header; /* of the block that is being filled */
    struct dcr_map added;           /* by track: number of blocks added */
    struct dcr_buf text;
};

static int put(struct rewrite *w, const void *bytes, size_t n, size_t n_marked, struct dcr_err *err)
{
    w->print = dcr_crc32c(w->print, bytes, n_marked);
    return w->sink(w->ctx, bytes, n, err);
}

/* Writes the block as filled so far; the rest after its slots becomes zero. */
static int put_block(struct rewrite *w, uint32_t state, size_t n_bytes, struct dcr_err *err)
{
    size_t used = sizeof w->header + (size_t)w->header.used_slots * DCT_SLOT_BYTES;
    w->header.state = state;
    w->header.crc32c =
        state == DCT_BLOCK_SEALED ? dcr_crc32c(0, w->block + sizeof w->header, used - sizeof w->header) : 0;
    memcpy(w->block, &w->header, sizeof w->header);
    memset(w->block + used, 0, w->block_bytes - used);
    if (state == DCT_BLOCK_OPEN) /* the block counts them in addition to its header */
        w->print = dcr_crc32c(w->print, w->block, sizeof w->header);
    return put(w, w->block, n_bytes, state == DCT_BLOCK_OPEN ? n_bytes : sizeof w->header, err);
}

/* Makes room for n slots: if the block is full, another block of the same track follows. */
static int need(struct rewrite *w, uint32_t n, struct dcr_err *err)
{
    uint32_t room = (uint32_t)((w->block_bytes - sizeof w->header) / DCT_SLOT_BYTES), added = 0;
    if (w->header.used_slots + n <= room)
        return DCR_OK;
    int rc = put_block(w, DCT_BLOCK_SEALED, w->block_bytes, err);
    (void)dcr_map_get(&w->added, w->header.track, &added);
    if (rc == 0 && dcr_map_put(&w->added, w->header.track, added + 1) != 0)
        rc = dcr_err_set(err, DCR_FATAL, "out of memory");
    w->header.seq++;
    w->header.used_slots = 0;
    return rc;
}

static int add(struct rewrite *w, const struct dct_slot *head, const void *extra, struct dcr_err *err)
{
    int rc = need(w, 1u + head->n_extra, err);
    unsigned char *to = w->block + sizeof w->header + (size_t)w->header.used_slots * DCT_SLOT_BYTES;
    if (rc)
        return rc;
    memcpy(to, head, sizeof *head);
    memcpy(to + sizeof *head, extra, (size_t)head->n_extra * DCT_SLOT_BYTES);
    w->header.used_slots += 1u + head->n_extra;
    return DCR_OK;
}

static int add_text(struct rewrite *w, struct dct_slot head, const char *text, size_t n, struct dcr_err *err)
{
    char room[DCT_MAX_TEXT] = {0};
    char *whole = strndup(text, n);
    if (!whole)
        return dcr_err_set(err, DCR_FATAL, "out of memory");
    dcr_buf_clear(&w->text);
    if (head.kind == DCT_NOTE)
        hide_sentence(w->h, whole, &w->text);
    else
        hide_name(w->h, whole, &w->text);
    free(whole);
    size_t len = w->text.len < sizeof room ? w->text.len : sizeof room;
    memcpy(room, dcr_buf_text(&w->text), len);
    head.n_extra = (uint8_t)((len + DCT_SLOT_BYTES - 1) / DCT_SLOT_BYTES);
    head.t_ns = (int64_t)len;
    return add(w, &head, room, err);
}

/* NVTX's own payloads may hold text: readable runs with a path, a host or a user in them become 'x'. */
static void hide_payload(struct hide *h, unsigned char *bytes, size_t n)
{
    enum { LEAST = 8 };
    struct dcr_buf b = {0};
    for (size_t i = 0, k; i < n; i += k + 1) {
        for (k = 0; i + k < n && isprint(bytes[i + k]);)
            k++;
        char *run = k >= LEAST ? strndup((const char *)bytes + i, k) : NULL;
        dcr_buf_clear(&b);
        if (run)
            hide_name(h, run, &b);
        if (run && strcmp(run, dcr_buf_text(&b)) != 0)
            memset(bytes + i, 'x', k);
        free(run);
    }
    dcr_buf_release(&b);
}

static int add_event(struct rewrite *w, const struct dct_slot *s, struct dcr_err *err)
{
    unsigned char extra[255 * DCT_SLOT_BYTES] = {0};
    size_t n = (size_t)s->n_extra * DCT_SLOT_BYTES;
    struct dct_attr a;
    if (s->kind <= DCT_GPU) /* kinds of a later writer are unknown */
        memcpy(extra, s + 1, n);
    memcpy(&a, extra, sizeof a);
    int has_attr =
        s->kind == DCT_PUSH || s->kind == DCT_POP || s->kind == DCT_START || s->kind == DCT_END || s->kind == DCT_MARK;
    if (has_attr && n > sizeof a && (a.payload_type & 0xff) == DCT_PAYLOAD_RAW && a.payload <= n - sizeof a)
        hide_payload(w->h, extra + sizeof a, a.payload);
    return add(w, s, extra, err);
}

/* Copies slots up to the first invalid one, because readers stop there too and count it. */
static int add_slots(struct rewrite *w, const struct dct_slot *slots, uint32_t n, struct dcr_err *err)
{
    static const struct dct_slot unsound = {.kind = DCT_NONE};
    int rc = DCR_OK;
    for (uint32_t at = 0; rc == 0 && at < n; at += 1u + slots[at].n_extra) {
        const struct dct_slot *s = &slots[at];
        int is_text = s->kind >= DCT_STRING && s->kind <= DCT_SCHEMA;
        int64_t room = (int64_t)s->n_extra * DCT_SLOT_BYTES;
        if (s->kind == DCT_NONE || s->n_extra >= n - at || (is_text && (s->t_ns < 0 || s->t_ns > room)))
            return add(w, &unsound, s, err);
        rc = is_text ? add_text(w, *s, (const char *)(s + 1), (size_t)s->t_ns, err) : add_event(w, s, err);
    }
    return rc;
}

/* A block without content. mark: '?' if the block of the input is damaged, since its bytes could name anything; 0 if it
 * was never used */
static int put_empty(struct rewrite *w, char mark, size_t n_bytes, struct dcr_err *err)
{
    memset(w->block, 0, w->block_bytes);
    w->block[0] = (unsigned char)mark;
    return put(w, w->block, n_bytes, n_bytes < sizeof w->header ? n_bytes : sizeof w->header, err);
}

static int is_zero(const struct dct_block_header *h)
{
    static const struct dct_block_header none;
    return memcmp(h, &none, sizeof none) == 0;
}

/* Fills a block that is otherwise empty with the header of the file or of a later piece. */
static void fill_header(struct rewrite *w, struct dct_file_header h)
{
    char *host = dcr_arena_strndup(&w->h->arena, h.host, sizeof h.host - 1);
    memset(h.host, 0, sizeof h.host);
    if (*host)
        snprintf(h.host, sizeof h.host, "%s", hide_as(w->h, HIDE_HOST, host));
    memset(w->block, 0, w->block_bytes);
    memcpy(w->block, &h, sizeof h);
}

static int is_piece(const struct rewrite *w, size_t n_bytes, struct dct_file_header *h)
{
    if (n_bytes < sizeof *h)
        return 0;
    memcpy(h, w->in, sizeof *h);
    return h->magic == DCT_MAGIC && h->version <= DCT_VERSION && h->block_bytes == w->block_bytes;
}

/* n_bytes: less than a block if the trace ends inside it */
static int rewrite_block(struct rewrite *w, size_t n_bytes, struct dcr_err *err)
{
    struct dct_file_header piece;
    uint32_t most = (uint32_t)((w->block_bytes - sizeof w->header) / DCT_SLOT_BYTES), added = 0;
    if (n_bytes < sizeof w->header)
        return put_empty(w, '?', n_bytes, err);
    if (is_piece(w, n_bytes, &piece)) {
        fill_header(w, piece);
        return put(w, w->block, n_bytes, sizeof w->header, err);
    }
    memcpy(&w->header, w->in, sizeof w->header);
    uint32_t n = w->header.used_slots, here = (uint32_t)((n_bytes - sizeof w->header) / DCT_SLOT_BYTES);
    uint32_t state = w->header.state;
    if (is_zero(&w->header)) /* never used: left out, unless the trace ends inside it */
        return n_bytes == w->block_bytes ? DCR_OK : put_empty(w, 0, n_bytes, err);
    if (w->header.magic != DCT_BLOCK_MAGIC || (state != DCT_BLOCK_OPEN && state != DCT_BLOCK_SEALED) || n > most ||
        (state == DCT_BLOCK_SEALED && n <= here &&
         dcr_crc32c(0, w->in + sizeof w->header, (size_t)n * DCT_SLOT_BYTES) != w->header.crc32c))
        return put_empty(w, '?', n_bytes, err);
    if (w->header.seq == 0 && dcr_map_put(&w->added, w->header.track, 0) != 0)
        return dcr_err_set(err, DCR_FATAL, "out of memory");
    (void)dcr_map_get(&w->added, w->header.track, &added);
    w->header.seq += added;
    w->header.used_slots = 0;
    memset(w->header.reserved, 0, sizeof w->header.reserved);
    int rc = add_slots(w, (const struct dct_slot *)(const void *)(w->in + sizeof w->header), n < here ? n : here, err);
    size_t used = sizeof w->header + (size_t)w->header.used_slots * DCT_SLOT_BYTES;
    if (n_bytes < w->block_bytes) /* a trace that ends inside a block keeps that ending */
        n_bytes = used > n_bytes ? used : n_bytes;
    if (n_bytes == w->block_bytes && used < n_bytes && n > here)
        n_bytes -= DCT_SLOT_BYTES;
    return rc ? rc : put_block(w, n <= here ? state : DCT_BLOCK_OPEN, n_bytes, err);
}

/* The file's header, alone in its block. */
static int rewrite_header(struct rewrite *w, struct dcr_stream *in, struct dcr_err *err)
{
    struct dct_file_header h;
    ssize_t n = dcr_stream_read_full(in, &h, sizeof h, err);
    if (n < 0)
        return (int)n;
    if ((size_t)n < sizeof h || h.magic != DCT_MAGIC || h.version > DCT_VERSION || h.version < DCT_OLDEST_VERSION ||
        h.block_bytes < 4096 || h.block_bytes > MAX_BLOCK_BYTES || h.block_bytes % 4096)
        return dcr_err_set(err, DCR_FAIL, "'%s' is no trace that this program reads", in->name);
    w->block_bytes = h.block_bytes;
    w->in = malloc(h.block_bytes);
    w->block = calloc(1, h.block_bytes);
    if (!w->in || !w->block)
        return dcr_err_set(err, DCR_FATAL, "out of memory for '%s'", in->name);
    fill_header(w, h);
    n = dcr_stream_read_full(in, w->in, h.block_bytes - sizeof h, err);
    return n < 0 ? (int)n : put(w, w->block, sizeof h + (size_t)n, OLD_HEADER_BYTES, err);
}

int anonymise_trace(struct hide *h, struct dcr_stream *in, documents_sink sink, void *ctx, uint32_t *print,
                    struct dcr_err *err)
{
    struct rewrite w = {.h = h, .sink = sink, .ctx = ctx};
    int rc = rewrite_header(&w, in, err);
    ssize_t n;
    while (rc == 0 && (n = dcr_stream_read_full(in, w.in, w.block_bytes, err)) != 0)
        rc = n < 0 ? (int)n : rewrite_block(&w, (size_t)n, err);
    *print = w.print;
    free(w.in);
    free(w.block);
    dcr_map_release(&w.added);
    dcr_buf_release(&w.text);
    return rc;
}
