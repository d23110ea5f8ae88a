/* rules.h - what the files of the class table share: rule.c (a line of it), rules.c (most classes),
 * rules_communication.c, roofline.c (compute and memory), findings.c (further notes). Rules and their sources:
 * docs/metrics.md#rules. */
#ifndef RENDER_FINDINGS_RULES_RULES_H
#define RENDER_FINDINGS_RULES_RULES_H

#include "render/metrics/report.h"

/** claimed_interval - interval of the share of step time in the claim of a class: all communication, one part, or
 * loading, writing and imbalance with the waiting that they cause. has 0: it is not a share, or there are too few
 * steps. (cause_intervals.c) source docs/metrics.md#intervals. Test: tests/unit/test_intervals.c */
struct interval claimed_interval(const struct run_result *r, enum cause_class cls);

/* Times of metrics.csv, summed over n epochs. */
struct epoch_times {
    int has; /* the times can only be of epochs: loading and computing together are more than half of the whole */
    int64_t n;
    double whole_s, loading_s, computing_s;
};

/** epoch_times - for the epochs whose parts are given and fit into them. Test: tests/golden/render_text.sh */
struct epoch_times epoch_times(const struct run *r);

/** rules - the class table of every run against the thresholds; order of predicted gain.
 *  source   docs/metrics.md#rules. Test: tests/unit/test_rules.c */
void rules(struct report *rep);

/** cause_intervals - r->cause_interval; has 0 for fewer steps than BOOTSTRAP_MIN_STEPS. After split_loading and, where
 *  cores were shared, waiting_when_shared; before the classes. (cause_intervals.c)
 *  source   docs/metrics.md#intervals. Test: tests/unit/test_intervals.c */
void cause_intervals(struct run_result *r);

/** phrase_of_loading - how little loading uses the cores, or how much its workers do; none if neither is known. */
struct phrase phrase_of_loading(const struct run_result *r);

/** rule_communication - is it transfer, or waiting for a rank that comes last? Both classes. (rules_communication.c)
 *  source   docs/metrics.md#rules. Test: tests/unit/test_rules.c */
void rule_communication(struct report *rep, struct run_result *r);

/** rule_host - does the GPU wait for its host? (device_host.c)
 *  source   docs/metrics.md#rules. Test: tests/unit/test_rules.c, render_devices.sh */
void rule_host(struct report *rep, struct run_result *r);

/** device_notes - notes of GPU traces: calls inside steps, memory, tensor cores. Appends to r->notes while there is
 *  room.  source: docs/metrics.md#rules. Test: tests/unit/test_caveats.c */
void device_notes(struct report *rep, struct run_result *r);

/** findings - notes of a run that belong to no class: variation, hidden communication, coverage, GPU memory. */
void findings(struct report *rep, struct run_result *r);

#endif
