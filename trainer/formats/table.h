/* table.h - comma separated text, line by line, with the line number for every message.
 *
 * For files whose header line is optional and whose columns go by position (speeds, distance lists, matrices);
 * lib/base/csv.h is for tables with named columns. Called by read_text.c and run/metrics.c. */
#ifndef TRAINER_FORMATS_TABLE_H
#define TRAINER_FORMATS_TABLE_H

#include "lib/base/buf.h"
#include "lib/base/err.h"

#include <stddef.h>

struct table {
    char path[512];     /* for messages */
    struct dcr_buf buf; /* the whole file; table_next cuts it up in place */
    size_t pos;
    long line; /* number of the current line, from 1; 0 before the first */
    char **cells;
    size_t n_cells, cap_cells;
};

/** table_open - read a whole file.
 *  t        gives; release with table_close in any state after {0}
 *  errors   DCR_FAIL: cannot be read, holds no data, holds a NUL byte, over 4 GiB */
int table_open(struct table *t, const char *path, struct dcr_err *err) DCR_MUST_CHECK;

/** table_next - splits the next line that is not blank into t->cells[0..n_cells): spaces around a cell and one pair of
 *  double quotes are removed. Cells borrow until table_close.
 *  returns  0, DCR_END, DCR_FATAL when memory runs out */
int table_next(struct table *t, struct dcr_err *err) DCR_MUST_CHECK;

/** table_number - cell as a finite number.
 *  errors   DCR_FAIL, with file, line and column, for text, NaN, infinity, an empty cell */
int table_number(const struct table *t, size_t column, double *out, struct dcr_err *err) DCR_MUST_CHECK;

/** table_is_number - 1 when the cell is a finite number. */
int table_is_number(const struct table *t, size_t column, double *out);

/** table_commas - are the cells of the current line separated by commas? One cell with semicolons or tabs in it is not.
 *  errors   DCR_FAIL: names the separator */
int table_commas(const struct table *t, struct dcr_err *err) DCR_MUST_CHECK;

void table_close(struct table *t);

#endif
