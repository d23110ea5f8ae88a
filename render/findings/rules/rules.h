/* rules.h - what the files of the class table share: rule.c (a line of it), rules.c (most classes),
 * rules_communication.c, roofline.c (compute and memory), findings.c (what is said besides). Rules and their sources:
 * docs/metrics.md#rules. */
#ifndef RENDER_FINDINGS_RULES_RULES_H
#define RENDER_FINDINGS_RULES_RULES_H

#include "render/findings/rules/analyse.h"

/** rule_begin - the line of a class that was looked at: fine so far, with its share and the gain of the run. */
struct class_result *rule_begin(struct run_result *r, enum cause_class cls, int64_t ns, const char *rule,
                                const char *threshold_name, double threshold);
/** rule_not_measured - the line of a class of which nothing is known. */
void rule_not_measured(struct report *rep, struct run_result *r, enum cause_class cls, struct reason why);
/** rule_grade - limits above one share, watched above another. */
void rule_grade(struct class_result *c, double limits, double watch);
/** rule_share - of the mean step; 0 without one. */
double rule_share(const struct run_result *r, int64_t ns);
/** rule_mean - of a monitor's samples; NAN without any. */
double rule_mean(const struct sampled *s);

/** cause_intervals - r->cause_interval; has 0 of fewer steps than BOOTSTRAP_MIN_STEPS. After split_loading and, where
 *  cores were shared, waiting_when_shared; before the classes. (cause_intervals.c)
 *  source   docs/metrics.md#intervals. Test: tests/unit/test_intervals.c */
void cause_intervals(struct run_result *r);

/** rule_communication - is it transfer, or waiting for a rank that comes last? Both classes. (rules_communication.c)
 *  source   docs/metrics.md#rules. Test: tests/unit/test_rules.c */
void rule_communication(struct report *rep, struct run_result *r);
/** rule_host - does the GPU wait for its host? (device_host.c)
 *  source   docs/metrics.md#rules. Test: tests/unit/test_rules.c, render_devices.sh */
void rule_host(struct report *rep, struct run_result *r);
/** rule_memory - is it the memory's bandwidth that holds up compute?
 *  source   docs/metrics.md#predicted-gain. Test: tests/unit/test_rules.c */
void rule_memory(struct report *rep, struct run_result *r);
/** roofline_of - the roofline of a step: counts of the program, ceilings of all ranks together. Shares are not limited,
 *  and there are no reasons. (roofline.c)
 *  wall_ns      time of a step's operations, > 0
 *  bound_ratio  of a ceiling above which it is the bound
 *  source       docs/metrics.md#roofline. Test: tests/unit/test_rules.c */
struct roofline roofline_of(const struct run_program *p, double peak_gflop_per_s, double peak_gb_per_s, double wall_ns,
                            double step_ns, double bound_ratio);
/** gain_of_kernels - time of a step that the best kernels of the processor save, by the ratio that the program timed. 0
 *  if it timed none, or if the gain is within loss_matters of a step (as good as the best). (roofline.c)
 *  returns  unit: ns
 *  source   docs/metrics.md#predicted-gain. Test: tests/unit/test_rules.c */
int64_t gain_of_kernels(struct report *rep, const struct run_result *r);
/** rule_compute - does the run compute and nothing else, or in kernels that are not the best? After all other rules.
 *  source   docs/metrics.md#rules. Test: tests/unit/test_rules.c */
void rule_compute(struct report *rep, struct run_result *r);

enum { RUN_MAX_NOTES = 16 };
/** device_notes - notes of GPU traces: calls inside steps, memory, tensor cores. Appends to r->notes while there is
 *  room.  source: docs/metrics.md#rules. Test: tests/unit/test_caveats.c */
void device_notes(struct report *rep, struct run_result *r);
/** accumulation - how many micro-batches make a step: by program.json, else by the backward passes and runs of the
 *  optimiser in native traces, else by the marks of other tools' traces. Fills r->accumulation.
 *  source   docs/metrics.md#rules. Test: tests/unit/test_caveats.c */
void accumulation(struct report *rep, struct run_result *r);
/** findings - notes of a run that belong to no class: variation, hidden communication, coverage, GPU memory. */
void findings(struct report *rep, struct run_result *r);

/** loading_elsewhere - named data loading that is in no step of the steps' own thread, summed over ranks and threads.
 */
struct loading_elsewhere {
    double between_ns; /* on that thread, between steps */
    double other_ns;   /* on others, or before the first step */
    double wall_ns;    /* from each rank's first step to its last */
};
struct loading_elsewhere loading_elsewhere(const struct run *a);

#endif
