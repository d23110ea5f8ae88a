/* known.h - the parts of a step and the classes that are known for a run or a point. */
#ifndef RENDER_METRICS_KNOWN_H
#define RENDER_METRICS_KNOWN_H

#include "render/metrics/report.h"

/** is_one_of_many - has the run the trace of one rank only, which exchanged data with others? Then the part of its
 *  communication that is waiting for them is unknown. Test: tests/unit/test_narrate.c */
int is_one_of_many(const struct run_result *r);

/** is_of_messages - is most of the transfer of several ranks in messages between two ranks? Then it is an upper bound.
 *  source docs/metrics.md#breakdown. Test: tests/unit/test_narrate_series.c */
int is_of_messages(const struct run_result *r);

/** waits_mostly_for - is more than half of a step's waiting for this work of the late rank? CAT_COMM: work between
 * steps; CAT_OTHER: unnamed time. Test: tests/unit/test_narrate.c */
int waits_mostly_for(const struct run_result *r, enum category c);

/** waited_for_one - how much of all waiting one rank causes: the one that causes most. returns 0 to 1; 0: no rank
 * waits. Test: tests/unit/test_narrate.c, tests/unit/test_cores.c */
double waited_for_one(const struct run_result *r);

/** can_exchange - has a point other ranks to exchange with? A collective of one rank with itself takes time, but it is
 *  no communication that other points could add to. Test: tests/unit/test_narrate_series.c */
int can_exchange(const struct report *rep, const struct series_point *p);

/** is_part_known - does the run have a value for this part? Not if the part was not recorded: then its class is n/a. A
 *  single rank has no communication, which counts as known. The trace of one rank of many does not tell waiting from
 *  transfer: then PART_TRANSFER holds all its exposed communication, under another name (run_part_name). After rules.
 */
int is_part_known(const struct run_result *r, enum part p);

/** class_of_part - the class that says why a part is n/a. */
enum cause_class class_of_part(enum part p);

/** is_point_part_known - has any run of the point? */
int is_point_part_known(const struct report *rep, const struct series_point *p, enum part part);

/** known_parts, known_point_parts, known_loss_parts - bit p: is_part_known of enum part p; for a point, of any of its
 *  runs; for a loss, of either of its points. What is not known is 0 in sums and n/a or null where it is shown. After
 *  rules. Test: tests/unit/test_narrate_runs.c */
unsigned known_parts(const struct run_result *r);
unsigned known_point_parts(const struct report *rep, const struct series_point *p);
unsigned known_loss_parts(const struct report *rep, const struct series *s, const struct series_loss *l);

/** run_part_name - part_name, or the name used instead: "communication". */
const char *run_part_name(const struct run_result *r, enum part p);

/** run_class_name - class_words in a table; but "Communication" instead of "Transfer" for a run in which transfer and
 * waiting cannot be told apart. */
const char *run_class_name(const struct run_result *r, enum cause_class c);

/** is_gain_of_exchange - does a saving of gain_ns in communication contain more than transfer, in a run that tells
 *  transfer from waiting? */
int is_gain_of_exchange(const struct run_result *r, int64_t gain_ns);

#endif
