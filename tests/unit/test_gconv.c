/* test_gconv.c - diffusion terms against the naive dense ones, and the adjoint by its definition: <Q_m, X> = <G, Z_m>.
 */
#define DCR_REAL_F64
#include "tests/unit/dcrnn_naive.h"
#include "trainer/model/gconv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { SAMPLES = 2, WIDTH = 16 };

static void one_shape(enum graph_filter filter, enum dcrnn_recursion recursion, int k)
{
    struct naive m = {.n = 6,
                      .u = 2,
                      .layers = 1,
                      .b = SAMPLES,
                      .t = 1,
                      .h = 1,
                      .k = k,
                      .d_in = 1,
                      .d_out = 1,
                      .filter = filter,
                      .recursion = recursion};
    struct graph_csr adjacency = {0};
    struct graph_supports supports = {0};
    struct gconv g;
    const struct kernels *kernels = NULL;
    struct dcr_err err = {0};
    naive_fill(&m, (uint64_t)(100 + k));
    if (graph_csr_from_dense(m.n, m.adjacency, &adjacency, &err) ||
        graph_supports_build(&adjacency, filter, &supports, &err) || kernels_choose(NULL, &kernels, &err) ||
        gconv_init(&g, &supports, k, recursion, kernels, &err))
        fail_msg("%s", err.text);
    int rows = SAMPLES * m.n, row = m.terms * WIDTH + 3, one = m.n * WIDTH;
    double *z = naive_array((size_t)(rows * row), sizeof *z), *q = naive_array((size_t)(rows * row), sizeof *q);
    double *scratch = naive_array((size_t)(rows * k * WIDTH), sizeof *scratch);
    cplx *naive_z = naive_array((size_t)(m.terms * one), sizeof *naive_z);
    for (int r = 0; r < rows; r++)
        for (int j = 0; j < WIDTH; j++) {
            z[r * row + j] = rng_uniform(1, RNG_TEST, (uint64_t)(r * WIDTH + j)) - 0.5;
            q[r * row + j] = rng_uniform(2, RNG_TEST, (uint64_t)(r * WIDTH + j)) - 0.5;
        }
    gconv_diffuse(&g, SAMPLES, WIDTH, z, row, WIDTH);
    gconv_adjoint(&g, SAMPLES, WIDTH, q, row, scratch);
    for (int s = 0; s < SAMPLES; s++) {
        for (int i = 0; i < one; i++)
            naive_z[i] = z[(s * m.n + i / WIDTH) * row + i % WIDTH];
        naive_diffuse(&m, WIDTH, naive_z);
        for (int i = 0; i < m.terms * one; i++) {
            int term = i / one, node = i % one / WIDTH;
            double ours = z[(s * m.n + node) * row + term * WIDTH + i % WIDTH];
            if (!(fabs(ours - creal(naive_z[i])) < 1e-12))
                fail_msg("filter %d recursion %d K %d term %d: %g, not %g", (int)filter, (int)recursion, k, term, ours,
                         creal(naive_z[i]));
        }
    }
    for (int term = 0; term < m.terms; term++)
        for (int j = 0; j < WIDTH; j++) { /* columns do not mix, so each is a separate test */
            double left = 0, right = 0;
            for (int r = 0; r < rows; r++) {
                left += q[r * row + term * WIDTH + j] * z[r * row + j];
                right += q[r * row + j] * z[r * row + term * WIDTH + j];
            }
            if (!(fabs(left - right) < 1e-11 * (1 + fabs(left))))
                fail_msg("adjoint: filter %d recursion %d K %d term %d", (int)filter, (int)recursion, k, term);
        }
    free(z);
    free(q);
    free(scratch);
    free(naive_z);
    gconv_release(&g);
    graph_supports_free(&supports);
    graph_csr_free(&adjacency);
    naive_release(&m);
}

static void test_terms_and_adjoint_of_every_kind(void **state)
{
    (void)state;
    for (int filter = 0; filter < 3; filter++)
        for (int recursion = 0; recursion < 2; recursion++)
            for (int k = 1; k <= DCRNN_MAX_K; k++)
                one_shape((enum graph_filter)filter, (enum dcrnn_recursion)recursion, k);
}

/* The two recursions by name, for K = 2 on two supports that do not commute. */
static void test_published_starts_from_the_last_but_one_term(void **state)
{
    (void)state;
    struct graph_supports s = {.filter = GRAPH_DUAL_RANDOM_WALK, .n_sensors = 2, .n = 2};
    const double s1[] = {0, 0, 1, 0}, s2[] = {0.5, 0.25, 0, 0};
    assert_int_equal(graph_csr_from_dense(2, s1, &s.support[0], NULL), 0);
    assert_int_equal(graph_csr_from_dense(2, s2, &s.support[1], NULL), 0);
    const struct kernels *kernels = NULL;
    assert_int_equal(kernels_choose(NULL, &kernels, NULL), 0);
    for (int r = DCRNN_PUBLISHED; r <= DCRNN_RESET; r++) {
        struct gconv g;
        double z[2 * 5] = {4, 0, 0, 0, 0, 8, 0, 0, 0, 0}; /* X = (4, 8); S1 X = (0, 4) */
        assert_int_equal(gconv_init(&g, &s, 2, (enum dcrnn_recursion)r, kernels, NULL), 0);
        gconv_diffuse(&g, 1, 1, z, 5, 1);
        assert_true(z[1] == 0 && z[6] == 4);
        assert_true(z[2] == -4 && z[7] == -8); /* 2 S1 S1 X - X */
        if (r == DCRNN_PUBLISHED) {
            assert_true(z[3] == 1 && z[8] == 0);  /* S2 S1 X */
            assert_true(z[4] == 1 && z[9] == -4); /* 2 S2 S2 S1 X - S1 X */
        } else {
            assert_true(z[3] == 4 && z[8] == 0); /* S2 X */
            assert_true(z[4] == 0 && z[9] == -8);
        }
        gconv_release(&g);
    }
    graph_supports_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_terms_and_adjoint_of_every_kind),
        cmocka_unit_test(test_published_starts_from_the_last_but_one_term),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
