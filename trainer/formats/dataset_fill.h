/* dataset_fill.h - rows of a data set as they come out of a file, whatever its format: names, times and speeds are
 * checked here once for all readers. Memory grows with what was read, never with what a header claims. */
#ifndef TRAINER_FORMATS_DATASET_FILL_H
#define TRAINER_FORMATS_DATASET_FILL_H

#include "trainer/data/dataset.h"
#include "trainer/formats/dataset_read.h"

struct dataset_fill {
    const struct dataset_file *file; /* borrows */
    struct dataset *d;               /* borrows; n_rows are complete */
    const char *line;                /* what messages call a row: "line" or "row" */
    int has_times, has_names;        /* the reader says so */
    size_t cap_rows;
    long long last_s;
};

/** dataset_fill_begin - an empty data set of n_sensors columns.
 *  errors   DCR_FAIL: none, or more than dataset.h allows */
int dataset_fill_begin(struct dataset_fill *f, size_t n_sensors, struct dcr_err *err) DCR_MUST_CHECK;

/** dataset_fill_names - names of all sensors. number is the line they stand in, 0 = none to name.
 *  errors   DCR_FAIL: empty, too long, twice */
int dataset_fill_names(struct dataset_fill *f, char *const *names, const char *path, size_t number,
                       struct dcr_err *err) DCR_MUST_CHECK;

/** dataset_fill_room - the row after the last one.
 *  returns  borrows until the next call; NULL when memory runs out                shape: (n_sensors)  unit: mph */
float *dataset_fill_room(struct dataset_fill *f, struct dcr_err *err) DCR_MUST_CHECK;

/** dataset_fill_speed - one reading; NaN becomes 0 = missing.
 *  number   of the line or row, from 1; column likewise: for the complaint
 *  errors   DCR_FAIL: negative, infinite or above 300 mph */
int dataset_fill_speed(const struct dataset_fill *f, double mph, size_t number, size_t column, float *out,
                       struct dcr_err *err) DCR_MUST_CHECK;

/** dataset_fill_end_row - the row in dataset_fill_room is whole.
 *  seconds  since 1970-01-01, NULL when the file has no times: rows are then 5 minutes apart
 *  errors   DCR_FAIL: not later than the row before */
int dataset_fill_end_row(struct dataset_fill *f, const long long *seconds, size_t number,
                         struct dcr_err *err) DCR_MUST_CHECK;

/* The readers, one a format; what a format is stands in the head of its file. Called by dataset_read.c. */
int dataset_csv(struct dataset_fill *f, struct dcr_err *err) DCR_MUST_CHECK;
/** dataset_csv_names - sensor ids from a file of their own, separated by commas or lines. */
int dataset_csv_names(struct dataset_fill *f, const char *path, struct dcr_err *err) DCR_MUST_CHECK;
int dataset_npy(struct dataset_fill *f, struct dcr_err *err) DCR_MUST_CHECK;
int dataset_npz(struct dataset_fill *f, struct dcr_err *err) DCR_MUST_CHECK;
int dataset_windows(struct dataset_fill *f, struct dcr_err *err) DCR_MUST_CHECK;
/** dataset_hdf5 - errors beyond those of dataset_read.h: no frame, several of them and no key, another format of
 *  pandas, times in a zone, compressed by a filter that libhdf5 lacks, a program built without libhdf5 */
int dataset_hdf5(struct dataset_fill *f, struct dcr_err *err) DCR_MUST_CHECK;

#endif
