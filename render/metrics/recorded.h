/* recorded.h - which part of a run was recorded, and what was lost. */
#ifndef RENDER_METRICS_RECORDED_H
#define RENDER_METRICS_RECORDED_H

#include "render/metrics/report.h"

/** rank_watched_ns - time that a rank's processes ran, by their monitor. unit: ns; 0 = not known. (recorded.c) */
int64_t rank_watched_ns(const struct run_rank *k);

/** rank_lost_events - are host events missing in the rank's traces? GPU activity that CUPTI lost does not count.
 *  rank_lost_sums: are they missing in sums by name and call too? rank_lost_steps: in its steps, which are then those
 *  before the loss? (recorded.c) */
int rank_lost_events(const struct run_rank *k);
int rank_lost_sums(const struct run_rank *k);
int rank_lost_steps(const struct run_rank *k);

/** lost_steps - are steps of the run from traces, and lack events? (recorded.c) */
int lost_steps(const struct run *a);

/** recorded_of_rank - time in which calls and ranges of a rank were recorded. It is the time that the window
 * (--steps, --delay ...) was open by the rank's trace, or the whole run without a window. Times count from the first
 * sample of the rank's process. (recorded.c) */
struct recorded_rank {
    int64_t ns; /* 0 = not known, or the window never opened */
    int64_t from_ns, to_ns;
};
struct recorded_rank recorded_of_rank(const struct run_rank *k);

/** recorded_part - the same for all ranks. Sums of recorded calls are divided by `ns` and by nothing else. (recorded.c)
 */
struct recorded {
    int is_part;            /* a window was asked for */
    int64_t ns;             /* summed over the ranks; 0 = not known, or is_never_open */
    int is_never_open;      /* the window opened on no rank */
    int64_t watched_ns;     /* time that the processes ran, summed over all ranks; 0 = not known */
    int64_t from_ns, to_ns; /* when the window first opened and last closed, from the start of the ranks */
    int n_ranks_lost;       /* ranks with missing events */
    int n_ranks_lost_sums;  /* of those: where sums by name and call lack them */
    uint64_t n_lost;        /* missing events; 0 for damaged traces */
    int64_t lost_from_ns;   /* since when they are missing, from the start of the ranks; -1 = not known */
    struct reason why;      /* sums of calls are not valid */
};
struct recorded recorded_part(const struct run *a);

/** whole_run_ns - how long the ranks' processes ran, start and end included: the mean over the ranks of a complete run.
 *  0 = not known. The monitor looks at a process every tenth of a second, which is too seldom to compare runs of less
 *  than LEAST_RUN_NS. */
enum { LEAST_RUN_NS = 1000000000 };
double whole_run_ns(const struct run *a);

/** recording_cost - what the recording itself cost. Inside the program: estimated from the numbers of recorded events
 * and the cost of one on a test machine (docs/performance.md). Beside it: the processor time of the collectors, as
 * measured. Test: tests/unit/test_recorded.c */
struct recording_cost {
    int has;          /* the run was recorded by dccollect, and the time of its ranks is known */
    int64_t n_events; /* ranges, calls of MPI and on files, all ranks */
    int64_t ns;       /* summed over the ranks */
    double ratio;     /* of the recorded time of all ranks */
    int has_cpu;      /* the archive has the processor time of the collectors */
    int64_t cpu_ns;
    double cpu_ratio; /* of the time that the processes of all ranks ran */
};
struct recording_cost recording_cost(const struct run *a);

/** recorded_noun - "the run", "the recorded part of the run". */
const char *recorded_noun(const struct run *a);

/** window_said - how long the recorded part of a run with a window is, and where it lies. */
struct window_said {
    struct phrase length, between;
};
struct window_said window_said(const struct run *a);

/** lost_events - how many events are missing in the run's traces, and since when; PHRASE_NONE = none. */
struct phrase lost_events(const struct run *a);

/** steps_of_lost - what that means for its steps; PHRASE_NONE = nothing. */
struct phrase steps_of_lost(const struct run_result *r);

#endif
