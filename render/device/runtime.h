/* runtime.h - how long any thread of the host was in calls of the GPU's runtime, in each step. On the host's side of
 * POP's model for devices, this time is lost to offloading. Inside render/device only. source: docs/metrics.md#gpus.
 * Test: tests/unit/test_activity.c */
#ifndef RENDER_DEVICE_RUNTIME_H
#define RENDER_DEVICE_RUNTIME_H

#include "render/device/steps.h"

struct runtime_log;

/** runtime_log_new - max_bytes: of calls in memory before they go to a temporary file. NULL: no memory.
 *  gives; free with runtime_log_free */
struct runtime_log *runtime_log_new(size_t max_bytes);
/** runtime_log_add - one call, in any order; a call without length covers no time. Every call is kept, even if no step
 *  is known yet, because a format may list its steps last. */
void runtime_log_add(struct runtime_log *l, int64_t start_ns, int64_t dur_ns);
/** runtime_log_has - was there any call at all? */
int runtime_log_has(const struct runtime_log *l);
/** runtime_log_finish - the union of all calls, cut at the steps, into their runtime_ns; steps are settled.
 *  errors   DCR_FATAL: no memory, or no temporary file */
int runtime_log_finish(struct runtime_log *l, struct device_steps *steps, struct dcr_err *err) DCR_MUST_CHECK;
/** runtime_log_free - NULL is fine. */
void runtime_log_free(struct runtime_log *l);

#endif
