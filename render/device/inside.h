/* inside.h - what activity.c gathers and sweep.c walks through. Inside render/device only. */
#ifndef RENDER_DEVICE_INSIDE_H
#define RENDER_DEVICE_INSIDE_H

#include "render/device/activity.h"
#include "render/device/optable.h"
#include "render/device/spill.h"
#include "render/device/threads.h"
#include "render/model/build.h"

#define NO_LAUNCH INT64_MIN

/* An operation in the sorters. Its first key is (correlation, start), to find its launch; its second key is (device
 * index, start). */
struct op_record {
    struct spill_key key;
    int64_t end_ns;
    int64_t launch_ns; /* before the join: unused; NO_LAUNCH = not in the trace */
    uint32_t device;   /* index */
    uint32_t kind;
    float blocks_per_sm; /* < 0 = not said */
    int32_t stream;
    int32_t thread; /* that launched it (threads.h); THREAD_UNKNOWN = not said */
    int is_to_host; /* a copy from the device to the host */
};

/* Sorted, disjoint. */
struct intervals {
    int64_t (*at)[2]; /* shape (n)(start, end) */
    size_t n, cap;
};

/* What was summed while operations came in, per device. */
struct device_sums {
    int64_t device;
    int64_t n_kind[N_OP_KINDS];
    int64_t n_small, small_ns, kernel_ns, tensor_ns, eligible_ns;
    int64_t n_without_blocks, n_without_occupancy, occupancy_ns;
    double occupancy_time; /* occupancy x ns */
};

/** intervals_covered - how much of [from, to) lies in x. cursor: where the last call ended; calls come with ascending
 *  `from`, 0 at first. */
int64_t intervals_covered(const struct intervals *x, int64_t from, int64_t to, size_t *cursor);

/* What the host did. HOST_SYNC holds the waits of all threads; the entries after the ranges hold those of each thread.
 */
struct code_log;
struct host_side {
    struct code_log *code; /* receives idle time that the host caused; NULL = not needed */
    struct intervals
        of[N_HOST_RANGES + THREADS_MAX]; /* HOST_IO without what HOST_DATA covers, HOST_COMM without both */
    const struct threads *threads;
};

struct device_steps;
/** sweep_device - all operations of one device, in order of their start.
 *  first    the first one, from ops; *first becomes the first one of the next device, NULL at the end
 *  steps    receive what this device did in them; NULL = they belong to another device
 *  out      span, unions, idle causes and estimated SM efficiency are written */
void sweep_device(struct spill *ops, const struct op_record **first, const struct host_side *host,
                  struct device_steps *steps, struct dcr_arena *arena, struct run_device *out);

#endif
