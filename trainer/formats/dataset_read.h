/* dataset_read.h - speeds from a file: one row per 5 minutes, one column per sensor, in the formats in which traffic
 * data are published. docs/data.md shows each of them. */
#ifndef TRAINER_FORMATS_DATASET_READ_H
#define TRAINER_FORMATS_DATASET_READ_H

#include "trainer/data/dataset.h"

#define DATASET_MAX_MPH 300.0 /* a larger number is no speed */

enum dataset_header { DATASET_HEADER_AUTO, DATASET_HEADER_YES, DATASET_HEADER_NO };

struct dataset_file {
    const char *path;
    enum dataset_header header; /* CSV */
    const char *ids_path;       /* one sensor id per column, separated by commas or lines; NULL: the file has them */
    const char *key;            /* frame of an HDF5 file, array of an npz file; NULL: the only one */
    int feature;                /* of arrays with three dimensions; 0 = speed in most */
    int has_start;              /* start_s was given */
    long long start_s;          /* seconds since 1970-01-01 of the first row, for data without time stamps */
};

/** dataset_read - read speeds in miles per hour, 0 = missing. What the file is, is told by its content:
 *
 *  CSV      Header line and time column are both optional. In AUTO the first line is a header when a cell is not a
 *           number, or when all its cells are different whole numbers that cannot be speeds (all above 300, or
 *           0,1,2.. or 1,2,3..): the published files name their columns by sensor numbers. A time column is a first
 *           column called timestamp, time, date, datetime or nothing, or one whose first value is a time stamp:
 *           YYYY-MM-DD HH:MM[:SS], `T` instead of the space accepted.
 *  HDF5     a pandas frame in `fixed` format (metr-la.h5, pems-bay.h5); NaN = missing.
 *  npy, npz an array (rows, sensors) or (rows, sensors, features) of floats or whole numbers; NaN = missing.
 *  folder   train.npz, val.npz, test.npz with windows x and y, laid back over the time axis.
 *
 *  d        gives; not yet split. d->note says what had to be assumed, such as the time of the first row
 *  errors   DCR_FAIL, naming file and place: text, negative or impossible speeds, ragged rows, time that does not
 *           advance, double ids, no rows, shapes and types that are none of the above
 *  memory   grows with what was read, whatever a header claims */
int dataset_read(struct dataset *d, const struct dataset_file *file, struct dcr_err *err) DCR_MUST_CHECK;

#endif
