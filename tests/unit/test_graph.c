/* test_graph.c - adjacency and supports on graphs small enough to check by hand, and properties on random ones. */
#include "trainer/model/graph.h"
#include "trainer/model/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* 0 -> 1 (weight 1), 0 -> 2 (3), 1 -> 1 (2); node 2 has no way out. */
static const int from_3[] = {0, 1, 0}, to_3[] = {2, 1, 1};
static const double weight_3[] = {3, 2, 1};

static void assert_dense(const struct graph_csr *m, const double *expected)
{
    double dense[64];
    graph_csr_to_dense(m, dense);
    for (int i = 0; i < m->n * m->n; i++)
        if (fabs(dense[i] - expected[i]) > 1e-15)
            fail_msg("entry %d is %.17g, not %.17g", i, dense[i], expected[i]);
}

static void test_triplets_are_sorted_and_transposed(void **state)
{
    (void)state;
    struct graph_csr a = {0}, t = {0};
    assert_int_equal(graph_csr_from_triplets(3, 3, from_3, to_3, weight_3, &a, NULL), 0);
    const double dense[] = {0, 1, 3, 0, 2, 0, 0, 0, 0}, transposed[] = {0, 0, 0, 1, 2, 0, 3, 0, 0};
    assert_dense(&a, dense);
    assert_int_equal(a.col[0], 1);
    assert_int_equal(graph_csr_nnz(&a), 3);
    assert_int_equal(graph_csr_transpose(&a, &t, NULL), 0);
    assert_dense(&t, transposed);
    graph_csr_free(&a);
    graph_csr_free(&t);
}

static void test_random_walk_supports_by_hand(void **state)
{
    (void)state;
    struct graph_csr a = {0};
    struct graph_supports s = {0};
    assert_int_equal(graph_csr_from_triplets(3, 3, from_3, to_3, weight_3, &a, NULL), 0);
    assert_int_equal(graph_supports_build(&a, GRAPH_DUAL_RANDOM_WALK, &s, NULL), 0);
    /* P(A) = [0 1/4 3/4; 0 1 0; 0 0 0], S1 its transpose: column 2 is zero, no division by its empty row */
    const double s1[] = {0, 0, 0, 0.25, 1, 0, 0.75, 0, 0};
    /* P(A^T) = [0 0 0; 1/3 2/3 0; 1 0 0] */
    const double s2[] = {0, 1.0 / 3, 1, 0, 2.0 / 3, 0, 0, 0, 0};
    assert_int_equal(s.n, 2);
    assert_dense(&s.support[0], s1);
    assert_dense(&s.support[1], s2);
    graph_supports_free(&s);
    graph_csr_free(&a);
}

/* Two nodes joined by one edge: L = [1 -1; -1 1], lambda_max 2, support L - I = [0 -1; -1 0]. An isolated third node
 * has the row (2 / 2) 1 - 1 = 0. */
static void test_scaled_laplacian_by_hand(void **state)
{
    (void)state;
    struct graph_csr a = {0};
    struct graph_supports s = {0};
    const int from = 0, to = 1;
    const double weight = 5, expected[] = {0, -1, 0, -1, 0, 0, 0, 0, 0};
    assert_int_equal(graph_csr_from_triplets(3, 1, &from, &to, &weight, &a, NULL), 0);
    assert_int_equal(graph_supports_build(&a, GRAPH_LAPLACIAN, &s, NULL), 0);
    assert_int_equal(s.n, 1);
    assert_dense(&s.support[0], expected);
    graph_supports_free(&s);
    graph_csr_free(&a);
}

/* The path of n nodes, -1 beside a diagonal of 2, has largest eigenvalue 2 + 2 cos(pi / (n + 1)). Its upper end is
 * dense, so the Lanczos iteration has to work for it. */
