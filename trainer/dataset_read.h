/* dataset_read.h - speeds from a CSV: one row per 5 minutes, one column per sensor. */
#ifndef TRAINER_DATASET_READ_H
#define TRAINER_DATASET_READ_H

#include "trainer/dataset.h"

enum dataset_header { DATASET_HEADER_AUTO, DATASET_HEADER_YES, DATASET_HEADER_NO };

/** dataset_read_csv - read speeds in miles per hour, 0 = missing.
 *
 *  Header line and time column are both optional. In AUTO the first line is a header when a cell is not a number, or
 *  when all its cells are different whole numbers that cannot be speeds (all above 300, or 0,1,2.. or 1,2,3..): the
 *  published files name their columns by sensor numbers. A time column is a first column called timestamp, time,
 *  date, datetime or nothing, or one whose first value is a time stamp: YYYY-MM-DD HH:MM[:SS], `T` instead of the
 *  space accepted. Without one, rows are 5-minute intervals from midnight.
 *  ids_path NULL, or a file with one sensor id per column, separated by commas or lines; only for data without a header
 *  d        gives; not yet split
 *  errors   DCR_FAIL, naming file, line and column: text, NaN, negative or impossible speeds (over 300), ragged rows,
 *           time that does not advance, double ids, no rows */
int dataset_read_csv(struct dataset *d, const char *path, enum dataset_header header, const char *ids_path,
                     struct dcr_err *err) DCR_MUST_CHECK;

/** dataset_parse_time - seconds since 1970-01-01 (no time zone) of a time stamp as above.
 *  returns  1 when text is one, else 0 */
int dataset_parse_time(const char *text, long long *seconds);

#endif
