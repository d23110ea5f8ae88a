/* trace_blocks.c - checks blocks and slots before their content is used: see trace_inside.h. */
#include "lib/trace/trace_inside.h"

#include "lib/base/hash.h"
#include "lib/trace/trace_chunks.h"

static struct track *track_of(struct dct_reader *r, uint32_t id, uint32_t *index)
{
    if (dcr_map_get(&r->track_of, id, index))
        return &r->tracks[*index];
    if (r->n_tracks >= MAX_TRACKS)
        return NULL;
    r->tracks = arena_grow(&r->arena, r->tracks, r->n_tracks, &r->cap_tracks, sizeof *r->tracks);
    dcr_map_set(&r->track_of, id, r->n_tracks);
    *index = r->n_tracks++;
    r->tracks[*index].id = id;
    return &r->tracks[*index];
}

static int is_zero(const unsigned char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (bytes[i])
            return 0;
    return 1;
}

int dct_sum_is_right(const unsigned char *block, size_t n_bytes)
{
    struct dct_block_header h;
    if (n_bytes < sizeof h)
        return 1;
    memcpy(&h, block, sizeof h);
    return h.state != DCT_BLOCK_SEALED || h.used_slots > (n_bytes - sizeof h) / DCT_SLOT_BYTES ||
           dcr_crc32c(0, block + sizeof h, (size_t)h.used_slots * DCT_SLOT_BYTES) == h.crc32c;
}

ssize_t dct_read_block(struct dct_reader *r, struct dcr_err *err)
{
    if (r->chunks)
        return dct_chunks_take(r->chunks, r->side, &r->block, &r->sum_is_right, err);
    ssize_t n = dcr_stream_read_full(r->s, r->own, r->block_bytes, err);
    r->block = r->own;
    r->sum_is_right = n > 0 && dct_sum_is_right(r->own, (size_t)n);
    return n;
}

/* A recorder that keeps the newest events writes pieces, each with a file header. A trace is all pieces in a row. */
static int take_piece(struct dct_reader *r, size_t n_bytes)
{
    struct dct_file_header h;
    if (n_bytes < sizeof h)
        return 0;
    memcpy(&h, r->block, sizeof h);
    if (h.magic != DCT_MAGIC || h.version > DCT_VERSION || h.block_bytes != r->block_bytes)
        return 0;
    dct_take_header(r, &h);
    return 1;
}

void dct_accept_block(struct dct_reader *r, size_t n_bytes)
{
    struct dct_block_header h;
    r->n_slots = r->at = 0;
    if (n_bytes < r->block_bytes)
        r->loss.is_torn = 1;
    /* Space that was reserved ahead and never used. */
    if (is_zero(r->block, n_bytes < sizeof h ? n_bytes : sizeof h))
        return;
    if (n_bytes < sizeof h || take_piece(r, n_bytes))
        return;
    memcpy(&h, r->block, sizeof h);
    uint32_t max_slots = (uint32_t)((r->block_bytes - sizeof h) / DCT_SLOT_BYTES);
    uint32_t slots_here = (uint32_t)((n_bytes - sizeof h) / DCT_SLOT_BYTES);
    struct track *t = NULL;
    int is_sealed = h.state == DCT_BLOCK_SEALED && h.used_slots <= slots_here;
    if (h.magic != DCT_BLOCK_MAGIC || (h.state != DCT_BLOCK_OPEN && h.state != DCT_BLOCK_SEALED) ||
        h.used_slots > max_slots || !r->sum_is_right || (t = track_of(r, h.track, &r->current)) == NULL ||
        (h.seq < t->next_seq && h.seq != 0)) {
        r->loss.n_bad_blocks++;
        return;
    }
    if (!is_sealed)
        r->loss.n_open_blocks++;
    if (h.seq < t->next_seq) { /* the kernel gave the number of an ended thread to a new one */
        r->dropped_of_ended += t->dropped;
        t->dropped = t->next_seq = t->n_unread = 0;
        r->is_flushing = t->n_open > 0;
    }
    if (h.seq > t->next_seq) { /* open ranges may have been closed in the missing part */
        if (r->is_cut && t->next_seq == 0)
            t->is_cut = 1;
        else
            r->loss.n_missing_blocks += h.seq - t->next_seq;
        r->is_flushing = t->n_open > 0;
        t->n_unread = 0;
    }
    t->next_seq = h.seq + 1;
    if (h.dropped > t->dropped)
        t->dropped = h.dropped;
    r->slots = (const struct dct_slot *)(const void *)(r->block + sizeof h);
    r->n_slots = h.used_slots < slots_here ? h.used_slots : slots_here;
    r->is_sealed = is_sealed;
}

/* Checks n slots: they hold nothing, or an attr with as many bytes after it as it says. */
static int attr_is_sound(const struct dct_slot *s, uint32_t n)
{
    if (n == 0)
        return 1;
    struct dct_attr a = dct_attr_in(s);
    if ((a.payload_type & 0xff) != DCT_PAYLOAD_RAW)
        return n == 1;
    return a.payload <= DCT_MAX_RAW && n == 1 + (a.payload + DCT_SLOT_BYTES - 1) / DCT_SLOT_BYTES;
}

/* Is the slot at r->at valid for its kind, where that can be checked? */
int dct_slot_is_sound(const struct dct_reader *r, const struct dct_slot *s)
{
    uint32_t n = s->n_extra;
    if (n >= r->n_slots - r->at)
        return 0;
    switch (s->kind) {
    case DCT_PUSH:
    case DCT_MARK:
    case DCT_POP:
        return attr_is_sound(s + 1, n);
    case DCT_START:
    case DCT_END:
        return n >= 1 && attr_is_sound(s + 1, n - 1);
    case DCT_SPAN:
        return n == 1 || n == 2;
    case DCT_FILE:
        return n == DCT_N_IO * sizeof(struct dct_io) / DCT_SLOT_BYTES;
    case DCT_SUM:
        return n == 2;
    case DCT_GAP:
        return n == 0 || n == 2;
    case DCT_GPU:
        return n == 3 || n == 5;
    case DCT_STRING:
    case DCT_DOMAIN:
    case DCT_CATEGORY:
    case DCT_THREAD:
    case DCT_NOTE:
    case DCT_SCHEMA:
        return s->t_ns >= 0 && s->t_ns <= (int64_t)n * DCT_SLOT_BYTES;
    case DCT_NONE:
        return 0;
    default:
        return r->is_sealed; /* a kind of a later writer; the checksum vouches for its length */
    }
}