static void test_largest_eigenvalue_of_a_path(void **state)
{
    (void)state;
    for (int n = 1; n <= 400; n = n * 3 + 1) {
        struct graph_csr m = {.n = n};
        double lambda = 0;
        m.row_start = calloc((size_t)n + 1, sizeof(int));
        m.col = calloc(3 * (size_t)n, sizeof(int));
        m.val = calloc(3 * (size_t)n, sizeof(double));
        int e = 0;
        for (int i = 0; i < n; i++) {
            for (int j = i > 0 ? i - 1 : 0; j <= i + 1 && j < n; j++) {
                m.col[e] = j;
                m.val[e++] = i == j ? 2 : -1;
            }
            m.row_start[i + 1] = e;
        }
        assert_int_equal(graph_lambda_max(&m, &lambda, NULL), 0);
        double expected = 2 + 2 * cos(3.14159265358979323846 / (n + 1));
        if (fabs(lambda / expected - 1) > 1e-13)
            fail_msg("n = %d: %.17g, not %.17g", n, lambda, expected);
        graph_csr_free(&m);
    }
}

static void test_columns_of_a_random_walk_sum_to_one(void **state)
{
    (void)state;
    enum { N = 40 };
    double dense[N * N] = {0}, support[N * N];
    struct graph_csr a = {0};
    struct graph_supports s = {0};
    for (uint64_t e = 0; e < 200; e++)
        dense[rng_below(1, RNG_TEST, 2 * e, (N - 1) * N)] = 0.1 + rng_uniform(1, RNG_TEST, 2 * e + 1);
    assert_int_equal(graph_csr_from_dense(N, dense, &a, NULL), 0);
    assert_int_equal(graph_supports_build(&a, GRAPH_RANDOM_WALK, &s, NULL), 0);
    graph_csr_to_dense(&s.support[0], support);
    for (int j = 0; j < N; j++) {
        double sum = 0;
        for (int i = 0; i < N; i++)
            sum += support[i * N + j];
        assert_true(fabs(sum - (a.row_start[j + 1] > a.row_start[j])) < 1e-14);
    }
    graph_supports_free(&s);
    graph_csr_free(&a);
}

/* Distances 0, 0, 3, 3, 4: mean 2, s = sqrt((4 + 4 + 1 + 1 + 4) / 5). */
static void test_weights_from_distances(void **state)
{
    (void)state;
    const int from[] = {0, 1, 0, 1, 0}, to[] = {0, 1, 1, 0, 2};
    const double metres[] = {0, 0, 3, 3, 4};
    double s = sqrt(14.0 / 5), near = exp(-9 / (s * s));
    struct graph_csr a = {0};
    assert_int_equal(graph_from_distances(3, 5, from, to, metres, &a, NULL), 0);
    assert_true(near < 0.1);
    const double expected[] = {1, 0, 0, 0, 1, 0, 0, 0, 0};
    assert_dense(&a, expected);
    graph_csr_free(&a);
    const double closer[] = {0, 0, 1, 1, 4};
    s = sqrt((1.44 + 1.44 + 0.04 + 0.04 + 7.84) / 5);
    const double expected_closer[] = {1, exp(-1 / (s * s)), 0, exp(-1 / (s * s)), 1, 0, 0, 0, 0};
    assert_int_equal(graph_from_distances(3, 5, from, to, closer, &a, NULL), 0);
    assert_dense(&a, expected_closer);
    graph_csr_free(&a);
}

static void assert_refused(int n, int64_t n_edges, const int *from, const int *to, const double *weight,
                           const char *text)
{
    struct dcr_err err = {0};
    struct graph_csr a = {0};
    assert_int_equal(graph_csr_from_triplets(n, n_edges, from, to, weight, &a, &err), DCR_FAIL);
    assert_string_equal(err.text, text);
    assert_null(a.val);
}

