/* claims.h - the parts of narrate(): claims about runs and series, and the sentences at the top. */
#ifndef RENDER_FINDINGS_CLAIMS_H
#define RENDER_FINDINGS_CLAIMS_H

#include "render/metrics/report.h"

/** claims_of_runs - one claim per limiting class and run, ordered by predicted gain; headline and support of each run.
 */
void claims_of_runs(struct report *rep);
/** claim_that_saves_more - index of the first claim of run r if its removal saves more than that of the claim about
 *  scaling, by over gain_limits of a step; else -1. Shared cores and compute do not count. Test:
 * tests/unit/test_narrate_series.c */
int claim_that_saves_more(const struct report *rep, const struct run_result *r, const struct claim *scaling);
/** claims_of_series - what limits scaling in each series, and its texts. After claims_of_runs. */
void claims_of_series(struct report *rep);
/** top_sentences - headline, support, first action, confidence and verdict of the whole report. */
void top_sentences(struct report *rep);
struct comparison;
/** top_of_comparison - the same if runs were compared: the change comes first, then what limits now. */
void top_of_comparison(struct report *rep, const struct comparison *c);
/** top_of_changes - the same if names were compared, but no steps. */
void top_of_changes(struct report *rep);

/** say_how_sure - rep->sure, how_sure and confidence: of series s (NULL: of run r alone) and the claim c that comes
 * first (NULL: none). (sure.c) */
void say_how_sure(struct report *rep, const struct series *s, const struct run_result *r, const struct claim *c);

/** claim_add - a zeroed claim at the end of rep->claims; valid until the next call. */
struct claim *claim_add(struct report *rep);
/** claim_number - attach a number to the newest claim. */
void claim_number(struct report *rep, struct claim *c, const char *id, const char *unit, double value);

/** claim_grounds - c->grounds, window and place: the steps of r that a claim is about, and where the cause cls takes
 *  most of their time. (grounds.c)  Test: tests/unit/test_grounds.c */
void claim_grounds(struct report *rep, struct claim *c, const struct run_result *r, enum cause_class cls);

/** shared_numbers - what kept this run's ranks from their cores, as numbers of the newest claim. (shared_words.c) */
void shared_numbers(struct report *rep, struct claim *c, const struct run_result *r);
/** is_gain_of_cores_told - do the times tell what a core for each rank would save? Not if the gain is below
 * loss_matters: if ranks never had the cores to themselves, all their times contain waiting. */
int is_gain_of_cores_told(const struct report *rep, const struct run_result *r);

/** confidence_of - how reliable the comparison of a share of this run with a threshold is, and why it is not more
 *  reliable. */
enum confidence confidence_of(struct report *rep, const struct run_result *r, struct interval i, double threshold,
                              const char **because);
/** confidence_of_share - the same for a share that its sentence calls differently: "the share with that waiting".
 *  is_interval  gets 1 if the reason states the interval */
enum confidence confidence_of_share(struct report *rep, const struct run_result *r, const char *share,
                                    struct interval i, double threshold, const char **because, int *is_interval);
/** confidence_without_steps - the same for the statements of say_without_steps about a run without known steps. */
enum confidence confidence_without_steps(struct report *rep, const struct run_result *r, const char **because);
/** nodes_text - "4 nodes", "1 node". */
const char *nodes_text(struct report *rep, int n_nodes);
/** claim_gain_text - "about 29.0 ms of 184 ms a step (1.19x, estimate)", "up to 29.0 ms of 184 ms a step (1.19x)" of a
 * claim with action, gain_ns and step_ns; if it is_measuring, "would measure about 41.0 ms instead of 45.0 ms a step
 * (estimate)". Test: tests/unit/test_narrate.c */
const char *claim_gain_text(struct report *rep, const struct claim *c);
/** is_part_of_gain - does the action save a part of the stated gain? That gain is of removing all communication. Most
 * advice against it removes a part, but using one rank removes all, and looking removes none. */
int is_part_of_gain(const struct claim *c);
/** is_advice_to_look - does the action only find out more? Then it saves nothing by itself. */
int is_advice_to_look(const struct claim *c);
/** previous_point - the point of r's series with the next smaller node count, NULL when there is none. */
const struct series_point *previous_point(const struct report *rep, const struct run_result *r);
/** claim_trial - the advised change to try against a claim, for its run (in a series, the largest run). NULL: there is
 *  none; only communication has such changes.
 *  Test: tests/unit/test_trials.c */
const struct trial *claim_trial(const struct report *rep, const struct claim *c);
/** claim_expected - "The median step should take about 101 ms instead of 178 ms (estimate)." of such a trial; ""
 *  without a forecast. */
const char *claim_expected(struct report *rep, const struct claim *c);
/** action_sentence - "Give ... (dcrnn-train)", first letter large, no full stop. */
const char *action_sentence(struct report *rep, struct action a);

/** say_what_to_do_without_steps - fills r->steps_action; for a run without steps also advised, stepless_action and
 *  stepless_advice. */
void say_what_to_do_without_steps(struct report *rep, struct run_result *r);

/** are_steps_missed - could a run without steps have had them? No for a benchmark's log, a few kernels, samples alone
 *  or an MPI program that does not look like training. Test: tests/unit/test_narrate.c */
int are_steps_missed(const struct run_result *r);

/** is_mostly_unnamed - are more of the steps in no named phase than in compute? Then nothing was ruled out. Always 0
 *  for steps that may show no more than enqueueing. */
int is_mostly_unnamed(const struct run_result *r);

#endif
