/* metrics.h - the registry: the numbers that the report gives for a run, a rank, a phase and so on, in a table for each
 * of these subjects. A row is a name, a key in report.json, a unit, and how the value is read from the results. It
 * makes report.json, --check (CHECK_METRICS) and cells of tables. A missing value has a reason.
 *
 * A table is a file of rows, <subject>.def: M(id, key, unit, value)            a dot in the key follows the name of an
 *   object; key "": it is not in report.json W(id, key, because, unit, value)   because: the key beside it for why it
 *   is missing, as say_clause has it; of key "" with its object An object that can be null has one row for itself,
 *   before the rows of its members. metrics.c has the functions that make the values. Test: tests/unit/test_metrics.c
 */
#ifndef RENDER_METRICS_REGISTRY_METRICS_H
#define RENDER_METRICS_REGISTRY_METRICS_H

#include "render/metrics/kernel_roofline.h"
#include "render/metrics/report.h"
#include "render/model/value.h"

struct metric {
    const char *id, *key;
    const char *because; /* NULL: report.json does not say why */
    enum value_unit unit;
    struct value (*of)(const void *subject);
};
struct metrics {
    const char *subject; /* "run" */
    const struct metric *rows;
    int n;
};

/* ---- times, and the efficiencies of POP: also parts of other tables --------------------------------- */
/* Of a struct spread *s. */
#define SPREAD_METRICS(M, W)                                                                               \
    M(N, "n", COUNT, whole(1, s->n))                                                                       \
    M(MEAN, "mean_ns", NS, whole(1, s->mean_ns))                                                           \
    M(MEDIAN, "median_ns", NS, whole(1, s->median_ns))                                                     \
    M(P95, "p95_ns", NS, whole(1, s->p95_ns))                                                              \
    W(P99, "p99_ns", "p99_because", NS, p99_of(s))                                                         \
    M(MIN, "min_ns", NS, whole(1, s->min_ns))                                                              \
    M(MAX, "max_ns", NS, whole(1, s->max_ns))                                                              \
    M(MAX_OVER_MEDIAN, "max_over_median_ratio", FACTOR, quotient((double)s->max_ns, (double)s->median_ns)) \
    M(CV, "cv_ratio", RATIO, real(1, s->cv_ratio))
enum spread_metric {
#define M(id, ...) SPREAD_##id,
    SPREAD_METRICS(M, M)
#undef M
};

/* Of a struct pop *p. */
#define POP_METRICS(M, W)                                                                                          \
    M(PARALLEL, "parallel_ratio", RATIO, real(p->has, p->parallel_ratio))                                          \
    M(LOAD_BALANCE, "load_balance_ratio", RATIO, real(p->has, p->load_balance_ratio))                              \
    M(WORKERS, "workers", NONE, name(p->is_of_gpus ? "GPUs" : "ranks"))                                            \
    M(COMMUNICATION, "communication_ratio", RATIO, real(p->has, p->communication_ratio))                           \
    M(GPU_COMMUNICATION, "gpu_communication_ratio", RATIO, of_gpus(p, p->gpu_communication_ratio))                 \
    M(GPU_ORCHESTRATION, "gpu_orchestration_ratio", RATIO, of_gpus(p, p->orchestration_ratio))                     \
    M(SERIALIZATION, "serialization_ratio_estimated", RATIO, real(p->has, p->serialization_ratio))                 \
    M(TRANSFER, "transfer_ratio_estimated", RATIO, real(p->has, p->transfer_ratio))                                \
    M(USEFUL_MEAN, "useful_mean_ns", NS, whole(p->has, p->useful_mean_ns))                                         \
    M(USEFUL_MAX, "useful_max_ns", NS, whole(p->has, p->useful_max_ns))                                            \
    W(IN_NODES, "load_balance_in_nodes_ratio", "load_balance_in_nodes_because", RATIO,                             \
      because(real(p->has_in_nodes, p->in_nodes_ratio), p->in_nodes_why))                                          \
    W(BETWEEN_NODES, "load_balance_between_nodes_ratio", "load_balance_between_nodes_because", RATIO,              \
      because(real(p->has_between_nodes, p->between_nodes_ratio), p->between_nodes_why))                           \
    M(COMPUTATION_SCALING, "computation_scaling_ratio", RATIO, real(p->has_scaling, p->computation_scaling_ratio)) \
    M(GLOBAL, "global_ratio", RATIO, real(p->has_scaling, p->global_ratio))
enum pop_metric {
#define M(id, ...) POP_##id,
    POP_METRICS(M, M)
#undef M
};

/* ---- the tables ------------------------------------------------------------------------------------------------- */
/* Subjects that are no struct of the report. */
struct rank_of {
    const struct run_result *run;
    const struct rank_result *is;
    const struct run_rank *watched; /* NULL: no monitor saw its processes */
};
struct phase_of {
    const struct run_result *run;
    const struct phase_result *is;
};
struct cause_of {
    const struct run_result *run;
    const struct class_result *is;
};
struct point_of {
    const struct report *rep;
    const struct series_point *is;
};
struct calls_of {
    const struct dct_io *is;
    int is_seen; /* 0: none was recorded, although there may have been some */
};
struct kernel_of {
    const struct run_kernel_counts *is;
    struct kernel_roofline at;
};

#define METRIC_TABLES(X) \
    X(spread)            \
    X(pop)               \
    X(run)               \
    X(provenance)        \
    X(recorded)          \
    X(recording)         \
    X(file_time)         \
    X(rank)              \
    X(phase)             \
    X(cause)             \
    X(point)             \
    X(gpu_memory)        \
    X(kernel)            \
    X(calls)             \
    X(device)            \
    X(collective)        \
    X(operation)
enum {
#define X(name) +1
    N_METRIC_TABLES = 0 METRIC_TABLES(X)
#undef X
};
#define X(name) extern const struct metrics name##_metrics;
METRIC_TABLES(X)
#undef X
extern const struct metrics *const metric_tables[N_METRIC_TABLES];

/* Tables whose metrics are asked for by name. */
#define W M
enum run_metric {
#define M(id, ...) RUN_##id,
#include "render/metrics/registry/run.def"
#undef M
};
enum point_metric {
#define M(id, ...) POINT_##id,
#include "render/metrics/registry/point.def"
#undef M
};
enum rank_metric {
#define M(id, ...) RANK_##id,
#include "render/metrics/registry/rank.def"
#undef M
};
enum phase_metric {
#define M(id, ...) PHASE_##id,
#include "render/metrics/registry/phase.def"
#undef M
};
enum gpu_memory_metric {
#define M(id, ...) GPU_MEMORY_##id,
#include "render/metrics/registry/gpu_memory.def"
#undef M
};
enum kernel_metric {
#define M(id, ...) KERNEL_##id,
#include "render/metrics/registry/kernel.def"
#undef M
};
enum calls_metric {
#define M(id, ...) CALLS_##id,
#include "render/metrics/registry/calls.def"
#undef M
};
enum device_metric {
#define M(id, ...) DEVICE_##id,
#include "render/metrics/registry/device.def"
#undef M
};
enum collective_metric {
#define M(id, ...) COLLECTIVE_##id,
#include "render/metrics/registry/collective.def"
#undef M
};
enum operation_metric {
#define M(id, ...) OPERATION_##id,
#include "render/metrics/registry/operation.def"
#undef M
};
#undef W

/** metric_value - a value with its unit.
 *  id  of the table's enumerators; subject  what the table is of */
struct value metric_value(const struct metrics *t, int id, const void *subject);

#endif
