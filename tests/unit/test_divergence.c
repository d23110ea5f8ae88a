/* test_divergence.c - when a loss makes no sense any more (trainer/run/divergence.h). */
#include "trainer/run/divergence.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

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
    assert_true(d.best == 3); /* suspicious ones are in no mean */
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
    struct divergence d = {.factor = 0}; /* switched off: only no number counts */
    assert_int_equal(divergence_add(&d, 1), DIVERGENCE_NONE);
    for (int i = 0; i < 100; i++)
        assert_int_equal(divergence_add(&d, 1e30), DIVERGENCE_NONE);
    assert_int_equal(divergence_add(&d, NAN), DIVERGENCE_CERTAIN);
    assert_int_equal(divergence_add(&d, INFINITY), DIVERGENCE_CERTAIN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(noise_is_no_divergence),  cmocka_unit_test(one_odd_batch_is_none),
        cmocka_unit_test(a_loss_that_stays_up_is), cmocka_unit_test(from_the_first_step_on),
        cmocka_unit_test(no_number_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
