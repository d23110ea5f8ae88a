/* cublas_v2.h - of the emulator: the part of cuBLAS that trainer/gpu uses. */
#ifndef EMULATED_CUBLAS_H
#define EMULATED_CUBLAS_H

#include <cuda_runtime.h>

struct emulator_blas;
typedef emulator_blas *cublasHandle_t;

enum cublasStatus_t {
    CUBLAS_STATUS_SUCCESS,
    CUBLAS_STATUS_NOT_INITIALIZED = 1,
    CUBLAS_STATUS_ALLOC_FAILED = 3,
    CUBLAS_STATUS_INVALID_VALUE = 7,
    CUBLAS_STATUS_EXECUTION_FAILED = 13,
};
enum cublasOperation_t { CUBLAS_OP_N, CUBLAS_OP_T };
enum cublasComputeType_t { CUBLAS_COMPUTE_32F = 68, CUBLAS_COMPUTE_32F_FAST_TF32 = 77 };
enum cublasGemmAlgo_t { CUBLAS_GEMM_DEFAULT = -1 };
enum cublasMath_t { CUBLAS_DEFAULT_MATH = 0, CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION = 16 };
enum cudaDataType { CUDA_R_32F = 0, CUDA_R_16BF = 14 };

enum libraryPropertyType { MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL };
cublasStatus_t cublasGetProperty(libraryPropertyType type, int *value);
const char *cublasGetStatusString(cublasStatus_t status);
cublasStatus_t cublasCreate(cublasHandle_t *out);
cublasStatus_t cublasDestroy(cublasHandle_t handle);
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream);
cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void *workspace, size_t bytes);
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode);
cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n, int k,
                            const void *alpha, const void *a, cudaDataType type_a, int ld_a, const void *b,
                            cudaDataType type_b, int ld_b, const void *beta, void *c, cudaDataType type_c, int ld_c,
                            cublasComputeType_t compute, cublasGemmAlgo_t algorithm);
cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m,
                                          int n, int k, const void *alpha, const void *a, cudaDataType type_a, int ld_a,
                                          long long stride_a, const void *b, cudaDataType type_b, int ld_b,
                                          long long stride_b, const void *beta, void *c, cudaDataType type_c, int ld_c,
                                          long long stride_c, int n_batch, cublasComputeType_t compute,
                                          cublasGemmAlgo_t algorithm);

#endif
