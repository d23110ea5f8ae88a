/* gain.h - what removing a cause would save, also where ranks share cores. */
#ifndef RENDER_METRICS_GAIN_H
#define RENDER_METRICS_GAIN_H

#include "render/metrics/report.h"
#include "render/metrics/steps.h"

/* One collective as seen by all ranks, for the critical path. */
struct arrival {
    int64_t part_ns[N_CATEGORIES]; /* of one rank since its previous collective */
    int64_t outside_ns;
    int64_t dur_ns;
    int64_t samples; /* of the rank in that step; <= 0 = not said */
};

/* What the replay removes. */
struct removal {
    int category;     /* enum category whose time is removed, -1 none */
    int is_imbalance; /* compute, copies and overhead become their mean over ranks, loading that of the mean number of
                         samples of a rank */
    int is_transfer;  /* the collective itself costs nothing */
};

/** replay_gain - time saved at one collective: the last arrival with and without what is removed.
 *  a        shape (n_ranks)
 *  returns  ns >= 0
 *  source   docs/metrics.md#predicted-gain. Test: tests/unit/test_breakdown.c */
int64_t replay_gain(const struct arrival *a, int n_ranks, struct removal what);

/** work_run - ranks[].work_ns and work_transfer_ns: per category what a step takes when no neighbour disturbs it (the
 *  shortest of the counted steps; file writes: mean).
 *  source   docs/metrics.md#shared-cores. Test: tests/unit/test_gain.c */
void work_run(struct run_result *out, const struct counted *c);

/** bound_work - the work of a rank that was running or ready to run nearly all the time (docs/metrics.md) is at most
 *  the processor time that it used in a step. Every step may have been disturbed, and then even the shortest one
 *  contains waits for a core.
 *  source   docs/metrics.md#shared-cores. Test: tests/unit/test_gain.c */
void bound_work(struct run_result *r);

/** shared_time - when the last of n pieces of work ends that share cores evenly, each on one core at most (processor
 *  sharing).
 *  work     sorted in place; shape (n), any unit >= 0
 *  cores    > 0
 *  source   docs/metrics.md#shared-cores. Test: tests/unit/test_gain.c */
double shared_time(double *work, int n, double cores);

/** gain_basis_of - is the gain of a class an estimate or an upper bound? Three gains are bounds. A GPU's waiting for
 * its host cannot fall below zero. Cores save at most the time for which threads waited for them. Loading that waits
 * is hidden only by as many workers as load side by side in the rest of a step. All others are replays, models or
 * earlier timings. */
enum gain_basis gain_basis_of(const struct run_result *r, enum cause_class c);

/** gain_when_shared - gain_ns of a run whose ranks shared cores, from their work, because a replay does not contain
 *  waits for a core.
 *  source   docs/metrics.md#shared-cores. Test: tests/unit/test_gain.c */
void gain_when_shared(struct report *rep, struct run_result *r);

/** saved_when_shared - share of a step saved if compute took `ratio` of its time, for ranks that shared cores. From
 *  their work, like gain_when_shared; 0..1
 *  source   docs/metrics.md#predicted-gain. Test: tests/unit/test_rules.c */
double saved_when_shared(struct report *rep, const struct run_result *r, double ratio);

/** others_ratio - share of the cores on which the ranks may run that other programs took, by the nodes' CPU monitors
 * less the CPU time of the ranks. At most 0.95; 0: none, or not measured.
 *  source   docs/metrics.md#shared-cores. Test: tests/unit/test_gain.c */
double others_ratio(const struct run_result *r);

/** uneven_rank - index into ranks of the one that has more work than the others, disturbance by neighbours excluded
 *  (threshold uneven_work), and comes last because of it; -1 none. */
int uneven_rank(const struct report *rep, const struct run_result *r);

/** waiting_when_shared - wait_cause_ns of such a run: waiting that uneven work explains goes to its causes, the rest to
 * all work that had the cores meanwhile, in proportion. Sums to part_ns[PART_WAIT]. Also fills uneven_wait_ns. source
 * docs/metrics.md#shared-cores. Test: tests/unit/test_gain.c */
void waiting_when_shared(const struct report *rep, struct run_result *r);

#endif
