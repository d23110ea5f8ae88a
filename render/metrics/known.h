/* known.h - which parts of a step and which classes are known of a run or a point. */
#ifndef RENDER_METRICS_KNOWN_H
#define RENDER_METRICS_KNOWN_H

#include "render/metrics/report.h"

/** is_one_of_many - has the run the trace of one rank only, which exchanged data with others? Then how much of its
 *  communication is waiting for those is not known. Test: tests/unit/test_narrate.c */
int is_one_of_many(const struct run_result *r);

/** is_part_known - has the run this part by itself? Not when nothing of it was recorded: its class is n/a then; but of
 *  communication one rank alone has none, which is known. The
 * trace of one rank of many does not tell waiting from transfer: all its exposed communication stands in PART_TRANSFER
 *  then, under another name (run_part_name). After rules. */
int is_part_known(const struct run_result *r, enum part p);

/** class_of_part - the class that says why a part is n/a. */
enum cause_class class_of_part(enum part p);

/** is_point_part_known - has any run of the point? */
int is_point_part_known(const struct report *rep, const struct series_point *p, enum part part);

/** known_parts, known_point_parts, known_loss_parts - bit p: is_part_known of enum part p; of a point, of any of its
 *  runs; of a loss, of either of its points. What is not known is 0 in sums and n/a or null where it is shown.
 *  After rules. Test: tests/unit/test_narrate_runs.c */
unsigned known_parts(const struct run_result *r);
unsigned known_point_parts(const struct report *rep, const struct series_point *p);
unsigned known_loss_parts(const struct report *rep, const struct series *s, const struct series_loss *l);

/** run_part_name - part_name, or what stands there instead: "communication". */
const char *run_part_name(const struct run_result *r, enum part p);

/** run_class_name - class_words in a table; but "Communication" instead of "Transfer" for a run in which transfer and
 * waiting cannot be told apart. */
const char *run_class_name(const struct run_result *r, enum cause_class c);

#endif
