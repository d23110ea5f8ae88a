/* stats.c - see stats.h. */
#include "render/metrics/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int compare_ns(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Nearest-rank percentile of sorted values: the smallest value with at least that share at or below it. */
static int64_t percentile(const int64_t *sorted, size_t n, unsigned percent)
{
    size_t k = (n * percent + 99) / 100;
    return sorted[k ? k - 1 : 0];
}

struct spread spread_of(const int64_t *x, size_t n)
{
    struct spread s = {0};
    int64_t *sorted = n ? malloc(n * sizeof *sorted) : NULL;
    if (!sorted)
        return s;
    memcpy(sorted, x, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, compare_ns);
    int64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    s.n = (int64_t)n;
    apportion(&sum, 1, 1, (int64_t)n, &s.mean_ns);
    s.median_ns = n % 2 ? sorted[n / 2] : sorted[n / 2 - 1] + (sorted[n / 2] - sorted[n / 2 - 1]) / 2;
    s.p95_ns = percentile(sorted, n, 95);
    s.p99_ns = n >= SPREAD_P99_NEEDS ? percentile(sorted, n, 99) : 0;
    s.min_ns = sorted[0];
    s.max_ns = sorted[n - 1];
    double mean = (double)sum / (double)n, squares = 0;
    for (size_t i = 0; i < n; i++)
        squares += ((double)x[i] - mean) * ((double)x[i] - mean);
    s.cv_ratio = n > 1 && mean > 0 ? sqrt(squares / (double)n) / mean : 0;
    free(sorted);
    return s;
}

/* floor(a / b) for b > 0. */
static __int128 floor_div(__int128 a, __int128 b)
{
    return a / b - (a % b < 0);
}

int64_t apportion(const int64_t *part, int n, int64_t num, int64_t den, int64_t *out)
{
    enum { MAX_PARTS = 64 };
    __int128 rest[MAX_PARTS], total = 0, given = 0;
    if (n > MAX_PARTS)
        abort(); /* a bug of ours */
    for (int i = 0; i < n; i++)
        total += part[i];
    total = floor_div(2 * total * num + den, 2 * (__int128)den);
    for (int i = 0; i < n; i++) {
        __int128 scaled = (__int128)part[i] * num, whole = floor_div(scaled, den);
        rest[i] = scaled - whole * den;
        out[i] = (int64_t)whole;
        given += whole;
    }
    for (; given < total; given++) {
        int largest = 0;
        for (int i = 1; i < n; i++)
            if (rest[i] > rest[largest])
                largest = i;
        out[largest]++;
        rest[largest] = -1;
    }
    return (int64_t)total;
}

static uint64_t next_draw(struct draws *d)
{
    uint64_t z = d->state += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

size_t draw_below(struct draws *d, size_t n)
{
    return (size_t)(((next_draw(d) >> 32) * (uint64_t)n) >> 32);
}

static int compare_double(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

struct interval percentile_interval(double *values, size_t n)
{
    if (n == 0)
        return (struct interval){0};
    qsort(values, n, sizeof *values, compare_double);
    size_t lo = (n * 25 + 999) / 1000, hi = (n * 975 + 999) / 1000;
    return (struct interval){1, values[lo ? lo - 1 : 0], values[hi ? hi - 1 : 0]};
}

void bootstrap_means(const int64_t (*row)[N_PARTS], size_t n, struct draws *d, double (*out)[N_PARTS])
{
    size_t n_blocks = n < BOOTSTRAP_MAX_BLOCKS ? n : BOOTSTRAP_MAX_BLOCKS;
    memset(out, 0, BOOTSTRAP_RESAMPLES * sizeof *out);
    if (n == 0)
        return;
    double(*block)[N_PARTS + 1] = calloc(n_blocks, sizeof *block); /* sums, and how many steps */
    if (!block)
        return;
    for (size_t i = 0; i < n; i++) {
        double *b = block[i * n_blocks / n];
        for (int p = 0; p < N_PARTS; p++)
            b[p] += (double)row[i][p];
        b[N_PARTS]++;
    }
    for (int k = 0; k < BOOTSTRAP_RESAMPLES; k++) {
        double count = 0;
        for (size_t i = 0; i < n_blocks; i++) {
            const double *b = block[draw_below(d, n_blocks)];
            for (int p = 0; p < N_PARTS; p++)
                out[k][p] += b[p];
            count += b[N_PARTS];
        }
        for (int p = 0; p < N_PARTS; p++)
            out[k][p] /= count;
    }
    free(block);
}
