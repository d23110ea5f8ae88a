/* device_peaks.h - what GPUs can do at most, by their makers. Used by render/import. Test: tests/unit/test_shapes.c */
#ifndef RENDER_MODEL_DEVICE_PEAKS_H
#define RENDER_MODEL_DEVICE_PEAKS_H

#include "render/model/foreign.h"

/** device_peaks_add - the peaks of the operators of a trace whose devices are named: of the first one. What is not
 *  known has its reason. */
void device_peaks_add(struct foreign_trace *t);

#endif
