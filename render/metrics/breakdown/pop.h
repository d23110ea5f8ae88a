/* pop.h - POP efficiencies. */
#ifndef RENDER_METRICS_POP_H
#define RENDER_METRICS_POP_H

#include "render/metrics/report.h"

/** pop_nodes - the load balance of p as a product of that within nodes and that between them, as TALP splits it.
 *  useful   as of pop_of; shape (n)
 *  node     of each rank, -1 not known; shape (n)
 *  source   docs/metrics.md#pop. Test: tests/unit/test_pop.c */
void pop_nodes(struct pop *p, const int64_t *useful, const int *node, int n);

/** pop_counters - point->counters of a series, by the processor's counters of its runs.
 *  source   docs/metrics.md#pop. Test: tests/unit/test_pop.c */
void pop_counters(struct report *rep, struct series *s);

/** pop_of - POP efficiencies of n workers: ranks, or GPUs.
 *  useful, total   shape (n): ns over the counted steps; of ranks the time outside communication, of GPUs that in which
 *                  they compute
 *  busy            shape (n): of GPUs, the time in which anything runs on them; NULL: the workers are ranks
 *  transfer_ns     mean over workers of exposed transfer, same window
 *  source   docs/metrics.md#pop. Test: tests/unit/test_pop.c */
struct pop pop_of(const int64_t *useful, const int64_t *busy, const int64_t *total, int n, int64_t transfer_ns,
                  int64_t n_steps);

/** pop_ratios - all ratios of p except those of scaling, from its times. Their products are exact. */
void pop_ratios(struct pop *p);

#endif
