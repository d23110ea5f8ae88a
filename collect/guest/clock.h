/* clock.h - CLOCK_MONOTONIC for the events of one track, cheaper than the system's own call if the hardware permits.
 *
 * With an invariant time stamp counter that the kernel itself uses as its clock, a track reads the counter and
 * continues from its last look at CLOCK_MONOTONIC; it looks again every 4 ms. The rate is measured over at least 20 ms
 * and checked at every later look. Times differ from CLOCK_MONOTONIC by at most CLOCK_MAX_ERROR_NS; otherwise (a
 * machine that moved, a counter that stops) the system's call is used for good. Times of a track never run backwards.
 * Every value is in CLOCK_MONOTONIC nanoseconds, so files need no conversion. */
#ifndef DCC_INJECT_CLOCK_H
#define DCC_INJECT_CLOCK_H

#include "lib/archive/format.h"
#include "lib/base/mono.h"

#include <stdint.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#define clock_counter() __rdtsc()
#else /* the collector finds no sound counter */
#define clock_counter() UINT64_C(0)
#endif

#define CLOCK_MAX_ERROR_NS DCT_CLOCK_ERROR_NS

struct clock_track {
    uint64_t tsc; /* at the last look */
    int64_t ns;   /* CLOCK_MONOTONIC then */
    int64_t last; /* last time given out */
};

/* ns per tick in units of 2^-32 (0: the counter is not used), and how many ticks a look stays valid. The two values are
 * replaced one after the other. A track that sees the new rate with the old limit makes only a negligible error. */
struct clock_rate {
    uint64_t ns_per_tick, max_ticks;
};
extern struct clock_rate dcc_clock_rate;

/* Set at load: the collector found the counter sound (struct segment_begin). 0: times always come from the system's
 * call. */
extern int clock_has_tsc __attribute__((visibility("hidden")));

/** clock_begin - call when the process begins to look at the time, as often as you like. */
void clock_begin(void);
/** clock_look - reads CLOCK_MONOTONIC now. */
int64_t clock_look(struct clock_track *c);

/** clock_now_ns - time for the next event of the track. */
static inline int64_t clock_now_ns(struct clock_track *c)
{
    uint64_t max = __atomic_load_n(&dcc_clock_rate.max_ticks, __ATOMIC_RELAXED), passed;
    /* A counter before the last look gives a huge number. */
    if (__builtin_expect(max && (passed = clock_counter() - c->tsc) < max, 1)) {
        int64_t now = c->ns + (int64_t)(passed * __atomic_load_n(&dcc_clock_rate.ns_per_tick, __ATOMIC_RELAXED) >> 32);
        return c->last = now > c->last ? now : c->last;
    }
    return clock_look(c);
}

/** clock_not_before - a time taken elsewhere, raised to the last time of the track if it is earlier. */
static inline int64_t clock_not_before(struct clock_track *c, int64_t t_ns)
{
    return c->last = t_ns > c->last ? t_ns : c->last;
}

#endif
