/* test_bf16.c - rounding of gradients for transfer, compared with the written-out rule over all bit patterns that
 * matter. */
#include "trainer/ranks/grad_sync.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

static float of_bits(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static uint16_t pack(float f)
{
    uint16_t out;
    bf16_pack(1, &f, &out);
    return out;
}

static void unpacking_is_exact(void **state)
{
    (void)state;
    for (uint32_t v = 0; v < 0x10000; v++) {
        uint16_t in = (uint16_t)v;
        float out, expected = of_bits(v << 16);
        bf16_unpack(1, &in, &out);
        assert_memory_equal(&out, &expected, sizeof out);
        if (!isnan(expected))
            assert_int_equal(pack(expected), v); /* and back */
        else
            assert_true((pack(expected) & 0x7fff) > 0x7f80);
    }
}

/* The nearer of two neighbours; if both are equally near, the even one. */
static void packing_rounds_to_nearest_even(void **state)
{
    (void)state;
    static const uint32_t lower[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff};
    for (uint32_t upper = 0; upper < 0x7f7f; upper += 7)
        for (int i = 0; i < 6; i++)
            for (uint32_t sign = 0; sign < 2; sign++) {
                uint32_t bits = sign << 31 | upper << 16 | lower[i];
                int up = lower[i] > 0x8000 || (lower[i] == 0x8000 && upper % 2);
                assert_int_equal(pack(of_bits(bits)), sign << 15 | (upper + (uint32_t)up));
            }
}

static void numbers_at_the_ends(void **state)
{
    (void)state;
    assert_int_equal(pack(1.0f), 0x3f80);
    assert_int_equal(pack(-2.0f), 0xc000);
    assert_int_equal(pack(0.0f), 0);
    assert_int_equal(pack(-0.0f), 0x8000);
    assert_int_equal(pack(of_bits(0x7f7fffff)), 0x7f80); /* the largest float becomes infinite */
    assert_int_equal(pack(INFINITY), 0x7f80);
    assert_int_equal(pack(-INFINITY), 0xff80);
    assert_true((pack(of_bits(0x7f800001)) & 0x7fff) > 0x7f80); /* a NaN whose bits are all in the lower half */
    assert_true((pack(of_bits(0xffffffff)) & 0x7fff) > 0x7f80);
}

static void relative_error_is_bounded(void **state)
{
    (void)state;
    for (int i = 1; i < 100000; i++) {
        float f = (float)i * 1.37e-5f, back;
        uint16_t v = pack(f);
        bf16_unpack(1, &v, &back);
        assert_true(fabsf(back - f) <= f / 256);
    }
}

/* Added as floats and rounded once, for every length, because vector code treats the end differently. */
static void sums(void **state)
{
    (void)state;
    enum { N = 77 };
    uint16_t a[N], b[N], sum[N];
    for (int n = 0; n <= N; n += 11) {
        for (int i = 0; i < N; i++) {
            a[i] = pack((float)i * 0.37f - 9);
            b[i] = pack(3 - (float)(i * i) * 0.011f);
            sum[i] = a[i];
        }
        bf16_add((size_t)n, b, sum);
        for (int i = 0; i < N; i++) {
            float x, y;
            bf16_unpack(1, &a[i], &x);
            bf16_unpack(1, &b[i], &y);
            assert_int_equal(sum[i], i < n ? pack(x + y) : a[i]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unpacking_is_exact),
        cmocka_unit_test(packing_rounds_to_nearest_even),
        cmocka_unit_test(numbers_at_the_ends),
        cmocka_unit_test(relative_error_is_bounded),
        cmocka_unit_test(sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
