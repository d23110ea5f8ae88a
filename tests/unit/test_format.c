/* test_format.c - how numbers become text (render/say/format.h). */
#include "render/say/format.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define expect(call, text_) assert_string_equal((call).text, text_)

static void test_time(void **state)
{
    (void)state;
    expect(fmt_time(0), "0 ns");
    expect(fmt_time(850), "850 ns");
    expect(fmt_time(12100), "12.1 us");
    expect(fmt_time(184000000), "184 ms");
    expect(fmt_time(3420000000), "3.42 s");
    expect(fmt_time(999600), "1.00 ms"); /* rounding carries into the next unit */
    expect(fmt_time(99960000), "100 ms");
    expect(fmt_time(-62000000), "-62.0 ms");
    expect(fmt_signed(fmt_time(62000000), 1), "+62.0 ms");
    expect(fmt_signed(fmt_time(-62000000), -1), "-62.0 ms");
    expect(fmt_signed(fmt_time(0), 0), "0 ns");
    expect(fmt_signed(fmt_time_beside(1000, 300000000), 1), "< 0.01 ms");
    expect(fmt_ms(0), "0");
    expect(fmt_ms(20000), "0.020");
    expect(fmt_ms(100), "< 0.001");
    expect(fmt_ms(1500000), "1.50");
    expect(fmt_ms(-5900000), "-5.90");
}

static void test_ratios(void **state)
{
    (void)state;
    expect(fmt_percent(0), "0 %");
    expect(fmt_percent(0.0001), "< 0.1 %");
    expect(fmt_percent(0.012), "1.2 %");
    expect(fmt_percent(0.0996), "10 %");
    expect(fmt_percent(0.344), "34 %");
    expect(fmt_percent(-0.05), "-5.0 %");
    expect(fmt_percent(1), "100 %");
    expect(fmt_percent(0.9943), "99 %");
    expect(fmt_percent(241.0 / 242), "99.6 %"); /* not "100 % (241 ms of 242 ms)" */
    expect(fmt_percent(0.9996), "100 %");
    expect(fmt_percent_range(0, 0), "0.0 to 0.0 %"); /* not "0.0 to -0.0 %" */
    expect(fmt_percent_range(-0.0001, 0), "0.0 to 0.0 %");
    expect(fmt_ratio(-0.001), "0.00"); /* not "-0.00" */
    expect(fmt_ratio(-0.01), "-0.01");
    expect(fmt_x(-0.001), "0.00x");
    expect(fmt_number(-0.00001), "0.0000");
    expect(fmt_bytes(-0.2), "0 bytes");
    expect(fmt_percent_range(0.32, 0.36), "32 to 36 %");
    expect(fmt_percent_range(0.012, 0.031), "1.2 to 3.1 %");
    expect(fmt_percent_range(0.3151, 0.3162), "31.5 to 31.6 %"); /* not "32 to 32 %" */
    expect(fmt_percent_range(0.3151, 0.3152), "31.5 to 31.6 %"); /* nor one number, which is not an interval */
    expect(fmt_percent_range(0.3159, 0.3159), "31.5 to 31.6 %");
    expect(fmt_percent_range(0.3155, 0.3162), "31.5 to 31.7 %"); /* both round to 31.6 */
    expect(fmt_percent_range(0.5, 0.5), "50.0 to 50.0 %");       /* the same value in every resample */
    expect(fmt_range(1.5, 1.53, fmt_x), "1.50x to 1.53x");
    expect(fmt_range(1.5101, 1.5102, fmt_x), "under 0.1 % either way"); /* not "1.51x to 1.51x" */
    expect(fmt_range(1.506, 1.5149, fmt_x), "0.3 % either way");
    expect(fmt_time_range(9800000, 10200000), "9.80 ms to 10.2 ms");
    expect(fmt_time_range(10000000, 10000400), "under 0.1 % either way");
    expect(fmt_time_range(0, 0), "under 0.1 % either way");
    expect(fmt_ratio(0.8444), "0.84");
    expect(fmt_x(1.917), "1.92x");
    expect(fmt_x(0.97), "0.97x");
    expect(fmt_x(12.34), "12.3x");
}

static void test_numbers(void **state)
{
    (void)state;
    expect(fmt_number(0), "0");
    expect(fmt_number(79.054), "79.1");
    expect(fmt_number(0.2246), "0.225");
    expect(fmt_number(0.00238), "0.0024");
    expect(fmt_number(1236.1), "1,240");
    expect(fmt_number(999.7), "1,000");
    expect(fmt_number(1234567), "1,230,000");
    expect(fmt_number(-45678), "-45,700");
    expect(fmt_bytes(0), "0 bytes");
    expect(fmt_bytes(376068), "376 kB");
    expect(fmt_bytes(1.2e9), "1.20 GB");
    expect(fmt_bit_rate(50e6), "50 Mbit/s");
    expect(fmt_bit_rate(1e9), "1 Gbit/s");
    expect(fmt_bit_rate(12.5e6), "12.5 Mbit/s");
    expect(fmt_bit_rate(800), "800 bit/s");
    expect(fmt_count(1, "step"), "1 step");
    expect(fmt_count(0, "step"), "0 steps");
    expect(fmt_count(412, "step"), "412 steps");
    expect(fmt_utc(0), "");
    expect(fmt_utc(1935224102), "2031-04-29 10:15:02 UTC");
    expect(fmt_utc(1e300), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_time),
        cmocka_unit_test(test_ratios),
        cmocka_unit_test(test_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
