/* accumulation.h - gradient accumulation in a trace: several micro-batches go through the model before the optimiser
 * runs once. Inside render/device only.  source: docs/metrics.md#devices. Test: tests/unit/test_activity.c */
#ifndef RENDER_DEVICE_ACCUMULATION_H
#define RENDER_DEVICE_ACCUMULATION_H

#include "render/device/steps.h"

/** accumulation_of - from the marks inside the steps, once these are settled. Either a step holds all micro-batches of
 * an optimiser step, or a step is one micro-batch. In the first case nearly every step has as many marks of loading,
 * forward or backward, and one run of the optimiser. In the second the optimiser runs in every K-th step.
 *  out      micro_batches 0 and why when neither is seen */
void accumulation_of(const struct device_steps *s, struct accumulation *out);

#endif
