/* metadata.c - job_metadata.json, and the sizes in earlier users' job_metadata.txt. */
#include "render/read/members.h"
#include "render/read/recorder.h"

#include "render/import/text/json.h"

#include "lib/base/buf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -1: not said, or no share. */
static double ratio_or_none(const json_t *o, const char *key)
{
    double x = json_number_or(o, key, -1);
    return x >= 0 && x <= 1 ? x : -1;
}

static void read_program(struct run *r, const json_t *program)
{
    struct run_program *p = &r->program;
    p->name = json_text(r, program, "name");
    p->version = json_text(r, program, "version");
    p->model = json_text(r, program, "model");
    p->precision = json_text(r, program, "precision");
    p->backend = json_text(r, program, "backend");
    p->blas = json_text(r, program, "blas");
    p->dataset = json_text(r, program, "dataset");
    p->allreduce_dtype = json_text(r, program, "allreduce_dtype");
    p->mpi = json_text(r, program, "mpi");
    p->cuda = json_text(r, program, "cuda");
    p->nccl = json_text(r, program, "nccl");
    p->parameters = json_int(program, "parameters", 0, INT64_MAX, -1);
    p->threads = json_int(program, "threads", 1, 1 << 20, -1);
    p->global_batch = json_int(program, "global_batch", 1, INT32_MAX, -1);
    p->local_batch = json_int(program, "local_batch", 1, INT32_MAX, -1);
    p->n_sensors = json_int(program, "n_sensors", 1, INT32_MAX, -1);
    p->allreduce_bytes_per_step = json_int(program, "allreduce_bytes_per_step", 0, INT64_MAX, -1);
    p->seed = json_int(program, "seed", 0, INT64_MAX, -1);
    p->accumulate = json_int(program, "accumulate", 1, 1 << 20, -1);
    p->loader_workers = json_int(program, "loader_workers", 0, 1 << 20, -1);
    p->flop_per_step = json_number_or(program, "flop_per_step", -1);
    p->traffic_bytes_per_step = json_number_or(program, "traffic_bytes_per_step", -1);
    p->kernels_best = json_text(r, program, "kernels_best");
    p->kernels_best_ratio = json_number_or(program, "kernels_best_ratio", -1);
    const json_t *generated = json_object_get(program, "dataset_is_generated");
    const json_t *strong = json_object_get(program, "strong_scaling");
    p->dataset_is_generated = json_is_boolean(generated) ? json_is_true(generated) : -1;
    p->strong_scaling = json_is_boolean(strong) ? json_is_true(strong) : -1;
    const json_t *overlapped = json_object_get(program, "allreduce_is_overlapped");
    p->allreduce_is_overlapped = json_is_boolean(overlapped) ? json_is_true(overlapped) : -1;
    p->allreduce_early_ratio = ratio_or_none(program, "allreduce_early_ratio");
    p->backward_left_looks = json_int(program, "backward_left_looks", 1, INT32_MAX, -1);
    p->backward_left_ratio = ratio_or_none(program, "backward_left_ratio");
}

/* "emulated" of a node. One that cannot be a part of a machine is ignored. */
static void read_share(const json_t *o, struct node_share *s)
{
    double cores = json_number_or(o, "cores", -1);
    if (!(cores >= 0 && cores < 1 << 20))
        return;
    *s = (struct node_share){.has = 1,
                             .cores = cores,
                             .period_us = json_int(o, "period_us", 1, 1000000, 0),
                             .link_bit_per_s = json_int(o, "link_bit_per_s", 0, 1000000000000000, 0),
                             .is_default = json_is_true(json_object_get(o, "is_default"))};
}

static void read_node(struct run *r, const json_t *o)
{
    struct run_node *n = run_node_at(r, json_int(o, "node", 0, RUN_MAX_NODE, -1));
    if (!n)
        return;
    n->host = json_text(r, o, "host");
    n->boot_id = json_text(r, o, "boot_id");
    n->cpu_model = json_text(r, o, "cpu_model");
    n->kernel = json_text(r, o, "kernel");
    n->gpu_model = json_text(r, json_array_get(json_object_get(o, "gpus"), 0), "name");
    n->gpu_driver = json_text(r, o, "gpu_driver");
    n->cores = (int)json_int(o, "cores", 1, 1 << 20, 0);
    n->cores_allowed = (int)json_int(o, "cores_allowed", 1, 1 << 20, 0);
    n->cores_quota = json_number_or(o, "cores_quota", 0);
    if (!(n->cores_quota > 0 && n->cores_quota < 1 << 20))
        n->cores_quota = 0;
    read_share(json_object_get(o, "emulated"), &n->share);
    n->memory_bytes = json_int(o, "memory_bytes", 1, INT64_MAX, 0);
    const json_t *monitors = json_object_get(o, "monitors");
    n->cpu_monitor = recorder_of(json_text(r, monitors, "cpu"));
    n->gpu_monitor = recorder_of(json_text(r, monitors, "gpu"));
}

