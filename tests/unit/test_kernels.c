/* test_kernels.c - every kernel table this CPU can run against plain loops in double, over ragged shapes; the bound
 * stated for sigmoid and tanh over the whole float range. */
#include "tests/unit/quick.h"
#include "trainer/cpu/kernels.h"
#include "trainer/model/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const char *const names[] = {"avx512", "avx2", "portable"};

/* Runs body once for every table; prints which are absent. */
static void each_table(void (*body)(const struct kernels *k))
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const struct kernels *k = NULL;
        struct dcr_err err = {0};
        if (kernels_choose(names[i], &k, &err) == 0)
            body(k);
        else
            print_message("%s\n", err.text);
    }
}

static float *numbers(size_t n, uint64_t seed)
{
    float *p = malloc((n + 64) * sizeof *p);
    assert_non_null(p);
    for (size_t i = 0; i < n; i++)
        p[i] = (float)(2 * rng_uniform(seed, RNG_TEST, i) - 1);
    return p;
}

static void check(const char *what, const struct kernels *k, double got, double expected, double size, int m, int n,
                  int p)
{
    if (!(fabs(got - expected) <= 2e-6 * (1 + size)))
        fail_msg("%s %s (%d, %d, %d): %.9g, not %.9g", k->name, what, m, n, p, got, expected);
}

/* One product, A plain or transposed, B plain or packed, C beside other data that must stay. */
static void one_gemm(const struct kernels *k, int m, int n, int depth, int transposed, int packed, int add)
{
    int lda = (transposed ? m : depth) + 3, ldb = n + 5, ldc = n + 7;
    size_t n_a = (size_t)(transposed ? depth : m) * (size_t)lda, n_b = (size_t)depth * (size_t)ldb;
    size_t n_c = (size_t)m * (size_t)ldc;
    int width = n < k->panel ? n : k->panel, n_panels = (n + width - 1) / width;
    float *a = numbers(n_a, 1), *b = numbers(n_b, 2), *c = numbers(n_c, 3), *before = numbers(n_c, 3);
    float *panels = numbers((size_t)(n_panels * width) * (size_t)depth, 4);
    for (int p = 0; p < depth; p++)
        for (int j = 0; j < n; j++)
            panels[(j / width) * depth * width + p * width + j % width] = b[p * ldb + j];
    k->gemm(m, n, depth, a, transposed ? 1 : lda, transposed ? lda : 1, packed ? panels : b, packed ? width : ldb,
            packed ? (ptrdiff_t)depth * width : k->panel, c, ldc, add);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < ldc; j++) {
            double sum = add || j >= n ? (double)before[i * ldc + j] : 0;
            for (int p = 0; p < depth && j < n; p++)
                sum += (double)(transposed ? a[p * lda + i] : a[i * lda + p]) * (double)b[p * ldb + j];
            check("gemm", k, (double)c[i * ldc + j], sum, sqrt(depth), m, n, depth);
        }
    free(a);
    free(b);
    free(c);
    free(before);
    free(panels);
}

static void gemm_shapes(const struct kernels *k)
{
    const int ms[] = {1, 2, 5, 6, 7, 13, 14, 15, 29, 64}, ns[] = {16, 32, 48, 80},
              depths[] = {1, 2, 17, 224, 225, 320, 321, 460, 641};
    enum {
        M = sizeof ms / sizeof ms[0],
        N = sizeof ns / sizeof ns[0],
        DEPTHS = sizeof depths / sizeof depths[0],
        WAYS = 8
    };
    for (size_t i = 0; i < (size_t)M * N * DEPTHS * WAYS;
         i += every(7)) { /* 7 has no factor in common with the counts */
        size_t way = i % WAYS, p = i / WAYS % DEPTHS, j = i / WAYS / DEPTHS % N, m = i / WAYS / DEPTHS / N;
        one_gemm(k, ms[m], ns[j], depths[p], way & 1, (way >> 1) & 1, (way >> 2) & 1);
    }
}