static void test_bad_graphs_are_named(void **state)
{
    (void)state;
    struct dcr_err err = {0};
    struct graph_csr a = {0};
    struct graph_supports s = {0};
    const int from[] = {0, 0}, to[] = {1, 1}, outside[] = {1, 2};
    const double fine[] = {1, 1}, negative[] = {1, -1}, nothing[] = {1, NAN}, equal[] = {5, 5};
    assert_refused(0, 0, NULL, NULL, NULL, "a graph needs at least one sensor; give one with sensors");
    assert_refused(2, 2, from, to, fine, "the edge from 0 to 1 is given twice; leave one out");
    assert_refused(2, 2, from, outside, fine,
                   "edge 2 goes from 0 to 2, but there are only 2 sensors; check the numbers of the sensors");
    assert_refused(2, 2, from, to, negative, "edge 2 has weight -1; weights must be finite and not negative");
    const double huge[] = {1, 1e301};
    assert_refused(2, 2, from, to, huge, "edge 2 has weight 1e+301, too large to be added up; scale the weights");
    assert_refused(2, 2, from, to, nothing, "edge 2 has weight nan; weights must be finite and not negative");
    assert_refused(2, INT32_MAX, from, to, fine, "2147483647 edges are too many; give a smaller graph");
    assert_int_equal(graph_from_distances(2, 2, from, to, nothing, &a, &err), DCR_FAIL);
    assert_string_equal(err.text, "distance 2 is nan metres; it must be finite and not negative");
    assert_int_equal(graph_from_distances(2, 2, from, to, equal, &a, &err), DCR_FAIL);
    assert_non_null(strstr(err.text, "all 2 distances are nearly equal"));
    const double alike[] = {1000, 1001}; /* exp(-(1000 / 0.5)^2) */
    assert_int_equal(graph_from_distances(2, 2, from, to, alike, &a, &err), DCR_FAIL);
    assert_non_null(strstr(err.text, "all 2 distances are nearly equal"));
    assert_int_equal(graph_csr_from_triplets(2, 0, NULL, NULL, NULL, &a, &err), 0);
    assert_int_equal(graph_supports_build(&a, GRAPH_LAPLACIAN, &s, &err), DCR_FAIL);
    assert_non_null(strstr(err.text, "no edges"));
    assert_int_equal(graph_supports_build(&a, GRAPH_DUAL_RANDOM_WALK, &s, &err), 0);
    assert_int_equal(graph_csr_nnz(&s.support[1]), 0);
    graph_supports_free(&s);
    graph_csr_free(&a);
    const double loop = 2;
    const int zero = 0;
    assert_int_equal(graph_csr_from_triplets(2, 1, &zero, &zero, &loop, &a, &err), 0);
    assert_int_equal(graph_supports_build(&a, GRAPH_LAPLACIAN, &s, &err), 0); /* node 1 keeps lambda at 1 */
    graph_supports_free(&s);
    graph_csr_free(&a);
    assert_int_equal(graph_csr_from_triplets(1, 1, &zero, &zero, &loop, &a, &err), 0);
    assert_int_equal(graph_supports_build(&a, GRAPH_LAPLACIAN, &s, &err), DCR_FAIL);
    assert_non_null(strstr(err.text, "only self loops"));
    graph_csr_free(&a);
}

/* No number comes close to an eigenvalue. */
static void test_an_iteration_without_end_is_ended(void **state)
{
    (void)state;
    enum { N = 600 };
    static int row_start[N + 1], col[N];
    static double val[N];
    struct dcr_err err = {0};
    double lambda;
    for (int i = 0; i < N; i++) {
        row_start[i + 1] = i + 1;
        col[i] = i;
        val[i] = NAN;
    }
    const struct graph_csr m = {.n = N, .row_start = row_start, .col = col, .val = val};
    assert_int_equal(graph_lambda_max(&m, &lambda, &err), DCR_FAIL);
    assert_non_null(strstr(err.text, "did not converge in 500 steps"));
}

static void test_names_go_both_ways(void **state)
{
    (void)state;
    struct dcr_err err = {0};
    for (int f = GRAPH_LAPLACIAN; f <= GRAPH_DUAL_RANDOM_WALK; f++) {
        enum graph_filter back = GRAPH_LAPLACIAN;
        assert_int_equal(graph_filter_parse(graph_filter_name((enum graph_filter)f), &back, &err), 0);
        assert_int_equal(back, f);
    }
    enum graph_filter none;
    assert_int_equal(graph_filter_parse("walk", &none, &err), DCR_FAIL);
    assert_string_equal(err.text, "unknown filter 'walk'; use laplacian, random_walk or dual_random_walk");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_triplets_are_sorted_and_transposed),
        cmocka_unit_test(test_random_walk_supports_by_hand),
        cmocka_unit_test(test_scaled_laplacian_by_hand),
        cmocka_unit_test(test_largest_eigenvalue_of_a_path),
        cmocka_unit_test(test_columns_of_a_random_walk_sum_to_one),
        cmocka_unit_test(test_weights_from_distances),
        cmocka_unit_test(test_bad_graphs_are_named),
        cmocka_unit_test(test_an_iteration_without_end_is_ended),
        cmocka_unit_test(test_names_go_both_ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
