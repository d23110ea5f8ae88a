/* device.h - what one GPU did in one foreign trace, reduced while reading. Exact integers; nothing here is estimated
 * unless its name says so. Filled by render/device, never changed afterwards. */
#ifndef RENDER_MODEL_DEVICE_H
#define RENDER_MODEL_DEVICE_H

#include "render/model/reason.h"

#include <stddef.h>
#include <stdint.h>

/* The integers of report.json's `devices`, in the order of their table (docs/metrics.md#devices). Counts have no unit
 * at their end. X(id, name, unit) */
#define DEVICE_COLUMNS(X)                              \
    X(DEV_KERNELS, "kernels", COUNT)                   \
    X(DEV_COMM_KERNELS, "comm_kernels", COUNT)         \
    X(DEV_MEMCPYS, "memcpys", COUNT)                   \
    X(DEV_MEMSETS, "memsets", COUNT)                   \
    X(DEV_SPAN, "span_ns", NS)                         \
    X(DEV_BUSY, "busy_ns", NS)                         \
    X(DEV_IDLE, "idle_ns", NS)                         \
    X(DEV_COMPUTE, "compute_ns", NS)                   \
    X(DEV_COMM, "comm_ns", NS)                         \
    X(DEV_MEMCPY, "memcpy_ns", NS)                     \
    X(DEV_MEMSET, "memset_ns", NS)                     \
    X(DEV_OVERLAP, "overlap_ns", NS)                   \
    X(DEV_EXPOSED_COMM, "exposed_comm_ns", NS)         \
    X(DEV_EXPOSED_MEM, "exposed_mem_ns", NS)           \
    X(DEV_SMALL_KERNELS, "kernels_under_100us", COUNT) \
    X(DEV_KERNEL_SUM, "kernel_sum_ns", NS)
enum device_column {
#define X(id, name, unit) id,
    DEVICE_COLUMNS(X)
#undef X
        N_DEVICE_COLUMNS
};
/** device_column_name - "span_ns" ... as in report.json. */
const char *device_column_name(enum device_column c);

/* Kind of an operation on a device. A kernel whose name holds "nccl" or "rccl" (any case) is communication. */
enum op_kind { OP_COMPUTE = 0, OP_COMM, OP_MEMCPY, OP_MEMSET, N_OP_KINDS };

/* Why a device was idle: each instant of it has one cause, so that they sum to idle_ns exactly.
 * X(id, key, what it means) */
#define IDLE_CAUSES(X)                                                                                  \
    X(IDLE_DATA, "data", "the host was in a data-loading range")                                        \
    X(IDLE_IO, "io", "the host was in a checkpoint or file range")                                      \
    X(IDLE_HOST, "host", "the next operation was launched after the gap had begun")                     \
    X(IDLE_SYNC, "sync", "the host sat in a synchronising call, the next operation queued")             \
    X(IDLE_PEER, "peer",                                                                                \
      "the host exchanged with other ranks, or the next operation is a collective that waits for them") \
    X(IDLE_LAUNCH, "launch", "under 10 us between operations that were already queued")                 \
    X(IDLE_OTHER, "other", "none of these, or the launch of the next operation is not in the trace")
enum idle_cause {
#define X(id, key, meaning) id,
    IDLE_CAUSES(X)
#undef X
        N_IDLE_CAUSES
};
const char *idle_cause_key(enum idle_cause c);
/** idle_cause_words - its names, from say/names.def: as a column, beside its bar, as what the GPU did, and after
 *  "mostly" ("": none). */
enum idle_form { IDLE_IN_TABLE, IDLE_IN_CHART, IDLE_AS_WORK, IDLE_MOSTLY, N_IDLE_FORMS };
const char *idle_cause_words(enum idle_cause c, enum idle_form form);

/* The operations of one name. Names beyond a limit share one entry. */
struct device_name {
    const char *name;
    enum op_kind kind;
    int64_t n, sum_ns, min_ns, max_ns;
    double stddev_ns; /* sample; 0 when n < 2 */
};