static void test_gemm(void **state)
{
    (void)state;
    each_table(gemm_shapes);
}

static void spmm_shapes(const struct kernels *k)
{
    enum { N = 23, SAMPLES = 3, ROW = 150 };
    int row_start[N + 1] = {0}, col[N * N];
    float val[N * N];
    for (int i = 0; i < N; i++) { /* rows of 0 to N - 1 entries */
        row_start[i + 1] = row_start[i];
        for (int j = 0; j < N; j++)
            if (i > 0 && rng_uniform(5, RNG_TEST, (uint64_t)(i * N + j)) < i / (double)N) {
                col[row_start[i + 1]] = j;
                val[row_start[i + 1]++] = (float)(j + 1) / N;
            }
    }
    const struct kernels_csr s = {N, row_start, col, val};
    const int widths[] = {1, 2, 5, 16, 24, 32, 64, 80, 128, 133};
    for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++)
        for (int way = 0; way < 3; way++) { /* without prev, with prev, y in place of prev */
            size_t all = SAMPLES * N * ROW;
            float *x = numbers(all, 1), *prev = numbers(all, 2), *y = numbers(all, 3), *was = numbers(all, 2);
            float *out = way == 2 ? prev : y, factor = way ? 2 : 1;
            k->spmm(&s, SAMPLES, widths[w], factor, x, ROW, way ? prev : NULL, ROW, out, ROW);
            for (int r = 0; r < SAMPLES * N; r++)
                for (int j = 0; j < widths[w]; j++) {
                    double sum = 0;
                    for (int e = row_start[r % N]; e < row_start[r % N + 1]; e++)
                        sum += (double)val[e] * (double)x[(r - r % N + col[e]) * ROW + j];
                    sum = (double)factor * sum - (way ? (double)was[r * ROW + j] : 0);
                    check("spmm", k, (double)out[r * ROW + j], sum, 10, r, j, widths[w]);
                }
            free(x);
            free(prev);
            free(y);
            free(was);
        }
}

static void test_spmm(void **state)
{
    (void)state;
    each_table(spmm_shapes);
}

static void dots_shapes(const struct kernels *k)
{
    enum { M = 9, N = 3, DEPTH = 80 };
    float *a = numbers(M * DEPTH, 1), *w = numbers(N * DEPTH, 2), *y = numbers(M * N, 3), *was = numbers(M * N, 3);
    k->dots(M, N, DEPTH, a, DEPTH, w, DEPTH, y, N);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            double sum = (double)was[i * N + j];
            for (int p = 0; p < DEPTH; p++)
                sum += (double)a[i * DEPTH + p] * (double)w[j * DEPTH + p];
            check("dots", k, (double)y[i * N + j], sum, 9, i, j, DEPTH);
        }
    free(a);
    free(w);
    free(y);
    free(was);
}

static void test_dots(void **state)
{
    (void)state;
    each_table(dots_shapes);
}

/* Every 509th float of both signs, through the two kernels that use the functions; state with u = 0 is tanh alone. */
static void activation_range(const struct kernels *k)
{
    enum { UNITS = 16 };
    double worst_sigmoid = 0, worst_tanh = 0;
    float pre[2 * UNITS], bias[2 * UNITS] = {0}, r[UNITS], u[UNITS], zero[UNITS] = {0}, c[UNITS], h[UNITS];
    uint32_t bits = 0;
    while (bits <= 0xffffffffu - 2 * UNITS * 509) {
        for (int j = 0; j < 2 * UNITS; j++, bits += 509)
            memcpy(&pre[j], &bits, sizeof bits);
        k->gates(1, UNITS, pre, bias, NULL, r, u, NULL, 0);
        k->state(1, UNITS, pre, bias, zero, NULL, c, h);
        for (int j = 0; j < UNITS; j++) {
            if (isnan(pre[j])) {
                assert_true(isnan(r[j]) && isnan(c[j]) && isnan(h[j]));
                continue;
            }
            worst_sigmoid = fmax(worst_sigmoid, fabs((double)r[j] - 1 / (1 + exp(-(double)pre[j]))));
            worst_tanh = fmax(worst_tanh, fabs((double)c[j] - tanh((double)pre[j])));
            assert_true(c[j] == h[j]);
        }
    }
    print_message("%s: sigmoid within %.2e, tanh within %.2e\n", k->name, worst_sigmoid, worst_tanh);
    assert_true(worst_sigmoid < 2.5e-7);
    assert_true(worst_tanh < 2.5e-7);
}

