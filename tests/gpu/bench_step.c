/* bench_step.c - how long a training step takes on a device: per precision, recorded as a graph or launched piece by
 * piece, at the shapes of METR-LA and PEMS-BAY. To be read, not a test; says nothing about an emulated device.
 *   bench_step [STEPS [BATCH]] */
#include "tests/gpu/find_library.h"
#include "trainer/model/backend.h"
#include "trainer/gpu/device.h"
#include "trainer/model/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WARM_UP = 5, N_TIMES = 6, SKIPPED = 77 };

static struct comm alone = {.n_ranks = 1, .host = "here"};

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The sensors and edges of the published graphs, with random edges: every sensor itself and some others. */
static int make_supports(int n, int edges, struct graph_supports *out, struct dcr_err *err)
{
    int *from = calloc((size_t)edges, sizeof *from), *to = calloc((size_t)edges, sizeof *to);
    double *weight = calloc((size_t)edges, sizeof *weight);
    struct graph_csr adjacency = {0};
    if (!from || !to || !weight)
        abort();
    for (int i = 0; i < edges; i++) { /* i / n steps on from the sensor itself: no edge twice */
        from[i] = i % n;
        to[i] = (i % n + i / n * 17) % n;
        weight[i] = 0.1 + rng_uniform(1, RNG_TEST, (uint64_t)i);
    }
    int rc = graph_csr_from_triplets(n, edges, from, to, weight, &adjacency, err);
    if (!rc)
        rc = graph_supports_build(&adjacency, GRAPH_DUAL_RANDOM_WALK, out, err);
    graph_csr_free(&adjacency);
    free(from);
    free(to);
    free(weight);
    return rc;
}

struct arrays {
    float *x, *truth, *raw;
    uint8_t coins[12];
};

static void fill(struct backend *be, const struct dcrnn_config *m, struct arrays *a)
{
    size_t rows = (size_t)m->max_batch * (size_t)m->n_sensors, n_x = 24 * rows, n_y = 12 * rows;
    a->x = be->host_alloc(n_x * sizeof(float));
    a->truth = be->host_alloc(n_y * sizeof(float));
    a->raw = be->host_alloc(n_y * sizeof(float));
    if (!a->x || !a->truth || !a->raw)
        abort();
    for (size_t i = 0; i < n_x; i++)
        a->x[i] = (float)(2 * rng_uniform(2, RNG_TEST, i) - 1);
    for (size_t i = 0; i < n_y; i++) {
        a->raw[i] = (float)(20 + 50 * rng_uniform(3, RNG_TEST, i));
        a->truth[i] = (a->raw[i] - 54) / 16;
    }
    for (int t = 0; t < 12; t++)
        a->coins[t] = t % 2 == 0;
}

/* Medians of the wall time and of the phases as the device measured them. */
static int run(struct backend *be, const struct backend_batch *batch, int n_steps, double out[N_TIMES], double *lowest,
               double *highest)
{
    double *ms[N_TIMES], tally[2];
    for (int k = 0; k < N_TIMES; k++)
        ms[k] = calloc((size_t)n_steps, sizeof *ms[k]);
    for (int i = -WARM_UP; i < n_steps; i++) {
        struct dcr_err err = {0};
        struct backend_step s = {
            .batch = batch, .is_first = 1, .is_last = 1, .lr = 1e-3, .clip = 5, .tally = tally, .n_tally = 2};
        double since = now_ms();
        if (be->whole_step(be, &s, &err)) {
            printf("%s\n", err.text);
            return 1;
        }
        double values[N_TIMES] = {now_ms() - since,
                                  1e-6 * (double)s.ns[MARK_H2D],
                                  1e-6 * (double)s.ns[MARK_FORWARD],
                                  1e-6 * (double)s.ns[MARK_BACKWARD],
                                  1e-6 * (double)s.ns[MARK_ALL_REDUCE],
                                  1e-6 * (double)s.ns[MARK_OPTIMIZER]};
        for (int k = 0; k < N_TIMES && i >= 0; k++)
            ms[k][i] = values[k];
    }
    for (int k = 0; k < N_TIMES; k++) {
        qsort(ms[k], (size_t)n_steps, sizeof *ms[k], by_value);
        out[k] = ms[k][n_steps / 2];
    }
    *lowest = ms[0][0];
    *highest = ms[0][n_steps - 1];
    for (int k = 0; k < N_TIMES; k++)
        free(ms[k]);
    return 0;
}

