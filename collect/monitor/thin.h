/* thin.h - samples that grow old become fewer: the text of a monitor's CSV, half as long. */
#ifndef COLLECT_THIN_H
#define COLLECT_THIN_H

#include "lib/base/buf.h"

#include <stddef.h>

/* The last column of a file that was thinned: how many samples a row stands for. */
#define THIN_COLUMN "samples"

/** thin_csv - the older half of the rows becomes a quarter; the newer rows keep their values.
 *
 *  The time between two old samples grows with their age, so that after a month there are still samples of its first
 *  day. Rows of one t_ns are one sample and stay together. Counters keep their readings; shares, rates, temperatures
 *  and the like become the mean of the samples that a row stands for, memory and processes the greatest of them.
 *
 *  Rows that no reader could read are left out, and quotes that a cell does not need.
 *
 *  text     of the file, from its header on; without "t_ns" only the first sample of the older half is kept
 *  out      empty; gets the whole new file, with the column "samples". .failed: no memory
 *  Test: tests/unit/test_sources.c */
void thin_csv(const char *text, size_t n, struct dcr_buf *out);

#endif
