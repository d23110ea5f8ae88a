/* kernel_counts.h - counters of a profiler for a kernel of the GPU, all its runs together; input of the roofline.
 * Filled by render/import/ncu/ncu_counters.c; read by render/metrics/kernel_roofline.c (docs/metrics.md). */
#ifndef RENDER_MODEL_KERNEL_COUNTS_H
#define RENDER_MODEL_KERNEL_COUNTS_H

#include "render/model/reason.h"

#include <stdint.h>

struct run_kernel_counts {
    const char *file, *kernel;
    int64_t n;              /* runs of it under the profiler */
    double ns;              /* of all of them; < 0: not measured */
    double flop, bytes;     /* operations, traffic with the device's memory, of all of them; < 0: not counted, */
    struct reason flop_why; /* and why */
    struct reason bytes_why;
    const char *counted;     /* formats that were counted: "FP32, FP64" */
    const char *format;      /* the format with most operations: "FP32"; "" = there are none */
    const char *missing;     /* what was not counted of these formats, so that flop is a lower bound; "" = nothing */
    double peak_flop_per_s;  /* of `format`; <= 0: not known, */
    double peak_bytes_per_s; /* the device's memory */
    struct reason peak_flop_why; /* and why; */
    struct reason peak_bytes_why;
    const char *peak_flop_source; /* else where it is from */
    const char *peak_bytes_source;
};

#endif
