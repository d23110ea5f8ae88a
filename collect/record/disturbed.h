/* disturbed.h - was something else at work while the machine was measured? A measurement of calibration.json that was
 * disturbed says so in its key "disturbed", a sentence; it is absent where nothing was seen (docs/FORMAT.md). */
#ifndef COLLECT_DISTURBED_H
#define COLLECT_DISTURBED_H

#include "lib/base/buf.h"

#include <jansson.h>

/** disturbed_by_others - other work had the cores that were measured.
 *  o        the measurement; keeps the first sentence that is said of it
 *  had      share of the time in which the measuring threads ran, 0..1
 *  owed     share that they would have had alone: 1, less under a cgroup quota                 unit: ratio 0..1
 *  A tenth of what was owed may be missing: ticks, kernel threads and monitors take a hundredth or two. */
void disturbed_by_others(json_t *o, double had, double owed);
/** disturbed_by_spread - half of the repetitions were slower than `least` of the fastest, which repeat the same work.
 *  o        {"median", "max"} of rates
 *  least    ratio 0..1 */
void disturbed_by_spread(json_t *o, double least);
/** disturbed_below_one - all cores together did less than nine tenths of what one of them did alone: one of the two
 *  was disturbed, and nothing tells which, so both say it.
 *  n_cores  of all; with one there is nothing to compare */
void disturbed_below_one(json_t *one, json_t *all, int n_cores);

/** disturbed_list - one sentence for each disturbed measurement of a calibration: "host n1, arithmetic, all cores:
 * ...". out      gives; lines, each ended by a line feed returns  how many there are */
int disturbed_list(const json_t *calibration, struct dcr_buf *out);

#endif
