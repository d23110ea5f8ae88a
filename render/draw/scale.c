/* scale.c - see scale.h. */
#include "render/draw/scale.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

double scale_map(const struct scale *s, double value)
{
    if (s->hi == s->lo)
        return isfinite(value) ? (s->from + s->to) / 2 : value;
    if (s->is_log2)
        return s->from + log2(value / s->lo) / log2(s->hi / s->lo) * (s->to - s->from);
    return s->from + (value - s->lo) / (s->hi - s->lo) * (s->to - s->from);
}

/* The smallest of 1, 2, 5 times a power of ten that is at least x. */
static double round_step(double x, int *exponent)
{
    int e = (int)floor(log10(x));
    double base = pow(10, e);
    double m = x / base;
    double nice = m <= 1.0000001 ? 1 : m <= 2.0000001 ? 2 : m <= 5.0000001 ? 5 : 10;
    *exponent = nice == 10 ? e + 1 : e;
    return nice * base;
}

static struct ticks ticks_of(double lo, double hi, int most, double least_step)
{
    struct ticks t = {.n = 0};
    if (!isfinite(lo) || !isfinite(hi) || lo > hi)
        return t;
    most = most < 2 ? 2 : most > SCALE_TICKS_MAX ? SCALE_TICKS_MAX : most;
    int exponent = 0;
    if (hi == lo) {
        t.at[0] = lo;
        t.n = 1;
        t.step = 1;
        return t;
    }
    double step = round_step(fmax((hi - lo) / (most - 1), least_step), &exponent);
    /* Another round, because rounding the ends may let in one tick too many. */
    while (floor(hi / step + 1e-9) - ceil(lo / step - 1e-9) + 1 > most)
        step = round_step(step * 1.01, &exponent);
    double first = ceil(lo / step - 1e-9), last = floor(hi / step + 1e-9);
    for (double k = first; k <= last && t.n < SCALE_TICKS_MAX; k++)
        t.at[t.n++] = k == 0 ? 0 : k * step;
    t.step = step;
    t.decimals = exponent < 0 ? -exponent : 0;
    return t;
}

struct ticks scale_ticks(double lo, double hi, int most)
{
    return ticks_of(lo, hi, most, 0);
}

struct ticks scale_ticks_whole(double lo, double hi, int most)
{
    return ticks_of(lo, hi, most, 1);
}

struct ticks scale_ticks_log2(double lo, double hi, int most)
{
    struct ticks t = {.n = 0, .step = 1};
    if (!(lo > 0) || !isfinite(hi) || lo > hi)
        return t;
    most = most < 2 ? 2 : most > SCALE_TICKS_MAX ? SCALE_TICKS_MAX : most;
    int first = (int)ceil(log2(lo) - 1e-9), last = (int)floor(log2(hi) + 1e-9);
    int every = (last - first) / most + 1;
    for (int e = first; e <= last; e += every)
        t.at[t.n++] = ldexp(1, e);
    t.decimals = first < 0 ? -first : 0;
    return t;
}

double scale_round_up(double hi, int most)
{
    if (!isfinite(hi) || hi <= 0)
        return 1;
    int exponent;
    double step = round_step(hi / (most < 2 ? 1 : most - 1), &exponent);
    return ceil(hi / step - 1e-9) * step;
}

void number_label(double value, int decimals, char *out, size_t n)
{
    char plain[64];
    if (!isfinite(value)) {
        snprintf(out, n, "\xe2\x80\x93");
        return;
    }
    snprintf(plain, sizeof plain, "%.*f", value == 0 ? 0 : decimals, value == 0 ? 0.0 : value);
    size_t digits = strcspn(plain, ".") - (plain[0] == '-');
    if (digits < 5 || strlen(plain) > 40) {
        snprintf(out, n, "%s", plain);
        return;
    }
    char parted[128];
    size_t len = 0;
    for (size_t i = 0, left = digits; plain[i]; i++) {
        parted[len++] = plain[i];
        if (plain[i] >= '0' && plain[i] <= '9' && left > 0 && --left > 0 && left % 3 == 0)
            parted[len++] = ',';
    }
    parted[len] = '\0';
    snprintf(out, n, "%s", parted);
}

