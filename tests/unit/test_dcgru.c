/* test_dcgru.c - one cell: its gradients by finite differences; its shortcuts (no state, input diffused before) give
 * the same results as the full computation. */
#define DCR_REAL_F64
#include "tests/unit/dcrnn_naive.h"
#include "trainer/model/dcgru.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { N = 5, SAMPLES = 2, ROWS = N * SAMPLES, UNITS = 6, UP = 16, K = 2 };

/* A cell with all its arrays. */
struct rig {
    struct gconv g;
    struct dcgru cell;
    struct dcgru_work work;
    struct dcgru_sums sums;
    struct dcgru_tensors params, grads;
    void *memory;
    double *x, *h, *r, *u, *c, *h_new, *dh, *dx; /* (ROWS, xp or UP) */
};

static double draw(uint64_t i)
{
    return rng_uniform(77, RNG_TEST, i) - 0.5;
}

static double *block(size_t n, uint64_t first)
{
    double *p = naive_array(n, sizeof *p);
    for (size_t i = 0; i < n; i++)
        p[i] = draw(first + i);
    return p;
}

/* Padded rows: UNITS numbers, then zeros. */
static double *padded(uint64_t first)
{
    double *p = naive_array(ROWS * UP, sizeof *p);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < UNITS; j++)
            p[i * UP + j] = draw(first + (uint64_t)(i * UNITS + j));
    return p;
}

static size_t n_weights(const struct rig *r)
{
    return (size_t)((r->cell.f + UNITS) * r->g.n_terms * UNITS);
}

static void open_rig(struct rig *r, int is_wide)
{
    memset(r, 0, sizeof *r);
    struct graph_csr adjacency = {0};
    struct graph_supports supports = {0};
    const struct kernels *kernels = NULL;
    double dense[N * N];
    for (int i = 0; i < N * N; i++)
        dense[i] = draw((uint64_t)i) > 0 || i % (N + 1) == 0 ? 0.5 + draw((uint64_t)i) : 0;
    for (int i = 0; i < N * N; i++)
        dense[i] = dense[i] < 0 ? 0 : dense[i];
    assert_int_equal(graph_csr_from_dense(N, dense, &adjacency, NULL), 0);
    assert_int_equal(graph_supports_build(&adjacency, GRAPH_DUAL_RANDOM_WALK, &supports, NULL), 0);
    assert_int_equal(kernels_choose(NULL, &kernels, NULL), 0);
    assert_int_equal(gconv_init(&r->g, &supports, K, DCRNN_PUBLISHED, kernels, NULL), 0);
    graph_supports_free(&supports);
    graph_csr_free(&adjacency);
    dcgru_shape(&r->cell, &r->g, is_wide ? UNITS : 3, UNITS, is_wide);
    struct dcgru_pool pool = {0};
    for (int pass = 0; pass < 2; pass++) {
        dcgru_place(&r->cell, &pool);
        dcgru_place_sums(&r->cell, &r->sums, &pool);
        dcgru_place_work(&r->cell, is_wide ? 0 : r->cell.xp, ROWS, &r->work, &pool);
        if (pass == 0) {
            r->memory = calloc(1, pool.used + 64);
            assert_non_null(r->memory);
            pool.used = 0;
            pool.base = (char *)r->memory + (64 - (uintptr_t)r->memory % 64) % 64;
        }
    }
    size_t n = n_weights(r);
    r->params =
        (struct dcgru_tensors){block(2 * n, 1000), block(2 * UNITS, 11000), block(n, 12000), block(UNITS, 18000)};
    r->grads = (struct dcgru_tensors){naive_array(2 * n, sizeof(double)), naive_array(2 * UNITS, sizeof(double)),
                                      naive_array(n, sizeof(double)), naive_array(UNITS, sizeof(double))};
    r->x = is_wide ? padded(20000) : block((size_t)(ROWS * r->cell.xp), 20000);
    r->h = padded(30000);
    r->dh = naive_array(ROWS * UP, sizeof(double));
    r->dx = naive_array((size_t)(ROWS * r->cell.xp), sizeof(double));
    double **more[] = {&r->r, &r->u, &r->c, &r->h_new};
    for (size_t i = 0; i < 4; i++)
        *more[i] = naive_array(ROWS * UP, sizeof(double));
}

static void close_rig(struct rig *r)
{
    double *all[] = {r->params.w_ru, r->params.b_ru, r->params.w_c, r->params.b_c, r->grads.w_ru, r->grads.b_ru,
                     r->grads.w_c,   r->grads.b_c,   r->x,          r->h,          r->r,          r->u,
                     r->c,           r->h_new,       r->dh,         r->dx};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i]);
    free(r->memory);
    gconv_release(&r->g);
}

/* An objective with a different slope for every entry of the new state. */
static double slope(int row, int unit)
{
    return draw(40000 + (uint64_t)(row * UNITS + unit));
}

static double objective(struct rig *r, int has_state)
{
    double sum = 0;
    dcgru_pack(&r->cell, &r->params);
    dcgru_input(&r->cell, &r->work, SAMPLES, r->x, r->cell.xp);
    dcgru_forward(&r->cell, &r->work, SAMPLES, has_state ? r->h : NULL, 0, r->r, r->u, r->c, r->h_new);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < UNITS; j++)
            sum += slope(i, j) * r->h_new[i * UP + j];
    return sum;
}

