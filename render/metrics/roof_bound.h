/* roof_bound.h - what bounds computing under a roofline: for the steps of a run, and for a kernel by its counters. */
#ifndef RENDER_METRICS_ROOF_BOUND_H
#define RENDER_METRICS_ROOF_BOUND_H

/* X(id, key in report.json, word in tables) */
#define ROOF_BOUNDS(X)                                                                                 \
    X(BOUND_COMPUTE, "compute", "compute")                                                             \
    X(BOUND_MEMORY, "memory", "memory")                                                                \
    X(BOUND_NEITHER, "neither", "neither ceiling: latency, launches or small products") /* of steps */ \
    X(BOUND_LATENCY, "latency", "latency") /* of a kernel that is near neither */
enum roof_bound {
    BOUND_UNKNOWN = 0,
#define X(id, key, word) id,
    ROOF_BOUNDS(X)
#undef X
};
/** roof_bound_key, roof_bound_word - "" of BOUND_UNKNOWN. */
const char *roof_bound_key(enum roof_bound b);
const char *roof_bound_word(enum roof_bound b);

#endif