static void test_activations_keep_their_bound(void **state)
{
    (void)state;
    each_table(activation_range);
}

/* was + the sums over m rows, `row` apart, of n columns. */
static void check_column_sums(const char *what, const struct kernels *k, int m, int n, const float *g, ptrdiff_t row,
                              const float *was, const float *sums)
{
    for (int j = 0; j < n; j++) {
        double want = (double)was[j];
        for (int i = 0; i < m; i++)
            want += (double)g[i * row + j];
        check(what, k, (double)sums[j], want, 1, j, 0, 0);
    }
}

static void gate_algebra(const struct kernels *k)
{
    enum { M = 3, UNITS = 32, N = M * UNITS, ROW = 80 };
    float *h = numbers(N, 1), *r = numbers(N, 2), *u = numbers(N, 3), *c = numbers(N, 4), *d_rh = numbers(N, 5);
    float *dh = numbers(N, 6), *dh_was = numbers(N, 6), *pre = numbers(2 * N, 7), *bias = numbers(2 * UNITS, 8);
    float *rh = numbers(M * ROW, 9), *g = numbers(M * ROW, 9), *g_u = numbers(N, 9), *h_new = numbers(N, 9);
    float *sum_b = numbers(2 * UNITS, 10), *sum_b_was = numbers(2 * UNITS, 10);
    k->back_candidate(M, UNITS, dh, u, c, g, ROW, sum_b);
    check_column_sums("back_candidate sums", k, M, UNITS, g, ROW, sum_b_was, sum_b);
    for (int i = 0; i < N; i++)
        check("back_candidate", k, (double)g[i / UNITS * ROW + i % UNITS],
              (double)dh[i] * (1 - (double)u[i]) * (1 - (double)c[i] * (double)c[i]), 1, i, 0, 0);
    memcpy(sum_b, sum_b_was, 2 * UNITS * sizeof *sum_b);
    k->back_gates(M, UNITS, d_rh, h, r, u, c, dh, g, ROW, g_u, sum_b);
    check_column_sums("back_gates sums of r", k, M, UNITS, g, ROW, sum_b_was, sum_b);
    check_column_sums("back_gates sums of u", k, M, UNITS, g_u, UNITS, sum_b_was + UNITS, sum_b + UNITS);
    for (int i = 0; i < N; i++) {
        double d = (double)dh_was[i], x = (double)d_rh[i], old = (double)h[i], ri = (double)r[i], ui = (double)u[i];
        check("back_gates r", k, (double)g[i / UNITS * ROW + i % UNITS], x * old * ri * (1 - ri), 1, i, 0, 0);
        check("back_gates u", k, (double)g_u[i], d * (old - (double)c[i]) * ui * (1 - ui), 1, i, 0, 0);
        check("back_gates dh", k, (double)dh[i], d * ui + x * ri, 1, i, 0, 0);
    }
    k->multiply(N, r, h, h_new);
    for (int i = 0; i < N; i++)
        check("multiply", k, (double)h_new[i], (double)r[i] * (double)h[i], 1, i, 0, 0);
    k->gates(M, UNITS, pre, bias, h, r, u, rh, ROW);
    k->state(M, UNITS, pre, bias, u, h, c, h_new);
    for (int i = 0; i < N; i++) {
        int row = i / UNITS, j = i % UNITS;
        double reset = 1 / (1 + exp(-(double)(pre[row * 2 * UNITS + j] + bias[j])));
        double keep = 1 / (1 + exp(-(double)(pre[row * 2 * UNITS + UNITS + j] + bias[UNITS + j])));
        double candidate = tanh((double)(pre[i] + bias[j]));
        check("gates r", k, (double)r[i], reset, 1, i, 0, 0);
        check("gates rh", k, (double)rh[row * ROW + j], reset * (double)h[i], 1, i, 0, 0);
        check("gates u", k, (double)u[i], keep, 1, i, 0, 0);
        check("state c", k, (double)c[i], candidate, 1, i, 0, 0);
        check("state h", k, (double)h_new[i], keep * (double)h[i] + (1 - keep) * candidate, 1, i, 0, 0);
    }
    float *all[] = {h, r, u, c, d_rh, dh, dh_was, pre, bias, rh, g, g_u, h_new, sum_b, sum_b_was};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i]);
}

