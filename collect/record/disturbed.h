/* disturbed.h - was something else at work while the machine was measured? A disturbed measurement of calibration.json
 * has a sentence in its key "disturbed"; without a disturbance the key is absent (docs/FORMAT.md). */
#ifndef COLLECT_DISTURBED_H
#define COLLECT_DISTURBED_H

#include "lib/base/buf.h"

#include <jansson.h>

/** disturbed_by_others - other work used the measured cores.
 *  o        the measurement; keeps only the first sentence
 *  had      share of the time in which the measuring threads ran, 0..1
 *  owed     share that they would have had alone: 1, less under a cgroup quota                 unit: ratio 0..1
 *  A tenth of owed may be missing, because ticks, kernel threads and monitors take one or two hundredths. */
void disturbed_by_others(json_t *o, double had, double owed);
/** disturbed_by_spread - half of the repetitions, which repeat the same work, were slower than `least` of the fastest.
 *  o        {"median", "max"} of rates
 *  least    ratio 0..1 */
void disturbed_by_spread(json_t *o, double least);
/** disturbed_below_one - all cores together did less than nine tenths of the work of one of them alone. One of the two
 * measurements was disturbed, and it is unknown which, so both are marked.
 *  n_cores  number of all cores; with one there is nothing to compare */
void disturbed_below_one(json_t *one, json_t *all, int n_cores);

/** disturbed_list - one sentence for each disturbed measurement of a calibration: "host n1, arithmetic, all cores:
 * ...". out      gives; lines, each ended by a line feed returns  how many there are */
int disturbed_list(const json_t *calibration, struct dcr_buf *out);

#endif
