/* dcgm_activity.c - see dcgm_activity.h. */
#include "render/import/dcgm_activity.h"

#include <stdio.h>
#include <string.h>

/* Shares of time are 0 to 1 in DCGM and rates bytes a second; both are shown in the unit given here. */
static const struct {
    const char *field, *dmon, *name, *unit;
    double scale;
} activities[DCGM_N_ACTIVITIES] = {
    {"DCGM_FI_PROF_SM_ACTIVE", "SMACT", "multiprocessors active", "%", 100},
    {"DCGM_FI_PROF_SM_OCCUPANCY", "SMOCC", "warps resident, of the most that can be", "%", 100},
    {"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "TENSO", "tensor cores active", "%", 100},
    {"DCGM_FI_PROF_DRAM_ACTIVE", "DRAMA", "memory active", "%", 100},
    {"DCGM_FI_PROF_PIPE_FP64_ACTIVE", "FP64A", "FP64 pipe active", "%", 100},
    {"DCGM_FI_PROF_PIPE_FP32_ACTIVE", "FP32A", "FP32 pipe active", "%", 100},
    {"DCGM_FI_PROF_PIPE_FP16_ACTIVE", "FP16A", "FP16 pipe active", "%", 100},
    {"DCGM_FI_PROF_PCIE_TX_BYTES", "PCITX", "PCIe, sent", "MB/s", 1e-6},
    {"DCGM_FI_PROF_PCIE_RX_BYTES", "PCIRX", "PCIe, received", "MB/s", 1e-6},
    {"DCGM_FI_PROF_NVLINK_TX_BYTES", "NVLTX", "NVLink, sent", "MB/s", 1e-6},
    {"DCGM_FI_PROF_NVLINK_RX_BYTES", "NVLRX", "NVLink, received", "MB/s", 1e-6}};

int dcgm_activity_of(const char *field, size_t n)
{
    for (int i = 0; i < DCGM_N_ACTIVITIES; i++)
        if ((strlen(activities[i].field) == n && memcmp(activities[i].field, field, n) == 0) ||
            (strlen(activities[i].dmon) == n && memcmp(activities[i].dmon, field, n) == 0))
            return i;
    return -1;
}

static struct dcgm_gpu *gpu_at(struct run *r, struct dcgm_activity *a, int64_t node, int64_t id)
{
    for (size_t i = 0; i < a->n; i++)
        if (a->gpus[i].node == node && a->gpus[i].id == id)
            return &a->gpus[i];
    if (node < 0 || id < 0 || id > 1023)
        return NULL;
    a->gpus = arena_grow(&r->arena, a->gpus, a->n, &a->cap, sizeof *a->gpus);
    a->gpus[a->n] = (struct dcgm_gpu){.node = node, .id = id};
    return &a->gpus[a->n++];
}

int dcgm_activity_add(struct run *r, struct dcgm_activity *a, int64_t node, int64_t id, int activity, const char *cell,
                      struct samples_left *left)
{
    double v;
    int is_share = activities[activity].scale > 1;
    /* A rate has no limit, so the limit of memory is used, which is the widest. */
    if (!gpu_samples_read(cell, is_share ? SAMPLE_UTILIZATION : SAMPLE_MEMORY_USED, activities[activity].scale, &v,
                          left))
        return 0;
    struct dcgm_gpu *g = gpu_at(r, a, node, id);
    if (!g)
        return 0;
    g->of[activity].min = g->of[activity].n && g->of[activity].min < v ? g->of[activity].min : v;
    g->of[activity].max = g->of[activity].n && g->of[activity].max > v ? g->of[activity].max : v;
    g->of[activity].sum += v;
    g->of[activity].n++;
    return 1;
}

void dcgm_activity_table(struct run *r, const struct dcgm_activity *a, const char *file)
{
    struct foreign_table *t = NULL;
    int is_of_many = 0;
    for (size_t i = 0; i < a->n; i++)
        is_of_many |= a->gpus[i].node != a->gpus[0].node;
    for (size_t i = 0; i < a->n; i++)
        for (int k = 0; k < DCGM_N_ACTIVITIES; k++) {
            const struct dcgm_gpu *g = &a->gpus[i];
            int64_t n = g->of[k].n;
            if (!n)
                continue;
            if (!t)
                t = run_add_table(r, file, FOREIGN_DCGM,
                                  "How busy the parts of each GPU were, by DCGM's profiling counters: shares of the "
                                  "sampled time (%) and rates (MB/s), over the samples",
                                  "GPU|Part|Unit|#Mean|#Least|#Greatest|#Samples");
            if (is_of_many)
                table_add(r, t, "node %lld GPU %lld", (long long)g->node, (long long)g->id);
            else
                table_add(r, t, "GPU %lld", (long long)g->id);
            table_add(r, t, "%s", activities[k].name);
            table_add(r, t, "%s", activities[k].unit);
            table_add(r, t, "%.4g", g->of[k].sum / (double)n);
            table_add(r, t, "%.4g", g->of[k].min);
            table_add(r, t, "%.4g", g->of[k].max);
            table_add(r, t, "%lld", (long long)n);
        }
}
