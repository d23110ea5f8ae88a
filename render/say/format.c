/* format.c - see format.h. */
#include "render/say/format.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A number that rounds to 0 has no sign: "-0.00" becomes "0.00". */
static void drop_minus_zero(char *text)
{
    if (text[0] == '-' && !strpbrk(text, "123456789"))
        memmove(text, text + 1, strlen(text));
}

/* Decimals that give three significant digits for a value of at least `value`; rounding may carry to the next power. */
static int decimals(double value)
{
    double a = fabs(value);
    return a >= 99.95 ? 0 : a >= 9.995 ? 1 : a >= 0.9995 ? 2 : 3;
}

static struct fmt with_unit(double value, const char *unit)
{
    struct fmt f;
    snprintf(f.text, sizeof f.text, "%.*f%s%s", decimals(value), value, *unit ? " " : "", unit);
    drop_minus_zero(f.text);
    return f;
}

struct fmt fmt_signed(struct fmt f, double value)
{
    struct fmt out = f;
    if (value > 0 && f.text[0] >= '0' && f.text[0] <= '9')
        snprintf(out.text, sizeof out.text, "+%.62s", f.text);
    return out;
}

int fmt_is_same(struct fmt a, struct fmt b)
{
    return strcmp(a.text, b.text) == 0;
}

struct fmt fmt_time(int64_t ns)
{
    struct fmt f;
    double a = fabs((double)ns);
    if (a < 999.5) {
        snprintf(f.text, sizeof f.text, "%lld ns", (long long)ns);
        return f;
    }
    if (a < 999.5e3)
        return with_unit((double)ns / 1e3, "us");
    if (a < 999.5e6)
        return with_unit((double)ns / 1e6, "ms");
    return with_unit((double)ns / 1e9, "s");
}

struct fmt fmt_time_beside(int64_t ns, int64_t longest_ns)
{
    static const struct {
        double below_ns, ns;
        const char *unit;
    } units[] = {{999.5, 1, "ns"}, {999.5e3, 1e3, "us"}, {999.5e6, 1e6, "ms"}, {HUGE_VAL, 1e9, "s"}};
    int u = 0;
    while (fabs((double)longest_ns) >= units[u].below_ns)
        u++;
    double value = (double)ns / units[u].ns;
    struct fmt f;
    if (u == 0)
        return fmt_time(ns);
    if (fabs(value) >= 999.5)
        snprintf(f.text, sizeof f.text, "%.16s %s", fmt_number(value).text, units[u].unit);
    else if (fabs(value) >= 0.0095)
        snprintf(f.text, sizeof f.text, "%.*f %s", decimals(value) < 2 ? decimals(value) : 2, value, units[u].unit);
    else
        snprintf(f.text, sizeof f.text, "%s %s", ns == 0 ? "0" : value < 0 ? "> -0.01" : "< 0.01", units[u].unit);
    return f;
}

struct fmt fmt_ms(int64_t ns)
{
    if (ns == 0)
        return (struct fmt){"0"};
    struct fmt f;
    double ms = (double)ns / 1e6;
    if (fabs(ms) < 0.0005) {
        snprintf(f.text, sizeof f.text, "%s0.001", ms < 0 ? "> -" : "< ");
        return f;
    }
    snprintf(f.text, sizeof f.text, "%.*f", decimals(ms), ms);
    return f;
}

struct fmt fmt_percent(double ratio)
{
    struct fmt f;
    double p = 100 * ratio, a = fabs(p);
    if (ratio == 0)
        return (struct fmt){"0 %"};
    if (a < 0.05)
        snprintf(f.text, sizeof f.text, "%s0.1 %%", p < 0 ? "> -" : "< ");
    else /* not "100 % (241 ms of 242 ms)" */
        snprintf(f.text, sizeof f.text, "%.*f %%", a >= 9.95 && (p < 99.5 || p >= 99.95) ? 0 : 1, p);
    return f;
}

struct fmt fmt_of_peak(double ratio)
{
    return ratio > 1 ? (struct fmt){"at the peak"} : fmt_percent(ratio);
}

