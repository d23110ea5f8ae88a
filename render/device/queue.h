/* queue.h - how many operations are launched but not begun, per stream: HTA's queue length. Near 0 to 1: the host is
 * hardly ahead of the GPU; at the driver's limit (1024) the host waits. Inside render/device only. source:
 * docs/metrics.md#devices. Test: tests/unit/test_activity.c */
#ifndef RENDER_DEVICE_QUEUE_H
#define RENDER_DEVICE_QUEUE_H

#include "lib/base/err.h"
#include "render/device/spill.h"
#include "render/model/device.h"

struct queue_record {
    struct spill_key key; /* device index and stream, time */
    int64_t delta;        /* +1 a launch, -1 a begin */
};

/** queue_add - an operation of device (index) and stream, launched and begun at these times. */
void queue_add(struct spill *s, uint32_t device, int64_t stream, int64_t launch_ns, int64_t start_ns);
/** queue_finish - the depth after every launch and begin, over all streams of a device: mean, median, p75 and largest.
 *  out      shape (n_devices), by index; n 0 where no launch is known */
int queue_finish(struct spill *s, struct device_queue *out, size_t n_devices, struct dcr_err *err) DCR_MUST_CHECK;

#endif
