/* ranking.h - many runs that are no series: which is worst, and in what. Inside render/findings. Test:
 * tests/unit/test_narrate_runs.c */
#ifndef RENDER_FINDINGS_RANKING_H
#define RENDER_FINDINGS_RANKING_H

#include "render/metrics/report.h"

/** ranking_gain - the largest predicted gain of the run's claims.
 *  returns  share of a step; -1: no claim, or no gain is known */
double ranking_gain(const struct report *rep, const struct run_result *r);

/** ranking_first - the run with which a report on several configurations leads: the one with the largest predicted gain
 *  as a share of a step; without gains the one whose GPU idles most; without GPUs the last. Runs of low confidence come
 *  after all others, and runs with only one counted step come last.
 *  returns  index into runs */
int ranking_first(const struct report *rep);

/** ranking_text - "By what can be gained: A (about 3.10x, estimate), B (up to 4.50x, low confidence). Most idle GPU: C,
 *  97 % of its span. Most communication: ...", over all runs; "" = nothing to rank. Shares up to loss_matters are left
 *  out.
 *  returns  gives; lives as long as the report */
const char *ranking_text(struct report *rep);

/** ranking_name - the name of a run inside a sentence: "'resnet50'" for "Run resnet50", else its label. */
const char *ranking_name(struct report *rep, const struct run_result *r);

#endif
