/* shares.h - the share that a sentence gives to a cause, beside the one that the breakdown shows: they are the same
 * number, or both are said. Test: tests/unit/test_narrate.c */
#ifndef RENDER_FINDINGS_SHARES_H
#define RENDER_FINDINGS_SHARES_H

#include "render/metrics/report.h"
#include "render/say/format.h"

/** share_before - "On 2 nodes it was 12 %.": how the share of some parts was at the next smaller node count; none where
 *  there is no such count. */
struct phrase share_before(const struct report *rep, const struct run_result *r, enum part a, enum part b);
/** share_said - of step time, in a sentence on a class: of data loading and I/O with the waiting that they cause on
 * other ranks, unless that is too little to tell the two apart; else of said_ns. */
double share_said(const struct run_result *r, const struct class_result *c);
/** is_share_with_waiting - does what is said of a class hold the waiting that it causes on other ranks? */
int is_share_with_waiting(const struct run_result *r, enum cause_class cls);
/** share_name - what claimed_interval is of: "data loading with the waiting it causes", "compute". */
const char *share_name(struct report *rep, const struct run_result *r, enum cause_class cls);
/** said_ns - the time of a step in a sentence on a class: all communication for CLASS_COMMUNICATION, all waiting for
 *  imbalance if its own share prints the same, else the class's own time. */
int64_t said_ns(const struct run_result *r, const struct class_result *c);

/** share_of_median_step - of few steps of which a single slow one makes the mean; none of others, and of causes that
 * are no parts of a step. */
struct phrase share_of_median_step(const struct report *rep, const struct run_result *r, enum cause_class cls);

/** judged_share, judged_threshold - the quantity that a class was judged by, and its threshold: "34 %" of step time,
 * "85 % of bandwidth"; "" = none. */
struct fmt judged_share(const struct class_result *c);
struct fmt judged_threshold(const struct class_result *c);
/** verdict_said - "not judged", "fine", "watch", "limits". */
const char *verdict_said(enum verdict v);

#endif
