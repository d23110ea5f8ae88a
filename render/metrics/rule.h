/* rule.h - a line of the class table, the roofline of a run's compute, gradient accumulation, and jobs by sacct. */
#ifndef RENDER_METRICS_RULE_H
#define RENDER_METRICS_RULE_H

#include "render/metrics/report.h"

/** is_memory_judged - is it known whether the memory's bandwidth limits compute? If not, a run that computes may still
 *  have much to gain. After rule_memory. (roofline.c)  Test: tests/unit/test_roofline.c */
int is_memory_judged(const struct run_result *r);

/** is_compute_waiting - do the ranks wait in their phases of compute, and no better kernels are known? Always 0 for
 *  steps that may show no more than enqueueing. After rules. */
int is_compute_waiting(const struct run_result *r);

/** files_in_loading - the time of a step's loading in calls on files: the phase "NAME: files", and the calls too short
 *  to be events, if every second step has a call that is an event (docs/metrics.md, files in loading).  unit: ns. Test:
 *  tests/unit/test_rules.c */
int64_t files_in_loading(const struct run_result *r);

/** files_used - do the calls on files in steps mostly read or write? By the time of their phases (loading, a call, a
 *  checkpoint), else by the bytes of all recorded calls. After the phases.
 *  returns  FILES_BOTH: neither is 4 times the other, or it is not known. Test: tests/unit/test_rules.c */
enum files_used { FILES_BOTH, FILES_READ, FILES_WRITTEN };
enum files_used files_used(const struct run_result *r);

/** accounting_jobs - jobs that were ended or failed, by the table of sacct: how many, and how the first one ended. The
 *  most telling state first: a job whose step ran out of memory is often FAILED. Test: tests/unit/test_logs.c */
enum job_end { JOB_OUT_OF_MEMORY, JOB_NODE_FAILED, JOB_TIMED_OUT, JOB_CANCELLED, N_JOB_ENDS };
struct jobs_ended {
    int n;
    enum job_end end;  /* of the first; n > 0 only */
    const char *first; /* "17" */
};
struct jobs_ended accounting_jobs(struct report *rep, const struct foreign_table *t);

/** accounting_ended - how the first of those jobs ended, by which table, and how many more there are.
 *  returns  0 = there are none. source   sacct(1), JOB STATE CODES. Test: tests/unit/test_logs.c */
int accounting_ended(struct report *rep, const struct foreign_table *t, struct phrase said[NOTE_PHRASES]);

/** rule_begin - the line of a class that was looked at: fine so far, with its share and the gain of the run. */
struct class_result *rule_begin(struct run_result *r, enum cause_class cls, int64_t ns, struct phrase rule,
                                const char *threshold_name, double threshold);

/** rule_found - one more sentence on what was found. */
void rule_found(struct class_result *c, struct phrase p);

/** rule_not_measured - the line of a class that was not measured. */
void rule_not_measured(struct run_result *r, enum cause_class cls, struct reason why);

/** rule_grade - limits above one share, watched above another. */
void rule_grade(struct class_result *c, double limits, double watch);

/** rule_share - of the mean step; 0 without one. */
double rule_share(const struct run_result *r, int64_t ns);

/** rule_mean - of a monitor's samples; NAN without any. */
double rule_mean(const struct sampled *s);

/** counted_memory - memory traffic by counters (memory_counters.h) against the peak of the run's machines, of any
 *  program that was watched. (roofline.c)  Test: tests/unit/test_roofline.c */
struct counted_memory counted_memory(struct report *rep, const struct run_result *r);
/** found_counted - the two rates and their share. */
struct phrase found_counted(const struct thresholds *t, const struct counted_memory *m);
/** found_stalled - the share of the cycles in which the cores were stalled; PHRASE_NONE = not counted. */
struct phrase found_stalled(const struct run_result *r);

/** rule_memory - does the memory's bandwidth limit compute?
 *  source   docs/metrics.md#predicted-gain. Test: tests/unit/test_roofline.c */
void rule_memory(struct report *rep, struct run_result *r);

/** roofline_of - the roofline of a step: counts of the program, ceilings of all ranks together. Shares are not limited,
 *  and there are no reasons. (roofline.c)
 *  wall_ns      time of a step's operations, > 0
 *  bound_ratio  of a ceiling above which it is the bound
 *  source       docs/metrics.md#roofline. Test: tests/unit/test_roofline.c */
struct roofline roofline_of(const struct run_program *p, double peak_gflop_per_s, double peak_gb_per_s, double wall_ns,
                            double step_ns, double bound_ratio);

/** gain_of_kernels - time of a step that the best kernels of the processor save, by the ratio that the program timed. 0
 *  if it timed none, or if the gain is within loss_matters of a step (as good as the best). (roofline.c)
 *  returns  unit: ns
 *  source   docs/metrics.md#predicted-gain. Test: tests/unit/test_roofline.c */
int64_t gain_of_kernels(struct report *rep, const struct run_result *r);

/** rule_compute - does compute limit, because nothing else does or because the kernels are not the best? After all
 *  other rules.
 *  source   docs/metrics.md#rules. Test: tests/unit/test_rules.c */
void rule_compute(struct report *rep, struct run_result *r);

/** accumulation - how many micro-batches make a step: by program.json, else by the backward passes and runs of the
 *  optimiser in native traces, else by the marks of other tools' traces. Fills r->accumulation.
 *  source   docs/metrics.md#rules. Test: tests/unit/test_caveats.c */
void accumulation(struct report *rep, struct run_result *r);

/** loading_elsewhere - named data loading between steps or on other threads than that of the steps, summed over ranks
 *  and threads. */
struct loading_elsewhere {
    double between_ns; /* on that thread, between steps */
    double other_ns;   /* on others, or before the first step */
    double wall_ns;    /* from each rank's first step to its last */
};
struct loading_elsewhere loading_elsewhere(const struct run *a);

/** rule_last_counts - of what straggler.wins_ratio is a share: "exchanges" or "steps". */
const char *rule_last_counts(const struct straggler *s);

#endif
