/* device_peaks.h - peak rates of GPUs, as their makers state them. Used by render/import. Test:
 * tests/unit/test_shapes.c */
#ifndef RENDER_MODEL_DEVICE_PEAKS_H
#define RENDER_MODEL_DEVICE_PEAKS_H

#include "render/model/foreign.h"

/** device_peaks_add - adds peaks to the operators of a trace with named devices: those of the first device. An unknown
 *  peak has a reason. */
void device_peaks_add(struct foreign_trace *t);

#endif
