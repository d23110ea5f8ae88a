/* test_schedule.c - learning rate by epoch, scheduled sampling, and detection of a diverging loss. */
#include "trainer/run/schedule.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static void assert_near(double a, double b)
{
    if (!(fabs(a - b) <= 1e-12 * fabs(b)))
        fail_msg("%.17g is not %.17g", a, b);
}

static void test_learning_rate_falls_at_the_milestones(void **state)
{
    (void)state;
    static const int at[] = {20, 30, 40, 50};
    assert_near(schedule_lr(0.01, at, 4, 0), 0.01);
    assert_near(schedule_lr(0.01, at, 4, 19), 0.01);
    assert_near(schedule_lr(0.01, at, 4, 20), 0.001);
    assert_near(schedule_lr(0.01, at, 4, 39), 0.0001);
    assert_near(schedule_lr(0.01, at, 4, 40), 0.00001);
    assert_near(schedule_lr(0.01, at, 4, 50), 2e-6); /* 1e-6 is under the floor */
    assert_near(schedule_lr(0.01, at, 4, 99), 2e-6);
}

static void test_truth_fades(void **state)
{
    (void)state;
    assert_near(schedule_truth_probability(0, 2000), 2000.0 / 2001);
    assert_near(schedule_truth_probability(2000, 2000), 2000 / (2000 + exp(1)));
    /* one half where exp(b / tau) = tau */
    assert_true(fabs(schedule_truth_probability((int64_t)(2000 * log(2000)), 2000) - 0.5) < 1e-3);
    assert_true(schedule_truth_probability(1000000000, 2000) == 0);
}

static void test_coins_follow_the_probability_and_repeat(void **state)
{
    (void)state;
    enum { H = 12, STEPS = 4000 };
    uint8_t coins[H], again[H];
    int64_t step = 15202; /* probability about one half */
    double expected = schedule_truth_probability(step, 2000), sum = 0;
    for (uint64_t seed = 0; seed < STEPS; seed++) {
        schedule_coins(seed, step, 2000, H, coins);
        for (int t = 0; t < H; t++)
            sum += coins[t];
    }
    assert_true(fabs(sum / (H * STEPS) - expected) < 0.01);
    schedule_coins(STEPS - 1, step, 2000, H, again);
    assert_memory_equal(coins, again, H);
    schedule_coins(STEPS - 1, step + 1, 2000, H, again);
    assert_true(memcmp(coins, again, H) != 0);
    schedule_coins(1, 1000000000, 2000, H, coins);
    for (int t = 0; t < H; t++)
        assert_int_equal(coins[t], 0);
}

static void noise_is_no_divergence(void **state)
{
    (void)state;
    struct divergence d = {.factor = 10};
    for (int i = 0; i < 1000; i++) /* falls to 2, with a bad batch now and then */
        assert_int_equal(divergence_add(&d, 2 + 20.0 / (1 + i) + (i % 97 == 96 ? 15 : i % 3)), DIVERGENCE_NONE);
    assert_true(d.best > 2 && d.best < 4);
}

static void one_odd_batch_is_none(void **state)
{
    (void)state;
    struct divergence d = {.factor = 10};
    for (int i = 0; i < 20; i++)
        assert_int_equal(divergence_add(&d, 3), DIVERGENCE_NONE);
    for (int i = 0; i < DIVERGENCE_STEPS - 1; i++)
        assert_int_equal(divergence_add(&d, 31), DIVERGENCE_SUSPECTED);
    assert_int_equal(divergence_add(&d, 29), DIVERGENCE_NONE); /* counting begins anew */
    assert_int_equal(divergence_add(&d, 31), DIVERGENCE_SUSPECTED);
    assert_true(d.best == 3);
}

static void a_loss_that_stays_up_is(void **state)
{
    (void)state;
    struct divergence d = {.factor = 10};
    for (int i = 0; i < 45; i++)
        assert_int_equal(divergence_add(&d, 3), DIVERGENCE_NONE);
    for (int i = 0; i < DIVERGENCE_STEPS - 1; i++)
        assert_int_equal(divergence_add(&d, 100 * i + 40), DIVERGENCE_SUSPECTED);
    assert_int_equal(divergence_add(&d, 40), DIVERGENCE_CERTAIN);
    assert_true(d.best == 3); /* suspicious losses do not enter a mean */
}

static void from_the_first_step_on(void **state)
{
    (void)state;
    struct divergence d = {.factor = 10};
    assert_int_equal(divergence_add(&d, 5), DIVERGENCE_NONE);
    for (int i = 0; i < DIVERGENCE_STEPS - 1; i++)
        assert_int_equal(divergence_add(&d, 1e9), DIVERGENCE_SUSPECTED);
    assert_int_equal(divergence_add(&d, 1e9), DIVERGENCE_CERTAIN);
}

static void no_number_at_once(void **state)
{
    (void)state;
    struct divergence d = {.factor = 0}; /* switched off: only NaN counts */
    assert_int_equal(divergence_add(&d, 1), DIVERGENCE_NONE);
    for (int i = 0; i < 100; i++)
        assert_int_equal(divergence_add(&d, 1e30), DIVERGENCE_NONE);
    assert_int_equal(divergence_add(&d, NAN), DIVERGENCE_CERTAIN);
    assert_int_equal(divergence_add(&d, INFINITY), DIVERGENCE_CERTAIN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_learning_rate_falls_at_the_milestones),
        cmocka_unit_test(test_truth_fades),
        cmocka_unit_test(test_coins_follow_the_probability_and_repeat),
        cmocka_unit_test(noise_is_no_divergence),
        cmocka_unit_test(one_odd_batch_is_none),
        cmocka_unit_test(a_loss_that_stays_up_is),
        cmocka_unit_test(from_the_first_step_on),
        cmocka_unit_test(no_number_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