static void test_gates_and_their_backward(void **state)
{
    (void)state;
    each_table(gate_algebra);
}

/* Bias gradients of many rows, with a different size in each call and terms of one sign. The error is that of the rows
 * of one call, not of all. The columns are longer than one piece of the sums. */
static void long_sums(const struct kernels *k)
{
    enum { M = 150, UNITS = 288, N = M * UNITS, CALLS = 250, ROW = UNITS + 16 };
    float *dh = numbers(N, 1), *u = numbers(N, 2), *c = numbers(N, 3), *h = numbers(N, 4), *r = numbers(N, 5);
    float *d_rh = numbers(N, 6), *dh_now = numbers(N, 7), *g = numbers(M * ROW, 8), *g_u = numbers(N, 8),
          *g_c = numbers(M * ROW, 8);
    float *d_rh_now = numbers(N, 8), *size = numbers(CALLS, 9), *sum_b = calloc(3 * UNITS, sizeof *sum_b);
    double want[3 * UNITS] = {0}, worst = 0;
    assert_non_null(sum_b);
    for (int i = 0; i < N; i++) {
        u[i] = 0.5f + 0.3f * u[i];
        r[i] = 0.5f + 0.3f * r[i];
        c[i] *= 0.5f;
        h[i] = 1 + 0.3f * h[i];
    }
    for (int call = 0; call < CALLS; call++) {
        for (int i = 0; i < N; i++) {
            dh_now[i] = (fabsf(dh[i]) + 0.1f) * (1 + 0.9f * size[call]);
            d_rh_now[i] = (fabsf(d_rh[i]) + 0.1f) * (1 + 0.9f * size[call]);
        }
        k->back_candidate(M, UNITS, dh_now, u, c, g_c, ROW, sum_b);
        k->back_gates(M, UNITS, d_rh_now, h, r, u, c, dh_now, g, ROW, g_u, sum_b + UNITS);
        for (int i = 0; i < M; i++)
            for (int j = 0; j < UNITS; j++) {
                want[j] += (double)g_c[i * ROW + j];
                want[UNITS + j] += (double)g[i * ROW + j];
                want[2 * UNITS + j] += (double)g_u[i * UNITS + j];
            }
    }
    for (int j = 0; j < 3 * UNITS; j++)
        worst = fmax(worst, fabs((double)sum_b[j] / want[j] - 1));
    print_message("%s: bias gradients of %d rows within %.3g\n", k->name, M * CALLS, worst);
    if (!(worst < 3e-6))
        fail_msg("%s: bias gradients of %d rows are off by %g", k->name, M * CALLS, worst);
    float *all[] = {dh, u, c, h, r, d_rh, dh_now, d_rh_now, g, g_u, g_c, size, sum_b};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i]);
}

static void test_long_sums_keep_their_digits(void **state)
{
    (void)state;
    each_table(long_sums);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gemm),
        cmocka_unit_test(test_spmm),
        cmocka_unit_test(test_dots),
        cmocka_unit_test(test_activations_keep_their_bound),
        cmocka_unit_test(test_gates_and_their_backward),
        cmocka_unit_test(test_long_sums_keep_their_digits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
