/* test_dcrnn.c - the whole model in double precision against a naive one (dcrnn_naive.h) and against finite
 * differences, over random shapes; threads, tiles, order of micro-batches and empty batches must not change the
 * result. */
#define DCR_REAL_F64
#include "tests/unit/dcrnn_naive.h"
#include "tests/unit/quick.h"
#include "trainer/model/loss.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static int draw(uint64_t seed, uint64_t *at, int low, int high)
{
    return low + (int)rng_below(seed, RNG_TEST, (*at)++, (uint64_t)(high - low + 1));
}

static struct naive random_case(uint64_t seed)
{
    uint64_t at = 1000000;
    struct naive m = {.n = draw(seed, &at, 2, 9),
                      .u = draw(seed, &at, 1, 19),
                      .layers = draw(seed, &at, 1, 3),
                      .b = draw(seed, &at, 1, 4),
                      .t = draw(seed, &at, 1, 3),
                      .h = draw(seed, &at, 1, 4),
                      .k = draw(seed, &at, 1, 4),
                      .d_in = draw(seed, &at, 1, 3),
                      .d_out = draw(seed, &at, 1, 2),
                      .filter = (enum graph_filter)draw(seed, &at, 0, 2),
                      .recursion = (enum dcrnn_recursion)draw(seed, &at, 0, 1)};
    naive_fill(&m, seed);
    return m;
}

static struct dcrnn *build(const struct naive *m, int n_threads)
{
    struct dcr_err err = {0};
    struct graph_csr adjacency = {0};
    struct graph_supports supports = {0};
    struct dcrnn *model = NULL;
    struct dcrnn_config c = {.n_sensors = m->n,
                             .n_units = m->u,
                             .n_layers = m->layers,
                             .n_in = m->t,
                             .n_out = m->h,
                             .d_in = m->d_in,
                             .d_out = m->d_out,
                             .k_hops = m->k,
                             .recursion = m->recursion,
                             .max_batch = m->b,
                             .n_threads = n_threads};
    if (graph_csr_from_dense(m->n, m->adjacency, &adjacency, &err) ||
        graph_supports_build(&adjacency, m->filter, &supports, &err) || dcrnn_create(&model, &c, &supports, &err))
        fail_msg("%s", err.text);
    graph_csr_free(&adjacency);
    graph_supports_free(&supports);
    int n = 0;
    const struct dcrnn_tensor *t = dcrnn_tensors(model, &n);
    assert_int_equal(n, m->n_tensors);
    assert_int_equal(dcrnn_n_params(model), m->n_params);
    for (int i = 0; i < n; i++) {
        const struct naive_tensor *from = NULL;
        for (int j = 0; j < m->n_tensors; j++)
            if (strcmp(m->tensor[j].name, t[i].name) == 0)
                from = &m->tensor[j];
        assert_non_null(from);
        assert_int_equal(t[i].rows, from->rows);
        assert_int_equal(t[i].cols, from->cols);
        for (int k = 0; k < from->rows * from->cols; k++)
            dcrnn_params(model)[t[i].offset + (size_t)k] = creal(m->params[from->offset + (size_t)k]);
    }
    return model;
}

static size_t n_pred(const struct naive *m)
{
    return (size_t)(m->h * m->b * m->n * m->d_out);
}

/* Loss of the model on the case's batch; with gradients when asked. */
static double run(struct dcrnn *model, const struct naive *m, double *pred, int with_gradient)
{
    int64_t n_valid = 0;
    size_t n = n_pred(m);
    dcrnn_forward(model, m->b, m->x, m->y_z, m->coins, with_gradient, pred);
    double sum = loss_sum(pred, m->y_raw, n, m->mean, m->std, &n_valid), scale = n_valid ? 1 / (double)n_valid : 0;
    if (with_gradient) {
        double *d_pred = naive_array(n, sizeof *d_pred);
        loss_gradient(pred, m->y_raw, n, m->mean, m->std, scale, d_pred);
        memset(dcrnn_grads(model), 0, m->n_params * sizeof(double));
        dcrnn_backward(model, d_pred, NULL);
        free(d_pred);
    }
    return sum * scale;
}

/* Position in our flat block of a parameter of the naive one. */
static size_t ours(const struct dcrnn *model, const struct naive *m, size_t i)
{
    int n = 0;
    const struct dcrnn_tensor *t = dcrnn_tensors(model, &n);
    for (int j = 0; j < m->n_tensors; j++) {
        const struct naive_tensor *from = &m->tensor[j];
        if (i >= from->offset && i < from->offset + (size_t)(from->rows * from->cols))
            for (int k = 0; k < n; k++)
                if (strcmp(t[k].name, from->name) == 0)
                    return t[k].offset + i - from->offset;
    }
    abort();
}

