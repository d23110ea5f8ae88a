/* trace_gpu.h - GPU events of a native trace into the devices of a run. Used by trace.c. */
#ifndef RENDER_READ_TRACE_GPU_H
#define RENDER_READ_TRACE_GPU_H

#include "lib/trace/trace.h"
#include "render/device/activity.h"
#include "render/model/build.h"

/* Zero to begin with. */
struct trace_gpu {
    struct activity *activity; /* made at the first event */
    struct foreign_trace trace;
    int has_failed;
};

/** trace_gpu_event - for dct_on_gpu; ctx is the struct trace_gpu. */
void trace_gpu_event(void *ctx, const struct dct_gpu_event *e);
/** trace_gpu_finish - devices into the run when there were any; frees what g holds.
 *  name     of the member, for people
 *  errors   DCR_FATAL: no memory, no temporary file */
int trace_gpu_finish(struct trace_gpu *g, struct run *r, int rank, const char *name,
                     struct dcr_err *err) DCR_MUST_CHECK;

#endif
