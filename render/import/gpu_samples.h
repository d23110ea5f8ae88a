/* gpu_samples.h - samples of GPUs from monitors of others, into node 0 of the run. Inside render/import only. */
#ifndef RENDER_IMPORT_GPU_SAMPLES_H
#define RENDER_IMPORT_GPU_SAMPLES_H

#include "render/model/build.h"

/* What a monitor may sample; units as in struct run_gpu. */
enum gpu_sample {
    SAMPLE_NONE = 0,
    SAMPLE_UTILIZATION,
    SAMPLE_MEMORY_USED,
    SAMPLE_MEMORY_TOTAL,
    SAMPLE_POWER,
    SAMPLE_TEMPERATURE,
    SAMPLE_CLOCK
};

/** gpu_samples_add - one value of GPU `id` at t seconds (of any clock). Ids beyond 1023 are passed over. */
void gpu_samples_add(struct run *r, int64_t id, enum gpu_sample what, double t, double value);

#endif
