/* reduce.h - the stream of neutral events becomes steps. Every importer (native trace, later Kineto, nsys ...) feeds
 * this one reducer, so that all evidence is measured by the same rule. The renderer uses it when it reads a trace, the
 * collector when it reduces one to a summary (lib/reduce/summary.h). The results are equal.
 *
 * The rule: a rank's steps are the step ranges of one track (thread). Each instant of a step belongs to the
 * innermost range of that track with a known category. What none covers is overhead. Communication on other tracks,
 * and communication beside all tracks (a process range, such as a bucket of gradients in flight), costs only the
 * time that the step's own track waits for it. The rest is counted as hidden.
 * Memory: steps and collectives up to a limit (REDUCE_MAX_STEPS), one number per step and name, and the ranges inside
 * one step. source: docs/metrics.md#breakdown */
#ifndef DCR_REDUCE_H
#define DCR_REDUCE_H

#include "lib/base/arena.h"

#include <stdint.h>

/* Category of an instant of a step: that of the innermost range with a known category; OTHER if no range covers it. The
 * categories of a step sum to the step exactly. X(id, key in files, name in prose, what it covers) */
#define RUN_CATEGORIES(X)                                                                                   \
    X(CAT_COMPUTE, "compute", "compute", "forward, backward, optimizer")                                    \
    X(CAT_COMM, "communication", "communication", "exposed collective communication, transfer and waiting") \
    X(CAT_DATA, "data", "data loading", "waiting for and preparing the batch")                              \
    X(CAT_IO, "io", "I/O", "checkpoints and other file writes")                                             \
    X(CAT_COPY, "copy", "copies", "host-to-device copies")                                                  \
    X(CAT_OTHER, "other", "unnamed time", "step time in no named phase")

enum category {
#define X(id, key, name, covers) id,
    RUN_CATEGORIES(X)
#undef X
        N_CATEGORIES
};
/** category_key - "compute", "communication", ... as in report.json. */
const char *category_key(enum category c);

/* One optimiser step on one rank. */
struct step_record {
    int64_t step;                  /* number counted by the program, from 0 */
    int64_t start_ns, step_ns;     /* step_ns > 0 */
    int64_t part_ns[N_CATEGORIES]; /* exclusive; sum == step_ns */
    int64_t hidden_comm_ns;        /* communication in flight while this step's own thread did something else */
    int64_t bytes;                 /* sent into collectives; 0 = not recorded */
    int64_t samples;               /* -1 = not recorded */
    int64_t runtime_ns;            /* time of the host in calls of the GPU's runtime, any thread; 0 unless
                                    * reduced.has_runtime */
    uint32_t first_collective, n_collectives;
    int is_summed; /* only the sums of some of its collectives are known, in part_ns and bytes: n_collectives is 0 */
};

/* The ranges of one name and category on a rank's step track: time in which they were innermost, so that the phases of
 * a category sum to it. From steps.csv: the values of its columns. */
struct run_phase {
    const char *name;
    enum category category;
    int64_t *ns; /* shape (n_steps); 0: no such range in that step */
    /* Only for traces of other tools (render/device/stepranges.h): */
    int is_whole;    /* ns: from begin to end, with the ranges inside; category N_CATEGORIES: the name has no
                      * category */
    int64_t *gpu_ns; /* from the first to the last operation launched inside. shape (n_steps); NULL = not known, */
    int gpu_why;     /* why it is not known: a code of render/model/reason.h; 0 = no trace of a GPU */
};

/* A part of a step in which one phase was innermost throughout, if it is long enough for readings of a monitor. */
struct phase_stretch {
    int64_t from_ns, to_ns;
    int phase; /* index into the phases */
};
#define REDUCE_STRETCH_NS 40000000 /* shorter ones are not kept: the shortest useful interval of a monitor is 20 ms */
#define REDUCE_MAX_STRETCHES 2048  /* the first ones are kept */

/* One collective call of one rank; the k-th of a step is the same operation on all ranks. */
struct collective {
    int64_t dur_ns;
    /* The rank's time since its previous collective ended (or since its first step began), by category: the upstream
     * causes of a late arrival. since_ns[CAT_COMM] is unused; outside_ns is time between steps (validation,
     * logging). */
    int64_t since_ns[N_CATEGORIES];
    int64_t outside_ns;
};

#define RUN_MAX_PHASES 32
/* End of the phase name for calls on files inside a range of data loading: "data_load: files". */
#define REDUCE_FILES ": files"

/* Longest step or phase (2.4 hours) and latest time accepted: sums over a million steps stay within 64 bits. */
#define RUN_MAX_STEP_NS (INT64_MAX / 1048576)
#define RUN_MAX_TIME_NS (INT64_MAX / 4)

/* The steps of a run of several months do not fit into memory. Above this number only every second step is kept, then
 * every fourth, and so on. */
#define REDUCE_MAX_STEPS (1 << 18)
#define REDUCE_MAX_COLLECTIVES (1 << 21) /* over all kept steps; above it fewer steps are kept too */

