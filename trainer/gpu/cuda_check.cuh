/* cuda_check.cuh - every CUDA and cuBLAS call is checked; the sentence names the call and where it stands. */
#ifndef TRAINER_GPU_CUDA_CHECK_H
#define TRAINER_GPU_CUDA_CHECK_H

#include "trainer/gpu/device.h"

#include <cuda_runtime.h>

/** cuda_check - 0, or DCR_FATAL with "CUDA: <call> failed in <file>:<line>: <why>". */
static inline int cuda_check(cudaError_t status, const char *call, const char *file, int line, struct dcr_err *err)
{
    if (status == cudaSuccess)
        return 0;
    return dcr_err_set(err, DCR_FATAL, "CUDA: %s failed in %s:%d: %s", call, file, line, cudaGetErrorString(status));
}
#define CUDA_CHECK(call, err) cuda_check(call, #call, __FILE__, __LINE__, err)

/* Leaves the function with the failure. */
#define CUDA_TRY(call, err)                      \
    do {                                         \
        int cuda_try_rc = CUDA_CHECK(call, err); \
        if (cuda_try_rc)                         \
            return cuda_try_rc;                  \
    } while (0)
#define TRY(call)            \
    do {                     \
        int try_rc = (call); \
        if (try_rc)          \
            return try_rc;   \
    } while (0)

#endif