/* Forward results of everything, and derivatives of n_probes parameters spread over all of them. */
static void compare_with_naive(struct naive *m, int n_threads, size_t n_probes)
{
    struct dcrnn *model = build(m, n_threads);
    size_t n = n_pred(m);
    double *pred = naive_array(n, sizeof *pred), *theirs = naive_array(n, sizeof *theirs);
    double *a = naive_array(n_probes, sizeof *a), *b = naive_array(n_probes, sizeof *b);
    double loss = run(model, m, pred, 1);
    assert_true(fabs(loss - creal(naive_loss(m))) < 1e-12 * (1 + loss));
    for (size_t i = 0; i < n; i++)
        theirs[i] = creal(m->pred_z[i]);
    assert_true(naive_error(n, pred, theirs) < 1e-12);
    for (size_t i = 0; i < n_probes; i++) {
        size_t which = m->n_params * i / n_probes;
        a[i] = dcrnn_grads(model)[ours(model, m, which)];
        b[i] = naive_derivative(m, which);
    }
    double error = naive_error(n_probes, a, b);
    if (!(error < 1e-11))
        fail_msg("gradient error %.2e: N %d U %d layers %d B %d T %d H %d K %d Din %d Dout %d filter %d recursion %d",
                 error, m->n, m->u, m->layers, m->b, m->t, m->h, m->k, m->d_in, m->d_out, (int)m->filter,
                 (int)m->recursion);
    free(a);
    free(b);
    free(pred);
    free(theirs);
    dcrnn_free(model);
}

static void test_random_shapes_agree_with_the_naive_model(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed += every(5)) {
        struct naive m = random_case(seed);
        compare_with_naive(&m, 1 + (int)(seed % 2), 60);
        naive_release(&m);
    }
}

/* 60 sensors make tiles of 4 samples: 9 samples are two tiles and a rest, here over three workers. */
static void test_several_tiles_agree_with_the_naive_model(void **state)
{
    (void)state;
    struct naive m = {.n = 60,
                      .u = 5,
                      .layers = 2,
                      .b = 9,
                      .t = 2,
                      .h = 2,
                      .k = 2,
                      .d_in = 2,
                      .d_out = 1,
                      .filter = GRAPH_DUAL_RANDOM_WALK};
    naive_fill(&m, 7);
    compare_with_naive(&m, 3, 12);
    naive_release(&m);
}

/* Central differences along a random direction in parameter space: d/ds loss(p + s v) = gradient . v. */
static void test_gradient_agrees_with_finite_differences(void **state)
{
    (void)state;
    for (uint64_t seed = 101; seed <= 130; seed++) {
        struct naive m = random_case(seed);
        struct dcrnn *model = build(&m, 1);
        double *pred = naive_array(n_pred(&m), sizeof *pred), *v = naive_array(m.n_params, sizeof *v);
        double *p = dcrnn_params(model), along = 0, size = 0;
        run(model, &m, pred, 1);
        for (size_t i = 0; i < m.n_params; i++) {
            v[i] = rng_normal(seed, RNG_TEST, 5000000 + i);
            along += dcrnn_grads(model)[i] * v[i];
            size += dcrnn_grads(model)[i] * dcrnn_grads(model)[i];
        }
        double step = 1e-6, side[2];
        for (int k = 0; k < 2; k++) {
            for (size_t i = 0; i < m.n_params; i++)
                p[i] += (k ? -2 : 1) * step * v[i];
            side[k] = run(model, &m, pred, 0);
        }
        double difference = (side[0] - side[1]) / (2 * step);
        if (!(fabs(difference - along) <= 1e-6 * (fabs(along) + sqrt(size))))
            fail_msg("seed %d: gradient . v = %.12g, finite difference %.12g", (int)seed, along, difference);
        free(v);
        free(pred);
        dcrnn_free(model);
        naive_release(&m);
    }
}

