/* step.c - times one training step of the model (forward, backward, optimiser) on generated numbers: no files, no
 * ranks. step.sh sets it beside the yardstick, instructions.sh counts its instructions. Prints one line of key=value
 * pairs, medians over the steps. */
#include "tests/bench/registers.h"
#include "trainer/model/backend.h"
#include "trainer/model/rng.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define MAX_STEPS 100

struct phases {
    double forward_s, backward_s, optimiser_s, step_s;
    double cpu_s;           /* processor time of all threads, which a busy neighbour on the same core does not change */
    double register_gflops; /* of one thread, just before the step */
};

static double clock_s(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double now_s(void)
{
    return clock_s(CLOCK_MONOTONIC);
}

/* Self loops and seven random edges per sensor, drawn as the yardstick does: about METR-LA's density. */
static int random_graph(int n, struct graph_supports *supports, struct dcr_err *err)
{
    struct graph_csr adjacency = {0};
    double *dense = calloc((size_t)n * (size_t)n, sizeof *dense);
    if (!dense)
        return dcr_err_set(err, DCR_FAIL, "no memory for a graph of %d sensors", n);
    for (int i = 0; i < n; i++)
        dense[(size_t)i * (size_t)n + (size_t)i] = 1;
    for (uint64_t e = 0; e < 7 * (uint64_t)n; e++) {
        uint64_t i = rng_below(1, RNG_TEST, 3 * e, (uint64_t)n), j = rng_below(1, RNG_TEST, 3 * e + 1, (uint64_t)n);
        dense[i * (uint64_t)n + j] = 0.1 + 0.9 * rng_uniform(1, RNG_TEST, 3 * e + 2);
    }
    int rc = graph_csr_from_dense(n, dense, &adjacency, err);
    if (rc == 0)
        rc = graph_supports_build(&adjacency, GRAPH_DUAL_RANDOM_WALK, supports, err);
    graph_csr_free(&adjacency);
    free(dense);
    return rc;
}

static float *numbers(size_t n, uint64_t seed, double low, double high)
{
    float *p = malloc(n * sizeof *p);
    for (size_t i = 0; p && i < n; i++)
        p[i] = (float)(low + (high - low) * rng_uniform(seed, RNG_TEST, i));
    return p;
}

/* Never inlined, because instructions.sh counts between its entry and its return. */
__attribute__((noinline)) static struct phases one_step(struct backend *be, const struct backend_batch *batch)
{
    double sum = 0, cpu0 = clock_s(CLOCK_PROCESS_CPUTIME_ID), t0 = now_s();
    int64_t n_valid = 0;
    be->forward(be, batch);
    be->loss(be, &sum, &n_valid);
    double t1 = now_s();
    be->backward(be, 1, NULL);
    double t2 = now_s();
    be->update(be, 0.01, 5);
    double t3 = now_s();
    return (struct phases){t1 - t0, t2 - t1, t3 - t2, t3 - t0, clock_s(CLOCK_PROCESS_CPUTIME_ID) - cpu0, NAN};
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v, int n)
{
    qsort(v, (size_t)n, sizeof *v, compare_doubles);
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

static void report(const struct backend *be, const struct dcrnn_config *c, const struct graph_supports *g, int n_steps,
                   const struct phases *p)
{
    double forward[MAX_STEPS], backward[MAX_STEPS], optimiser[MAX_STEPS], step[MAX_STEPS], cpu[MAX_STEPS];
    double rate[MAX_STEPS], share[MAX_STEPS];
    struct rusage used;
    int64_t nnz = graph_csr_nnz(&g->support[0]) + graph_csr_nnz(&g->support[1]);
    struct dcrnn_count n = dcrnn_count_step(c, g->n, nnz, c->max_batch);
    double gflop = (n.dense_flop + n.sparse_flop + n.update_flop + n.projection_flop) / 1e9;
    for (int i = 0; i < n_steps; i++) {
        forward[i] = p[i].forward_s;
        backward[i] = p[i].backward_s;
        optimiser[i] = p[i].optimiser_s;
        step[i] = p[i].step_s;
        cpu[i] = p[i].cpu_s;
        rate[i] = p[i].register_gflops;
        share[i] = gflop / p[i].step_s / c->n_threads / p[i].register_gflops;
    }
    double step_s = median(step, n_steps), cpu_s = median(cpu, n_steps);
    getrusage(RUSAGE_SELF, &used);
    printf("kernels=%s threads=%d sensors=%d batch=%d steps=%d forward_s=%.4f backward_s=%.4f optimiser_s=%.4f "
           "step_s=%.4f min_s=%.4f max_s=%.4f cpu_s=%.4f cpu_min_s=%.4f gflop=%.1f gflops=%.1f register_gflops=%.1f "
           "of_registers=%.3f memory_mb=%.0f\n",
           be->kernels, c->n_threads, c->n_sensors, c->max_batch, n_steps, median(forward, n_steps),
           median(backward, n_steps), median(optimiser, n_steps), step_s, step[0], step[n_steps - 1], cpu_s, cpu[0],
           gflop, gflop / step_s, median(rate, n_steps), median(share, n_steps), (double)used.ru_maxrss / 1024);
}

static int run(const struct dcrnn_config *c, int n_warm_up, int n_steps, struct dcr_err *err)
{
    struct graph_supports supports = {0};
    struct backend_config config = {.model = *c, .adam = adam_config_default(), .mean = 55, .std = 16};
    struct backend *be = NULL;
    struct phases phases[MAX_STEPS];
    size_t n_x = (size_t)(c->n_in * c->max_batch) * (size_t)(c->n_sensors * c->d_in);
    size_t n_y = (size_t)(c->n_out * c->max_batch) * (size_t)(c->n_sensors * c->d_out);
    float *x = numbers(n_x, 2, -1, 1), *raw = numbers(n_y, 3, 5, 65);
    int rc = x && raw ? 0 : dcr_err_set(err, DCR_FAIL, "no memory for a batch");
    if (rc == 0)
        rc = random_graph(c->n_sensors, &supports, err);
    if (rc == 0)
        rc = backend_cpu_create(&be, &config, &supports, err);
    if (rc == 0) {
        be->init(be, 1);
        struct backend_batch batch = {.n = c->max_batch, .x = x, .raw = raw};
        for (int i = 0; i < n_warm_up + n_steps; i++) {
            /* Without a warm-up, instructions are counted and the step is not timed, because under valgrind measuring
             * the rate took 20 times as long as the step. */
            double rate = n_warm_up > 0 ? register_rate(be->kernels) : NAN;
            struct phases p = one_step(be, &batch);
            p.register_gflops = rate;
            if (i >= n_warm_up)
                phases[i - n_warm_up] = p;
        }
        report(be, c, &supports, n_steps, phases);
        be->free(be);
    }
    graph_supports_free(&supports);
    free(x);
    free(raw);
    return rc;
}

static int number(const char *text, int low, int high, int *out)
{
    char *end = NULL;
    long v = strtol(text, &end, 10);
    if (end == text || *end || v < low || v > high) {
        fprintf(stderr, "step: '%s' is not a number from %d to %d\n", text, low, high);
        return -1;
    }
    *out = (int)v;
    return 0;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"sensors", 1, 0, 'n'}, {"batch", 1, 0, 'b'}, {"units", 1, 0, 'u'},   {"in", 1, 0, 'i'},
        {"out", 1, 0, 'o'},     {"steps", 1, 0, 's'}, {"warm-up", 1, 0, 'w'}, {"threads", 1, 0, 't'},
        {"kernels", 1, 0, 'k'}, {0, 0, 0, 0}};
    struct dcrnn_config c = dcrnn_config_default();
    struct dcr_err err = {0};
    int n_steps = 5, n_warm_up = 2, rc = 0, opt;
    while (rc == 0 && (opt = getopt_long(argc, argv, "", options, NULL)) != -1)
        switch (opt) {
        case 'n':
            rc = number(optarg, 1, 1 << 14, &c.n_sensors);
            break;
        case 'b':
            rc = number(optarg, 1, 4096, &c.max_batch);
            break;
        case 'u':
            rc = number(optarg, 1, 1024, &c.n_units);
            break;
        case 'i':
            rc = number(optarg, 1, 100, &c.n_in);
            break;
        case 'o':
            rc = number(optarg, 1, 100, &c.n_out);
            break;
        case 'w':
            rc = number(optarg, 0, 100, &n_warm_up);
            break;
        case 's':
            rc = number(optarg, 1, MAX_STEPS, &n_steps);
            break;
        case 't':
            rc = number(optarg, 1, 1024, &c.n_threads);
            break;
        case 'k':
            c.kernels = optarg;
            break;
        default:
            rc = -1;
            break;
        }
    if (rc)
        return DCR_EXIT_INPUT;
    rc = run(&c, n_warm_up, n_steps, &err);
    if (rc)
        fprintf(stderr, "step: %s\n", err.text);
    return rc ? DCR_EXIT_INPUT : 0;
}
