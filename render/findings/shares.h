/* shares.h - the share that a sentence gives to a cause, and the one in the breakdown: either both are equal, or both
 * are stated. Test: tests/unit/test_narrate.c */
#ifndef RENDER_FINDINGS_SHARES_H
#define RENDER_FINDINGS_SHARES_H

#include "render/metrics/report.h"
#include "render/say/format.h"

/** share_before - "On 2 nodes, waiting took 12 %.": how the share of some parts was at the next smaller node count;
 * none where there is no such count. */
struct phrase share_before(const struct report *rep, const struct run_result *r, enum part a, enum part b);
/** share_said - a share of step time, for a sentence on a class: for data loading and I/O with the waiting that they
 *  cause on other ranks, unless that is too little to tell the two apart; else the share of said_ns. */
double share_said(const struct run_result *r, const struct class_result *c);
/** is_share_with_waiting - does the stated share of a class include the waiting that it causes on other ranks? */
int is_share_with_waiting(const struct run_result *r, enum cause_class cls);
/** share_name - the name of the share that claimed_interval bounds: "data loading with the waiting it causes",
 *  "compute". */
const char *share_name(struct report *rep, const struct run_result *r, enum cause_class cls);
/** on_its_rank - `what`, or "data loading on rank 1" if one rank alone has this cause: each other rank loads or uses
 *  files for at most a tenth of its time. Other causes are never of one rank here. */
const char *on_its_rank(struct report *rep, const struct run_result *r, enum cause_class cls, const char *what);
/** said_ns - the time of a step in a sentence on a class: all communication for CLASS_COMMUNICATION, all waiting for
 *  imbalance if its own share prints the same, else the class's own time. */
int64_t said_ns(const struct run_result *r, const struct class_result *c);

/** share_of_median_step - the share in the median step, if there are few steps and a single slow one sets the mean;
 *  else none. None for causes that are not parts of a step. */
struct phrase share_of_median_step(const struct report *rep, const struct run_result *r, enum cause_class cls);

/** judged_share, judged_threshold - the quantity that a class was judged by, and its threshold: "34 %" of step time,
 * "85 % of bandwidth"; "" = none. */
struct fmt judged_share(const struct class_result *c);
struct fmt judged_threshold(const struct class_result *c);
/** verdict_said - "not judged", "fine", "watch", "limits". */
const char *verdict_said(enum verdict v);

#endif
