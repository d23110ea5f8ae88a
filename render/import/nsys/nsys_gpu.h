/* nsys_gpu.h - the GPUs of an nsys export, and how much of a GPU a kernel fills. Inside render/import only. source:
 * docs/metrics.md#devices. Test: tests/unit/test_nsys.c */
#ifndef RENDER_IMPORT_NSYS_NSYS_GPU_H
#define RENDER_IMPORT_NSYS_NSYS_GPU_H

#include "render/import/nsys/nsys_file.h"

#include <stdint.h>

enum { NSYS_GPUS = 64 };

/* Of one GPU; 0 = not said. Per multiprocessor (SM): */
struct nsys_gpu {
    int64_t n_sms;
    int64_t max_warps, max_blocks, registers, shared_bytes;
    int64_t major, minor; /* compute capability */
};

/** nsys_gpus_read - the table TARGET_INFO_GPU, by device; GPUs that are not in it are left as they are. */
void nsys_gpus_read(struct nsys_file *f, struct nsys_gpu gpus[NSYS_GPUS]);
/** nsys_occupancy - estimated achieved occupancy of a kernel.
 *  blocks       of the grid
 *  threads      of a block
 *  registers    of a thread
 *  shared_bytes static, of a block
 *  returns  0 to 1; -1 where something is not said, or no block fits */
double nsys_occupancy(const struct nsys_gpu *g, double blocks, int64_t threads, int64_t registers,
                      int64_t shared_bytes);

#endif
