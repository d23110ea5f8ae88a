/* track.h - the state of a thread ("track"), shared by spool.c (threads), spool_events.c (events) and spool_names.c
 * (texts). */
#ifndef DCC_INJECT_TRACK_H
#define DCC_INJECT_TRACK_H

#include "collect/guest/clock.h"
#include "collect/guest/guest.h"
#include "collect/guest/segment.h"
#include "collect/guest/window.h"
#include "lib/archive/format.h"

#define CACHE_ENTRIES 256u
#define PAIR_ENTRIES 32u

/* A text that this thread has seen at an address. The address may hold another text later, so the texts are
 * compared. */
struct cached {
    const char *seen_at;
    const char *text;
    uint32_t id, n; /* n: bytes, including the NUL */
};
struct cached_pair { /* the same for (domain, category text) */
    struct cached category;
    uint32_t domain;
};

/* Numbers of the texts of a kind of interval; category 0: not known yet. */
struct span_ids {
    uint32_t domain, category;
};

/* Open ranges of a domain. Those at the bottom and on top are not recorded, because they began outside the window; nor
 * are their pops. Those between are recorded, except `lost` ones that found no room (struct lost_range). */
struct levels {
    int32_t bottom, recorded, lost, top;
};

/* Open ranges that found no room (gap.h). If there are more of them, the inner ones are lost as well (levels.top). */
enum { LOST_OPEN = 64, MAX_KEPT_POPS = 256 };
struct lost_range {
    uint32_t domain, name;
    int32_t level;
    uint8_t node; /* its node in the gap; GAP_NONE: none */
    uint8_t is_step, is_counted, has_attr;
    int64_t start_ns;
    uint64_t bytes; /* its payload, if that is a number */
    struct dct_attr attr;
};

/* Lost ranges and calls of one name and category inside the same lost ranges. */
enum { GAP_NODES = 96, GAP_CALLS = 16, GAP_NONE = 255 };
struct gap_node {
    uint64_t n, bytes; /* n: number of ended ranges */
    int64_t start_ns;  /* start of the first */
    int64_t ns;
    uint32_t name, category;
    uint16_t domain;
    uint8_t kind, parent; /* parent: node of the range around them; GAP_NONE: that range is recorded, or there is
                           * none */
};
struct gap {
    uint32_t n;
    struct {
        int64_t start_ns, ns;
    } call[GAP_CALLS]; /* the last lost calls, none inside another */
    uint32_t n_calls;
    struct gap_node node[GAP_NODES]; /* a range's node comes before the nodes of its inner ranges */
};

struct spool_track {
    uint64_t epoch;
    struct clock_track clock;
    struct dct_block_header *block; /* NULL: none yet */
    uint32_t used, cap;             /* slots */
    uint32_t open;                  /* open recorded ranges, MAX_KEPT_POPS at most: the block keeps a slot for each */
    uint32_t is_slow; /* lost events are to be written, some range is not recorded, or there is a window */
    /* The part up to here is read for every event: one line of the cache. */
    uint32_t tid;
    uint64_t seq;
    uint64_t next_range_id, end_range_id; /* numbers for process ranges that this track may use */
    int is_dry;                           /* no block was free when n_freed was freed_seen */
    int is_reserve;                       /* the block is of the reserve (gap.h) */
    uint64_t freed_seen;
    uint32_t inline_flags; /* flags of the last name that found no room in the table */
    uint32_t is_in_use;
    struct dct_block_header *fresh, *full; /* blocks of a change of blocks in progress */
    struct window_track window;
    uint32_t n_lost, n_top;
    struct lost_range lost[LOST_OPEN];
    struct gap gap;
    struct levels level[SEGMENT_DOMAINS];
    struct span_ids span[DCC_N_SPANS];
    struct cached name[CACHE_ENTRIES], domain[PAIR_ENTRIES];
    struct cached_pair category[PAIR_ENTRIES];
};

/** track_head - fill the first slot of an event or definition; returns the next. */
static inline struct dct_slot *track_head(struct dct_slot *s, int kind, uint32_t n_extra, uint32_t domain,
                                          uint32_t name, int64_t t_ns)
{
    s->kind = (uint8_t)kind;
    s->n_extra = (uint8_t)n_extra;
    s->domain = (uint16_t)domain;
    s->name = name;
    s->t_ns = t_ns;
    return s + 1;
}

#endif
