/* trace_gpu.c - GPU events of a native trace, handed to the same analysis of devices as traces of other tools. */
#include "render/read/trace_gpu.h"

#include <string.h>

static void add_op(struct trace_gpu *g, const struct dct_gpu_event *e, enum op_kind kind)
{
    struct device_op op = {.device = e->gpu.device,
                           .stream = e->gpu.stream,
                           .start_ns = e->start_ns,
                           .dur_ns = e->end_ns - e->start_ns,
                           .kind = kind,
                           .name = e->name,
                           .name_len = strlen(e->name),
                           .correlation = e->gpu.correlation ? (int64_t)e->gpu.correlation : -1,
                           .blocks_per_sm = -1, /* the trace does not say how many processors the device has */
                           .occupancy_ratio = -1};
    if (activity_op(g->activity, &op))
        g->trace.n_unusable++;
}

/* Calls of the runtime; those of the driver lie inside them and carry the same correlation. */
static void add_call(struct trace_gpu *g, const struct dct_gpu_event *e)
{
    enum call_kind kind = call_kind_of(e->name, strlen(e->name));
    g->trace.n_calls++;
    g->trace.n_mallocs += kind == CALL_MALLOC;
    g->trace.n_frees += kind == CALL_FREE;
    g->trace.n_syncs += kind == CALL_SYNC;
    /* Of a call `device` is its thread. */
    activity_call_of(g->activity, 0, e->gpu.device, kind, e->gpu.correlation ? (int64_t)e->gpu.correlation : -1,
                     e->start_ns, e->end_ns - e->start_ns);
}

void trace_gpu_event(void *ctx, const struct dct_gpu_event *e)
{
    struct trace_gpu *g = ctx;
    if (!g->activity && !g->has_failed) {
        g->activity = activity_new(0);
        g->has_failed = !g->activity;
    }
    if (g->has_failed)
        return;
    g->trace.n_events++;
    switch (e->gpu.activity) {
    case DCT_GPU_KERNEL:
        add_op(g, e, OP_COMPUTE);
        break;
    case DCT_GPU_MEMCPY:
        add_op(g, e, OP_MEMCPY);
        break;
    case DCT_GPU_MEMSET:
        add_op(g, e, OP_MEMSET);
        break;
    case DCT_GPU_MEMORY:
        if (e->bytes <= INT64_MAX && (e->gpu.detail == 1 || e->gpu.detail == 2))
            activity_memory_change(g->activity, e->gpu.device, e->start_ns,
                                   e->gpu.detail == 1 ? (int64_t)e->bytes : -(int64_t)e->bytes);
        break;
    case DCT_GPU_RUNTIME:
        add_call(g, e);
        break;
    default:
        break;
    }
}

int trace_gpu_finish(struct trace_gpu *g, struct run *r, int rank, const char *name, struct dcr_err *err)
{
    int rc = 0;
    if (g->has_failed)
        rc = dcr_err_set(err, DCR_FATAL, "out of memory reading '%s'", name);
    if (g->activity && rc == 0) {
        g->trace.file = name;
        g->trace.kind = FOREIGN_CUPTI;
        g->trace.rank = rank;
        g->trace.world_size = -1;
        rc = activity_finish(g->activity, &r->arena, &g->trace.devices, &g->trace.n_devices, &g->trace.steps, err);
        for (int i = 0; i < g->trace.n_devices; i++)
            g->trace.devices[i].rank = rank;
        if (rc == 0 && g->trace.n_devices)
            run_add_trace(r, &g->trace);
    }
    activity_free(g->activity);
    g->activity = NULL;
    return rc;
}
