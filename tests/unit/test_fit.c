/* test_fit.c - least squares and its prediction interval (render/metrics/fit.c), by hand. */
#include "render/metrics/fit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static int near(double a, double b)
{
    return fabs(a - b) < 1e-6;
}

static void test_exact_line(void **state)
{
    (void)state;
    const double x[][2] = {{1, 1}, {1, 0.5}, {1, 0.25}}, y[] = {10, 6, 4}; /* 2 + 8 / n */
    struct fit f = fit_linear(x, y, 3, 2);
    double half;
    assert_true(f.has && f.n_free == 1);
    assert_true(near(f.parameter[0], 2) && near(f.parameter[1], 8) && near(f.sigma, 0));
    assert_true(near(fit_at(&f, (double[]){1, 0.125}, &half), 3) && near(half, 0));
}

/* y = 2, 4, 7 at 1, 2, 3 through the origin: 31 / 14; the squared residuals sum to 15 / 14 */
static void test_one_parameter(void **state)
{
    (void)state;
    const double x[][2] = {{1, 0}, {2, 0}, {3, 0}}, y[] = {2, 4, 7};
    struct fit f = fit_linear(x, y, 3, 1);
    double half, sum = 69 - 31.0 * 31 / 14;
    assert_true(near(f.parameter[0], 31.0 / 14) && near(f.sigma, sqrt(sum / 2)));
    assert_true(near(fit_at(&f, (double[]){4, 0}, &half), 4 * 31.0 / 14));
    assert_true(near(half, 4.303 * f.sigma * sqrt(1 + 16.0 / 14)));
    const double small[][2] = {{1e-7, 0}, {2e-7, 0}, {3e-7, 0}}, zero[][2] = {{0, 0}, {0, 0}};
    f = fit_linear(small, y, 3, 1);
    assert_true(f.has && fabs(f.parameter[0] * 1e-7 - 31.0 / 14) < 1e-6);
    assert_false(fit_linear(zero, y, 2, 1).has);
}

static void test_what_cannot_be_fitted(void **state)
{
    (void)state;
    const double x[][2] = {{1, 2}, {2, 4}, {3, 6}}, y[] = {1, 2, 3}, two[][2] = {{1, 0}, {1, 1}};
    double half;
    assert_false(fit_linear(x, y, 3, 2).has); /* the columns depend on each other */
    assert_false(fit_linear(x, y, 1, 2).has);
    struct fit f = fit_linear(two, y, 2, 2);
    assert_true(f.has && f.n_free == 0);
    fit_at(&f, (double[]){1, 2}, &half);
    assert_true(isinf(half));
}

static void test_student(void **state)
{
    (void)state;
    assert_true(isinf(student_975(0)));
    assert_true(near(student_975(1), 12.706) && near(student_975(10), 2.228));
    assert_true(fabs(student_975(20) - 2.086) < 0.001 && fabs(student_975(120) - 1.980) < 0.001);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact_line),
        cmocka_unit_test(test_one_parameter),
        cmocka_unit_test(test_what_cannot_be_fitted),
        cmocka_unit_test(test_student),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
