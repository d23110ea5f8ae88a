/* shares.h - the share that a sentence gives to a cause, beside the one that the breakdown shows: they are the same
 * number, or both are said. Test: tests/unit/test_narrate.c */
#ifndef RENDER_NARRATE_SHARES_H
#define RENDER_NARRATE_SHARES_H

#include "render/analyse/report.h"
#include "render/say/format.h"

/** share_trend - ", up from 12 % at 2 nodes": how the share of some parts was at the next smaller node count; "" there
 *  is none. gives; lives as long as the report, as all of these */
const char *share_trend(struct report *rep, const struct run_result *r, enum part a, enum part b);
/** share_own_and_caused - of data loading and I/O: "6.8 % of the step time (3.4 ms of 50.0 ms) is data loading, up from
 *  3.1 % at 2 nodes, and 13 % with the waiting that it causes on other ranks": what the breakdown shows comes first,
 *  then what the class is judged by. Calls on files while loading stand there under data loading and are judged as I/O,
 *  which is said. */
const char *share_own_and_caused(struct report *rep, const struct run_result *r, const struct class_result *c,
                                 int has_trend);
/** share_of_class - "6.8 % of step time, 13 % with the waiting it causes"; "13 %" where both are one number. of: " of
 * step time" or "". */
const char *share_of_class(struct report *rep, const struct run_result *r, const struct class_result *c,
                           const char *of);
/** is_share_with_waiting - does what is said of a class hold the waiting that it causes on other ranks? */
int is_share_with_waiting(const struct run_result *r, enum cause_class cls);
/** share_name - what claimed_interval is of: "data loading with the waiting that it causes", "compute". */
const char *share_name(struct report *rep, const struct run_result *r, enum cause_class cls);
/** said_ns - the time of a step in a sentence on a class: all communication for CLASS_COMMUNICATION, all waiting for
 *  imbalance if its own share prints the same, else the class's own time. */
int64_t said_ns(const struct run_result *r, const struct class_result *c);
/** share_of_all_waiting - of imbalance: ", of 12 % waiting in all, up from 5.1 % at 2 nodes": ranks that load or write,
 *  or have no core, make others wait as well. */
const char *share_of_all_waiting(struct report *rep, const struct run_result *r, const struct class_result *c);

/** share_of_median_step - of few steps of which a single slow one makes the mean: ", 22 % of the median step (4.10 ms
 * of 19.0 ms)"; "" of others, and of causes that are no parts of a step. */
const char *share_of_median_step(struct report *rep, const struct run_result *r, enum cause_class cls);

/** spread_tail - "p99 21.0 ms, slowest 1.31x the median", "p99 n/a (40 of the 100 values it needs), slowest ...". */
struct fmt_long {
    char text[192];
};
struct fmt_long spread_tail(const struct spread *s);
/** judged_share, judged_threshold - the quantity that a class was judged by, and its threshold: "34 %" of step time,
 * "85 % of bandwidth"; "" = none. */
struct fmt judged_share(const struct class_result *c);
struct fmt judged_threshold(const struct class_result *c);

#endif
