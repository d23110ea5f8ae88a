/* trace_inside.h - the reader of native traces from inside. Included by lib/trace*.c only: trace.c opens, closes and
 * tells what was lost, trace_texts.c takes what the program said, trace_blocks.c looks whether blocks and slots are
 * sound, trace_events.c and trace_ranges.c make events of them. */
#ifndef DCR_TRACE_INSIDE_H
#define DCR_TRACE_INSIDE_H

#include "lib/trace/trace.h"

#include "lib/base/arena.h"
#include "lib/base/map.h"

#include <string.h>

/* Ceilings, far above what a run leaves behind, so that a damaged file cannot ask for all memory. */
#define MAX_BLOCK_BYTES (16u << 20)
#define MAX_NAME_ID (1u << 20)
#define MAX_TEXT_TOTAL ((size_t)256 << 20)
#define MAX_TRACKS (1u << 16)
#define MAX_DEPTH 16384u
#define MAX_OPEN (1u << 20)
#define MAX_ENDS (1u << 16)
#define MAX_NOTES_BYTES ((size_t)64 << 10)

struct open_range {
    uint64_t id; /* of a process range */
    uint32_t track, name;
    uint16_t domain;
    int depth;
    int is_end; /* of a process range whose beginning was not read yet: start_ns is when it ended. In dct_reader.ends:
                   it still waits */
    struct dct_attr attr;
    int64_t start_ns;
    void *raw; /* own copy of a raw payload, or NULL */
};

struct track {
    uint32_t id;
    uint64_t next_seq, dropped;
    int64_t last_ns;
    struct open_range *stack;
    uint32_t n_open, cap;
    uint64_t n_unread; /* pushes that are not kept; their pops come first */
    int is_cut;        /* its first blocks were removed for newer ones */
};

/* Sums of a file whose name was not read yet: their block is written in place from early on, names come in new blocks.
 */
struct late_file {
    struct dct_slot slot;
    struct dct_io io[DCT_N_IO];
};
#define MAX_LATE_FILES (1u << 16)

struct dct_reader {
    struct dct_info *info;                                    /* the caller's, NULL = nobody asked */
    int is_cut;                                               /* blocks were removed for newer ones */
    void (*on_gpu)(void *ctx, const struct dct_gpu_event *e); /* NULL = GPU events are passed over */
    void *gpu_ctx;
    void (*on_dropped)(void *ctx, const struct dct_dropped *d); /* NULL = nobody asked */
    void *dropped_ctx;
    void (*on_gap)(void *ctx, const struct dct_gap *g); /* NULL = nobody asked */
    void *gap_ctx;
    struct dct_leave_out *leave_out; /* ranges passed over; NULL = none */
    struct dcr_stream *s;
    uint32_t block_bytes;
    unsigned char *own;           /* a block's worth of memory */
    struct dct_chunks *chunks;    /* where blocks come from instead (trace_chunks.h), NULL: from the stream */
    int side;                     /* of the chunks; they belong to side 0 */
    const unsigned char *block;   /* read last */
    int sum_is_right;             /* of that block */
    const struct dct_slot *slots; /* of the current block */
    uint32_t n_slots, at;
    int is_sealed;
    uint32_t current; /* index of the block's track */
    int is_at_end;

    struct dcr_arena arena;
    const char **names;
    uint32_t n_names;
    const char **domains; /* by id, NULL = never defined */
    uint32_t n_domains;
    struct dcr_map category_of, thread_of, schema_of;
    const char **texts; /* of categories, threads and schemas, in order of definition */
    uint32_t n_texts, cap_texts;

    struct dcr_map track_of;
    struct track *tracks;
    uint32_t n_tracks, cap_tracks;

    struct dcr_map range_of; /* process ranges by id */
    struct open_range *ranges;
    uint32_t n_ranges, cap_ranges;
    struct dcr_map end_of;   /* ends by id whose beginning is in a later block, of another thread, or nowhere */
    struct open_range *ends; /* a ring                                                      shape (<= MAX_ENDS) */
    uint32_t cap_ends;
    uint64_t first_end, next_end; /* counted from when none was there */

    struct late_file *late; /* shape: (n_late), those before next_late are delivered */
    uint32_t n_late, cap_late, next_late;

    uint32_t n_open_total;
    int is_flushing; /* the current track's open ranges are being delivered */
    uint32_t flush_track;
    int64_t last_ns;
    struct dct_loss loss;
    uint64_t dropped_without_block, dropped_of_ended;
    struct dcr_buf notes;
    int has_said_unread;
    void *delivered_raw; /* of the event given out last */
    uint32_t delivered_domain;
};

/** dct_grow - room for need items in an array; new ones are zero.
 *  cap      capacity in items, updated
 *  returns  -1: no memory, all is as it was */
int dct_grow(void *array, uint32_t *cap, uint32_t need, size_t item);
/** dct_define - a slot that names something. */
void dct_define(struct dct_reader *r, const struct dct_slot *s);
/** dct_category - the name of a category that is not 0: "#7" when the program never said. */
const char *dct_category(struct dct_reader *r, uint32_t domain, uint32_t category);
/** dct_keep_attr - the attr of an event that ends later, with a copy of its raw payload. */
void dct_keep_attr(struct open_range *o, const struct dct_slot *s);
/** dct_add_attr - a payload that came with the end of a range: behind the raw one of its beginning. A plain number of
 * the beginning stays alone. */
void dct_add_attr(struct open_range *o, const struct dct_slot *s);
/** dct_add_kept - the same of an end that was read before its beginning. */
void dct_add_kept(struct open_range *o, const struct open_range *end);
/** dct_unread - where to count one more range of the process that cannot be kept open. */
uint64_t *dct_unread(struct dct_reader *r);
/** dct_keep_start - a range of the process begins (a slot of DCT_START): it is kept until it ends.
 *  returns  1: its end was read before; *out and *end_ns are it, out->raw belongs to the caller */
int dct_keep_start(struct dct_reader *r, const struct track *t, const struct dct_slot *s, struct open_range *out,
                   int64_t *end_ns);
/** dct_close_start - one ends (DCT_END); without a beginning so far the end is kept.    returns  as dct_keep_start */
int dct_close_start(struct dct_reader *r, const struct track *t, const struct dct_slot *s, struct open_range *out,
                    int64_t *end_ns);
/** dct_drop_ends - all is read: the ends that still wait count as unmatched. */
void dct_drop_ends(struct dct_reader *r);
/** dct_take_header - of the file, or of a later piece of it: what it says replaces what was said before. */
void dct_take_header(struct dct_reader *r, const struct dct_file_header *h);
/** dct_sum_is_right - has a sealed block the checksum that it says? One that is not sealed has none. */
int dct_sum_is_right(const unsigned char *block, size_t n_bytes);
/** dct_read_block - the next block, not yet looked at.
 *  returns  as dcr_stream_read_full */
ssize_t dct_read_block(struct dct_reader *r, struct dcr_err *err);
/** dct_accept_block - take the block just read; n_bytes of it are there. */
void dct_accept_block(struct dct_reader *r, size_t n_bytes);
/** dct_slot_is_sound - is the slot at r->at what its kind says, as far as one can tell? */
int dct_slot_is_sound(const struct dct_reader *r, const struct dct_slot *s);

/* Categories and schemas have numbers of their domain. */
static inline uint64_t dct_domain_key(uint32_t domain, uint32_t id)
{
    return (uint64_t)domain << 32 | id;
}

static inline struct dct_attr dct_attr_in(const struct dct_slot *s)
{
    struct dct_attr a;
    memcpy(&a, s, sizeof a);
    return a;
}

#endif