static void differentiate(struct rig *r, int has_state, int wants_dx)
{
    objective(r, has_state);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < UNITS; j++)
            r->dh[i * UP + j] = slope(i, j);
    dcgru_clear_sums(&r->cell, &r->sums);
    dcgru_backward(&r->cell, &r->work, &r->sums, SAMPLES, r->x, r->cell.xp, has_state ? r->h : NULL, r->r, r->u, r->c,
                   r->dh, wants_dx ? r->dx : NULL, r->cell.xp);
    dcgru_add_sums(&r->cell, &r->sums, &r->grads);
}

static void check_against_difference(struct rig *r, double *at, double gradient, const char *what)
{
    const double step = 1e-6;
    double was = *at;
    *at = was + step;
    double above = objective(r, 1);
    *at = was - step;
    double below = objective(r, 1);
    *at = was;
    double difference = (above - below) / (2 * step);
    if (!(fabs(difference - gradient) < 1e-7))
        fail_msg("%s: gradient %.10g, finite difference %.10g", what, gradient, difference);
}

static void test_gradients_by_finite_differences(void **state)
{
    (void)state;
    for (int is_wide = 0; is_wide < 2; is_wide++) {
        struct rig r;
        open_rig(&r, is_wide);
        differentiate(&r, 1, 1);
        for (size_t i = 0; i < 2 * n_weights(&r); i += 13)
            check_against_difference(&r, &r.params.w_ru[i], r.grads.w_ru[i], "W_ru");
        for (size_t i = 0; i < n_weights(&r); i += 7)
            check_against_difference(&r, &r.params.w_c[i], r.grads.w_c[i], "W_c");
        for (int i = 0; i < 2 * UNITS; i++)
            check_against_difference(&r, &r.params.b_ru[i], r.grads.b_ru[i], "b_ru");
        for (int i = 0; i < UNITS; i++)
            check_against_difference(&r, &r.params.b_c[i], r.grads.b_c[i], "b_c");
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < UNITS; j += 2) {
                check_against_difference(&r, &r.h[i * UP + j], r.dh[i * UP + j], "h");
                if (j < r.cell.f)
                    check_against_difference(&r, &r.x[i * r.cell.xp + j], r.dx[i * r.cell.xp + j], "x");
            }
        close_rig(&r);
    }
}

static void test_no_state_is_the_zero_state(void **state)
{
    (void)state;
    for (int is_wide = 0; is_wide < 2; is_wide++) {
        struct rig a, b;
        open_rig(&a, is_wide);
        open_rig(&b, is_wide);
        memset(b.h, 0, ROWS * UP * sizeof(double));
        differentiate(&a, 0, 1);
        differentiate(&b, 1, 1);
        size_t n = n_weights(&a);
        assert_true(naive_error(ROWS * UP, a.h_new, b.h_new) < 1e-14);
        assert_true(naive_error(ROWS * UP, a.r, b.r) < 1e-14);
        assert_true(naive_error(2 * n, a.grads.w_ru, b.grads.w_ru) < 1e-13);
        assert_true(naive_error(n, a.grads.w_c, b.grads.w_c) < 1e-13);
        assert_true(naive_error(2 * UNITS, a.grads.b_ru, b.grads.b_ru) < 1e-13);
        assert_true(naive_error((size_t)(ROWS * a.cell.xp), a.dx, b.dx) < 1e-13);
        close_rig(&a);
        close_rig(&b);
    }
}

static void test_padding_stays_zero(void **state)
{
    (void)state;
    struct rig r;
    open_rig(&r, 1);
    differentiate(&r, 1, 1);
    for (int i = 0; i < ROWS; i++)
        for (int j = UNITS; j < UP; j++)
            assert_true(r.h_new[i * UP + j] == 0 && r.dh[i * UP + j] == 0 && r.dx[i * UP + j] == 0);
    close_rig(&r);
}

static void test_terms_computed_before_are_the_same(void **state)
{
    (void)state;
    struct rig r;
    open_rig(&r, 0);
    double expected = objective(&r, 1);
    int f = r.cell.f, terms = r.g.n_terms, width = 2 * f; /* beside other columns */
    double *z = naive_array((size_t)(ROWS * terms * width), sizeof *z);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < f; j++)
            z[i * terms * width + f + j] = r.x[i * f + j];
    gconv_diffuse(&r.g, SAMPLES, width, z, terms * width, width);
    memset(r.work.z, 0xff, (size_t)(ROWS * r.work.z_row) * sizeof(double));
    dcgru_input_diffused(&r.cell, &r.work, SAMPLES, z + f, terms * width, width);
    dcgru_forward(&r.cell, &r.work, SAMPLES, r.h, 0, r.r, r.u, r.c, r.h_new);
    double sum = 0;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < UNITS; j++)
            sum += slope(i, j) * r.h_new[i * UP + j];
    assert_true(fabs(sum - expected) < 1e-13);
    free(z);
    close_rig(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients_by_finite_differences),
        cmocka_unit_test(test_no_state_is_the_zero_state),
        cmocka_unit_test(test_padding_stays_zero),
        cmocka_unit_test(test_terms_computed_before_are_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
