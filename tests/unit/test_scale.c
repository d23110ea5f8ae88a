/* test_scale.c - arithmetic of axes: ticks, labels, spreading, thinning. */
#include "render/draw/scale.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include <string.h>

#define assert_near(a, b, epsilon) assert_true(fabs((double)(a) - (double)(b)) <= (epsilon))

static void test_map(void **state)
{
    (void)state;
    struct scale s = {.lo = 0, .hi = 10, .from = 100, .to = 0, .is_log2 = false};
    assert_near(scale_map(&s, 0), 100, 1e-9);
    assert_near(scale_map(&s, 10), 0, 1e-9);
    assert_near(scale_map(&s, 2.5), 75, 1e-9);
    assert_true(isnan(scale_map(&s, NAN)));
    struct scale flat = {.lo = 3, .hi = 3, .from = 0, .to = 10, .is_log2 = false};
    assert_near(scale_map(&flat, 3), 5, 1e-9);
}

static void test_ticks_are_round_and_inside(void **state)
{
    (void)state;
    unsigned seed = 7;
    for (int k = 0; k < 2000; k++) {
        seed = seed * 1103515245u + 12345u;
        double lo = ((double)(seed >> 8 & 0xffff) - 30000) * pow(10, (int)(seed % 9) - 6);
        seed = seed * 1103515245u + 12345u;
        double hi = lo + ((double)(seed >> 8 & 0xffff) + 1) * pow(10, (int)(seed % 9) - 6);
        int most = 2 + (int)(seed % 9);
        struct ticks t = scale_ticks(lo, hi, most);
        assert_true(t.n <= most);
        double mantissa = t.step / pow(10, floor(log10(t.step) + 1e-9));
        assert_true(fabs(mantissa - 1) < 1e-6 || fabs(mantissa - 2) < 1e-6 || fabs(mantissa - 5) < 1e-6);
        for (int i = 0; i < t.n; i++) {
            assert_true(t.at[i] >= lo - 1e-6 * t.step && t.at[i] <= hi + 1e-6 * t.step);
            assert_true(fabs(t.at[i] / t.step - round(t.at[i] / t.step)) < 1e-6);
        }
    }
}

static void test_ticks_of_known_ranges(void **state)
{
    (void)state;
    struct ticks t = scale_ticks(0, 161, 5);
    assert_int_equal(t.n, 4);
    assert_near(t.step, 50, 0);
    t = scale_ticks(0, 1, 6);
    assert_int_equal(t.n, 6);
    assert_int_equal(t.decimals, 1);
    t = scale_ticks_whole(1, 3, 9);
    assert_int_equal(t.n, 3);
    assert_near(t.step, 1, 0);
    assert_int_equal(scale_ticks(NAN, 1, 5).n, 0);
    assert_int_equal(scale_ticks(2, 1, 5).n, 0);
    assert_int_equal(scale_ticks(2, 2, 5).n, 1);
}

static void test_log2(void **state)
{
    (void)state;
    struct scale s = {.lo = 1, .hi = 64, .from = 0, .to = 60, .is_log2 = true};
    assert_near(scale_map(&s, 1), 0, 1e-9);
    assert_near(scale_map(&s, 8), 30, 1e-9);
    assert_near(scale_map(&s, 64), 60, 1e-9);
    struct ticks t = scale_ticks_log2(0.6, 70, 10);
    assert_int_equal(t.n, 7);
    assert_near(t.at[0], 1, 0);
    assert_near(t.at[6], 64, 0);
    assert_true(scale_ticks_log2(1, 1e6, 5).n <= 5);
    assert_int_equal(scale_ticks_log2(0, 1, 5).n, 0);
}

static void test_round_up(void **state)
{
    (void)state;
    assert_near(scale_round_up(161, 5), 200, 1e-9);
    assert_near(scale_round_up(100, 6), 100, 1e-9);
    assert_near(scale_round_up(0, 5), 1, 0);
}

static void assert_label(double v, int decimals, const char *want)
{
    char text[64];
    number_label(v, decimals, text, sizeof text);
    assert_string_equal(text, want);
}

static void test_labels(void **state)
{
    (void)state;
    char text[64];
    assert_label(0, 2, "0");
    assert_label(-0.0, 0, "0");
    assert_label(0.25, 2, "0.25");
    assert_label(1234, 0, "1234");
    assert_label(12345, 0, "12,345");
    assert_label(-1234567.5, 1, "-1,234,567.5");
    assert_label(NAN, 0, "–");
    const struct {
        double v;
        const char *want;
    } three[] = {{184.3, "184"},      {62.04, "62.0"}, {9.996, "10.0"},
                 {0.03456, "0.0346"}, {1, "1.00"},     {123456, "123,456"}};
    for (size_t i = 0; i < sizeof three / sizeof three[0]; i++) {
        number_label3(three[i].v, text, sizeof text);
        assert_string_equal(text, three[i].want);
    }
}

static void test_units(void **state)
{
    (void)state;
    assert_string_equal(unit_of_seconds(2.5).name, "s");
    assert_string_equal(unit_of_seconds(0.18).name, "ms");
    assert_string_equal(unit_of_seconds(3e-8).name, "ns");
    assert_string_equal(unit_of_bytes(2e6).name, "MB");
}

static void test_spread_keeps_order_gap_and_bounds(void **state)
{
    (void)state;
    double at[6] = {10, 11, 12, 60, 61, 99};
    spread_labels(at, 6, 10, 0, 100);
    for (int i = 1; i < 6; i++)
        assert_true(at[i] - at[i - 1] >= 10 - 1e-9);
    assert_true(at[0] >= 0 && at[5] <= 100);
    double far[3] = {10, 50, 90};
    spread_labels(far, 3, 10, 0, 100);
    assert_near(far[1], 50, 1e-9); /* nothing moves without need */
    double pair[2] = {50, 50};
    spread_labels(pair, 2, 10, 0, 100);
    assert_near(pair[0], 45, 1e-9); /* both move alike */
    double many[20];
    for (int i = 0; i < 20; i++)
        many[i] = 5;
    spread_labels(many, 20, 10, 0, 100); /* cannot fit: spaced evenly */
    assert_near(many[0], 0, 1e-9);
    assert_near(many[19], 100, 1e-9);
}

static void test_thinning_loses_no_spike(void **state)
{
    (void)state;
    enum { N = 10000 };
    static double y[N];
    static size_t index[2 * 100];
    for (int i = 0; i < N; i++)
        y[i] = sin(i * 0.01);
    y[4321] = 50;
    y[777] = -50;
    size_t n = thin_series(y, N, 100, index);
    assert_true(n <= 200);
    int spikes = 0;
    for (size_t i = 0; i < n; i++) {
        spikes += index[i] == 4321 || index[i] == 777;
        if (i)
            assert_true(index[i] > index[i - 1]);
    }
    assert_int_equal(spikes, 2);
    for (int i = 0; i < N; i++)
        y[i] = NAN; /* a gap stays a gap */
    n = thin_series(y, N, 100, index);
    assert_int_equal(n, 100);
    assert_int_equal(thin_series(y, 30, 100, index), 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_map),
        cmocka_unit_test(test_ticks_are_round_and_inside),
        cmocka_unit_test(test_ticks_of_known_ranges),
        cmocka_unit_test(test_log2),
        cmocka_unit_test(test_round_up),
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_units),
        cmocka_unit_test(test_spread_keeps_order_gap_and_bounds),
        cmocka_unit_test(test_thinning_loses_no_spike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