/* A stretch of the memory's timeline: the largest values of all events in it. */
struct memory_point {
    int64_t t_ns;                /* of its beginning, since the first event */
    int64_t allocated, reserved; /* bytes; reserved -1 = not said */
};
enum { DEVICE_MEMORY_POINTS = 256 };

/* The memory held by the framework's caching allocator, by its own events; or, if is_driver, the memory allocated from
 * the device by all calls in the trace. Then peaks are lower bounds, because earlier allocations are unknown. */
struct device_memory {
    int64_t device, n; /* events; 0 = not recorded */
    int is_driver;
    int64_t first_allocated, last_allocated, peak_allocated, peak_reserved; /* bytes; reserved -1 = not said */
    struct memory_point *points;                                            /* shape (n_points) */
    int n_points;
    /* Line through the peaks of the steps (least squares). */
    int64_t n_step_peaks;
    int has_growth; /* at least three steps with events */
    double growth_bytes_per_step;
};

/* Operations launched and not yet begun, per stream, after every launch and begin. */
struct device_queue {
    int64_t n, sum, median, p75, max; /* n: launches and begins; 0 = no launch known */
};

/* Collectives of one kind, if the trace states what they moved. */
struct device_collective {
    const char *name; /* "allreduce" ... */
    int64_t device, bytes, n_ranks;
    int64_t n, sum_ns, min_ns;
    double algbw_gb_s, busbw_gb_s; /* of the shortest one, because the others include waiting for ranks; 0 = n/a */
};

struct run_device {
    const char *file; /* relative to the path given to dcreport; in an archive, the member's name */
    int64_t device;
    const char *model; /* "NVIDIA A100-SXM4-40GB"; "" = the trace does not state it */
    int64_t rank;      /* of the process; -1 = the trace does not state it */
    int64_t start_ns;  /* of the first operation, on the trace's own clock */
    int64_t value[N_DEVICE_COLUMNS];

    int has_idle_causes;
    struct reason idle_why;         /* when !has_idle_causes */
    int64_t idle_ns[N_IDLE_CAUSES]; /* sums to value[DEV_IDLE] */
    int64_t n_launched;             /* operations whose launch is in the trace */

    int64_t n_steps, steps_ns; /* steps of the trace, first start to last end; 0 = none, or another device has them */
    int is_last_step_cut;      /* cut by the end of the recording, and left out */
    int64_t steps_busy_ns;     /* in that window: time with any operation running */
    int64_t steps_kernel_ns;   /* with a kernel running */
    int64_t steps_lead_ns;     /* part of steps_idle_ns[IDLE_HOST] before the first operation of the trace */
    int64_t steps_behind_sync_ns; /* part of the same, in gaps that began while the host was in a synchronising call */
    int64_t steps_idle_ns[N_IDLE_CAUSES]; /* sums to steps_ns - steps_busy_ns; when has_idle_causes */

    int64_t n_mallocs, n_frees, n_syncs; /* calls inside steps; meaningless without steps */
    int64_t n_to_host;                   /* copies to the host launched inside steps */
    struct device_memory memory;
    int64_t memory_total_bytes; /* of the device; 0 = not said */
    struct device_queue queue;

    int64_t small_ns;    /* summed time of kernels under 100 us */
    int64_t tensor_ns;   /* summed time of kernels named like tensor-core ones */
    int64_t eligible_ns; /* summed time of matrix products, convolutions and attention, tensor core or not */
    int has_sm, has_occupancy;
    struct reason sm_why, occupancy_why;
    double sm_ratio;        /* estimated SM efficiency over the steps, without steps over the span */
    double occupancy_ratio; /* estimated achieved occupancy, mean over kernel time */

    struct device_collective *collectives; /* by summed time, longest first */
    int n_collectives;
    struct device_name *names; /* by summed time, longest first */
    int n_names;
};

#endif
