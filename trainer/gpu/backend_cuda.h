/* backend_cuda.h - what the two halves of the CUDA back end's host side share: the calls of a step (backend_cuda.c) and
 * its creation (backend_cuda_create.c). */
#ifndef TRAINER_GPU_BACKEND_CUDA_H
#define TRAINER_GPU_BACKEND_CUDA_H

#include "trainer/model/backend.h"
#include "trainer/gpu/device.h"

struct cuda {
    struct backend be; /* first: a struct backend * is a struct cuda * */
    const struct gpu_api *api;
    struct gpu *gpu;
    struct comm *comm;
    struct dcrnn *model; /* for the parameter block, its table and its initial values only */
    int n_out;
    float *pred_z; /* shape: (H, max_batch, N, Dout) */
    double *sums;  /* shape: (H, 4) */
    char kernels[320];
};

/* The calls of backend.h; the fields that are data are filled at creation. `free` takes a back end in any state. */
extern const struct backend cuda_calls;

#endif