static void read_rank(struct run *r, const json_t *o)
{
    struct run_rank *k = run_rank_at(r, json_int(o, "rank", 0, RUN_MAX_RANK, -1));
    if (!k)
        return;
    k->node = (int)json_int(o, "node", 0, RUN_MAX_NODE, -1);
    k->host = json_text(r, o, "host");
    k->cpus_allowed = json_text(r, o, "cpus_allowed");
    k->exit_status = (int)json_int(o, "exit_status", 0, 255, -1);
    k->signal = (int)json_int(o, "signal", 0, 128, 0);
    if (!*r->told_to_end) {
        r->told_to_end = json_text(r, o, "told_to_end");
        r->told_ns = json_int(o, "told_to_end_ns", 0, INT64_MAX, 0);
    }
    const json_t *counters = json_object_get(o, "counters");
    k->counters = recorder_of(
        json_text(r, counters ? counters : json_object_get(o, "missing"), counters ? "cycles" : "counters"));
}

static int read_pairs(struct run *r, const json_t *object, struct run_pair **out)
{
    size_t n = json_object_size(object);
    if (n == 0)
        return 0;
    *out = dcr_arena_alloc(&r->arena, n * sizeof **out);
    int filled = 0;
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value) if (json_is_string(value))
    {
        (*out)[filled].key = run_text(r, key);
        (*out)[filled++].value = run_text(r, json_string_value(value));
    }
    return filled;
}

/* The user can state the batch of a program without program.json: --label global_batch=64. */
static void read_batch_label(struct run *r)
{
    for (int i = 0; i < r->n_labels && r->program.global_batch <= 0; i++) {
        const char *value = r->labels[i].value;
        char *end;
        errno = 0;
        long long n = strtoll(value, &end, 10);
        if (strcmp(r->labels[i].key, "global_batch") != 0 || *value < '0' || *value > '9' || *end || errno || n < 1 ||
            n > INT32_MAX)
            continue;
        r->program.global_batch = n;
        r->program.batch_is_label = 1;
    }
}