struct fmt fmt_percent_range(double lo, double hi)
{
    struct fmt f;
    char from[24], to[24];
    for (int digits = fabs(hi) >= 0.0995 ? 0 : 1; digits <= 1; digits++) { /* "32 to 32 %" is no interval */
        snprintf(from, sizeof from, "%.*f", digits, 100 * lo);
        snprintf(to, sizeof to, "%.*f", digits, 100 * hi);
        if (strcmp(from, to) != 0)
            break;
    }
    if (strcmp(from, to) == 0) { /* narrower than can be printed: the two tenths around it, never one number */
        const double rounding = 1e-9;
        snprintf(from, sizeof from, "%.1f", floor(1000 * lo + rounding) / 10);
        snprintf(to, sizeof to, "%.1f", ceil(1000 * hi - rounding) / 10);
    }
    drop_minus_zero(from);
    drop_minus_zero(to);
    snprintf(f.text, sizeof f.text, "%s to %s %%", from, to);
    return f;
}

struct fmt fmt_range(double lo, double hi, struct fmt (*f)(double))
{
    struct fmt out, from = f(lo), to = f(hi);
    double half = fabs(lo + hi) > 0 ? fabs((hi - lo) / (lo + hi)) : 0;
    if (strcmp(from.text, to.text) != 0)
        snprintf(out.text, sizeof out.text, "%.28s to %.28s", from.text, to.text);
    else /* narrower than the last digit */
        snprintf(out.text, sizeof out.text, "%.32s either way", half < 0.001 ? "under 0.1 %" : fmt_percent(half).text);
    return out;
}

static struct fmt rounded_time(double ns)
{
    return fmt_time(llround(ns));
}

struct fmt fmt_time_range(double lo, double hi)
{
    return fmt_range(lo, hi, rounded_time);
}

struct fmt fmt_ratio(double ratio)
{
    struct fmt f;
    snprintf(f.text, sizeof f.text, "%.2f", ratio);
    drop_minus_zero(f.text);
    return f;
}

struct fmt fmt_x(double factor)
{
    struct fmt f;
    snprintf(f.text, sizeof f.text, "%.*fx", fabs(factor) < 0.9995 ? 2 : decimals(factor), factor);
    drop_minus_zero(f.text);
    return f;
}

/* "12,300" */
static struct fmt with_commas(long long n)
{
    struct fmt f;
    char digits[32];
    int len = snprintf(digits, sizeof digits, "%lld", n), at = 0, sign = n < 0;
    for (int i = 0; i < len; i++) {
        if (i > sign && (len - i) % 3 == 0)
            f.text[at++] = ',';
        f.text[at++] = digits[i];
    }
    f.text[at] = '\0';
    return f;
}

struct fmt fmt_number(double value)
{
    struct fmt f;
    double a = fabs(value);
    if (a < 999.5) {
        snprintf(f.text, sizeof f.text, "%.*f", a == 0 ? 0 : a < 0.0995 ? 4 : decimals(value), value);
        drop_minus_zero(f.text);
        return f;
    }
    if (a >= 9e17) {
        snprintf(f.text, sizeof f.text, "%.2e", value);
        return f;
    }
    double unit = pow(10, floor(log10(a)) - 2);
    return with_commas((value < 0 ? -1 : 1) * llround(a / unit) * llround(unit));
}

struct fmt fmt_whole(int64_t n)
{
    return with_commas((long long)n);
}

struct fmt fmt_bytes(double bytes)
{
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB", "PB"};
    int u = 0;
    while (fabs(bytes) >= 999.5 && u < 5) {
        bytes /= 1000;
        u++;
    }
    if (u == 0) {
        struct fmt f;
        snprintf(f.text, sizeof f.text, "%.0f bytes", bytes);
        drop_minus_zero(f.text);
        return f;
    }
    return with_unit(bytes, units[u]);
}

struct fmt fmt_bit_rate(double bit_per_s)
{
    static const char *const units[] = {"bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"};
    size_t u = 0;
    for (; bit_per_s >= 999.5 && u + 1 < sizeof units / sizeof *units; u++)
        bit_per_s /= 1000;
    struct fmt f;
    snprintf(f.text, sizeof f.text, "%.3g %s", bit_per_s, units[u]);
    return f;
}

struct fmt fmt_count(int64_t n, const char *noun)
{
    struct fmt f;
    snprintf(f.text, sizeof f.text, "%.32s %.24s%s", fmt_whole(n).text, noun, n == 1 ? "" : "s");
    return f;
}

struct fmt fmt_utc(double unix_s)
{
    struct fmt f = {""};
    struct tm tm;
    if (unix_s <= 0 || unix_s > 253402300799.0)
        return f;
    time_t t = (time_t)unix_s;
    if (gmtime_r(&t, &tm))
        strftime(f.text, sizeof f.text, "%Y-%m-%d %H:%M:%S UTC", &tm);
    return f;
}
