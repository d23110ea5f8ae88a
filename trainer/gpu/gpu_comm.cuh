/* gpu_comm.cuh - what the ranks of a run add up on their devices, inside the device library. nccl.cu implements it;
 * step.cu calls it. Sums are enqueued on a stream, also while the stream is being captured into a graph, and are
 * ordered with it like a kernel. A failure that shows later is found by gpu_comm_check, which the waiting host asks
 * again and again. */
#ifndef TRAINER_GPU_COMM_H
#define TRAINER_GPU_COMM_H

#include "trainer/gpu/device.h"

#include <cuda_runtime.h>

struct gpu_comm;

/** gpu_comm_library - "2.28.3". borrows, static. */
const char *gpu_comm_library(void);
/** gpu_comm_unique_id - see device.h. */
int gpu_comm_unique_id(unsigned char *id, struct dcr_err *err) DCR_MUST_CHECK;
/** gpu_comm_open - join the other ranks, on the current device. Collective.
 *  largest  entries of the longest gpu_comm_sum_f32, so that any scratch memory is taken here
 *  out      gives; gpu_comm_close */
int gpu_comm_open(struct gpu_comm **out, const struct gpu_ranks *ranks, size_t largest,
                  struct dcr_err *err) DCR_MUST_CHECK;
/** gpu_comm_close - leave; also after a failure (then without waiting for the others). Graphs that hold sums must be
 *  destroyed before: NCCL waits for their end for ever, we for some seconds. NULL is fine. */
void gpu_comm_close(struct gpu_comm *c);

/** gpu_comm_sum_f32, gpu_comm_sum_f64 - elementwise sum over all ranks, in place, in device memory.     shape: (n)
 *  f32 travels as bf16, or not at all, when the ranks agreed so; the same bits on every rank */
int gpu_comm_sum_f32(struct gpu_comm *c, float *values, size_t n, cudaStream_t stream,
                     struct dcr_err *err) DCR_MUST_CHECK;
int gpu_comm_sum_f64(struct gpu_comm *c, double *values, size_t n, cudaStream_t stream,
                     struct dcr_err *err) DCR_MUST_CHECK;

/** gpu_comm_check - has anything failed meanwhile? Asked while the host waits for a step.
 *  waited_s  since the step was launched; beyond ranks.timeout_s the collective counts as stuck
 *  errors    DCR_FATAL: names rank and host; what is still running was aborted, only gpu_comm_close may follow */
int gpu_comm_check(struct gpu_comm *c, double waited_s, struct dcr_err *err) DCR_MUST_CHECK;

#endif
