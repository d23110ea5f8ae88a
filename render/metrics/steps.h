/* steps.h - from the steps of all ranks to their parts, waits, phases and skew. */
#ifndef RENDER_METRICS_STEPS_H
#define RENDER_METRICS_STEPS_H

#include "render/metrics/report.h"

/* ---- the parts, in order ---- */

/** breakdown_run - steps common to all ranks, warm-up, step time, parts, waiting and its causes, ranks, straggler.
 *  out      run, n_nodes and labels set by the caller
 *  source   docs/metrics.md#breakdown. Test: tests/unit/test_breakdown.c */
void breakdown_run(struct report *rep, struct run_result *out);

/* The counted steps of all ranks, as breakdown_run found them. */
struct counted {
    int n_ranks;
    const struct run_rank **ranks; /* shape (n_ranks) */
    const uint32_t *index;         /* shape (n_steps)(n_ranks): position in ranks[r]->steps */
    size_t n_steps;
};

/** phases_run - time of every kind of named range, per step and rank.
 *  source   docs/metrics.md#phases. Test: tests/unit/test_phases.c */
void phases_run(struct report *rep, struct run_result *out, const struct counted *c);

/** phases_are_whole - does any named range of the run include what lies inside it, as in traces of other tools? A run
 *  whose ranks have traces of several kinds has both. (phases.c)  Test: tests/unit/test_site.c */
int phases_are_whole(const struct run_result *r);

/** warmup_steps - how many leading steps are warm-up: slower than ratio times the median of the later half, at most
 *  share of all.
 *  x        shape (n), ns
 *  source   docs/metrics.md#warm-up. Test: tests/unit/test_breakdown.c */
size_t warmup_steps(const int64_t *x, size_t n, double ratio, double share);

#endif