/* Samples split over calls, in any sizes and with an empty one, add up to the gradient of the whole batch. */
static void test_parts_of_a_batch_add_up(void **state)
{
    (void)state;
    struct naive m = {.n = 5,
                      .u = 6,
                      .layers = 2,
                      .b = 7,
                      .t = 3,
                      .h = 3,
                      .k = 2,
                      .d_in = 2,
                      .d_out = 1,
                      .filter = GRAPH_DUAL_RANDOM_WALK};
    naive_fill(&m, 3);
    struct dcrnn *whole = build(&m, 1), *parts = build(&m, 1);
    size_t n = n_pred(&m);
    double *pred = naive_array(n, sizeof *pred), *d_pred = naive_array(n, sizeof *d_pred);
    double *x = naive_array((size_t)(m.t * m.b * m.n * m.d_in), sizeof *x), *y = naive_array(n, sizeof *y),
           *raw = naive_array(n, sizeof *raw);
    run(whole, &m, pred, 1);
    double scale = 1 / (double)loss_count_valid(m.y_raw, n);
    const int sizes[] = {3, 0, 1, 3};
    for (int part = 0, first = 0; part < 4; first += sizes[part++]) {
        int b = sizes[part], row_x = m.n * m.d_in, row_y = m.n * m.d_out;
        for (int t = 0; t < m.t; t++)
            memcpy(x + t * b * row_x, m.x + (t * m.b + first) * row_x, (size_t)(b * row_x) * sizeof *x);
        for (int t = 0; t < m.h; t++) {
            memcpy(y + t * b * row_y, m.y_z + (t * m.b + first) * row_y, (size_t)(b * row_y) * sizeof *y);
            memcpy(raw + t * b * row_y, m.y_raw + (t * m.b + first) * row_y, (size_t)(b * row_y) * sizeof *raw);
        }
        dcrnn_forward(parts, b, x, y, m.coins, 1, pred);
        loss_gradient(pred, raw, (size_t)(m.h * b * row_y), m.mean, m.std, scale, d_pred);
        dcrnn_backward(parts, d_pred, NULL);
    }
    assert_true(naive_error(m.n_params, dcrnn_grads(parts), dcrnn_grads(whole)) < 1e-13);
    free(x);
    free(y);
    free(raw);
    free(pred);
    free(d_pred);
    dcrnn_free(whole);
    dcrnn_free(parts);
    naive_release(&m);
}

static void test_same_bits_again_and_without_keeping(void **state)
{
    (void)state;
    struct naive m = {.n = 50,
                      .u = 8,
                      .layers = 2,
                      .b = 11,
                      .t = 3,
                      .h = 3,
                      .k = 2,
                      .d_in = 2,
                      .d_out = 1,
                      .filter = GRAPH_DUAL_RANDOM_WALK};
    naive_fill(&m, 5);
    size_t n = n_pred(&m);
    double *kept = naive_array(n, sizeof *kept), *other = naive_array(n, sizeof *other);
    struct dcrnn *a = build(&m, 3), *b = build(&m, 3);
    run(a, &m, kept, 1);
    run(b, &m, other, 1);
    assert_memory_equal(kept, other, n * sizeof *kept);
    assert_memory_equal(dcrnn_grads(a), dcrnn_grads(b), m.n_params * sizeof(double));
    run(a, &m, other, 0);
    assert_memory_equal(kept, other, n * sizeof *kept);
    free(kept);
    free(other);
    dcrnn_free(a);
    dcrnn_free(b);
    naive_release(&m);
}

struct watch {
    const struct dcrnn *model;
    double *grads, *seen; /* the block, and its final part when it was reported */
    size_t n_final;
    int n_calls, went_back;
};

static void on_progress(void *ctx, size_t n_final)
{
    struct watch *w = ctx;
    w->n_calls++;
    w->went_back |= n_final < w->n_final;
    memcpy(w->seen + w->n_final, w->grads + w->n_final, (n_final - w->n_final) * sizeof(double));
    w->n_final = n_final;
}

static void test_announced_gradients_are_final(void **state)
{
    (void)state;
    struct naive m = {.n = 70,
                      .u = 4,
                      .layers = 2,
                      .b = 6,
                      .t = 2,
                      .h = 2,
                      .k = 2,
                      .d_in = 2,
                      .d_out = 1,
                      .filter = GRAPH_DUAL_RANDOM_WALK};
    naive_fill(&m, 9);
    size_t n = n_pred(&m);
    double *pred = naive_array(n, sizeof *pred), *d_pred = naive_array(n, sizeof *d_pred);
    struct dcrnn *model = build(&m, 2);
    struct watch w = {.grads = dcrnn_grads(model), .seen = naive_array(m.n_params, sizeof(double))};
    const struct dcrnn_progress progress = {on_progress, &w};
    dcrnn_forward(model, m.b, m.x, m.y_z, m.coins, 1, pred);
    loss_gradient(pred, m.y_raw, n, m.mean, m.std, 0.01, d_pred);
    dcrnn_backward(model, d_pred, &progress);
    assert_int_equal(w.n_final, m.n_params);
    assert_false(w.went_back);
    assert_true(w.n_calls >= 2 + 2 * (m.t + m.h) / 2);
    assert_memory_equal(w.seen, w.grads, m.n_params * sizeof(double));
    dcrnn_forward(model, 0, NULL, NULL, NULL, 1, NULL);
    w.n_calls = 0;
    dcrnn_backward(model, NULL, &progress);
    assert_int_equal(w.n_calls, 1);
    free(w.seen);
    free(pred);
    free(d_pred);
    dcrnn_free(model);
    naive_release(&m);
}

