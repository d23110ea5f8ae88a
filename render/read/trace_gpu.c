/* trace_gpu.c - GPU events of a native trace, handed to the same analysis of devices as traces of other tools. */
#include "render/read/trace_gpu.h"

#include <string.h>

enum { MOST_PHASES = 1 << 20 }; /* of 40 bytes each */

/* A range of any thread; the thread that has the steps is known only at the end. */
struct host_phase {
    uint32_t track;
    enum category category;
    const char *name; /* of the arena */
    int64_t start_ns, dur_ns;
};

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
                           .blocks_per_sm = -1, /* the trace does not give the device's number of processors */
                           .occupancy_ratio = -1};
    if (activity_op(g->activity, &op))
        g->trace.n_unusable++;
}

static void add_call(struct trace_gpu *g, const struct dct_gpu_event *e)
{
    enum call_kind kind = call_kind_of(e->name, strlen(e->name));
    g->trace.n_calls++;
    g->trace.n_mallocs += kind == CALL_MALLOC;
    g->trace.n_frees += kind == CALL_FREE;
    g->trace.n_syncs += kind == CALL_SYNC;
    /* For a call, `device` is its thread. */
    activity_call_of(g->activity, 0, e->gpu.device, kind, e->gpu.correlation ? (int64_t)e->gpu.correlation : -1,
                     e->start_ns, e->end_ns - e->start_ns);
}

/* Libraries such as cuBLASLt and Triton launch through the driver alone. A driver call inside a runtime call has the
 * same correlation: the later begin of the two is the launch, and the runtime call alone counts as a call. */
static void add_driver_call(struct trace_gpu *g, const struct dct_gpu_event *e)
{
    if (e->gpu.correlation && call_kind_of(e->name, strlen(e->name)) == CALL_LAUNCH)
        activity_call_of(g->activity, 0, e->gpu.device, CALL_LAUNCH, (int64_t)e->gpu.correlation, e->start_ns,
                         e->end_ns - e->start_ns);
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
    case DCT_GPU_DRIVER:
        add_driver_call(g, e);
        break;
    default:
        break;
    }
}

/* A program has few names, and the reader gives equal texts at equal addresses. */
static const char *copy_of(struct trace_gpu *g, const char *name)
{
    const uintptr_t at = (uintptr_t)name;
    struct name_copy *n = &g->names[(at ^ at >> 5 ^ at >> 11) % TRACE_GPU_NAMES];
    if (n->name != name)
        *n = (struct name_copy){name, dcr_arena_strdup(&g->arena, name)};
    return n->copy;
}

void trace_gpu_phase(void *ctx, const struct event *e)
{
    struct trace_gpu *g = ctx;
    if (!g->has_host || e->is_beside || g->n_phases == MOST_PHASES)
        return;
    const char *name = e->maker == EVENT_BY_RECORDER ? "" : copy_of(g, e->name); /* a call is not a phase */
    g->phases = arena_grow(&g->arena, g->phases, g->n_phases, &g->phases_cap, sizeof *g->phases);
    g->phases[g->n_phases++] = (struct host_phase){e->track, e->category, name, e->start_ns, e->end_ns - e->start_ns};
}

/* The steps and what the host did in them, in the form of other traces' importers. */
static void add_host(struct trace_gpu *g, const struct reduced *steps)
{
    for (size_t i = 0; i < steps->n_steps; i++)
        activity_named_step(g->activity, STEP_NAME_STEP, steps->steps[i].step, steps->steps[i].start_ns,
                            steps->steps[i].step_ns);
    for (size_t i = 0; i < g->n_phases; i++) {
        const struct host_phase *p = &g->phases[i];
        if (p->track != steps->track)
            continue;
        if (*p->name)
            activity_phase(g->activity, p->name, strlen(p->name), p->start_ns, p->dur_ns);
        if (p->category == CAT_DATA || p->category == CAT_IO || p->category == CAT_COMM)
            activity_range(g->activity,
                           p->category == CAT_DATA ? HOST_DATA
                           : p->category == CAT_IO ? HOST_IO
                                                   : HOST_COMM,
                           p->start_ns, p->dur_ns);
    }
}

