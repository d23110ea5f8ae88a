/* reduce.h - the stream of neutral events becomes steps. Every importer (native trace, later Kineto, nsys ...) feeds
 * this one reducer, so that all evidence is measured by the same rule.
 *
 * The rule: a rank's steps are the step ranges of one track (thread). Each instant of a step belongs to the innermost
 * range of that track with a known category; what none covers is overhead. Communication on other tracks, and
 * communication that lies beside all of them (a process range: a bucket of gradients under way), costs only what the
 * step's own track waits for; the rest is counted as hidden.
 * Memory: steps and collectives, one number per step and name, and the ranges inside one step.
 * source: docs/metrics.md#breakdown */
#ifndef RENDER_MODEL_REDUCE_H
#define RENDER_MODEL_REDUCE_H

#include "render/model/build.h"

enum event_kind {
    EVENT_NONE = 0,   /* known range that says nothing about the breakdown (epoch, names of the program) */
    EVENT_STEP,       /* number = step number, -1 = not said */
    EVENT_PHASE,      /* category; bytes of a collective */
    EVENT_VALIDATION, /* all inside it is outside the steps */
};

struct event {
    uint32_t track;
    enum event_kind kind;
    enum category category; /* of EVENT_PHASE */
    int depth;              /* 0 = outermost on its track: nothing before it can matter later */
    int is_beside;          /* a range of the process, not of the thread: under way, whatever the thread does */
    int is_observed; /* seen by the recorder, not named by the program: a call of MPI or on a file. Inside a range
                         of the same category, and file calls inside any, it is that range's time */
    int64_t start_ns, end_ns;
    int64_t number;
    int64_t bytes;    /* 0 = not said */
    const char *name; /* of the range, borrowed during the call; NULL or "" = none */
};

/** event_classify - what a range means, by its category, else by its name (docs/FORMAT.md, and names other programs
 * use). category, name  "" = none; case is ignored out      the category of a phase */
enum event_kind event_classify(const char *category, const char *name, enum category *out);

struct reducer;
/** reduce_new - gives; free with reduce_free. */
struct reducer *reduce_new(void);
/** reduce_event - one complete range. Events of a track come ordered by end (children before parents). */
void reduce_event(struct reducer *d, const struct event *e);
/** reduce_finish - write steps, collectives, outside, validation and wall time into rank (arrays in a). Replaces what
 *  was there when this reducer has more steps; otherwise leaves rank alone.
 *  returns  1 when rank was written */
int reduce_finish(struct reducer *d, struct dcr_arena *a, struct run_rank *rank);
/** reduce_overflow - ranges not looked at because one step held more than a million. */
uint64_t reduce_overflow(const struct reducer *d);
void reduce_free(struct reducer *d);

#endif
