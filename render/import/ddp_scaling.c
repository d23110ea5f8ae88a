/* ddp_scaling.c - results of a DDP scaling benchmark: one JSON object a run with its world size, mode (strong or weak),
 * model, batch and step times over all steps. These files have no phases. Fields as in the public results of
 * pytorch-ddp-scaling. */
#include "render/import/text/parsers.h"

#include "render/import/text/json.h"

#include <math.h>
#include <string.h>

static int holds(const char *head, size_t n, const char *word)
{
    return memmem(head, n, word, strlen(word)) != NULL;
}

int ddp_scaling_is(const char *head, size_t n)
{
    return n && *head == '{' && holds(head, n, "\"scaling_mode\"") && holds(head, n, "\"world_size\"");
}

/* Seconds as ns; -1 if the value is missing or impossible. */
static int64_t seconds_ns(const json_t *o, const char *key)
{
    double s = json_number_or(o, key, -1);
    return s >= 0 && s < (double)RUN_MAX_STEP_NS / 1e9 ? (int64_t)llround(s * 1e9) : -1;
}

static double positive(const json_t *o, const char *key)
{
    double v = json_number_or(o, key, 0);
    return v > 0 && v < 1e15 ? v : 0;
}

/* NVML means count as one sample each, because the samples are not kept. */
static void take_gpu(struct run *r, struct run_node *node, int gpu, const json_t *samples)
{
    static const struct {
        const char *key;
        size_t at;
    } columns[] = {{"gpu_activity_pct", offsetof(struct run_gpu, utilization_percent)},
                   {"mem_used_mb", offsetof(struct run_gpu, memory_used_mb)},
                   {"power_w", offsetof(struct run_gpu, power_w)},
                   {"sm_clock_mhz", offsetof(struct run_gpu, sm_clock_mhz)}};
    node->gpus[gpu].gpu_id = gpu;
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        double mean = json_number_or(json_object_get(samples, columns[i].key), "mean", -1);
        if (mean >= 0)
            sampled_add(r, (struct sampled *)(void *)((char *)&node->gpus[gpu] + columns[i].at), 0, mean);
    }
}

static void take_gpus(struct run *r, const json_t *o)
{
    const json_t *ranks = json_object_get(o, "per_rank");
    size_t n = json_array_size(ranks);
    struct run_node *node = n > 0 && n <= 4096 ? run_node_at(r, 0) : NULL;
    if (!node || node->n_gpus)
        return;
    node->gpus = dcr_arena_alloc(&r->arena, n * sizeof *node->gpus);
    for (size_t i = 0; i < n; i++) {
        const json_t *samples = json_object_get(json_array_get(ranks, i), "gpu_sampling");
        if (json_is_object(samples))
            take_gpu(r, node, node->n_gpus++, samples);
    }
}

/* Samples per second of all ranks, as the file says. If it says nothing, the batch divided by the mean step. If both
 * differ by more than a hundredth, neither is used. */
static double throughput_of(struct run *r, const json_t *o, const char *file)
{
    double said = positive(o, "images_per_sec_global"), step_s = (double)r->summary.mean_ns / 1e9;
    if (r->program.global_batch <= 0)
        return said;
    double by_batch = (double)r->program.global_batch / step_s;
    if (said <= 0)
        return by_batch;
    if (fabs(said - by_batch) <= 0.01 * by_batch)
        return said;
    run_add_gap(r, PHRASE(DDP_CONTRADICTS, slot_name(file), slot_number(said), slot_number(by_batch)),
                PHRASE(DDP_UNUSED));
    return 0;
}

int ddp_scaling_read(struct run *r, struct dcr_stream *s, struct dcr_err *err)
{
    json_t *root = json_slurp(s, err);
    if (!root)
        return DCR_FAIL;
    int rc = 0;
    struct run_summary *m = &r->summary;
    int world = (int)json_int(root, "world_size", 1, RUN_MAX_RANK, 0);
    int machines = (int)json_int(root, "nodes", 1, RUN_MAX_NODE, json_object_get(root, "nodes") ? 0 : 1);
    m->mean_ns = seconds_ns(root, "mean_step_sec");
    if (!world || !machines || m->mean_ns <= 0) {
        rc = dcr_err_set(err, DCR_FAIL, "'%s' looks like a DDP scaling result but has no %s; add it", s->name,
                         machines ? "world_size and mean_step_sec" : "whole number of nodes");
        *m = (struct run_summary){.source = "", .series = "", .slowest_rank = -1};
        goto out;
    }
    const char *tag = json_text(r, root, "tag"), *mode = json_text(r, root, "scaling_mode");
    m->source = "DDP scaling result";
    m->series = *mode ? mode : "";
    m->n_steps = json_int(root, "bench_steps", 1, INT32_MAX, 1);
    m->stdev_ns = seconds_ns(root, "stdev_step_sec");
    m->p50_ns = seconds_ns(root, "p50_step_sec");
    m->p95_ns = seconds_ns(root, "p95_step_sec");
    m->straggler_ratio = positive(root, "straggler_ratio");
    m->slowest_rank = (int)json_int(root, "slowest_rank", 0, RUN_MAX_RANK, -1);
    const json_t *clock = json_object_get(json_object_get(root, "gpu_sampling_rank0"), "sm_clock_mhz");
    m->clock_max_mhz = positive(clock, "max");
    m->clock_mean_mhz = positive(clock, "mean");
    struct run_program *p = &r->program;
    p->name = "DDP scaling benchmark";
    p->model = json_text(r, root, "model");
    p->precision = json_text(r, root, "precision");
    p->backend = "cuda";
    p->global_batch = json_int(root, "global_batch_size", 1, INT32_MAX, -1);
    m->throughput = throughput_of(r, root, s->name);
    p->local_batch = json_int(root, "batch_size_per_gpu", 1, INT32_MAX, -1);
    r->n_ranks = world;
    r->n_nodes = machines > 1 ? machines : world;
    r->unit = machines > 1 ? COUNTS_NODES : COUNTS_GPUS;
    r->node_kind = NODES_MACHINES;
    if (*tag)
        r->run_id = tag;
    char key[512]; /* what the runs of one configuration have in common */
    snprintf(key, sizeof key, "%s %s %s %s %s", m->series, p->model, p->precision, json_text(r, root, "device_name"),
             json_text(r, root, "torch_version"));
    r->config_hash = run_text(r, key);
    take_gpus(r, root);
out:
    json_decref(root);
    return rc;
}
