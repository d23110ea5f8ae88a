/* memory.h - what a device's memory held over time: from totals that an allocator states (PyTorch's [memory] events)
 * or from single allocations and releases (native traces). Events may come in any order. Beyond a bound they are
 * sorted through a temporary file. Inside render/device only. source: docs/metrics.md#devices. Test:
 * tests/unit/test_activity.c */
#ifndef RENDER_DEVICE_MEMORY_H
#define RENDER_DEVICE_MEMORY_H

#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "render/device/steps.h"
#include "render/model/device.h"

struct memory_log;

/** memory_log_new - gives; free with memory_log_free. NULL: out of memory */
struct memory_log *memory_log_new(size_t max_bytes);
/** memory_log_state - what is allocated and reserved from t on. reserved -1 = not said */
void memory_log_state(struct memory_log *m, int64_t device, int64_t t_ns, int64_t allocated, int64_t reserved);
/** memory_log_change - bytes allocated (> 0) or released (< 0) at t. A device has states or changes; the first decides.
 */
void memory_log_change(struct memory_log *m, int64_t device, int64_t t_ns, int64_t bytes);
/** memory_log_finish - all devices that have memory events, ascending.
 *  steps    settled; for the peaks of steps
 *  out      gives (arena); shape (*n)
 *  errors   DCR_FATAL: no memory or no temporary file */
int memory_log_finish(struct memory_log *m, const struct device_steps *steps, struct dcr_arena *arena,
                      struct device_memory **out, int *n, struct dcr_err *err) DCR_MUST_CHECK;
void memory_log_free(struct memory_log *m);

#endif
