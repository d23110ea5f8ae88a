/* run_said.h - statements about a run with steps: findings with the sentences that support them. */
#ifndef RENDER_FINDINGS_RUN_SAID_H
#define RENDER_FINDINGS_RUN_SAID_H

#include "render/metrics/report.h"

#include <stdbool.h>

/** said_where - "4 nodes" for the headline of a run if the report has runs of several counts; else none. */
struct slot said_where(const struct report *rep, const struct run_result *r);
/** said_of_class - of a class that limits the run. Test: tests/unit/test_narrate.c */
struct said said_of_class(struct report *rep, const struct run_result *r, const struct class_result *k);
/** said_of_shared - of ranks that share their cores or are kept from them. (shared_words.c) */
struct said said_of_shared(const struct report *rep, const struct run_result *r);
/** said_of_nothing - of a run in which no cause limits. */
struct said said_of_nothing(struct report *rep, const struct run_result *r);
/** phrase_of_communication - is communication the cause? Its time in a step of a run or point; none for one rank, and
 *  if it was not judged. Test: tests/unit/test_narrate_runs.c */
struct phrase phrase_of_communication(const struct run_result *r, const int64_t part_ns[N_PARTS], int64_t step_ns);
struct file_time;
/** where_files_are - the file or the folder with most of the time in all calls on files; none if that is spread.
 *  (waiting.c)  Test: tests/unit/test_narrate.c */
struct phrase where_files_are(struct report *rep, const struct file_time *f);
/** phrase_of_small_messages - the call and the size of its messages, if those are small and many; else none. */
struct phrase phrase_of_small_messages(const struct run_result *r);
/** said_some - said_add, but no fourth sentence: that is too long for a paragraph. */
void said_some(struct said *s, struct phrase p);
/** said_of_end - inserts the sentence that a run ended badly: at index `at`, or behind sentences there that continue
 * the headline.
 *  most   number of sentences to keep; the last one is dropped if there are more
 *  ended  none: nothing is inserted */
void said_of_end(struct said *s, int at, int most, struct phrase ended);
/** said_of_loss - that events of its steps were lost; in place of the third sentence if there is one. */
void said_of_loss(struct said *s, const struct run_result *r);
/** said_other_cause - "The largest other cause is data loading: 34 % of a step." */
struct phrase said_other_cause(const struct run_result *r, const struct class_result *k);
/** said_why - those sentences of another finding that can stand without its headline. */
void said_why(struct said *s, const struct said *of);
/** phrase_of_step - "A step takes 32.3 ms instead of 81.7 ms on 1 node." */
struct phrase phrase_of_step(const struct report *rep, const struct run_result *r);
/** say_judged - r->judged and its text: the next limit, unless r->said has it, what was ruled out and what could not be
 *  judged, by reason. */
void say_judged(struct report *rep, struct run_result *r);
/** next_of_run - the class of the next limit that r->judged names first; N_CLASSES: it names none. */
enum cause_class next_of_run(const struct report *rep, const struct run_result *r);
/** n_judged - how many of these sentences come before those of what could not be judged.  judged  shape (JUDGED_MAX) */
int n_judged(const struct phrase *judged);
/** limits_too - what limits a run besides the cause of an answer and the other cause that the answer names. Compute is
 *  the work itself, and is not named.   said  the answer: of the run or of its series */
struct phrase limits_too(struct report *rep, const struct run_result *r, enum cause_class cls, const struct said *said);

/** phrase_of_waiting - what the last rank was doing for most of the waiting; none without waiting. (waiting.c)  Test:
 *  tests/unit/test_gain.c */
struct phrase phrase_of_waiting(const struct report *rep, const struct run_result *r);
/** phrase_of_alone - for which share of a step, or of a run without steps, a rank works alone while the others wait.
 *  whole_ns  a step, or the mean recorded time of a rank. (waiting.c)  Test: tests/unit/test_narrate.c */
struct phrase phrase_of_alone(struct report *rep, const struct run_result *r, int64_t whole_ns);
/** is_in_turn - do the ranks work one after the other, as in a chain of messages? Their work is alike and its sum is
 * the step, transfer is short, and the others wait for the last rank for about half of the step.  (waiting.c) source
 * docs/metrics.md#straggler. Test: tests/unit/test_narrate_series.c */
bool is_in_turn(const struct report *rep, const struct run_result *r);
/** may_be_in_turn - the same for messages, in which waiting looks like transfer: the work is alike and its sum is
 * nearly the step. (waiting.c) source docs/metrics.md#straggler. Test: tests/unit/test_narrate_series.c */
bool may_be_in_turn(const struct run_result *r);
/** phrase_of_split - transfer and waiting of a step; of messages, the most and the least. (waiting.c)
 *  part  ns a step. Test: tests/unit/test_narrate_series.c */
struct phrase phrase_of_split(const struct run_result *r, const int64_t part[N_PARTS]);
/** phrase_of_turns - "The ranks work one after the other: their work adds up to 17.7 ms, and a step takes 17.7 ms.", or
 * that they may; none if they do not. (waiting.c) */
struct phrase phrase_of_turns(const struct report *rep, const struct run_result *r);
/** other_of_two - the rank that is not `rank`, if the run has two; else -1. (waiting.c) */
int other_of_two(const struct run *a, int rank);
/** phrase_of_longer_phase - for a straggler, the phase in which it loses most. (waiting.c) */
struct phrase phrase_of_longer_phase(const struct report *rep, const struct run_result *r);

#endif
