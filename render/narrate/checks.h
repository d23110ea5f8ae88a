/* checks.h - rules for continuous integration: `exposed_comm<20%` holds for a report or it does not. */
#ifndef RENDER_NARRATE_CHECKS_H
#define RENDER_NARRATE_CHECKS_H

#include "lib/buf.h"
#include "render/analyse/report.h"

/* What can be checked, of every run that the report is about. X(name, unit, what). IN_PERCENT: a ratio;
 * IN_NUMBERS: a plain number. */
#define CHECK_METRICS(X)                                                                                              \
    X(exposed_comm, IN_PERCENT, "communication that no other work hides, transfer and waiting, share of step time")   \
    X(comm_transfer, IN_PERCENT, "transfer, share of step time")                                                      \
    X(comm_wait, IN_PERCENT, "waiting for ranks, share of step time")                                                 \
    X(compute, IN_PERCENT, "compute, share of step time")                                                             \
    X(data, IN_PERCENT, "data loading, share of step time")                                                           \
    X(io, IN_PERCENT, "I/O inside steps, share of step time")                                                         \
    X(copy, IN_PERCENT, "host-to-device copies, share of step time")                                                  \
    X(other, IN_PERCENT, "step time in no named phase, share of step time")                                           \
    X(step_cv, IN_PERCENT, "standard deviation of step times over their mean")                                        \
    X(load_balance, IN_PERCENT, "POP load balance")                                                                   \
    X(parallel_efficiency, IN_PERCENT, "POP parallel efficiency")                                                     \
    X(communication_efficiency, IN_PERCENT, "POP communication efficiency")                                           \
    X(gpu_communication, IN_PERCENT, "POP communication efficiency of GPUs, of the time they are busy")               \
    X(gpu_orchestration, IN_PERCENT, "POP orchestration efficiency of GPUs, time they are busy")                      \
    X(device_offload, IN_PERCENT, "POP device offload efficiency of the hosts of GPUs")                               \
    X(efficiency, IN_PERCENT, "scaling efficiency against the smallest node count; of the largest node counts only")  \
    X(gpu_utilization, IN_PERCENT, "mean GPU utilisation of the monitors, without them of GPU traces in their steps") \
    X(gpu_memory, IN_PERCENT, "largest share of a GPU's memory in use")                                               \
    X(step_time, IN_TIME, "mean step time")                                                                           \
    X(step_p95, IN_TIME, "95th percentile of step times")                                                             \
    X(throughput, IN_NUMBERS, "samples per second, all ranks")                                                        \
    X(speedup, IN_NUMBERS, "speed-up against the smallest node count; of the largest node counts only")               \
    X(steps, IN_NUMBERS, "counted steps")                                                                             \
    X(dropped, IN_NUMBERS, "events that the recorder dropped")

/* One rule on one run or series. */
struct check {
    const char *rule;  /* as it was given */
    const char *what;  /* the metric in prose */
    const char *on;    /* label of the run or series */
    int holds;         /* 0 also when it is n/a: what cannot be checked has not passed */
    int is_measured;   /* 0: it is n/a, and text says why */
    int is_skipped;    /* not applicable to this run, but to another: neither passed nor failed, and text says why */
    const char *text;  /* "23 % (62.0 ms of 184 ms), not below 20 %"; "n/a because ..." */
    int is_unreliable; /* the report trusts no verdict on these times; text ends in " (unreliable: why)" */
};
struct checks {
    struct check *list;
    int n, n_failed;  /* n_failed: all that do not hold and are not skipped */
    int n_unmeasured; /* of those, the ones that are n/a */
    int n_skipped;
};

/** checks_run - every rule on every run it is about. What ranks do to each other means nothing of a run of one rank: it
 *  is skipped there, and fails where no run has more.
 *  rules    METRIC<NUMBER, also <=, >, >=; a number may end in %, ns, us, ms or s; shape (n)
 *  out      filled; text lives in the report's arena
 *  errors   DCR_FAIL: no such metric, operator, number or unit; the sentence quotes the rule */
int checks_run(struct report *rep, const char *const *rules, int n, struct checks *out,
               struct dcr_err *err) DCR_MUST_CHECK;
/** checks_parse - the same errors, without a report. */
int checks_parse(const char *const *rules, int n, struct dcr_err *err) DCR_MUST_CHECK;
/** checks_junit - as JUnit XML, a test case a check. */
void checks_junit(const struct checks *c, struct dcr_buf *out);

#endif
