/* gpu_samples.c - see gpu_samples.h. */
#include "render/import/gpu_samples.h"

#include <string.h>

static struct run_gpu *gpu_at(struct run *r, int64_t id)
{
    struct run_node *n = id >= 0 && id < 1024 ? run_node_at(r, 0) : NULL;
    if (!n)
        return NULL;
    for (int i = 0; i < n->n_gpus; i++)
        if (n->gpus[i].gpu_id == id)
            return &n->gpus[i];
    struct run_gpu *more = dcr_arena_alloc(&r->arena, (size_t)(n->n_gpus + 1) * sizeof *more);
    if (n->n_gpus)
        memcpy(more, n->gpus, (size_t)n->n_gpus * sizeof *more);
    n->gpus = more;
    n->gpus[n->n_gpus].gpu_id = (int)id;
    return &n->gpus[n->n_gpus++];
}

void gpu_samples_add(struct run *r, int64_t id, enum gpu_sample what, double t, double value)
{
    struct run_gpu *g = what == SAMPLE_NONE ? NULL : gpu_at(r, id);
    if (!g)
        return;
    struct sampled *to[] = {[SAMPLE_UTILIZATION] = &g->utilization_percent, [SAMPLE_MEMORY_USED] = &g->memory_used_mb,
                            [SAMPLE_MEMORY_TOTAL] = &g->memory_total_mb,    [SAMPLE_POWER] = &g->power_w,
                            [SAMPLE_TEMPERATURE] = &g->temperature_c,       [SAMPLE_CLOCK] = &g->sm_clock_mhz};
    sampled_add(r, to[what], t, value);
}
