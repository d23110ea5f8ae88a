/* clocks.h - times of several hosts on one axis. A host's clock_monitor.csv holds the offset of its CLOCK_MONOTONIC
 * from that of rank 0's host (docs/FORMAT.md). All code that compares times of different hosts applies it by these
 * functions: the timeline, the charts of monitors, `dccollect export`, and the start and end of a run in its
 * metadata. */
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
    const char *reference;          /* host whose clock is the reference, "" = nothing was measured */
    struct dcr_clock_point *points; /* ascending t_ns; thinned out while reading. shape (n) */
    int n;
};

/** dcr_clock_read - reads a clock_monitor.csv.
 *  arena    holds the clock's memory
 *  n_bad    rows that make no sense and were left out
 *  errors   DCR_FAIL: not a table; DCR_FATAL: the stream fails */
int dcr_clock_read(struct dcr_clock *c, struct dcr_arena *arena, struct dcr_stream *s, long *n_bad,
                   struct dcr_err *err) DCR_MUST_CHECK;
/** dcr_clock_offset - what to add to a time of the host: linear between the points around it, constant before the first
 * and after the last. c has points. */
int64_t dcr_clock_offset(const struct dcr_clock *c, int64_t t_ns);
/** dcr_clock_error - the largest error of its points. */
int64_t dcr_clock_error(const struct dcr_clock *c);
/** dcr_clock_drift - parts per million by which the host's clock runs slower than the reference, from the first point
 * to the last; *error_ppm follows from the errors of both points. returns 0, or -1 when they lie less than a second
 * apart */
int dcr_clock_drift(const struct dcr_clock *c, double *ppm, double *error_ppm);

#define DCR_HOST_NAME 63 /* longest host name compared, in bytes: traces hold no more */
struct dcr_host {
    char name[DCR_HOST_NAME + 1];
    int64_t shift_ns;              /* from the reference's clock (its own clock if `clock` is NULL) to the calendar */
    const struct dcr_clock *clock; /* NULL: the reference itself, or not measured */
    int is_seen;                   /* 0: known as a reference only */
    int is_reference;              /* other hosts are set to this one: the first host, or the one that a clock names */
};
/* The caller sets arena; the rest begins as zero. */
struct dcr_hosts {
    struct dcr_arena *arena;
    struct dcr_host *list;
    size_t n, cap;
    int n_seen, n_measured; /* hosts that were asked for, and how many of them have a clock */
    int64_t error_ns;       /* largest error of these clocks */
};

/** dcr_host_of - how times of the host are put on the calendar of the reference. All processes of a host share its
 * clock, and the readings of its first process are used.
 *  mono_ns, real_ns  CLOCK_MONOTONIC and CLOCK_REALTIME, read together on that host
 *  clock             of the host, NULL = not measured: its own calendar is used. borrows, as long as h is used */
struct dcr_host dcr_host_of(struct dcr_hosts *h, const char *name, int64_t mono_ns, int64_t real_ns,
                            const struct dcr_clock *clock);
/** dcr_host_is_known - 1: the host was asked for before, so its clock need not be read again. */
int dcr_host_is_known(const struct dcr_hosts *h, const char *name);
/** dcr_host_time - Unix nanoseconds of a CLOCK_MONOTONIC time of that host. The order of times is kept if the clock's
 * points make sense. */
int64_t dcr_host_time(const struct dcr_host *h, int64_t t_ns);

#endif
