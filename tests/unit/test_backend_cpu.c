/* test_backend_cpu.c - the back end seen from the training loop, in single precision. Several ranks give the
 * gradient of one, and all kernel tables agree. An update that is not finite changes nothing. Training reduces the
 * loss. */
#include "trainer/model/backend.h"
#include "trainer/tools/probe.h"
#include "trainer/model/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { N = 30, B = 10, T = 4, H = 3, D_IN = 2, N_X = T * B * N * D_IN, N_Y = H * B * N };

static float x[N_X], truth_z[N_Y], raw[N_Y];
static const uint8_t coins[H] = {1, 0, 0};

static int fill(void **state)
{
    (void)state;
    for (int i = 0; i < N_X; i++)
        x[i] = (float)(2 * rng_uniform(1, RNG_TEST, (uint64_t)i) - 1);
    for (int i = 0; i < N_Y; i++) {
        raw[i] =
            rng_uniform(2, RNG_TEST, (uint64_t)i) < 0.3 ? 0 : (float)(20 + 50 * rng_uniform(3, RNG_TEST, (uint64_t)i));
        truth_z[i] = (raw[i] - 54.5f) / 16;
    }
    return 0;
}

/* A ring with shortcuts. */
static struct backend_config small_config(const char *kernels, struct graph_supports *supports)
{
    struct graph_csr adjacency = {0};
    struct backend_config c = {.adam = adam_config_default(), .mean = 54.5, .std = 16};
    struct dcr_err err = {0};
    int from[3 * N], to[3 * N];
    double weight[3 * N];
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 3; k++) {
            from[3 * i + k] = i;
            to[3 * i + k] = (i + k * k) % N;
            weight[3 * i + k] = 1.0 / (1 + k);
        }
    c.model = dcrnn_config_default();
    c.model.n_sensors = N;
    c.model.n_units = 24;
    c.model.n_in = T;
    c.model.n_out = H;
    c.model.max_batch = B;
    c.model.kernels = kernels;
    assert_int_equal(graph_csr_from_triplets(N, 3 * N, from, to, weight, &adjacency, &err), 0);
    assert_int_equal(graph_supports_build(&adjacency, GRAPH_DUAL_RANDOM_WALK, supports, &err), 0);
    graph_csr_free(&adjacency);
    return c;
}

/* NULL when this CPU cannot run the kernels. */
static struct backend *open_backend(const char *kernels)
{
    struct graph_supports supports = {0};
    struct backend *be = NULL;
    struct dcr_err err = {0};
    const struct backend_config c = small_config(kernels, &supports);
    int rc = backend_cpu_create(&be, &c, &supports, &err);
    graph_supports_free(&supports);
    if (rc) {
        print_message("%s\n", err.text);
        return NULL;
    }
    be->init(be, 5);
    return be;
}

static double error_of(size_t n, const float *a, const float *b)
{
    double difference = 0, size = 0;
    for (size_t i = 0; i < n; i++) {
        difference = fmax(difference, fabs((double)a[i] - (double)b[i]));
        size = fmax(size, fabs((double)b[i]));
    }
    return difference / size;
}

static void whole_batch(struct backend *be)
{
    const struct backend_batch batch = {.n = B, .x = x, .truth_z = truth_z, .raw = raw, .coins = coins};
    be->forward(be, &batch);
    be->backward(be, 1, NULL);
}

/* Samples first .. first + n - 1 of an array (steps, B, N, width). */
static void cut(const float *from, int steps, int width, int first, int n, float *to)
{
    for (int t = 0; t < steps; t++)
        memcpy(to + t * n * N * width, from + (t * B + first) * N * width, (size_t)(n * N * width) * sizeof *to);
}

static void test_ranks_add_up_to_one(void **state)
{
    (void)state;
    static float part_x[N_X], part_z[N_Y], part_raw[N_Y];
    struct backend *whole = open_backend(NULL);
    whole_batch(whole);
    double whole_sum = 0;
    int64_t whole_valid = 0;
    whole->loss(whole, &whole_sum, &whole_valid);
    for (int n_ranks = 2; n_ranks <= 12; n_ranks += 5) { /* also ranks without any sample */
        struct backend *rank = open_backend(NULL);
        float *total = calloc(rank->n_params, sizeof *total);
        double sum = 0;
        int64_t valid = 0;
        assert_non_null(total);
        for (int r = 0; r < n_ranks; r++) {
            int first = B * r / n_ranks, n = B * (r + 1) / n_ranks - first;
            double one_sum = -1;
            int64_t one_valid = -1;
            cut(x, T, D_IN, first, n, part_x);
            cut(truth_z, H, 1, first, n, part_z);
            cut(raw, H, 1, first, n, part_raw);
            const struct backend_batch batch = {
                .n = n, .x = part_x, .truth_z = part_z, .raw = part_raw, .coins = coins};
            rank->forward(rank, &batch);
            rank->loss(rank, &one_sum, &one_valid);
            rank->backward(rank, 1, NULL);
            for (size_t i = 0; i < rank->n_params; i++)
                total[i] += rank->grads[i];
            sum += one_sum;
            valid += one_valid;
        }
        assert_int_equal(valid, whole_valid);
        assert_true(fabs(sum - whole_sum) < 1e-5 * whole_sum);
        assert_true(error_of(rank->n_params, total, whole->grads) < 1e-5);
        free(total);
        rank->free(rank);
    }
    whole->free(whole);
}

