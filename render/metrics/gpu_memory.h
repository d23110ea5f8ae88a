/* gpu_memory.h - how full the memory of each GPU was, and what that means: room for a larger batch, full by design, or
 * in danger of running out. Inside render/metrics.  source: docs/metrics.md#gpu-memory. Test:
 * tests/unit/test_gpu_memory.c */
#ifndef RENDER_METRICS_GPU_MEMORY_H
#define RENDER_METRICS_GPU_MEMORY_H

#include "render/metrics/report.h"

/** gpu_memory_state - what a share of a GPU's memory at its peak means.
 *  share    used / all, 0 to 1
 *  grows    over the steps: 1, 0, or -1 not known */
enum memory_state gpu_memory_state(const struct thresholds *t, double share, int grows);
/** gpu_memory - fills r->memory for all GPUs whose memory a monitor or a trace gives. It appends notes on it to
 * r->notes while there is room: one for each state, by the fullest GPU in it. */
void gpu_memory(struct report *rep, struct run_result *r);
/** gpu_memory_grows - does a line of that slope rise by more than 1 % of `whole` in 100 steps? */
int gpu_memory_grows(double bytes_per_step, double whole);

#endif
