/* calibration.c - calibration.json, the measurements of `dccollect calibrate`. Impossible values are left out. */
#include "render/read/members.h"

#include "render/import/text/json.h"

#include "lib/archive/format.h"

#include <stdio.h>
#include <string.h>

enum { MAX_NODES = 65536, MAX_GROUPS = 64, MAX_POINTS = 64 };

static void read_measured(const json_t *part, const char *key, struct run_measured *out)
{
    const json_t *o = json_object_get(part, key);
    int n = (int)json_int(o, "n", 1, 1 << 20, 0);
    struct run_measured m = {n, json_number_or(o, "median", -1), json_number_or(o, "min", -1),
                             json_number_or(o, "max", -1)};
    if (n && m.min > 0 && m.median >= m.min && m.max >= m.median && m.max < 1e12)
        *out = m;
}

/* All cores together were slower than one core: one of the two measurements was disturbed, and it is unknown which.
 * Early collectors did not mark this. Under a CPU quota of fewer cores, the quota is the reason. */
static int is_below_one(const struct run_measured *one, const struct run_measured *all, int cores, double quota)
{
    int is_short = quota > 0 && quota < cores;
    return cores > 1 && !is_short && one->n && all->n && all->median < 0.9 * one->median;
}

/* Why the measurements behind the ceilings are disturbed: the collector's own sentence, else a check of the numbers. */
static const char *disturbed(struct run *r, const json_t *flop, const json_t *memory, double quota,
                             const struct run_node_calibration *n)
{
    const json_t *const groups[] = {memory, flop}; /* memory first, because the reason is shown with memory bandwidth */
    static const char *const names[] = {"memory", "arithmetic"}, *const keys[] = {"one_core", "all_cores"},
                             *const cores[] = {"one core", "all cores"};
    for (int i = 0; i < 4; i++) {
        const char *text = json_text(r, json_object_get(groups[i / 2], keys[i % 2]), "disturbed");
        char named[512];
        if (!*text)
            continue;
        snprintf(named, sizeof named, "%s, %s: %.400s", names[i / 2], cores[i % 2], text);
        return run_text(r, named);
    }
    return is_below_one(&n->flop_one, &n->flop_all, n->cores, quota) ||
                   is_below_one(&n->memory_one, &n->memory_all, n->cores, quota)
               ? "all cores together did less than one of them alone"
               : "";
}

static void read_node(struct run *r, const json_t *o, struct run_node_calibration *n)
{
    const json_t *flop = json_object_get(o, "fma"), *memory = json_object_get(o, "memory");
    if (!flop) /* earlier collectors: matrix products, up to a tenth slower */
        flop = json_object_get(o, "sgemm");
    n->host = json_text(r, o, "host");
    n->cores = (int)json_int(o, "cores", 1, 1 << 20, 0);
    read_measured(flop, "one_core", &n->flop_one);
    read_measured(flop, "all_cores", &n->flop_all);
    n->memory_array_bytes = json_int(memory, "array_bytes", 1, INT64_MAX, 0);
    read_measured(memory, "one_core", &n->memory_one);
    read_measured(memory, "all_cores", &n->memory_all);
    n->disturbed = disturbed(r, flop, memory, json_number_or(o, "cores_quota", 0), n);
}

static void read_points(struct run *r, const json_t *list, struct run_allreduce *a)
{
    size_t n = json_array_size(list);
    if (n == 0 || n > MAX_POINTS)
        return;
    a->points = dcr_arena_alloc(&r->arena, n * sizeof *a->points);
    for (size_t i = 0; i < n; i++) {
        const json_t *o = json_array_get(list, i);
        struct run_allreduce_point p = {.bytes = json_int(o, "bytes", 1, INT64_MAX, 0),
                                        .n = (int)json_int(o, "n", 1, 1 << 20, 0),
                                        .median_ns = json_int(o, "median_ns", 1, RUN_MAX_STEP_NS, 0),
                                        .min_ns = json_int(o, "min_ns", 1, RUN_MAX_STEP_NS, 0),
                                        .max_ns = json_int(o, "max_ns", 1, RUN_MAX_STEP_NS, 0)};
        int follows = a->n_points == 0 || p.bytes > a->points[a->n_points - 1].bytes;
        if (p.bytes && p.n && p.median_ns && p.min_ns && p.max_ns && follows)
            a->points[a->n_points++] = p;
    }
}

static void read_allreduce(struct run *r, const json_t *list, struct run_calibration *c)
{
    size_t n = json_array_size(list);
    if (n == 0 || n > MAX_GROUPS)
        return;
    c->allreduce = dcr_arena_alloc(&r->arena, n * sizeof *c->allreduce);
    for (size_t i = 0; i < n; i++) {
        const json_t *o = json_array_get(list, i);
        struct run_allreduce a = {.disturbed = json_text(r, o, "disturbed"),
                                  .n_ranks = (int)json_int(o, "n_ranks", 2, RUN_MAX_RANK + 1, 0),
                                  .n_nodes = (int)json_int(o, "n_nodes", 1, RUN_MAX_NODE + 1, 0),
                                  .ranks_share_cores = json_is_true(json_object_get(o, "ranks_share_cores")),
                                  .latency_ns = json_int(o, "latency_ns", 1, RUN_MAX_STEP_NS, 0),
                                  .algbw_gb_per_s = json_number_or(o, "algbw_gb_per_s", 0),
                                  .busbw_gb_per_s = json_number_or(o, "busbw_gb_per_s", 0)};
        read_points(r, json_object_get(o, "points"), &a);
        int follows = c->n_allreduce == 0 || a.n_ranks > c->allreduce[c->n_allreduce - 1].n_ranks;
        if (a.n_ranks && a.n_nodes && a.latency_ns && a.n_points && follows)
            c->allreduce[c->n_allreduce++] = a;
    }
}

int calibration_read(struct run *r, struct dcr_stream *s, struct dcr_err *err)
{
    json_t *root = json_slurp(s, err);
    if (!root)
        return DCR_FAIL;
    const char *format = json_string_value(json_object_get(root, "format"));
    int64_t version = json_int(root, "version", 1, INT32_MAX, 0);
    int rc = 0;
    if (!format || strcmp(format, DCR_CALIBRATION_FORMAT) != 0) {
        rc = dcr_err_set(err, DCR_FAIL,
                         "cannot read '%s': it is not a result of `dccollect calibrate`; name one, or measure again",
                         s->name);
        goto out;
    }
    if (version != DCR_CALIBRATION_VERSION) {
        rc = dcr_err_set(
            err, DCR_FAIL,
            "cannot read '%s': calibration version %lld, this program reads up to %d; use a later version of dcreport",
            s->name, (long long)version, DCR_CALIBRATION_VERSION);
        goto out;
    }
    struct run_calibration *c = dcr_arena_alloc(&r->arena, sizeof *c);
    const json_t *nodes = json_object_get(root, "nodes");
    size_t n = json_array_size(nodes);
    c->measured_s = json_int(root, "measured", 0, INT64_MAX, 0);
    c->mpi_library = json_text(r, root, "mpi_library");
    c->no_allreduce = json_text(r, json_object_get(root, "missing"), "allreduce");
    if (n > 0 && n <= MAX_NODES) {
        c->nodes = dcr_arena_alloc(&r->arena, n * sizeof *c->nodes);
        for (size_t i = 0; i < n; i++)
            read_node(r, json_array_get(nodes, i), &c->nodes[c->n_nodes++]);
    }
    read_allreduce(r, json_object_get(root, "allreduce"), c);
    r->calibration = c;
out:
    json_decref(root);
    return rc;
}