static void test_all_kernels_agree(void **state)
{
    (void)state;
    struct backend *portable = open_backend("portable");
    assert_int_equal(strncmp(portable->kernels, "openblas/", 9), 0);
    whole_batch(portable);
    static const char *const names[] = {"avx2", "avx512"};
    for (int i = 0; i < 2; i++) {
        struct backend *be = open_backend(names[i]);
        if (!be)
            continue;
        assert_string_equal(be->kernels, names[i]);
        whole_batch(be);
        assert_true(error_of(N_Y, be->predictions(be), portable->predictions(portable)) < 2e-5);
        assert_true(error_of(be->n_params, be->grads, portable->grads) < 2e-5);
        be->free(be);
    }
    portable->free(portable);
}

/* The best kernels need no comparison. Others are timed against them, whatever the two are called on this machine. */
static void test_probe(void **state)
{
    (void)state;
    struct graph_supports supports = {0};
    struct probe p = {"x", 1};
    struct dcr_err err = {0};
    struct backend_config c = small_config(NULL, &supports);
    assert_int_equal(probe_kernels(&p, &c, &supports, &err), 0);
    assert_string_equal(p.best, "");
    struct backend *best = open_backend(NULL), *plain = open_backend("portable");
    c.model.kernels = "portable";
    assert_int_equal(probe_kernels(&p, &c, &supports, &err), 0);
    if (strcmp(best->kernels, plain->kernels) == 0) {
        assert_string_equal(p.best, "");
    } else {
        assert_string_equal(p.best, best->kernels);
        assert_true(p.ratio > 0 && isfinite(p.ratio));
    }
    c.model.kernels = "none of these";
    assert_int_equal(probe_kernels(&p, &c, &supports, &err), DCR_FAIL);
    best->free(best);
    plain->free(plain);
    graph_supports_free(&supports);
}

static void test_update_that_is_not_finite_changes_nothing(void **state)
{
    (void)state;
    struct backend *be = open_backend(NULL);
    whole_batch(be);
    float *before = malloc(be->n_params * sizeof *before), was = be->grads[7];
    assert_non_null(before);
    memcpy(before, be->params, be->n_params * sizeof *before);
    be->grads[7] = NAN;
    assert_true(isnan(be->update(be, 0.01, 5)));
    assert_int_equal(be->step, 0);
    assert_memory_equal(before, be->params, be->n_params * sizeof *before);
    be->grads[7] = was;
    double norm = be->update(be, 0.01, 5);
    assert_true(norm > 0 && isfinite(norm));
    assert_int_equal(be->step, 1);
    assert_true(error_of(be->n_params, be->params, before) > 1e-4);
    free(before);
    be->free(be);
}

static void test_evaluation_counts_what_the_loss_counts(void **state)
{
    (void)state;
    struct backend *be = open_backend(NULL);
    struct loss_horizon sums[H];
    const struct backend_batch batch = {.n = B, .x = x, .raw = raw};
    memset(sums, 0, sizeof sums);
    be->evaluate(be, &batch, sums);
    double sum = 0, total = 0, n_valid = 0;
    int64_t valid = 0;
    be->loss(be, &sum, &valid);
    for (int t = 0; t < H; t++) {
        total += sums[t].abs;
        n_valid += sums[t].n_valid;
    }
    assert_true(n_valid == (double)valid);
    assert_true(fabs(total - sum) < 1e-9 * sum);
    be->free(be);
}

static void test_training_reduces_the_loss(void **state)
{
    (void)state;
    struct backend *be = open_backend(NULL);
    const struct backend_batch batch = {.n = B, .x = x, .truth_z = truth_z, .raw = raw};
    double sum = 0, first = 0;
    int64_t valid = 0;
    for (int step = 0; step < 60; step++) {
        be->forward(be, &batch);
        be->loss(be, &sum, &valid);
        first = step ? first : sum;
        be->backward(be, 1, NULL);
        for (size_t i = 0; i < be->n_params; i++)
            be->grads[i] /= (float)valid;
        be->update(be, 0.01, 5);
    }
    assert_true(sum < 0.8 * first);
    be->free(be);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranks_add_up_to_one),
        cmocka_unit_test(test_all_kernels_agree),
        cmocka_unit_test(test_probe),
        cmocka_unit_test(test_update_that_is_not_finite_changes_nothing),
        cmocka_unit_test(test_evaluation_counts_what_the_loss_counts),
        cmocka_unit_test(test_training_reduces_the_loss),
    };
    return cmocka_run_group_tests(tests, fill, NULL);
}
