/* test_stats.c - the arithmetic under every number (render/metrics/stats.h), compared with values worked out by
 * hand. */
#include "render/metrics/stats.h"
#include "render/findings/shares.h"
#include "render/say/format.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void test_spread(void **state)
{
    (void)state;
    const int64_t x[] = {40, 10, 30, 20};
    struct spread s = spread_of(x, 4);
    assert_int_equal(s.n, 4);
    assert_int_equal(s.mean_ns, 25);
    assert_int_equal(s.median_ns, 25);
    assert_int_equal(s.p95_ns, 40);
    assert_int_equal(s.min_ns, 10);
    assert_int_equal(s.max_ns, 40);
    assert_true(fabs(s.cv_ratio - sqrt(125.0) / 25) < 1e-12); /* deviations 15, 5, 5, 15 */
    const int64_t odd[] = {3, 1, 2};
    assert_int_equal(spread_of(odd, 3).median_ns, 2);
    assert_int_equal(spread_of(odd, 1).cv_ratio == 0, 1);
    assert_int_equal(spread_of(NULL, 0).n, 0);
}

static void test_p95_is_nearest_rank(void **state)
{
    (void)state;
    int64_t x[100];
    for (int i = 0; i < 100; i++)
        x[i] = i + 1;
    assert_int_equal(spread_of(x, 100).p95_ns, 95);
    assert_int_equal(spread_of(x, 20).p95_ns, 19);
    assert_int_equal(spread_of(x, 100).p99_ns, 99);
    assert_int_equal(spread_of(x, 99).p99_ns, 0); /* with 99 values it would be the maximum */
}

static void test_apportion_by_hand(void **state)
{
    (void)state;
    const int64_t part[] = {10, 10, 10};
    int64_t out[3];
    /* 30 * 1/7 = 4.28..: total 4; each has 1.43; one more goes to the first of equal remainders */
    assert_int_equal(apportion(part, 3, 1, 7, out), 4);
    assert_int_equal(out[0], 2);
    assert_int_equal(out[1], 1);
    assert_int_equal(out[2], 1);
    /* half is rounded up: 5/2 = 2.5 -> 3 */
    const int64_t five = 5;
    int64_t one;
    assert_int_equal(apportion(&five, 1, 1, 2, &one), 3);
}

static void test_apportion_always_sums(void **state)
{
    (void)state;
    struct draws d = {42};
    for (int trial = 0; trial < 20000; trial++) {
        int64_t part[7], out[7], sum = 0, total = 0;
        int64_t num = (int64_t)draw_below(&d, 9), den = 1 + (int64_t)draw_below(&d, 1000);
        for (int i = 0; i < 7; i++)
            total += part[i] = (int64_t)draw_below(&d, 1u << 30) * 1000 - (trial % 3 == 0 ? 1000000 : 0);
        int64_t got = apportion(part, 7, num, den, out);
        for (int i = 0; i < 7; i++) {
            sum += out[i];
            assert_true(fabs((double)out[i] - (double)part[i] * (double)num / (double)den) <= 1.0 + 1e-3);
        }
        assert_int_equal(sum, got);
        assert_true(fabs((double)got - (double)total * (double)num / (double)den) <= 0.5 + 1e-3);
    }
}

static void test_apportion_large(void **state)
{
    (void)state;
    const int64_t part[] = {INT64_MAX / 4, INT64_MAX / 4, 1};
    int64_t out[3];
    int64_t got = apportion(part, 3, 3, 7, out);
    assert_int_equal(got, out[0] + out[1] + out[2]);
}

static void test_draws_are_splitmix64(void **state)
{
    (void)state;
    struct draws a = {1}, b = {1};
    for (int i = 0; i < 100; i++) {
        size_t x = draw_below(&a, 10);
        assert_true(x < 10);
        assert_int_equal(x, draw_below(&b, 10));
    }
}

static void test_interval(void **state)
{
    (void)state;
    double v[1000];
    for (int i = 0; i < 1000; i++)
        v[i] = 1000 - i; /* 1 .. 1000 */
    struct interval x = percentile_interval(v, 1000);
    assert_true(x.has);
    assert_true(x.lo == 25 && x.hi == 975);
    assert_false(percentile_interval(v, 0).has);
}

/* The 95 % interval of a mean holds the true mean in about 95 of 100 samples. */
static void test_bootstrap_covers(void **state)
{
    (void)state;
    enum { STEPS = 60, TRIALS = 300 };
    static int64_t row[STEPS][N_PARTS];
    double(*mean)[N_PARTS] = calloc(BOOTSTRAP_RESAMPLES, sizeof *mean),
    *value = calloc(BOOTSTRAP_RESAMPLES, sizeof *value);
    struct draws d = {7};
    int held = 0;
    assert_non_null(mean);
    assert_non_null(value);
    for (int t = 0; t < TRIALS; t++) {
        for (int i = 0; i < STEPS; i++)
            row[i][0] = 1000 + (int64_t)draw_below(&d, 201); /* uniform, mean 1100 */
        struct draws resample = {1};
        bootstrap_means((const int64_t(*)[N_PARTS])row, STEPS, &resample, mean);
        for (int k = 0; k < BOOTSTRAP_RESAMPLES; k++)
            value[k] = mean[k][0];
        struct interval x = percentile_interval(value, BOOTSTRAP_RESAMPLES);
        held += x.lo <= 1100 && x.hi >= 1100;
    }
    assert_in_range(held, TRIALS * 89 / 100, TRIALS * 99 / 100);
    free(mean);
    free(value);
}

static void test_bootstrap_of_constant(void **state)
{
    (void)state;
    enum { STEPS = 700 }; /* more than BOOTSTRAP_MAX_BLOCKS: blocks of unequal length */
    static int64_t row[STEPS][N_PARTS];
    static double mean[BOOTSTRAP_RESAMPLES][N_PARTS];
    for (int i = 0; i < STEPS; i++)
        row[i][PART_WAIT] = 11;
    struct draws d = {1};
    bootstrap_means((const int64_t(*)[N_PARTS])row, STEPS, &d, mean);
    for (int k = 0; k < BOOTSTRAP_RESAMPLES; k++)
        assert_true(fabs(mean[k][PART_WAIT] - 11) < 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spread),
        cmocka_unit_test(test_p95_is_nearest_rank),
        cmocka_unit_test(test_apportion_by_hand),
        cmocka_unit_test(test_apportion_always_sums),
        cmocka_unit_test(test_apportion_large),
        cmocka_unit_test(test_draws_are_splitmix64),
        cmocka_unit_test(test_interval),
        cmocka_unit_test(test_bootstrap_covers),
        cmocka_unit_test(test_bootstrap_of_constant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
