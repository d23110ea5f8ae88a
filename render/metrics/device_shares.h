/* device_shares.h - shares of a GPU's exact sums. source: docs/metrics.md#devices. Test: tests/unit/test_activity.c,
 * test_devices_told.c */
#ifndef RENDER_METRICS_DEVICE_SHARES_H
#define RENDER_METRICS_DEVICE_SHARES_H

#include "render/model/device.h"
#include "render/model/run.h"

/** device_overlap_ratio - of the time of communication, the part beside compute (HTA's comm_comp_overlap).
 *  returns  0 to 1; -1 without communication: nothing was there to be hidden */
double device_overlap_ratio(const struct run_device *d);
/** device_non_compute_ns - of the span, time in which communication, copies or memsets ran and no compute (HTA). */
int64_t device_non_compute_ns(const struct run_device *d);
/** device_idle_ratio - idle time / span; 0 of no span. */
double device_idle_ratio(const struct run_device *d);
/** least_busy_device - of the devices with a span the one with the largest device_idle_ratio, the first of equal ones.
 *  returns  a device of the run; NULL if none has a span */
const struct run_device *least_busy_device(const struct run *a);
/** traced_utilization - time with a kernel running / time of the steps, of all traced GPUs together; NAN without any.
 */
double traced_utilization(const struct run *a);

#endif
