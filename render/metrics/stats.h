/* stats.h - the arithmetic of all numbers: integer means that sum exactly, spreads, a deterministic bootstrap. Pure
 * functions; nothing here knows what a step is. */
#ifndef RENDER_METRICS_STATS_H
#define RENDER_METRICS_STATS_H

#include "render/metrics/report.h"

/** spread_of - mean (rounded half up), median, p95 and p99 (nearest rank), extremes, population variation.
 *  x        borrows; shape (n), unit ns
 *  cost     O(n log n), one temporary copy
 *  source   docs/metrics.md#step-time. Test: tests/unit/test_stats.c */
struct spread spread_of(const int64_t *x, size_t n);

/** apportion - scale whole parts by num/den so that they stay whole and sum to the rounded scaled total: floors, then
 *  the largest remainders get one more (ties: the lowest index).
 *  part     shape (n); num >= 0, den > 0
 *  out      shape (n); may be part
 *  returns  the total, sum(out)
 *  source   docs/metrics.md#exact-sums. Test: tests/unit/test_stats.c */
int64_t apportion(const int64_t *part, int n, int64_t num, int64_t den, int64_t *out);

/* Draws are a function of the seed alone (splitmix64, Steele et al. 2014), so that a report repeats bit for bit. */
struct draws {
    uint64_t state;
};
/** draw_below - uniform in 0..n-1 (multiply-shift; the bias is below 2^-32 for the n used here). */
size_t draw_below(struct draws *d, size_t n);

enum { BOOTSTRAP_RESAMPLES = 1000, BOOTSTRAP_MAX_BLOCKS = 500, BOOTSTRAP_MIN_STEPS = 8 };

/** percentile_interval - 2.5 and 97.5 % (nearest rank) of the values, which are sorted in place. */
struct interval percentile_interval(double *values, size_t n);

/** bootstrap_means - resample blocks of consecutive steps; the mean of each column per resample.
 *  row      shape (n)(N_PARTS); blocks are single steps up to BOOTSTRAP_MAX_BLOCKS steps, longer beyond, which also
 *           respects that neighbouring steps resemble each other
 *  out      shape (BOOTSTRAP_RESAMPLES)(N_PARTS): mean per step of each resample
 *  source   docs/metrics.md#intervals. Test: tests/unit/test_stats.c */
void bootstrap_means(const int64_t (*row)[N_PARTS], size_t n, struct draws *d, double (*out)[N_PARTS]);

#endif
