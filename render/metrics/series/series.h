/* series.h - the points of a series: speed-up, intervals, lost time, laws, all-reduces by the network. */
#ifndef RENDER_METRICS_SERIES_SERIES_H
#define RENDER_METRICS_SERIES_SERIES_H

#include "lib/base/buf.h"
#include "render/metrics/report.h"

/** scaling - group runs into series; points, speed-up, efficiency, intervals, losses.
 *  source   docs/metrics.md#scaling. Test: tests/unit/test_scaling.c */
void scaling(struct report *rep);

/** scaling_key - what must be equal for two runs to be points of one series: program, model, data, precision,
 * threads, ranks per node, and the command without output paths, batch sizes and node counts. If the nodes
 * are unknown, the number of ranks counts instead, or that it is unknown. */
void scaling_key(const struct run_result *r, struct dcr_buf *out);

/** is_bare - is the run made of other tools' traces and files alone, which do not say what ran? Two of them are neither
 *  points of one series nor repetitions. */
int is_bare(const struct run *a);

/** is_untold - did the run break off before its program described itself (no program.json), while another run of the
 *  same command has its description? Then it is unknown how they differ, so it does not count as another configuration.
 *  With as many nodes and ranks (by config_hash) it counts as a repetition, else it is a separate series. Test:
 *  tests/unit/test_scaling.c */
int is_untold(const struct report *rep, int run);

/** fastest_point - the point with the highest throughput; NULL when the throughput of one is not known. */
const struct series_point *fastest_point(const struct series *s);
/** point_step - step times of a point; for a summary its mean, without single steps to share out (n = 0: n/a). */
const struct spread *point_step(const struct report *rep, const struct series_point *p);

/** is_left_out - is this run incomplete, while its point has complete ones? */
int is_left_out(const struct report *rep, int run);

/** repetition_spread - (largest - smallest mean step time of the repetitions of a point) / its mean step time. */
double repetition_spread(const struct report *rep, const struct series_point *p);

/** part_interval - 95 % of the mean time of a part of a step at a point, by bootstrap over its steps and repetitions.
 *  has 0 if a run of it has fewer than BOOTSTRAP_MIN_STEPS.
 *  source   docs/metrics.md#intervals. Test: tests/unit/test_all_reduce.c */
struct interval part_interval(const struct report *rep, const struct series_point *p, enum part part);

/** loss_between - the time lost between two points, split into parts.
 *  scale    num/den: what ideal scaling makes of the first point's times (n_ref/n, or 1/1 for weak scaling)
 *  source   docs/metrics.md#loss. Test: tests/unit/test_scaling.c */
struct series_loss loss_between(const int64_t *from_parts, const int64_t *to_parts, int64_t num, int64_t den);

/** speedup_intervals - of the step time, speed-up and efficiency of every point.
 *  source   docs/metrics.md#intervals. Test: tests/unit/test_scaling.c */
void speedup_intervals(const struct report *rep, struct series *s);

/** point_share_interval - interval of the share of step time of one or two parts (a == b: one) at a point, by bootstrap
 *  over steps and repetitions; has 0: too few steps. (scaling_intervals.c)
 *  source   docs/metrics.md#intervals. Test: tests/unit/test_intervals.c */
struct interval point_share_interval(const struct report *rep, const struct series_point *p, enum part a, enum part b);

/** is_interval_of_summary - is the interval of this point from the mean and standard deviation that its files hold, and
 *  not from its steps? docs/metrics.md#intervals */
int is_interval_of_summary(const struct report *rep, const struct series *s, const struct series_point *p);

/** is_host_only - do steps at a point show no more than that the host enqueued the GPU's work? Parts of them are then
 * not what they are called. */
int is_host_only(const struct report *rep, const struct series_point *p);

/** is_transfer_collective - was at least 90 % of the transfer at a point in collectives, and not in messages between
 * two ranks? Only then it is compared with laws of the all-reduce. */
int is_transfer_collective(const struct report *rep, const struct series_point *p);

/** losses - time lost between consecutive points of a series, and from its first point to its last. Sets losses_why
 * when there are none. */
void losses(struct report *rep, struct series *s);

/** series_phases - s->phases: what each named phase takes at every point, and what it lost. Needs losses().
 *  source   docs/metrics.md#loss. Test: tests/unit/test_phases.c, test_properties.c */
void series_phases(struct report *rep, struct series *s);

/** series_by_name - s->names: what operators, MPI calls and collectives take at every point, and what they lost. Needs
 *  losses() and series_phases().
 *  source   docs/metrics.md#loss. Test: tests/unit/test_loss_names.c, test_properties.c */
void series_by_name(struct report *rep, struct series *s);

/** phase_that_lost - the phase that lost more than half of what its part lost, if the part has other phases too.
 *  part     PART_TRANSFER: communication, as in struct series_phase
 *  returns  NULL: none did, or it was not recorded at both points */
const struct series_phase *phase_that_lost(const struct series *s, int loss, enum part part);

/** lost_beside_exchange - time that the phase "backward" lost beyond growing like "forward": what it costs to exchange
 * gradients on the same core.
 *  returns  0: nothing, or one of the phases was not recorded at both points
 *  source   docs/metrics.md#rules. Test: tests/unit/test_phases.c */
int64_t lost_beside_exchange(const struct series *s, int loss);

/** loss_classes - losses[].class_ns: waiting for a rank that loads or writes is data and I/O, all other is imbalance;
 * overhead in which GPUs waited for their host is host.
 *  Call after rules(), which determine the cause of waiting where cores were shared.
 *  source   docs/metrics.md#loss. Test: tests/unit/test_scaling.c */
void loss_classes(struct report *rep);

/** laws - fit Amdahl's law, the Universal Scalability Law, compute and all-reduce over node counts; extrapolate.
 *  source   docs/metrics.md#fits. Test: tests/unit/test_laws.c */
void laws(struct report *rep, struct series *s);

/** all_reduce - s->all_reduce: the all-reduces of a step by a calibration or a log of nccl-tests. Needs a point.
 *  is_shared  cores were shared, so there is no forecast for points that were not run
 * T = latency log2 p + bytes 2 (p - 1) / p / bus bandwidth.
 *  source     docs/metrics.md#all-reduce-by-the-network-alone. Test: tests/unit/test_all_reduce.c */
void all_reduce(struct report *rep, struct series *s, int is_shared);

#endif
