/* trace_inside.h - the reader of native traces from inside. Included by lib/trace*.c only: trace.c opens, closes and
 * reports losses, trace_texts.c takes names and texts of the program, trace_blocks.c checks blocks and slots,
 * trace_events.c and trace_ranges.c make events of them. */
#ifndef DCR_TRACE_INSIDE_H
#define DCR_TRACE_INSIDE_H

#include "lib/trace/trace.h"

#include "lib/base/arena.h"
#include "lib/base/map.h"

#include <string.h>

/* Limits far above the needs of any run, so that a damaged file cannot ask for all memory. */
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
    int is_end; /* a process range whose beginning was not read yet: start_ns is when it ended. In dct_reader.ends: it
                 * still waits */
    struct dct_attr attr;
    int64_t start_ns;
    void *raw; /* a copy of the raw payload, or NULL */
};

struct track {
    uint32_t id;
    uint64_t next_seq, dropped;
    int64_t last_ns;
    struct open_range *stack;
    uint32_t n_open;
    size_t cap;
    uint64_t n_unread; /* pushes that are not kept; their pops come first */
    int is_cut;        /* its first blocks were removed for newer ones */
};

/* Sums of a file whose name was not read yet. Their block comes early in the file, while names come in later blocks. */
struct late_file {
    struct dct_slot slot;
    struct dct_io io[DCT_N_IO];
};
#define MAX_LATE_FILES (1u << 16)

struct dct_reader {
    struct dct_info *info; /* the caller's, NULL = not wanted */
    int is_cut;            /* blocks were removed for newer ones */
    struct dct_listener listener;
    struct dct_leave_out *leave_out; /* ranges to skip; NULL = none */
    struct dcr_stream *s;
    uint32_t block_bytes;
    unsigned char *own;           /* memory for one block */
    struct dct_chunks *chunks;    /* source of blocks (trace_chunks.h); NULL: the stream */
    int side;                     /* this reader's side of the chunks; the chunks belong to side 0 */
    const unsigned char *block;   /* the block read last */
    int sum_is_right;             /* of that block */
    const struct dct_slot *slots; /* of the current block */
    uint32_t n_slots, at;
    int is_sealed;
    uint32_t current; /* index of the block's track */
    int is_at_end;

    struct dcr_arena arena; /* of the reader itself, too */
    size_t n_text_bytes;
    const char **names;
    size_t n_names;
    const char **domains; /* by id, NULL = never defined */
    size_t n_domains;
    struct dcr_map category_of, thread_of, schema_of;
    const char **texts; /* texts of categories, threads and schemas, in order of definition */
    uint32_t n_texts;
    size_t cap_texts;

    struct dcr_map track_of;
    struct track *tracks;
    uint32_t n_tracks;
    size_t cap_tracks;

    struct dcr_map range_of; /* process ranges by id */
    struct open_range *ranges;
    uint32_t n_ranges;
    size_t cap_ranges;
    struct dcr_map end_of;   /* by id: ends whose beginning is in a later block of another thread, or nowhere */
    struct open_range *ends; /* a ring                                                      shape (<= MAX_ENDS) */
    size_t cap_ends;
    uint64_t first_end, next_end; /* numbers of the oldest end kept and of the next one */

    struct late_file *late; /* shape: (n_late), those before next_late are delivered */
    uint32_t n_late, next_late;
    size_t cap_late;

    uint32_t n_open_total;
    int is_flushing; /* the current track's open ranges are being delivered */
    uint32_t flush_track;
    int64_t last_ns;
    struct dct_loss loss;
    uint64_t dropped_without_block, dropped_of_ended;
    struct dcr_buf notes;
    int has_said_unread;
    void *delivered_raw; /* of the last event delivered */
    uint32_t delivered_domain;
};

/** dct_reader_new - an empty reader; free with dct_close. */
struct dct_reader *dct_reader_new(void);
/** dct_define - takes a slot that names something. */
void dct_define(struct dct_reader *r, const struct dct_slot *s);
/** dct_category - the name of a category that is not 0: "#7" when the program gave it no name. */
const char *dct_category(struct dct_reader *r, uint32_t domain, uint32_t category);
/** dct_keep_attr - keeps the attr of an event that ends later, with a copy of its raw payload. */
void dct_keep_attr(struct open_range *o, const struct dct_slot *s);
/** dct_add_attr - adds the payload of a range's end after the raw payload of its beginning. If the beginning has a
 * plain number, only that number is kept. */
void dct_add_attr(struct open_range *o, const struct dct_slot *s);
/** dct_add_kept - the same for an end that was read before its beginning. */
void dct_add_kept(struct open_range *o, const struct open_range *end);
/** dct_keep_start - a process range begins (a slot of DCT_START) and is kept until it ends.
 *  returns  1: its end was read before; *out and *end_ns are the range, and out->raw belongs to the caller */
int dct_keep_start(struct dct_reader *r, const struct track *t, const struct dct_slot *s, struct open_range *out,
                   int64_t *end_ns);
/** dct_close_start - a process range ends (DCT_END). If its beginning was not read yet, the end is kept.    returns  as
 * dct_keep_start */
int dct_close_start(struct dct_reader *r, const struct track *t, const struct dct_slot *s, struct open_range *out,
                    int64_t *end_ns);
/** dct_drop_ends - everything is read: ends that still wait count as unmatched. */
void dct_drop_ends(struct dct_reader *r);
/** dct_take_header - takes the header of the file or of a later piece; its values replace earlier ones. */
void dct_take_header(struct dct_reader *r, const struct dct_file_header *h);
/** dct_sum_is_right - has a sealed block the checksum that its header holds? Blocks that are not sealed have none. */
int dct_sum_is_right(const unsigned char *block, size_t n_bytes);
/** dct_read_block - reads the next block without checking it.
 *  returns  as dcr_stream_read_full */
ssize_t dct_read_block(struct dct_reader *r, struct dcr_err *err);
/** dct_accept_block - takes the block just read, of which n_bytes are there. */
void dct_accept_block(struct dct_reader *r, size_t n_bytes);
/** dct_slot_is_sound - is the slot at r->at valid for its kind, where that can be checked? */
int dct_slot_is_sound(const struct dct_reader *r, const struct dct_slot *s);

/* Categories and schemas are numbered within their domain. */
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
