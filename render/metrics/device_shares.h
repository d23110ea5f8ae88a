/* device_shares.h - shares of a GPU's exact sums. source: docs/metrics.md#devices. Test: tests/unit/test_activity.c */
#ifndef RENDER_METRICS_DEVICE_SHARES_H
#define RENDER_METRICS_DEVICE_SHARES_H

#include "render/model/device.h"
#include "render/model/run.h"

/** device_overlap_ratio - of the time of communication, the part beside compute (HTA's comm_comp_overlap).
 *  returns  0 to 1; -1 without communication: nothing was there to be hidden */
double device_overlap_ratio(const struct run_device *d);
/** device_non_compute_ns - of the span, time in which communication, copies or memsets ran and no compute (HTA). */
int64_t device_non_compute_ns(const struct run_device *d);
/** traced_utilization - time with a kernel running / time of the steps, of all traced GPUs together; NAN without any.
 */
double traced_utilization(const struct run *a);

#endif
