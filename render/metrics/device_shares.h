/* device_shares.h - shares of a GPU's exact sums. source: docs/metrics.md#devices. Test: tests/unit/test_activity.c,
 * test_devices_told.c */
#ifndef RENDER_METRICS_DEVICE_SHARES_H
#define RENDER_METRICS_DEVICE_SHARES_H

#include "render/model/device.h"
#include "render/model/foreign.h"
#include "render/model/run.h"

/** device_overlap_ratio - the part of communication time that overlaps compute (HTA's comm_comp_overlap).
 *  returns  0 to 1; -1 without communication */
double device_overlap_ratio(const struct run_device *d);
/** device_non_compute_ns - time of the span in which communication, copies or memsets ran and no compute (HTA). */
int64_t device_non_compute_ns(const struct run_device *d);
/** device_idle_ratio - idle time / span; 0 without a span. */
double device_idle_ratio(const struct run_device *d);
/** least_busy_device - the device with the largest device_idle_ratio, of those with a span; on a tie the first.
 *  returns  a device of the run; NULL if none has a span */
const struct run_device *least_busy_device(const struct run *a);
/** traced_utilization - time with a kernel running / time of the steps, of all traced GPUs together; NAN without any.
 */
double traced_utilization(const struct run *a);

struct function_share {
    const char *place, *function; /* where the function begins; its name */
    double share;                 /* of the time with a line and without one together */
};
/** largest_function - the function with most of the time of the code lines of some traces, summed over them and over
 *  modules; on a tie the first by place.
 *  is_unnamed  of the traces whose lines stand for unnamed time; 0: for time in which GPUs waited for the host
 *  returns     0: no line is known */
int largest_function(const struct foreign_trace *traces, int n_traces, int is_unnamed, struct function_share *out);

#endif
