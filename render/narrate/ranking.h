/* ranking.h - many runs that are no series: which is worst, and in what. Inside render/narrate. Test:
 * tests/unit/test_narrate_runs.c */
#ifndef RENDER_NARRATE_RANKING_H
#define RENDER_NARRATE_RANKING_H

#include "render/analyse/report.h"

/** ranking_gain - the most that any claim of the run promises.
 *  returns  share of a step; -1: no claim, or no gain is known */
double ranking_gain(const struct report *rep, const struct run_result *r);

/** ranking_first - the run that a report on several configurations is about: the one in which a claim promises
 *  the largest share of a step; without any such claim the one whose GPU idles most; without GPUs the last. A run of
 *  low confidence comes behind all others, and one of which one step was counted behind those.
 *  returns  index into runs */
int ranking_first(const struct report *rep);

/** ranking_text - "By what can be gained: A (about 3.10x, estimate), B (up to 4.50x, low confidence). Most idle GPU: C,
 * 97 % of its span. Most communication: ...": over all runs; "" nothing to rank. Shares up to loss_matters are left
 *  out.
 *  returns  gives; lives as long as the report */
const char *ranking_text(struct report *rep);

/** ranking_name - how a run is called within a sentence: "'resnet50'" of "Run resnet50", else its label. */
const char *ranking_name(struct report *rep, const struct run_result *r);

#endif