static void test_init_follows_the_recipe(void **state)
{
    (void)state;
    struct naive m = {.n = 3,
                      .u = 64,
                      .layers = 1,
                      .b = 1,
                      .t = 1,
                      .h = 1,
                      .k = 2,
                      .d_in = 2,
                      .d_out = 1,
                      .filter = GRAPH_DUAL_RANDOM_WALK};
    naive_fill(&m, 1);
    struct dcrnn *model = build(&m, 1);
    int n = 0;
    const struct dcrnn_tensor *t = dcrnn_tensors(model, &n);
    dcrnn_init(model, 42);
    for (int i = 0; i < n; i++) {
        const double *p = dcrnn_params(model) + t[i].offset;
        size_t size = (size_t)(t[i].rows * t[i].cols);
        int is_projection = strncmp(t[i].name, "proj_", 5) == 0;
        double square = 0, bound = is_projection ? 1 / sqrt(t[0].rows) : 0; /* t[0] is proj_W: units x outputs */
        for (size_t k = 0; k < size; k++) {
            square += p[k] * p[k];
            if (is_projection)
                assert_true(p[k] != 0 && fabs(p[k]) <= bound);
            else if (t[i].rank == 1)
                assert_true(p[k] == (strstr(t[i].name, "b_ru") ? 1 : 0));
        }
        double expected = 2.0 / (t[i].rows + t[i].cols);
        if (t[i].rank == 2 && size > 1000)
            assert_true(fabs(square / (double)size / expected - 1) < 0.05);
    }
    dcrnn_free(model);
    naive_release(&m);
}

static void test_counts_are_those_of_the_design(void **state)
{
    (void)state;
    struct dcrnn_config c = dcrnn_config_default();
    struct dcrnn_count n = dcrnn_count_step(&c, 2, 2 * 1722, 64);
    double total = n.dense_flop + n.sparse_flop + n.update_flop + n.projection_flop;
    assert_true(fabs(total / 1e9 - 371.80) < 0.01);
    assert_true(fabs(n.forward_flop / 1e9 - 126.83) < 0.01);
    assert_true(n.params_bytes == 1489412);
}

static void test_bad_sizes_are_named(void **state)
{
    (void)state;
    struct dcr_err err = {0};
    struct graph_csr adjacency = {0};
    struct graph_supports supports = {0};
    struct dcrnn *model = NULL;
    const double one = 1;
    const int zero = 0;
    assert_int_equal(graph_csr_from_triplets(1, 1, &zero, &zero, &one, &adjacency, &err), 0);
    assert_int_equal(graph_supports_build(&adjacency, GRAPH_RANDOM_WALK, &supports, &err), 0);
    struct dcrnn_config c = dcrnn_config_default();
    assert_int_equal(dcrnn_create(&model, &c, &supports, &err), DCR_FAIL);
    assert_string_equal(err.text, "the graph has 1 sensors, the model 207; give the graph of the sensors of the data");
    c.n_sensors = 1;
    c.k_hops = 0;
    assert_int_equal(dcrnn_create(&model, &c, &supports, &err), DCR_FAIL);
    assert_string_equal(err.text, "a model takes 1 to 8 hops, not 0");
    c.k_hops = 2;
    c.kernels = "mmx";
    assert_int_equal(dcrnn_create(&model, &c, &supports, &err), DCR_FAIL);
    assert_string_equal(err.text, "unknown kernels 'mmx'; use avx512, avx2 or portable");
    c.kernels = NULL;
    c.n_units = 4096;
    c.max_batch = 1 << 20;
    c.n_in = 4096;
    assert_int_equal(dcrnn_create(&model, &c, &supports, &err), DCR_FAIL);
    assert_non_null(strstr(err.text, "a model of these sizes needs"));
    enum dcrnn_recursion none;
    assert_int_equal(dcrnn_recursion_parse("never", &none, &err), DCR_FAIL);
    assert_string_equal(err.text, "unknown recursion 'never'; use published or reset");
    assert_null(model);
    graph_csr_free(&adjacency);
    graph_supports_free(&supports);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_shapes_agree_with_the_naive_model),
        cmocka_unit_test(test_several_tiles_agree_with_the_naive_model),
        cmocka_unit_test(test_gradient_agrees_with_finite_differences),
        cmocka_unit_test(test_parts_of_a_batch_add_up),
        cmocka_unit_test(test_same_bits_again_and_without_keeping),
        cmocka_unit_test(test_announced_gradients_are_final),
        cmocka_unit_test(test_init_follows_the_recipe),
        cmocka_unit_test(test_counts_are_those_of_the_design),
        cmocka_unit_test(test_bad_sizes_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
