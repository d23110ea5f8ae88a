/* scale.h - the arithmetic of axes: pure functions, tested without a picture. */
#ifndef DCR_DRAW_SCALE_H
#define DCR_DRAW_SCALE_H

#include <stdbool.h>
#include <stddef.h>

/* A map of data [lo, hi] onto pixels [from, to]; to < from turns the axis round. */
struct scale {
    double lo, hi, from, to;
    bool is_log2;  /* equal ratios have equal lengths; lo > 0 */
    double gutter; /* minimum room beside a vertical axis for its numbers; 0: as much as they need */
};

/** scale_map - pixel of a value; not finite stays not finite; lo == hi maps to the middle. */
double scale_map(const struct scale *s, double value);

#define SCALE_TICKS_MAX 24
struct ticks {
    double at[SCALE_TICKS_MAX];
    int n;
    double step;
    int decimals; /* digits after the point that tell all ticks apart */
};

/** scale_ticks - round ticks (1, 2 or 5 times a power of ten apart) in [lo, hi], at most `most` of them (2..24).
 *  lo > hi or not finite: no ticks. Test: tests/unit/test_scale.c */
struct ticks scale_ticks(double lo, double hi, int most);

/** scale_ticks_whole - as scale_ticks, with whole numbers only (epochs, ranks, steps). */
struct ticks scale_ticks_whole(double lo, double hi, int most);

/** scale_ticks_log2 - powers of two in [lo, hi], lo > 0; at most `most`, skipping evenly. */
struct ticks scale_ticks_log2(double lo, double hi, int most);

/** scale_round_up - the smallest tick at or above hi of an axis from 0 with about `most` ticks; hi <= 0 gives 1. */
double scale_round_up(double hi, int most);

/** number_label - a tick's text: fixed decimals, "0" for zero, a comma between thousands from 10,000 up, as in the
 * prose. n  32 or more */
void number_label(double value, int decimals, char *out, size_t n);

/** number_label3 - a value for people: three significant digits, no exponent below a million. "–" when not finite. */
void number_label3(double value, char *out, size_t n);

/* A unit for an axis: divide the value by `divisor`, write `name` after it. */
struct unit {
    double divisor;
    const char *name;
};
/** unit_of_seconds - ns, us, ms or s for an axis that ends at max_s seconds: its labels lie between 1 and 1000. */
struct unit unit_of_seconds(double max_s);
/** unit_of_bytes - B, kB, MB, GB (decimal). */
struct unit unit_of_bytes(double max_bytes);

/** spread_labels - move labels as little as needed so that neighbours are gap apart and all lie in [lo, hi].
 *  at    in: wanted positions, ascending; out: positions. When n * gap does not fit, they are spaced evenly.
 *  source  pooling of adjacent violators: the least-squares solution under order constraints */
void spread_labels(double *at, size_t n, double gap, double lo, double hi);

/** thin_series - the outline of y over n_buckets equal ranges of the index. It has the least and the greatest value of
 * each bucket in the order in which they occur, so that no spike is lost. NaN (not measured) is kept as one NaN per
 * bucket that has nothing else.
 *  index  gives; 2 * n_buckets entries or n, whichever is smaller
 *  returns  entries used; n <= 2 * n_buckets copies all */
size_t thin_series(const double *y, size_t n, size_t n_buckets, size_t *index);

#endif
