/* test_loss.c - masked error sums and gradient on numbers worked out by hand. */
#include "trainer/model/loss.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

/* mean 50, std 10: predictions 60, 40, 50, 70 against 55, missing, 50, 80. */
static const float pred[] = {1, -1, 0, 2}, raw[] = {55, 0, 50, 80};

static void test_sum_and_count_skip_missing_targets(void **state)
{
    (void)state;
    int64_t n_valid = 0;
    assert_true(loss_sum(pred, raw, 4, 50, 10, &n_valid) == 15);
    assert_int_equal(n_valid, 3);
    assert_int_equal(loss_count_valid(raw, 4), 3);
    assert_true(loss_sum(pred, raw, 0, 50, 10, &n_valid) == 0);
    assert_int_equal(n_valid, 0);
}

static void test_gradient_is_the_sign_times_scale(void **state)
{
    (void)state;
    float g[4];
    loss_gradient(pred, raw, 4, 50, 10, 0.25, g);
    assert_true(g[0] == 2.5f && g[1] == 0 && g[2] == 0 && g[3] == -2.5f);
}

/* For many scalers, undoing the z-score of a missing value does not give exactly 0, so only the raw array may
 * decide. */
static void test_mask_does_not_depend_on_rounding(void **state)
{
    (void)state;
    const float mean = 54.4059f, std = 19.4937f, zero = 0;
    float z = (0 - mean) / std;
    int64_t n_valid = -1;
    loss_sum(&z, &zero, 1, (double)mean, (double)std, &n_valid);
    assert_int_equal(n_valid, 0);
}

static void test_nan_is_not_hidden(void **state)
{
    (void)state;
    const float bad[] = {NAN, NAN}, target[] = {0, 50};
    float g[2];
    assert_true(loss_sum(bad, target, 1, 50, 10, NULL) == 0); /* no target, no error */
    assert_true(isnan(loss_sum(bad, target, 2, 50, 10, NULL)));
    loss_gradient(bad, target, 2, 50, 10, 1, g);
    assert_true(g[0] == 0);
    assert_true(isnan(g[1]));
}

static void test_horizons_are_kept_apart(void **state)
{
    (void)state;
    struct loss_horizon h[2];
    memset(h, 0, sizeof h);
    loss_horizons_add(pred, raw, 2, 2, 50, 10, h);
    loss_horizons_add(pred, raw, 2, 2, 50, 10, h);
    assert_true(h[0].abs == 10 && h[0].square == 50 && h[0].n_valid == 2);
    assert_true(h[1].abs == 20 && h[1].square == 200 && h[1].n_valid == 4);
    assert_true(loss_mae(&h[1]) == 5);
    assert_true(fabs(loss_rmse(&h[1]) - sqrt(50)) < 1e-12);
    assert_true(fabs(loss_mape(&h[1]) - 10.0 / 80 / 2) < 1e-12);
    const struct loss_horizon none = {0};
    assert_true(isnan(loss_mae(&none)) && isnan(loss_rmse(&none)) && isnan(loss_mape(&none)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sum_and_count_skip_missing_targets),
        cmocka_unit_test(test_gradient_is_the_sign_times_scale),
        cmocka_unit_test(test_mask_does_not_depend_on_rounding),
        cmocka_unit_test(test_nan_is_not_hidden),
        cmocka_unit_test(test_horizons_are_kept_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
