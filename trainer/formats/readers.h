/* readers.h - the readers of formats.h, and the data they fill: rows of speeds and pairs of sensors, checked here once
 * for all formats. Memory grows with the data read, never with what a header claims. */
#ifndef TRAINER_FORMATS_READERS_H
#define TRAINER_FORMATS_READERS_H

#include "trainer/formats/formats.h"

/* Sensors sorted by id, for binary search. */
struct sensor {
    const char *id; /* borrows, of the data set */
    int sensor;
};
/** sensors_sorted - all of d; gives, free it; NULL: no memory.                                  shape: (n_sensors) */
struct sensor *sensors_sorted(const struct dataset *d);
/** sensors_find - the number of the sensor with that id; -1 if no sensor has it. */
int sensors_find(const struct sensor *sorted, const struct dataset *d, const char *id);

/* ---- rows of speeds ---------------------------------------------------------------------------------------------- */

struct dataset_fill {
    const struct dataset_file *file; /* borrows */
    struct dataset *d;               /* borrows; n_rows are complete */
    const char *line;                /* what messages call a row: "line" or "row" */
    int has_times, has_names;        /* set by the reader */
    size_t n_before;                 /* columns before the first sensor's, for messages */
    size_t cap_rows;
    long long last_s;
};

/** fill_begin - an empty data set of n_sensors columns.
 *  errors   DCR_FAIL: none, or more than dataset.h allows */
int fill_begin(struct dataset_fill *f, size_t n_sensors, struct dcr_err *err) DCR_MUST_CHECK;
/** fill_names - names of all sensors. line: line with the names, 0 = no particular line.
 *  errors   DCR_FAIL: empty, too long, twice */
int fill_names(struct dataset_fill *f, char *const *names, const char *path, size_t line,
               struct dcr_err *err) DCR_MUST_CHECK;
/** fill_row - the next row.
 *  mph      NaN becomes 0 = missing; stride: distance from one sensor's value to the next         shape: (n_sensors,
 *           stride)
 *  seconds  since 1970-01-01; NULL when the file has no times: rows are then 5 minutes apart
 *  number   of the line or row, from 1, for the message
 *  errors   DCR_FAIL: a speed that is negative, infinite or above 300 mph; not later than the row before */
int fill_row(struct dataset_fill *f, const double *mph, size_t stride, const long long *seconds, size_t number,
             struct dcr_err *err) DCR_MUST_CHECK;

/* Each format is described at the top of its reader; that of CSV speeds in formats.h. */
int dataset_csv(struct dataset_fill *f, struct dcr_err *err) DCR_MUST_CHECK;
/** dataset_csv_names - sensor ids from a separate file, separated by commas or lines. */
int dataset_csv_names(struct dataset_fill *f, const char *path, struct dcr_err *err) DCR_MUST_CHECK;
int dataset_npy(struct dataset_fill *f, struct dcr_err *err) DCR_MUST_CHECK;
int dataset_npz(struct dataset_fill *f, struct dcr_err *err) DCR_MUST_CHECK;
int dataset_windows(struct dataset_fill *f, struct dcr_err *err) DCR_MUST_CHECK;
int dataset_hdf5(struct dataset_fill *f, struct dcr_err *err) DCR_MUST_CHECK;

/* ---- pairs of sensors -------------------------------------------------------------------------------------------- */

struct graph_pair {
    int from, to;
    double value; /* metres or weight */
    size_t line;  /* for a message; 0 = none */
};

struct graph_pairs {
    const struct graph_file *file; /* borrows */
    const struct dataset *d;       /* borrows */
    int is_distance;               /* set by the reader */
    struct sensor *sorted;         /* (n_sensors) */
    unsigned char *is_named;       /* (n_sensors) */
    struct graph_pair *pair;       /* (n) */
    size_t n, cap, n_unknown;
};

/** graph_pairs_begin - p gives; graph_pairs_release in any state after {0}. */
int graph_pairs_begin(struct graph_pairs *p, const struct graph_file *file, const struct dataset *d,
                      struct dcr_err *err) DCR_MUST_CHECK;
void graph_pairs_release(struct graph_pairs *p);
/** graph_pairs_find - the sensor of that id, which counts as named.
 *  returns  0; DCR_END when the data lack it and the file may be a larger one; DCR_FAIL when it may not
 *  place    "'FILE' line 7", for the message */
int graph_pairs_find(struct graph_pairs *p, const char *id, const char *place, int *sensor,
                     struct dcr_err *err) DCR_MUST_CHECK;
/** graph_pairs_add - one value, which the reader has checked: finite, not negative. */
int graph_pairs_add(struct graph_pairs *p, int from, int to, double value, size_t line,
                    struct dcr_err *err) DCR_MUST_CHECK;
/** graph_pairs_add_cell - a cell of a matrix: values that mean "no road" are skipped (0 or, for distances, a negative
 *  or infinite number).
 *  errors   DCR_FAIL: NaN; a weight that is negative or infinite */
int graph_pairs_add_cell(struct graph_pairs *p, int from, int to, double value, struct dcr_err *err) DCR_MUST_CHECK;
/** graph_pairs_name_all - a matrix without names has a row for every sensor. */
void graph_pairs_name_all(struct graph_pairs *p);
/** graph_pairs_adjacency - out gives; free with graph_csr_free.
 *  errors   DCR_FAIL: a pair twice with two values; a sensor never named; values that are no distances; no pair at all
 */
int graph_pairs_adjacency(struct graph_pairs *p, struct graph_csr *out, struct dcr_err *err) DCR_MUST_CHECK;

int graph_text(struct graph_pairs *p, struct dcr_err *err) DCR_MUST_CHECK;
int graph_npy(struct graph_pairs *p, struct dcr_err *err) DCR_MUST_CHECK;
int graph_npz(struct graph_pairs *p, struct dcr_err *err) DCR_MUST_CHECK;
int graph_pickle(struct graph_pairs *p, struct dcr_err *err) DCR_MUST_CHECK;

#endif
