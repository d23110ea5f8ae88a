/* clocks.h - times of several hosts on one axis. How far a host's CLOCK_MONOTONIC is from that of rank 0's host stands
 * in its clock_monitor.csv (docs/FORMAT.md); who compares times of different hosts applies it by these functions:
 * the timeline, the charts of monitors, `dccollect export`, and the start and end of a run in its metadata. */
#ifndef DCR_CLOCKS_H
#define DCR_CLOCKS_H

#include "lib/base/arena.h"
#include "lib/base/stream.h"

#include <stdint.h>

#define DCR_MAX_CLOCK_POINTS 512

struct dcr_clock_point {
    int64_t t_ns;      /* on the host's own clock */
    int64_t offset_ns; /* to be added to times of the host */
    int64_t error_ns;  /* it is wrong by at most this */
};
struct dcr_clock {
    const char *reference;          /* host whose clock counts, "" = nothing was measured */
    struct dcr_clock_point *points; /* ascending t_ns; thinned out while reading. shape (n) */
    int n;
};

/** dcr_clock_read - a clock_monitor.csv.
 *  arena    the clock lives there
 *  n_bad    rows that make no sense and were left out
 *  errors   DCR_FAIL: no table; DCR_FATAL: the stream fails */
int dcr_clock_read(struct dcr_clock *c, struct dcr_arena *arena, struct dcr_stream *s, long *n_bad,
                   struct dcr_err *err) DCR_MUST_CHECK;
/** dcr_clock_offset - what to add to a time of the host: on the line between the points around it, beyond the first and
 *  the last as there. c has points. */
int64_t dcr_clock_offset(const struct dcr_clock *c, int64_t t_ns);
/** dcr_clock_error - the largest error of its points. */
int64_t dcr_clock_error(const struct dcr_clock *c);
/** dcr_clock_drift - parts per million by which the host's clock runs slower than the reference, from the first point
 * to the last; *error_ppm from the errors of both. returns 0, or -1 when they lie less than a second apart */
int dcr_clock_drift(const struct dcr_clock *c, double *ppm, double *error_ppm);

#define DCR_HOST_NAME 63 /* of a host's name so many bytes count: traces hold no more */
struct dcr_host {
    char name[DCR_HOST_NAME + 1];
    int64_t shift_ns;              /* from the clock of the reference (or its own, without `clock`) to the calendar */
    const struct dcr_clock *clock; /* NULL: the reference itself, or not measured */
    int is_seen;                   /* 0: known as a reference only */
    int is_reference;              /* to it others are set: the first host, or that which a clock names */
};
/* Fill arena; the rest begins as zero. */
struct dcr_hosts {
    struct dcr_arena *arena;
    struct dcr_host *list;
    size_t n, cap;
    int n_seen, n_measured; /* hosts that were asked for; of these, with a clock */
    int64_t error_ns;       /* of these, the largest */
};

/** dcr_host_of - how times of the host get onto the calendar of the reference. All processes of a host share its clock:
 *  the first one's readings count.
 *  mono_ns, real_ns  CLOCK_MONOTONIC and CLOCK_REALTIME, read together on that host
 *  clock             of the host, NULL = not measured: its own calendar counts. borrows, as long as h is used */
struct dcr_host dcr_host_of(struct dcr_hosts *h, const char *name, int64_t mono_ns, int64_t real_ns,
                            const struct dcr_clock *clock);
/** dcr_host_is_known - it was asked for before: its clock need not be looked for again. */
int dcr_host_is_known(const struct dcr_hosts *h, const char *name);
/** dcr_host_time - Unix nanoseconds of a CLOCK_MONOTONIC time of that host. Times in order stay so where the clock's
 *  points make sense. */
int64_t dcr_host_time(const struct dcr_host *h, int64_t t_ns);

#endif
