/* ranking.h - many runs that form no series: which is worst, and by which measure. Inside render/findings. Test:
 * tests/unit/test_narrate_runs.c */
#ifndef RENDER_FINDINGS_RANKING_H
#define RENDER_FINDINGS_RANKING_H

#include "render/metrics/report.h"
#include "render/say/format.h"

/** ranking_gain - the largest predicted gain of the run's claims.
 *  returns  share of a step; -1: no claim, or no gain is known */
double ranking_gain(const struct report *rep, const struct run_result *r);

/** ranking_first - the run with which a report on several configurations leads. It is the one with the largest
 * predicted gain as a share of a step, without gains the one whose GPU idles most, and without GPUs the last. Runs of
 * low confidence come after all others, and runs with only one counted step come last.
 *  returns  index into runs */
int ranking_first(const struct report *rep);

/** is_ranked - is this a set of runs of several configurations, none at two node counts? Such runs can only be ranked.
 */
int is_ranked(const struct report *rep);
/** ranking_doubt - the number of runs counted in the headline that have low confidence; PHRASE_NONE: in none. */
struct phrase ranking_doubt(const struct report *rep);
/** ranking_said - findings about such runs together: what limits most of them, and the leading run. Of at most
 *  three runs the others have a sentence each too.
 *  r  the leading run. Test: tests/unit/test_narrate_runs.c */
struct said ranking_said(struct report *rep, const struct run_result *r);
/** ranking_say - rep->ranking: the runs with the most idle GPU, communication and data loading, if two runs or
 *  more have the value. */
void ranking_say(struct report *rep);
/** ranking_gain_text - "up to 4.06x", "about 2.80x, low confidence": how much faster a run would be without its
 *  costliest cause; "" if unknown, or known for one step only. */
struct fmt ranking_gain_text(const struct report *rep, const struct run_result *r);

/** ranking_name - the name of a run inside a sentence: "'resnet50'" for "Run resnet50", else its label. */
const char *ranking_name(struct report *rep, const struct run_result *r);

#endif