void number_label3(double value, char *out, size_t n)
{
    double a = fabs(value);
    if (!isfinite(value))
        snprintf(out, n, "\xe2\x80\x93");
    else if (a >= 1e9 || (a > 0 && a < 1e-4))
        snprintf(out, n, "%.2e", value);
    else if (a >= 99.95)
        number_label(value, 0, out, n);
    else if (a >= 9.995)
        number_label(value, 1, out, n);
    else if (a >= 0.9995 || a == 0)
        number_label(value, 2, out, n);
    else
        number_label(value, 2 - (int)floor(log10(a)), out, n);
}

struct unit unit_of_seconds(double max_s)
{
    if (max_s >= 1 || !isfinite(max_s))
        return (struct unit){1, "s"};
    if (max_s >= 1e-3)
        return (struct unit){1e-3, "ms"};
    if (max_s >= 1e-6)
        return (struct unit){1e-6, "\xc2\xb5s"};
    return (struct unit){1e-9, "ns"};
}

struct unit unit_of_bytes(double max_bytes)
{
    if (max_bytes >= 1e9)
        return (struct unit){1e9, "GB"};
    if (max_bytes >= 1e6)
        return (struct unit){1e6, "MB"};
    if (max_bytes >= 1e3)
        return (struct unit){1e3, "kB"};
    return (struct unit){1, "B"};
}

#define SPREAD_MAX 64

void spread_labels(double *at, size_t n, double gap, double lo, double hi)
{
    if (n == 0)
        return;
    if (n > SPREAD_MAX || (double)(n - 1) * gap > hi - lo) {
        for (size_t i = 0; i < n; i++)
            at[i] = n == 1 ? (lo + hi) / 2 : lo + (hi - lo) * (double)i / (double)(n - 1);
        return;
    }
    /* With u[i] = at[i] - i*gap the constraint is only that u ascends: pool neighbours that do not. */
    double mean[SPREAD_MAX];
    size_t count[SPREAD_MAX], blocks = 0;
    for (size_t i = 0; i < n; i++) {
        mean[blocks] = at[i] - (double)i * gap;
        count[blocks++] = 1;
        while (blocks > 1 && mean[blocks - 2] > mean[blocks - 1]) {
            size_t a = count[blocks - 2], b = count[blocks - 1];
            mean[blocks - 2] = (mean[blocks - 2] * (double)a + mean[blocks - 1] * (double)b) / (double)(a + b);
            count[blocks - 2] = a + b;
            blocks--;
        }
    }
    size_t i = 0;
    for (size_t k = 0; k < blocks; k++) {
        double u = fmin(fmax(mean[k], lo), hi - (double)(n - 1) * gap);
        for (size_t j = 0; j < count[k]; j++, i++)
            at[i] = u + (double)i * gap;
    }
}

size_t thin_series(const double *y, size_t n, size_t n_buckets, size_t *index)
{
    if (n_buckets == 0 || n <= 2 * n_buckets) {
        for (size_t i = 0; i < n; i++)
            index[i] = i;
        return n;
    }
    size_t used = 0;
    for (size_t b = 0; b < n_buckets; b++) {
        size_t from = n * b / n_buckets, to = n * (b + 1) / n_buckets;
        size_t least = to, most = to;
        for (size_t i = from; i < to; i++) {
            if (isnan(y[i]))
                continue;
            if (least == to || y[i] < y[least])
                least = i;
            if (most == to || y[i] > y[most])
                most = i;
        }
        if (least == to) {
            index[used++] = from;
        } else {
            index[used++] = least < most ? least : most;
            if (least != most)
                index[used++] = least < most ? most : least;
        }
    }
    return used;
}