/* "command": every argument, so that two runs can be compared word by word. */
static void read_command(struct run *r, const json_t *words)
{
    size_t n = json_array_size(words);
    if (n == 0)
        return;
    r->command = dcr_arena_alloc(&r->arena, n * sizeof *r->command);
    for (size_t i = 0; i < n; i++)
        r->command[r->n_command++] = run_text(r, json_string_value(json_array_get(words, i)));
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* "libraries": those of all groups of ranks together. */
static void read_libraries(struct run *r, const json_t *groups)
{
    size_t n = 0, i, k;
    const json_t *group, *path;
    json_array_foreach((json_t *)groups, i, group) n += json_array_size(json_object_get(group, "paths"));
    r->libraries = n ? dcr_arena_alloc(&r->arena, n * sizeof *r->libraries) : NULL;
    n = 0;
    json_array_foreach((json_t *)groups, i, group)
    {
        json_array_foreach(json_object_get(group, "paths"), k, path)
        {
            const char *text = json_string_value(path), *slash = text ? strrchr(text, '/') : NULL;
            if (text)
                r->libraries[n++] = run_text(r, slash ? slash + 1 : text);
        }
    }
    if (n)
        qsort(r->libraries, n, sizeof *r->libraries, compare_texts);
    for (i = 0; i < n; i++)
        if (!r->n_libraries || strcmp(r->libraries[r->n_libraries - 1], r->libraries[i]) != 0)
            r->libraries[r->n_libraries++] = r->libraries[i];
}

static void read_limits(struct run *r, const json_t *limits)
{
    const char *key;
    json_t *value;
    size_t n = json_object_size(limits);
    r->limits = n ? dcr_arena_alloc(&r->arena, n * sizeof *r->limits) : NULL;
    json_object_foreach((json_t *)limits, key, value)
    {
        const json_t *soft = json_object_get(value, "soft");
        char text[32] = "unlimited";
        if (json_is_integer(soft))
            snprintf(text, sizeof text, "%lld", (long long)json_integer_value(soft));
        else if (!json_is_null(soft))
            continue;
        r->limits[r->n_limits].key = run_text(r, key);
        r->limits[r->n_limits++].value = run_text(r, text);
    }
}

/* Seconds since 1970; 0 if missing, or after the year 2255, when nanoseconds would not fit into 64 bits. */
static double unix_time(const json_t *root, const char *key)
{
    double s = json_number_or(root, key, 0);
    return s > 0 && s < 9e9 ? s : 0;
}

int metadata_read(struct run *r, struct dcr_stream *s, struct dcr_err *err)
{
    json_t *root = json_slurp(s, err);
    if (!root)
        return DCR_FAIL;
    read_command(r, json_object_get(root, "command"));
    r->git_commit = json_text(r, json_object_get(root, "git"), "commit");
    const json_t *dirty = json_object_get(json_object_get(root, "git"), "dirty");
    r->git_changed = json_is_boolean(dirty) ? json_is_true(dirty) : -1;
    read_libraries(r, json_object_get(root, "libraries"));
    read_limits(r, json_object_get(root, "limits"));
    r->started_s = unix_time(root, "started");
    r->ended_s = unix_time(root, "ended");
    r->told_to_end = json_text(r, root, "told_to_end");
    r->told_ns = json_int(root, "told_to_end_ns", 0, INT64_MAX, 0);
    read_program(r, json_object_get(root, "program"));
    const json_t *scheduler = json_object_get(root, "scheduler");
    r->scheduler = json_text(r, scheduler, "name");
    r->job_id = json_text(r, scheduler, "job_id");
    const json_t *collector = json_object_get(root, "collector");
    r->collector_version = json_text(r, collector, "version");
    json_int_t cpu_ns = json_integer_value(json_object_get(collector, "cpu_ns"));
    r->collector_cpu_ns = cpu_ns > 0 && cpu_ns <= RUN_MAX_TIME_NS ? cpu_ns : 0;
    r->nvtx = recorder_of(json_text(r, collector, "nvtx"));
    r->mpi = recorder_of(json_text(r, collector, "mpi"));
    r->io = recorder_of(json_text(r, collector, "io"));
    r->cuda = recorder_of(json_text(r, collector, "cuda"));
    r->has_window = json_is_object(json_object_get(collector, "window"));
    const json_t *list = json_object_get(root, "nodes");
    for (size_t i = 0; i < json_array_size(list); i++)
        read_node(r, json_array_get(list, i));
    list = json_object_get(root, "ranks");
    for (size_t i = 0; i < json_array_size(list); i++)
        read_rank(r, json_array_get(list, i));
    r->n_environment = read_pairs(r, json_object_get(root, "environment"), &r->environment);
    r->n_labels = read_pairs(r, json_object_get(root, "labels"), &r->labels);
    read_batch_label(r);
    r->has_metadata = 1;
    json_decref(root);
    return 0;
}

/* "SLURM_JOB_NUM_NODES=4", "Nodes: 4": the number after any of keys at the beginning of the line, 0 when none fits. */
static int number_behind(const char *line, const char *const *keys, int max)
{
    for (; *keys; keys++) {
        size_t n = strlen(*keys);
        if (strncasecmp(line, *keys, n) != 0)
            continue;
        const char *s = line + n + strspn(line + n, " \t");
        if (*s != ':' && *s != '=')
            continue;
        s += 1 + strspn(s + 1, " \t");
        char *end;
        long k = strtol(s, &end, 10);
        end += strspn(end, " \t\r");
        if (end != s && *end == '\0' && k >= 1 && k <= max)
            return (int)k;
    }
    return 0;
}

int metadata_text_read(struct run *r, struct dcr_stream *s, struct dcr_err *err)
{
    static const char *const node_keys[] = {
        "SLURM_JOB_NUM_NODES", "SLURM_NNODES", "Number of nodes", "num_nodes", "n_nodes", "NNODES", "Nodes", NULL};
    static const char *const task_keys[] = {"SLURM_NTASKS", "Number of tasks", "n_ranks", "NTASKS", "Tasks", NULL};
    enum { MAX_BYTES = 1 << 20 };
    if (r->has_metadata && r->n_nodes)
        return 0;
    struct dcr_buf b = {0};
    int rc = dcr_stream_slurp(s, &b, MAX_BYTES, err);
    char *rest = rc ? NULL : dcr_arena_strdup(&r->arena, dcr_buf_text(&b));
    for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n")) {
        line += strspn(line, " \t");
        int n = number_behind(line, node_keys, RUN_MAX_NODE);
        if (n && !r->n_nodes)
            r->n_nodes = n;
        n = number_behind(line, task_keys, RUN_MAX_RANK);
        if (n && !r->n_ranks)
            r->n_ranks = n;
    }
    dcr_buf_release(&b);
    return rc;
}
