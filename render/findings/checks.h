/* checks.h - rules for continuous integration: `exposed_comm<20%` holds for a report or it does not. */
#ifndef RENDER_FINDINGS_CHECKS_H
#define RENDER_FINDINGS_CHECKS_H

#include "lib/base/buf.h"
#include "render/metrics/report.h"

/* What can be checked, for every run of the report, or for the largest node count of a series. X(name, table, its
 * metric, what in prose). A ratio is compared in percent, a time as a time, anything else as a plain number. */
#define CHECK_METRICS(X)                                                                                             \
    X(exposed_comm, run, RUN_COMMUNICATION_SHARE,                                                                    \
      "communication that no other work hides, transfer and waiting, share of step time")                            \
    X(comm_transfer, run, RUN_SHARE_PART_TRANSFER, "transfer, share of step time")                                   \
    X(comm_wait, run, RUN_SHARE_PART_WAIT, "waiting for ranks, share of step time")                                  \
    X(compute, run, RUN_SHARE_PART_COMPUTE, "compute, share of step time")                                           \
    X(data, run, RUN_SHARE_PART_DATA, "data loading, share of step time")                                            \
    X(io, run, RUN_SHARE_PART_IO, "I/O inside steps, share of step time")                                            \
    X(copy, run, RUN_SHARE_PART_COPY, "host-to-device copies, share of step time")                                   \
    X(other, run, RUN_SHARE_PART_OTHER, "step time in no named phase, share of step time")                           \
    X(step_cv, run, RUN_STEP_CV, "standard deviation of step times over their mean")                                 \
    X(load_balance, run, RUN_POP_LOAD_BALANCE, "POP load balance")                                                   \
    X(parallel_efficiency, run, RUN_POP_PARALLEL, "POP parallel efficiency")                                         \
    X(communication_efficiency, run, RUN_POP_COMMUNICATION, "POP communication efficiency")                          \
    X(gpu_communication, run, RUN_POP_GPU_COMMUNICATION,                                                             \
      "POP communication efficiency of GPUs, of the time they are busy")                                             \
    X(gpu_orchestration, run, RUN_POP_GPU_ORCHESTRATION, "POP orchestration efficiency of GPUs, time they are busy") \
    X(device_offload, run, RUN_POP_HOST_OFFLOAD, "POP device offload efficiency of the hosts of GPUs")               \
    X(efficiency, point, POINT_EFFICIENCY,                                                                           \
      "scaling efficiency against the smallest node count; of the largest node counts only")                         \
    X(gpu_utilization, run, RUN_GPU_UTILIZATION,                                                                     \
      "mean GPU utilisation from monitors, or else from GPU traces in their steps")                                  \
    X(gpu_memory, run, RUN_GPU_MEMORY, "largest share of a GPU's memory in use")                                     \
    X(step_time, run, RUN_STEP_MEAN, "mean step time")                                                               \
    X(step_p95, run, RUN_STEP_P95, "95th percentile of step times")                                                  \
    X(throughput, run, RUN_THROUGHPUT, "samples per second, all ranks")                                              \
    X(speedup, point, POINT_SPEEDUP, "speed-up against the smallest node count; of the largest node counts only")    \
    X(steps, run, RUN_CHECKED_STEPS, "counted steps")                                                                \
    X(dropped, run, RUN_DROPPED, "events that the recorder dropped")

/* One rule on one run or series. */
struct check {
    const char *rule;  /* as it was given */
    const char *what;  /* the metric in prose */
    const char *on;    /* label of the run or series */
    int holds;         /* 0 also when it is n/a: what cannot be checked has not passed */
    int is_measured;   /* 0: text says why */
    int is_skipped;    /* not applicable to this run, but to another: neither passed nor failed, and text says why */
    const char *text;  /* "23 % (62.0 ms of 184 ms), not below 20 %"; "no GPU was monitored" */
    int is_unreliable; /* the report trusts no verdict on these times; text ends in " (unreliable: why)" */
};
struct checks {
    struct check *list;
    int n, n_failed;  /* n_failed: all that do not hold and are not skipped */
    int n_unmeasured; /* of those, the ones that are n/a */
    int n_skipped;
};

/** checks_run - every rule on every run it applies to. A rule on how ranks affect each other is skipped for a run of
 *  one rank, and fails if no run has more ranks.
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