/* Is all work that was given to the GPU in the trace? Not if CUPTI lost some, or if the process was killed before its
 * last hand-over. */
static int is_handed_over(const struct summary *s)
{
    return s->info.n_dropped_gpu == 0 && strstr(s->notes, DCR_GPU_WHOLE_NOTE) != NULL;
}

/* With a window, work launched in it may have run after it. */
static int is_gpu_whole(const struct trace_gpu *g, const struct summary *s)
{
    return g->n_phases < MOST_PHASES && is_handed_over(s) && s->info.window.until_ns == 0;
}

/* Does the trace show how the ranks exchange: by a call of the host, or by a kernel? */
static int is_exchange_seen(const struct trace_gpu *g, const struct summary *s)
{
    int64_t n = 0;
    for (size_t i = 0; i < s->steps.n_steps; i++)
        n += s->steps.steps[i].part_ns[CAT_COMM] > 0;
    for (int i = 0; i < g->trace.n_devices; i++)
        n += g->trace.devices[i].value[DEV_COMM_KERNELS];
    return n > 0;
}

/* Should the steps be the work of the GPU? Only if the host's ranges may show no more than the enqueueing (has_host),
 * and the trace has all that is needed. */
static int only_enqueues(const struct trace_gpu *g, const struct run *r, const struct summary *s)
{
    return g->has_host && is_gpu_whole(g, s) && (r->n_ranks <= 1 || is_exchange_seen(g, s)) &&
           g->trace.steps.n_gpus > 0 && g->trace.steps.n_steps > 0;
}

static void take_device_steps(struct reduced *steps, const struct reduced *device)
{
    steps->steps = device->steps;
    steps->n_steps = device->n_steps;
    steps->seen = device->seen;
    steps->collectives = device->collectives;
    steps->n_collectives = device->n_collectives;
    steps->phases = device->phases;
    steps->n_phases = device->n_phases;
    steps->n_stretches = 0;
    steps->wall_ns = device->wall_ns;
    steps->n_gpus = device->n_gpus;
    steps->has_runtime = device->has_runtime;
}

int trace_gpu_finish(struct trace_gpu *g, struct run *r, int rank, struct summary *s, const char *name,
                     struct dcr_err *err)
{
    int rc = 0;
    if (g->has_failed)
        rc = dcr_err_set(err, DCR_FATAL, "out of memory reading '%s'", name);
    if (g->activity && rc == 0) {
        if (s && g->has_host)
            add_host(g, &s->steps);
        g->trace.file = name;
        g->trace.kind = FOREIGN_CUPTI;
        g->trace.rank = rank;
        g->trace.world_size = -1;
        g->trace.lacks_kernels = !s || !is_handed_over(s) || s->loss.n_dropped || s->loss.n_bad_blocks ||
                                 s->loss.n_missing_blocks || s->loss.is_torn || s->info.incomplete_ns;
        rc = activity_finish(g->activity, &r->arena, &g->trace.devices, &g->trace.n_devices, &g->trace.steps, err);
        for (int i = 0; i < g->trace.n_devices; i++)
            g->trace.devices[i].rank = rank;
        if (rc == 0 && s && only_enqueues(g, r, s))
            take_device_steps(&s->steps, &g->trace.steps);
        else {
            g->trace.steps = (struct reduced){0}; /* the run's steps stay those of the host */
            r->has_host_steps |=
                g->has_host && g->trace.n_devices > 0 && s && s->steps.n_steps > 0 && !is_gpu_whole(g, s);
        }
        if (rc == 0 && g->trace.n_devices)
            run_add_trace(r, &g->trace);
    }
    dcr_arena_release(&g->arena);
    activity_free(g->activity);
    g->activity = NULL;
    return rc;
}
