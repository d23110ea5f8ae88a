/* track.h - what a thread ("track") holds, between spool.c (threads, events) and spool_names.c (texts). */
#ifndef DCC_INJECT_TRACK_H
#define DCC_INJECT_TRACK_H

#include "collect/guest/clock.h"
#include "collect/guest/names.h"
#include "collect/guest/window.h"
#include "lib/archive/format.h"

#define CACHE_ENTRIES 256u
#define PAIR_ENTRIES 64u

/* A text seen by this thread at an address. The address may hold another text tomorrow, so the texts are compared. */
struct cached {
    const char *seen_at;
    const char *text;
    uint32_t id, n; /* n: bytes, the NUL included */
};
struct cached_pair { /* the same for (domain, category text) */
    const char *seen_at;
    const char *text;
    uint32_t domain, id, n;
};

/* Open ranges of a domain: those at the bottom and on top began outside the window and are not recorded, nor are their
 * pops; those between are. */
struct levels {
    int32_t bottom, recorded, top;
};

struct spool_track {
    uint64_t epoch;
    struct clock_track clock;
    struct dct_block_header *block;
    uint32_t used, cap; /* slots */
    /* Up to here every event looks: one line of the cache. */
    uint32_t tid;
    uint32_t generation; /* definitions up to it stand before the block */
    uint64_t seq, dropped;
    uint64_t next_range_id, end_range_id; /* of process ranges: those given to this track */
    int is_refused;                       /* no memory for a block of this thread when it came: none later either */
    struct window_track window;
    struct levels level[DOMAINS_MAX];
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