/* Totals over all steps of a run that keeps only some of them. */
struct steps_seen {
    int64_t every; /* the first step of each group of this many numbers is kept; 0 = all are kept */
    int64_t n, ns; /* number and summed time of all steps; 0 if all are kept */
};

/* Result of reducing one trace: the steps of its best track (thread). Arrays belong to the given arena. */
struct reduced {
    struct step_record *steps; /* ascending step number */
    size_t n_steps;
    struct steps_seen seen;
    struct collective *collectives;
    size_t n_collectives;
    struct run_phase *phases; /* in order of appearance; names beyond RUN_MAX_PHASES are not kept */
    int n_phases;
    struct phase_stretch *stretches; /* ascending; none if the steps were timed on GPUs. shape (n_stretches) */
    size_t n_stretches;
    int64_t outside_ns[N_CATEGORIES]; /* between the first step's start and the last one's end, not in steps */
    int64_t validation_ns;            /* part of the time outside steps */
    int64_t wall_ns;                  /* first step start to last step end */
    int64_t *loading_ns;              /* reading inside ranges of data loading, by event.file - 1. shape: (n_loading) */
    size_t n_loading;                 /* number of files */
    uint32_t track;                   /* track of the steps; not kept in a summary */
    int n_gpus;      /* number of GPUs of the process with kernels if the steps were timed on GPUs; 0 = on the host */
    int has_runtime; /* runtime_ns of the steps is known */
    int is_by_hook;  /* the steps were marked by the hook, not by the program */
    int is_hidden_unknown; /* hidden_comm_ns is too small: single calls that it needs were dropped */
    int is_last_left_out;  /* one last step was left out because the time of its exchange of gradients is missing */
};

enum event_kind {
    EVENT_NONE = 0,   /* known range that is not part of the breakdown (epoch, names of the program) */
    EVENT_STEP,       /* number = step number, -1 = not said */
    EVENT_PHASE,      /* category; bytes of a collective */
    EVENT_VALIDATION, /* everything inside it is outside the steps */
    EVENT_BATCH,      /* a step if a range named "optimizer" is in it, else time between steps; number as for a step */
    EVENT_EXCHANGE,   /* not a range: how long the backward pass of the last step exchanged gradients, in ns as number.
                       * is_beside: the pass computed meanwhile, else it waited */
};

/* Maker of a range. A range inside one of an earlier maker in this list and of the same category counts as time of that
 * one. So do calls on files inside any range. */
enum event_maker {
    EVENT_BY_PROGRAM,
    EVENT_BY_HOOK,     /* the collector's hook in PyTorch (collect/python) */
    EVENT_BY_RECORDER, /* an observed call of MPI or on a file */
};

struct event {
    uint32_t track;
    enum event_kind kind;
    enum category category; /* of EVENT_PHASE */
    int depth;              /* 0 = outermost on its track: nothing before it can matter later */
    int is_beside;          /* a range of the process, not of the thread: in flight whatever the thread does */
    int is_sum;             /* of EVENT_PHASE: not one range, but all dropped ranges of a name, end to end */
    int is_batch;           /* of EVENT_STEP: a step only until another kind of step is found ("batch 7",
                             * step_name.h) */
    enum event_maker maker;
    int64_t start_ns, end_ns;
    int64_t number;
    int64_t bytes;    /* 0 = not said */
    uint32_t file;    /* number of the file that this call read, from 1, as the caller counts files; 0 = no such call */
    const char *name; /* of the range, borrowed during the call; NULL or "" = none */
};

/** event_classify - the meaning of a range, from its category, else from its name (docs/FORMAT.md, and names other
 * programs use).
 *  category, name  "" = none; case is ignored
 *  out             the category of a phase */
enum event_kind event_classify(const char *category, const char *name, enum category *out);
/** event_numbered_step - is this the name of a step with more text ("step 12", "epoch 3 iter_12", step_name.h)? Such
 * ranges are steps. They are counted in order, because programs restart the numbers with each epoch.
 *  returns  the name without the number as in docs/FORMAT.md ("step"); NULL if it is not a step or only the bare
 *           word */
const char *event_numbered_step(const char *name);

struct reducer;
/** reduce_new - gives; free with reduce_free. */
struct reducer *reduce_new(void);
/** reduce_until - leave out steps that end after until_ns, because they were not recorded completely. Call before the
 * first event. */
void reduce_until(struct reducer *d, int64_t until_ns);
/** reduce_event - takes one complete range. Events of a track come ordered by end (children before parents). */
void reduce_event(struct reducer *d, const struct event *e);
/** reduce_finish - write steps, collectives, phases, outside, validation and wall time into out (arrays in a). Replaces
 *  what was there when this reducer has more steps; otherwise leaves out alone.
 *  returns  1 when out was written */
int reduce_finish(struct reducer *d, struct dcr_arena *a, struct reduced *out);
/** reduce_overflow - number of ranges that were skipped because one step held more than a million. */
uint64_t reduce_overflow(const struct reducer *d);
/** reduce_looks - how many tracks were searched to find those of the events so far, for tests. */
uint64_t reduce_looks(const struct reducer *d);
void reduce_free(struct reducer *d);

#endif
