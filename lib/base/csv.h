/* csv.h - read a CSV with a header line, row by row, columns by name. RFC 4180 quoting, LF or CRLF, UTF-8 BOM
 * accepted. A row may not exceed 1 MiB. Numbers are read in the C locale. */
#ifndef DCR_CSV_H
#define DCR_CSV_H

#include "lib/base/buf.h"
#include "lib/base/stream.h"

#include <stdint.h>

struct dcr_csv;

/** dcr_csv_open - read the header line.
 *  s        borrows until dcr_csv_close
 *  errors   DCR_FAIL: empty file, or a header that is not text */
int dcr_csv_open(struct dcr_csv **out, struct dcr_stream *s, struct dcr_err *err) DCR_MUST_CHECK;

int dcr_csv_n_columns(const struct dcr_csv *c);
const char *dcr_csv_name(const struct dcr_csv *c, int column);
/** dcr_csv_column - index of the column, -1 when absent. Names compare exactly after trimming spaces. */
int dcr_csv_column(const struct dcr_csv *c, const char *name);

/** dcr_csv_next - the next row; blank lines are skipped.
 *  returns  0, DCR_END; DCR_FAIL with the line number for a row with too many or too few cells or cut in the middle
 *           (the next call continues behind it); DCR_FATAL when the stream fails */
int dcr_csv_next(struct dcr_csv *c, struct dcr_err *err) DCR_MUST_CHECK;
/** dcr_csv_is_cut - 1: the row that dcr_csv_next has just refused is incomplete and the file ends in it without an end
 * of line, because its writer was stopped there. */
int dcr_csv_is_cut(const struct dcr_csv *c);
/** dcr_csv_line - line number of the current row, from 1. */
long dcr_csv_line(const struct dcr_csv *c);

/** dcr_csv_text - cell of the current row, "" when empty or column < 0. A row with too many or too few cells gives the
 * cells that are there. borrows until the next call. */
const char *dcr_csv_text(const struct dcr_csv *c, int column);
/** dcr_csv_double - 0 and *out; DCR_END when the cell is empty or the column absent (not measured);
 *  DCR_FAIL (sentence with line and column) for text, NaN, infinity or trailing characters. */
int dcr_csv_double(const struct dcr_csv *c, int column, double *out, struct dcr_err *err) DCR_MUST_CHECK;
/** dcr_csv_int - as dcr_csv_double, for integers that fit in 64 bits. */
int dcr_csv_int(const struct dcr_csv *c, int column, int64_t *out, struct dcr_err *err) DCR_MUST_CHECK;

void dcr_csv_close(struct dcr_csv *c);

/** dcr_csv_put - append one cell to out, quoted when needed. */
void dcr_csv_put(struct dcr_buf *out, const char *cell);

#endif
