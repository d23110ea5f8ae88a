/* test_grad_sync.c - bounds of buckets. Exchanges between ranks: tests/integration/train_ranks.sh, train_overlap.sh. */
#include "trainer/ranks/grad_sync.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void every_gradient_is_in_one_bucket(void **state)
{
    (void)state;
    size_t ends[256];
    for (size_t n = 1; n < 60; n++)
        for (size_t n_early = 0; n_early <= n; n_early++)
            for (size_t most = 1; most < 70; most++) {
                size_t n_ends = grad_sync_bounds(n, n_early, most, NULL), before = 0;
                int has_bound = n_early == 0;
                assert_int_equal(grad_sync_bounds(n, n_early, most, ends), n_ends);
                /* no more buckets than needed */
                assert_int_equal(n_ends, (n_early + most - 1) / most + (n - n_early + most - 1) / most);
                for (size_t i = 0; i < n_ends; i++) {
                    assert_true(ends[i] > before && ends[i] - before <= most);
                    has_bound |= ends[i] == n_early;
                    before = ends[i];
                }
                assert_int_equal(before, n);
                assert_true(has_bound);
            }
}

static void parts_are_about_equal(void **state)
{
    (void)state;
    size_t ends[8];
    /* METR-LA as published, 1 MiB: the decoder's in one, the encoder's in one */
    assert_int_equal(grad_sync_bounds(372353, 186305, 262144, ends), 2);
    assert_int_equal(ends[0], 186305);
    assert_int_equal(ends[1], 372353);
    assert_int_equal(grad_sync_bounds(101, 0, 50, ends), 3); /* not 50, 50, 1 */
    assert_true(ends[0] >= 33 && ends[0] <= 34 && ends[1] - ends[0] >= 33 && ends[1] - ends[0] <= 34);
    assert_int_equal(grad_sync_bounds(0, 0, 1, ends), 0);
    assert_int_equal(grad_sync_bounds((size_t)1 << 50, 1, (size_t)1 << 49, ends), 3); /* no overflow */
    assert_int_equal(ends[2], (size_t)1 << 50);
}

static void names_of_dtypes(void **state)
{
    (void)state;
    assert_string_equal(allreduce_dtype_name(ALLREDUCE_BF16), "bf16");
    assert_int_equal(allreduce_dtype_bytes(ALLREDUCE_FP32), 4);
    assert_int_equal(allreduce_dtype_bytes(ALLREDUCE_BF16), 2);
    assert_int_equal(allreduce_dtype_bytes(ALLREDUCE_NONE), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_gradient_is_in_one_bucket),
        cmocka_unit_test(parts_are_about_equal),
        cmocka_unit_test(names_of_dtypes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
