/* test_sampler.c - order, batches and shares of windows. */
#include "trainer/data/loader.h"

#include "tests/unit/trainer_files.h"

static void an_epoch_is_a_permutation(void **state)
{
    (void)state;
    enum { N = 1000 };
    uint32_t a[N], b[N], c[N];
    unsigned char seen[N] = {0};
    sampler_permute(3, 0, a, N);
    sampler_permute(3, 0, b, N);
    sampler_permute(3, 1, c, N);
    assert_memory_equal(a, b, sizeof a);
    assert_int_not_equal(memcmp(a, c, sizeof a), 0);
    size_t n_fixed = 0;
    for (size_t i = 0; i < N; i++) {
        assert_true(a[i] < N && !seen[a[i]]);
        seen[a[i]] = 1;
        n_fixed += a[i] == i;
    }
    assert_true(n_fixed < 10); /* one is expected */
}

static void the_last_batch_is_filled_from_the_first(void **state)
{
    (void)state;
    const uint32_t w[5] = {4, 2, 0, 1, 3};
    assert_int_equal(sampler_steps(5, 2), 3);
    assert_int_equal(sampler_steps(4, 2), 2);
    assert_int_equal(sampler_steps(23974, 64), 375);
    assert_int_equal(sampler_window(w, 5, 4), 3);
    assert_int_equal(sampler_window(w, 5, 5), 4);
    assert_int_equal(sampler_window(w, 5, 6), 2);
    assert_int_equal(sampler_window(w, 5, 99), 3);
    assert_int_equal(sampler_window(w, 5, 0), 4);
}

static void shares_cover_everything_once(void **state)
{
    (void)state;
    for (size_t n = 0; n < 40; n++)
        for (int ranks = 1; ranks < 9; ranks++) {
            size_t next = 0;
            for (int r = 0; r < ranks; r++) {
                size_t first, count;
                sampler_share(n, r, ranks, &first, &count);
                assert_int_equal(first, next);
                assert_in_range(count, n / (size_t)ranks, n / (size_t)ranks + 1);
                next = first + count;
            }
            assert_int_equal(next, n);
        }
}

static void weighted_shares(void **state)
{
    (void)state;
    static const double weights[][4] = {{1, 1, 1, 1}, {3, 1, 1, 1}, {0, 1, 0, 2}, {0.1, 0.7, 1e-9, 5}};
    for (size_t n = 0; n < 200; n++)
        for (int w = 0; w < 4; w++) {
            size_t next = 0, first, count, equal_first, equal_count;
            double sum = weights[w][0] + weights[w][1] + weights[w][2] + weights[w][3];
            for (int r = 0; r < 4; r++) {
                sampler_share_weighted(n, weights[w], r, 4, &first, &count);
                assert_int_equal(first, next);
                double exact = (double)n * weights[w][r] / sum;
                assert_true((double)count > exact - 1.000001 && (double)count < exact + 1.000001);
                assert_true(weights[w][r] > 0 || count == 0);
                next = first + count;
                sampler_share(n, r, 4, &equal_first, &equal_count);
                if (w == 0)
                    assert_true(first == equal_first && count == equal_count);
            }
            assert_int_equal(next, n);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_epoch_is_a_permutation),
        cmocka_unit_test(the_last_batch_is_filled_from_the_first),
        cmocka_unit_test(shares_cover_everything_once),
        cmocka_unit_test(weighted_shares),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
