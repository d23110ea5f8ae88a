/* test_rng.c - known answers of Philox4x32-10 (kat_vectors of Random123, the authors' library), and the shape of what
 * is drawn from it. */
#include "trainer/model/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void test_known_answers(void **state)
{
    (void)state;
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } known[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        uint32_t out[4];
        rng_philox(known[i].counter, known[i].key, out);
        for (int j = 0; j < 4; j++)
            assert_int_equal(out[j], known[i].out[j]);
    }
}

static void test_uniform_and_normal_have_their_moments(void **state)
{
    (void)state;
    enum { N = 200000 };
    double sum_u = 0, sum_n = 0, square_n = 0, fourth_n = 0;
    for (uint64_t i = 0; i < N; i++) {
        double u = rng_uniform(7, RNG_TEST, i), n = rng_normal(7, RNG_TEST, i);
        assert_true(u >= 0 && u < 1);
        sum_u += u;
        sum_n += n;
        square_n += n * n;
        fourth_n += n * n * n * n;
    }
    assert_true(fabs(sum_u / N - 0.5) < 0.003);
    assert_true(fabs(sum_n / N) < 0.01);
    assert_true(fabs(square_n / N - 1) < 0.02);
    assert_true(fabs(fourth_n / N - 3) < 0.15);
}

static void test_seed_stream_and_index_all_matter(void **state)
{
    (void)state;
    uint64_t v = rng_u64(1, 2, 3);
    assert_true(v == rng_u64(1, 2, 3));
    assert_true(v != rng_u64(2, 2, 3));
    assert_true(v != rng_u64(1, 3, 3));
    assert_true(v != rng_u64(1, 2, 4));
    assert_true(v != rng_u64(1 + (1ull << 32), 2, 3));
    assert_true(v != rng_u64(1, 2, 3 + (1ull << 32)));
}

static void test_below_covers_its_range(void **state)
{
    (void)state;
    int seen[7] = {0};
    for (uint64_t i = 0; i < 7000; i++)
        seen[rng_below(3, RNG_TEST, i, 7)]++;
    for (int i = 0; i < 7; i++)
        assert_true(seen[i] > 850 && seen[i] < 1150);
    assert_int_equal(rng_below(3, RNG_TEST, 0, 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_answers),
        cmocka_unit_test(test_uniform_and_normal_have_their_moments),
        cmocka_unit_test(test_seed_stream_and_index_all_matter),
        cmocka_unit_test(test_below_covers_its_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
