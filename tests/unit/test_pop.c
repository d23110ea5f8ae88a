/* test_pop.c - POP efficiencies against hand-computed cases and their identities. */
#include "tests/unit/made_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

static int near(double a, double b)
{
    return fabs(a - b) < 1e-12;
}

static void test_by_hand(void **state)
{
    (void)state;
    /* 4 ranks, wall 100; useful 80 60 60 40: mean 60, max 80; transfer 10 */
    const int64_t useful[] = {80, 60, 60, 40}, total[] = {100, 100, 100, 100};
    struct pop p = pop_of(useful, total, 4, 10, 1);
    assert_true(p.has);
    assert_true(near(p.parallel_ratio, 0.60));
    assert_true(near(p.load_balance_ratio, 0.75));
    assert_true(near(p.communication_ratio, 0.80));
    assert_true(near(p.transfer_ratio, 0.90));
    assert_true(near(p.serialization_ratio, 0.80 / 0.90));
    assert_int_equal(p.useful_mean_ns, 60);
    assert_int_equal(p.useful_max_ns, 80);
}

static void test_identities(void **state)
{
    (void)state;
    struct draws d = {5};
    for (int trial = 0; trial < 1000; trial++) {
        int n = 1 + (int)draw_below(&d, 16);
        int64_t useful[16], total[16];
        for (int i = 0; i < n; i++) {
            total[i] = 1000000;
            useful[i] = 1 + (int64_t)draw_below(&d, 1000000);
        }
        struct pop p = pop_of(useful, total, n, (int64_t)draw_below(&d, 1000), 1);
        assert_true(near(p.parallel_ratio, p.load_balance_ratio * p.communication_ratio));
        assert_true(near(p.communication_ratio, p.serialization_ratio * p.transfer_ratio));
        assert_true(p.parallel_ratio <= 1 && p.load_balance_ratio <= 1 && p.communication_ratio <= 1);
    }
}

static void test_nothing_measured(void **state)
{
    (void)state;
    const int64_t zero[] = {0, 0};
    assert_false(pop_of(zero, zero, 2, 0, 1).has);
    assert_false(pop_of(zero, zero, 0, 0, 0).has);
}

/* Data loading is outside communication, so it is useful time here: a slow loader on one rank costs no efficiency. */
static void test_data_loading_is_not_communication(void **state)
{
    (void)state;
    struct run *r = made_even_run(1, 64, 10, 50, 0, 50, 0), *runs[] = {r};
    struct report rep = {0};
    struct analyse_options o = made_options();
    assert_int_equal(analyse(&rep, runs, 1, &o, NULL), 0);
    assert_true(near(rep.runs[0].pop.communication_ratio, 1));
    assert_true(rep.runs[0].pop.has_useful && !rep.runs[0].pop.has); /* one rank waits for nobody */
    assert_string_equal(rep.runs[0].pop_because, "n/a because one rank waits for nobody");
    report_free(&rep);
    run_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_identities),
        cmocka_unit_test(test_nothing_measured),
        cmocka_unit_test(test_data_loading_is_not_communication),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
