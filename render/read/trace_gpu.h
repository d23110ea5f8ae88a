/* trace_gpu.h - GPU events of a native trace into the devices of a run, and into its steps if the host's ranges only
 * show how long it took to enqueue the work. Used by trace.c. */
#ifndef RENDER_READ_TRACE_GPU_H
#define RENDER_READ_TRACE_GPU_H

#include "lib/reduce/summary.h"
#include "lib/trace/trace.h"
#include "render/device/activity.h"
#include "render/model/build.h"

enum { TRACE_GPU_NAMES = 64 };

/* Start from zero; the caller sets has_host. */
struct trace_gpu {
    int has_host; /* keep the host's ranges: CUPTI recorded, and no program.json states that they wait for the GPU */
    struct activity *activity; /* made at the first event */
    struct foreign_trace trace;
    int has_failed;
    struct host_phase *phases; /* shape (n_phases) */
    size_t n_phases, phases_cap;
    struct name_copy {
        const char *name, *copy; /* the reader's, and its copy in the arena */
    } names[TRACE_GPU_NAMES];
    struct dcr_arena arena;
};

/** trace_gpu_event, trace_gpu_phase - for struct summary_listener; ctx is the struct trace_gpu. */
void trace_gpu_event(void *ctx, const struct dct_gpu_event *e);
void trace_gpu_phase(void *ctx, const struct event *e);
/** trace_gpu_finish - devices into the run when there were any; frees what g holds.
 *  s        of the trace; NULL = it could not be read. Its steps are replaced by the work of the GPU in them if the
 *           host's ranges are around calls that only enqueue: docs/metrics.md#breakdown
 *  name     of the member, for people
 *  errors   DCR_FATAL: no memory, no temporary file */
int trace_gpu_finish(struct trace_gpu *g, struct run *r, int rank, struct summary *s, const char *name,
                     struct dcr_err *err) DCR_MUST_CHECK;

#endif
