/* thresholds.h - every number against which the report judges, in one table. docs/thresholds is the same table as a
 * commented file; `dcreport --thresholds FILE` reads one of that form; a test holds the two equal. */
#ifndef RENDER_METRICS_THRESHOLDS_H
#define RENDER_METRICS_THRESHOLDS_H

#include "lib/base/err.h"

/* X(name, default, smallest, largest, meaning). Ratios are 0..1. */
#define THRESHOLDS(X)                                                                                               \
    X(data_limits, 0.30, 0, 1, "data loading limits above this share of step time")                                 \
    X(data_watch, 0.10, 0, 1, "data loading is watched above this share")                                           \
    X(io_limits, 0.10, 0, 1, "I/O limits above this share of wall time")                                            \
    X(io_watch, 0.05, 0, 1, "I/O is watched above this share")                                                      \
    X(iowait_limits, 0.20, 0, 1, "I/O wait of a node's CPUs above which I/O limits")                                \
    X(comm_limits, 0.20, 0, 1, "transfer, waiting for ranks, or both together limit above this share of step time") \
    X(comm_watch, 0.10, 0, 1, "transfer is watched above this share")                                               \
    X(comm_loss, 0.50, 0, 1, "transfer limits when it grows and explains more than this share of the loss")         \
    X(loss_matters, 0.05, 0, 1, "a loss of efficiency below this share of step time is not blamed on anything")     \
    X(load_balance, 0.80, 0, 1, "load balance below this means imbalance limits")                                   \
    X(uneven_work, 0.90, 0, 1,                                                                                      \
      "where cores are shared: mean over largest work of the ranks below which they are uneven")                    \
    X(straggler_wait, 0.05, 0, 1, "waiting caused by one rank above this share of step time names a straggler")     \
    X(straggler_wins, 2.0, 1, 100, "times its fair share of last arrivals that makes a rank a straggler")           \
    X(alone_others, 0.05, 0, 1,                                                                                     \
      "a rank works alone if the work of each other rank between two collectives is at most this share of its own") \
    X(alone_wait, 0.80, 0, 1,                                                                                       \
      "work alone is the cause of waiting for a rank if it explains at least this share of it")                     \
    X(copy_limits, 0.10, 0, 1, "host-to-device copies limit above this share of step time")                         \
    X(overhead_watch, 0.10, 0, 1, "step time in no named phase is watched above this share")                        \
    X(compute_bound, 0.80, 0, 1, "compute-bound above this share of step time, unless another class limits")        \
    X(processor_used, 0.50, 0, 1,                                                                                   \
      "processor time of a rank over its time in compute, copies and overhead, below which it waits for what "      \
      "is not recorded")                                                                                            \
    X(memory_bound, 0.60, 0, 1,                                                                                     \
      "memory limits above this share of the calibrated or stated bandwidth, when products need less time")         \
    X(peak_error, 0.05, 0, 1,                                                                                       \
      "a rate above a peak by up to this share counts as at the peak; above that, counts and peak disagree")        \
    X(traffic_error, 0.30, 0, 1,                                                                                    \
      "as peak_error, for memory traffic and a calibrated peak: some mixes of reads and writes are faster")         \
    X(kernel_bound, 0.60, 0, 1,                                                                                     \
      "a kernel under a profiler is bound by operations or memory above this share of that peak")                   \
    X(gain_limits, 0.10, 0, 1,                                                                                      \
      "when nothing passes its own threshold, the largest predicted gain above this is named; compute always, "     \
      "where better kernels were timed")                                                                            \
    X(gpu_utilization, 0.70, 0, 1, "GPU utilisation below this is a problem")                                       \
    X(gpu_memory_room, 0.50, 0, 1, "GPU memory use below this leaves room for a larger batch")                      \
    X(gpu_memory_full, 0.85, 0, 1, "GPU memory use from this on is full by design, up to gpu_memory_warn")          \
    X(gpu_memory, 0.90, 0, 1, "GPU memory use above this is pressure when it grows over the steps")                 \
    X(gpu_memory_warn, 0.95, 0, 1, "GPU memory use above this is warned of, growing or not")                        \
    X(gpu_memory_risk, 0.98, 0, 1, "GPU memory use above this risks running out of memory")                         \
    X(clock, 0.90, 0, 1, "mean over highest SM clock of a busy GPU below which it was throttled")                   \
    X(covered, 0.10, 0, 1, "share of a job of a minute or more that the recorded steps have to cover")              \
    X(steal_limits, 0.05, 0, 1, "CPU time taken by other virtual machines above which verdicts are unreliable")     \
    X(throttled_limits, 0.05, 0, 1,                                                                                 \
      "time in which a CPU quota held the node back, above which verdicts are unreliable")                          \
    X(run_delay_limits, 0.05, 0, 1, "time a rank was ready but had no core, above which verdicts are unreliable")   \
    X(efficiency, 0.80, 0, 1, "scaling and POP efficiencies below this are marked")                                 \
    X(step_cv, 0.10, 0, 10, "step-time variation (standard deviation / mean) above which it is a finding")          \
    X(warmup_ratio, 1.25, 1, 100, "leading steps slower than this times the later median are warm-up")              \
    X(warmup_share, 0.20, 0, 0.9, "largest share of the steps that may be taken as warm-up")                        \
    X(few_steps, 30, 1, 1000000, "fewer counted steps than this lower the confidence")

struct thresholds {
#define X(name, def, lo, hi, meaning) double name;
    THRESHOLDS(X)
#undef X
};

/** thresholds_default - the table's defaults. */
struct thresholds thresholds_default(void);
/** thresholds_read - lines `name = number`, # comments, blank lines; names not in the file keep their value.
 *  errors   DCR_FAIL: cannot be read, an unknown name, no number, outside its range (file and line in the sentence) */
int thresholds_read(struct thresholds *t, const char *path, struct dcr_err *err) DCR_MUST_CHECK;

#endif