static int bench(const char *name, int n_sensors, int edges, int batch, enum backend_precision precision,
                 const char *precision_name, int use_graph, int n_steps)
{
    struct backend_config c = {.adam = adam_config_default(), .mean = 54, .std = 16, .precision = precision};
    const struct backend_cuda_options o = {.device = -1, .use_graph = use_graph, .is_overlapped = 1};
    struct graph_supports supports = {0};
    struct backend *be = NULL;
    struct dcr_err err = {0};
    struct arrays a;
    double ms[N_TIMES], lowest = 0, highest = 0;
    c.model = dcrnn_config_default();
    c.model.n_sensors = n_sensors;
    c.model.max_batch = batch;
    if (make_supports(n_sensors, edges, &supports, &err) || backend_cuda_create(&be, &c, &supports, &o, &alone, &err)) {
        printf("%s\n", err.text);
        return 1;
    }
    be->init(be, 1);
    fill(be, &c.model, &a);
    const struct backend_batch b = {.n = batch, .x = a.x, .truth_z = a.truth, .raw = a.raw, .coins = a.coins};
    int rc = run(be, &b, n_steps, ms, &lowest, &highest);
    const struct dcrnn_count flop = dcrnn_count_step(&c.model, 2, 2 * edges, batch);
    double gflop = (flop.dense_flop + flop.sparse_flop + flop.update_flop + flop.projection_flop) * 1e-9;
    if (!rc)
        printf("%-9s %-5s %-8s %8.3f %8.3f %8.3f %7.3f %8.3f %8.3f %8.3f %9.1f %7.2f\n", name, precision_name,
               use_graph ? "graph" : "launches", ms[0], lowest, highest, ms[1], ms[2], ms[3], ms[5],
               gflop / ms[0] * 1e3, (double)be->memory_bytes(be) * 1e-9);
    be->host_free(a.x);
    be->host_free(a.truth);
    be->host_free(a.raw);
    be->free(be);
    graph_supports_free(&supports);
    return rc;
}

/* Compute capability of a device whose durations have a meaning; 0: there is nothing to measure, and nothing has
 * failed. */
static int capability_major(void)
{
    const struct gpu_api *api = NULL;
    struct gpu_description d;
    struct dcr_err err = {0};
    if (gpu_library_open(&api, &err) || api->describe(0, &d, &err)) {
        printf("skipped: %s\n", err.text);
        return 0;
    }
    if (d.is_emulated)
        printf("skipped: the device is emulated, its durations say nothing\n");
    return d.is_emulated ? 0 : d.major;
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"fp32", "tf32", "bf16"};
    int n_steps = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 50,
        batch = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 64;
    if (n_steps < 1 || batch < 1) {
        fprintf(stderr, "usage: bench_step [STEPS [BATCH]]\n");
        return 2;
    }
    find_library();
    const int major = capability_major();
    if (!major)
        return SKIPPED;
    printf("one training step, batch %d, %d steps after %d; milliseconds, median of each\n", batch, n_steps, WARM_UP);
    printf("%-9s %-5s %-8s %8s %8s %8s %7s %8s %8s %8s %9s %7s\n", "shape", "prec.", "launch", "step", "lowest",
           "highest", "h2d", "forward", "backward", "update", "GFLOP/s", "GB");
    const int last = major >= 8 ? BACKEND_BF16 : BACKEND_FP32;
    for (int precision = BACKEND_FP32; precision <= last; precision++)
        for (int use_graph = 1; use_graph >= 0; use_graph--)
            if (bench("METR-LA", 207, 1722, batch, (enum backend_precision)precision, names[precision], use_graph,
                      n_steps) ||
                bench("PEMS-BAY", 325, 2694, batch, (enum backend_precision)precision, names[precision], use_graph,
                      n_steps))
                return 1;
    return 0;
}
