/* thin.h - halves the text of a monitor's CSV by keeping fewer of its old samples. */
#ifndef COLLECT_THIN_H
#define COLLECT_THIN_H

#include "lib/base/buf.h"

#include <stddef.h>

/* The last column of a thinned file: number of samples that a row stands for. */
#define THIN_COLUMN "samples"

/** thin_csv - the older half of the rows becomes a quarter; the newer rows keep their values.
 *
 *  The time between two old samples grows with their age, so that after a month there are still samples of its first
 *  day. Rows of one t_ns are one sample and stay together. Counters keep their readings. Shares, rates, temperatures
 *  and the like become the mean of the samples that a row stands for. Memory and the number of processes become the
 *  maximum.
 *
 *  Rows that cannot be read and unneeded quotes of cells are left out.
 *
 *  text     of the file, from its header on; without "t_ns" only the first sample of the older half is kept
 *  out      empty; gets the whole new file, with the column "samples". .failed: no memory
 *  Test: tests/unit/test_sources.c */
void thin_csv(const char *text, size_t n, struct dcr_buf *out);

#endif
