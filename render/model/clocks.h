/* clocks.h - how far a node's clock is from that of rank 0's host, as its clock monitor measured it during the run
 * (docs/FORMAT.md). Filled by render/read/monitors.c. */
#ifndef RENDER_MODEL_CLOCKS_H
#define RENDER_MODEL_CLOCKS_H

#include <stdint.h>

struct run;

#define RUN_MAX_CLOCK_POINTS 512

struct run_clock_point {
    int64_t t_ns;      /* on the node's own clock */
    int64_t offset_ns; /* to be added to times of the node */
    int64_t error_ns;  /* it is wrong by at most this */
};
struct run_clock {
    const char *reference;          /* host whose clock counts, "" = nothing was measured */
    struct run_clock_point *points; /* ascending t_ns; thinned out while reading. shape (n) */
    int n;
};

/** run_clock_of - the clock of the host; NULL when it was not measured (the reference, or a run on one host). */
const struct run_clock *run_clock_of(const struct run *r, const char *host);
/** run_clock_offset - what to add to a time of the node: on the line between the points around it, beyond the first and
 *  the last as there. c has points. */
int64_t run_clock_offset(const struct run_clock *c, int64_t t_ns);
/** run_clock_error - the largest error of its points. */
int64_t run_clock_error(const struct run_clock *c);
/** run_clock_drift - parts per million by which the node's clock runs slower than the reference, from the first point
 * to the last; *error_ppm from the errors of both. returns 0, or -1 when they lie less than a second apart */
int run_clock_drift(const struct run_clock *c, double *ppm, double *error_ppm);

#endif
