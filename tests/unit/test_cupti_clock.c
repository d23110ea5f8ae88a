/* test_cupti_clock.c - times of CUPTI on the clock of the trace (collect/guest/cupti/convert.c). Whole records are
 * tested inside a program (tests/integration/collect_cupti.sh). */
#include "collect/guest/cupti/convert.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

static uint64_t n_lost, n_put;

/* The library's own functions are in the observed program. */
void dcc_guest_lost(uint64_t n)
{
    n_lost += n;
}

void dcc_guest_gpu(const char *name, int64_t start_ns, int64_t end_ns, uint64_t bytes, const struct dct_gpu *gpu,
                   const struct dct_kernel *kernel)
{
    (void)name, (void)start_ns, (void)end_ns, (void)bytes, (void)gpu, (void)kernel;
    n_put++;
}

#define SECOND INT64_C(1000000000)

static void drift_is_on_the_line_through_the_looks(void **state)
{
    (void)state;
    /* CUPTI's clock is an hour ahead and runs 100 parts in a million fast. */
    const int64_t hour = 3600 * SECOND;
    const struct cupti_clock c = {{hour + SECOND + 100000, hour + 2 * SECOND + 200000}, {SECOND, 2 * SECOND}};
    for (int64_t mono = 0; mono <= 3 * SECOND; mono += SECOND / 4) {
        int64_t theirs = hour + mono + mono / 10000, got = cupti_clock_mono(&c, (uint64_t)theirs);
        assert_true(llabs(got - mono) <= 20); /* the rate to the power of two: 1e-8 */
    }
}

/* Buffers may be delivered a millisecond or two after one another, with records of the last second. Looks with an error
 * of 400 ns must not become a rate that shifts those records. */
static void near_looks_are_no_rate(void **state)
{
    (void)state;
    const struct cupti_clock c = {{5 * SECOND, 5 * SECOND + 2000000}, {5 * SECOND, 5 * SECOND + 2000400}};
    assert_int_equal(cupti_clock_mono(&c, (uint64_t)(5 * SECOND + 2000000)), 5 * SECOND + 2000400);
    assert_int_equal(cupti_clock_mono(&c, (uint64_t)(4 * SECOND)), 4 * SECOND + 400);
}

static void a_clock_that_was_set_has_no_rate(void **state)
{
    (void)state;
    const struct cupti_clock c = {{SECOND, 2 * SECOND}, {SECOND, 2 * SECOND + SECOND / 2}};
    assert_int_equal(cupti_clock_mono(&c, (uint64_t)(2 * SECOND - 7)), 2 * SECOND + SECOND / 2 - 7);
}

static void a_record_without_times_is_counted(void **state)
{
    (void)state;
    const struct cupti_clock c = {{1, 1}, {1, 1}};
    const struct cupti library = {0};
    struct cuptiabi_memset m = {.kind = CUPTIABI_MEMSET};
    n_lost = n_put = 0;
    convert_record((const void *)&m, &library, &c);
    assert_int_equal(n_lost, 1);
    assert_int_equal(n_put, 0);
    m.start = 5;
    m.end = 6;
    convert_record((const void *)&m, &library, &c);
    assert_int_equal(n_lost, 1);
    assert_int_equal(n_put, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drift_is_on_the_line_through_the_looks),
        cmocka_unit_test(near_looks_are_no_rate),
        cmocka_unit_test(a_clock_that_was_set_has_no_rate),
        cmocka_unit_test(a_record_without_times_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
