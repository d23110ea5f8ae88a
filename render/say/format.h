/* format.h - formats numbers as text, in one place, so that a number reads the same in every document, page and chart.
 * Three significant digits at most, never -0; the C locale. Each function returns its text by value, so that it can
 * stand in an argument list: printf("%s", fmt_time(ns).text). */
#ifndef RENDER_SAY_FORMAT_H
#define RENDER_SAY_FORMAT_H

#include <stdint.h>

struct fmt {
    char text[64];
};
/** fmt_signed - f, with "+" in front if the value is positive: "+1.20 ms", "-1.20 ms", "< 0.01 ms". */
struct fmt fmt_signed(struct fmt f, double value);
/** fmt_is_same - do two numbers read the same? */
int fmt_is_same(struct fmt a, struct fmt b);

/** fmt_time - "184 ms", "3.42 s", "12.1 us", "850 ns"; up to 3 significant digits; negative times keep their sign. */
struct fmt fmt_time(int64_t ns);
/** fmt_time_beside - in the unit in which fmt_time prints longest_ns, two decimals at most: "0.84 ms" beside "56.0 ms",
 * "< 0.01 ms" for a shorter time. */
struct fmt fmt_time_beside(int64_t ns, int64_t longest_ns);
/** fmt_ms - as a number of milliseconds without unit, for table columns headed "ms": "184", "3.42". */
struct fmt fmt_ms(int64_t ns);
/** fmt_percent - ratio 0..1 as "34 %": no decimals from 10 % on, one below; "0 %" only for an exact 0, else "< 0.1 %";
 * "99.6 %" where it would round to "100 %". */
struct fmt fmt_percent(double ratio);
/** fmt_of_peak - a share of a peak by fmt_percent; "at the peak" above 1, which is a measurement error. */
struct fmt fmt_of_peak(double ratio);
/** fmt_percent_range - "32 to 36 %", with enough digits to tell the ends apart, one decimal at most. A narrower range
 *  is rounded outwards to tenths, so that it stays a range ("31.5 to 31.6 %"), except for a tenth itself. */
struct fmt fmt_percent_range(double lo, double hi);
/** fmt_range - an interval of what f formats: "1.50x to 1.53x"; if both ends read the same, the distance of the ends:
 * "0.2 % either way", "under 0.1 % either way". */
struct fmt fmt_range(double lo, double hi, struct fmt (*f)(double));
/** fmt_time_range - the same for times in ns: "9.8 ms to 10.2 ms". */
struct fmt fmt_time_range(double lo, double hi);
/** fmt_ratio - efficiency, "0.84". */
struct fmt fmt_ratio(double ratio);
/** fmt_x - a factor, "1.92x". */
struct fmt fmt_x(double factor);
/** fmt_number - 3 significant digits, thousands separated by a comma: "79.1", "12,300". */
struct fmt fmt_number(double value);
/** fmt_bit_rate - of a link, as links are sold: "50 Mbit/s". */
struct fmt fmt_bit_rate(double bit_per_s);
/** fmt_bytes - decimal units: "1.2 GB". */
struct fmt fmt_bytes(double bytes);
/** fmt_whole - a whole number, all its digits: "412", "12,345". */
struct fmt fmt_whole(int64_t n);
/** fmt_count - "1 step", "2,125 steps": n with the noun, plural by adding s. */
struct fmt fmt_count(int64_t n, const char *noun);
/** fmt_utc - Unix seconds as "2031-04-25 10:15:02 UTC"; "" for 0. */
struct fmt fmt_utc(double unix_s);

#endif
