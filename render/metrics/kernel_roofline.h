/* kernel_roofline.h - where the kernels that a profiler counted stand under the roofline of their GPU: pure arithmetic
 * on render/model/kernel_counts.h. Formulas: docs/metrics.md#kernels-by-counters. Used by narrate and site. Test:
 * tests/unit/test_ncu_roofline.c */
#ifndef RENDER_METRICS_KERNEL_ROOFLINE_H
#define RENDER_METRICS_KERNEL_ROOFLINE_H

#include "render/metrics/roof_bound.h"
#include "render/metrics/thresholds.h"
#include "render/model/kernel_counts.h"

/* Each < 0: not known. */
struct kernel_roofline {
    double intensity;            /* operations a byte of the device's memory */
    struct reason intensity_why; /* why not */
    double flop_per_s, bytes_per_s;
    double flop_ratio, bytes_ratio; /* shares of the peaks; -1 = not known, or above 1 + peak_error */
    double ridge;                   /* intensity from which operations are the lower roof */
    double attainable_flop_per_s;   /* the roof above this intensity */
    enum roof_bound bound;          /* BOUND_UNKNOWN = unknown, */
    struct reason bound_why;        /* and why */
};

struct kernel_roofline kernel_roofline_of(const struct run_kernel_counts *k, const struct thresholds *t);
/** operator_roofline_of - the same for an operator whose counts follow from shapes. Its bytes are the least that it
 *  moves, so an operator that is near neither roof is BOUND_NEITHER. */
struct kernel_roofline operator_roofline_of(const struct run_kernel_counts *k, const struct thresholds *t);

#endif
