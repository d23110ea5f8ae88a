/* products.cuh - the dense products of a step, on cuBLAS. All matrices are row-major here; leading dimensions are in
 * entries. `Z` is float, or bf16 with fp32 sums. One struct products per stream: it has a workspace of its own, so that
 * products of different streams can run at once and a recorded step needs no other memory. */
#ifndef TRAINER_GPU_PRODUCTS_CUH
#define TRAINER_GPU_PRODUCTS_CUH

#include "trainer/gpu/cuda_check.cuh"

#include <cublas_v2.h>

struct products {
    cublasHandle_t handle;
    void *workspace;
    int is_bf16;
    cublasComputeType_t compute; /* fp32: true single precision, no tensor cores */
};

/** products_open - workspace borrows.                                                    shape: (workspace_bytes) */
int products_open(struct products *p, enum gpu_precision precision, cudaStream_t stream, void *workspace,
                  size_t workspace_bytes, struct dcr_err *err) DCR_MUST_CHECK;
void products_close(struct products *p);

/* c (rows, n) = a (rows, k) b (k, n), or += when `add`.                                  a, b of Z, c float */
int product_forward(struct products *p, size_t rows, int n, int k, const void *a, int ld_a, const void *b, int ld_b,
                    float *c, int ld_c, int add, struct dcr_err *err) DCR_MUST_CHECK;
/* c (rows, n) = a (rows, k) b^T, b (n, k). */
int product_back(struct products *p, size_t rows, int n, int k, const void *a, int ld_a, const void *b, int ld_b,
                 float *c, int ld_c, struct dcr_err *err) DCR_MUST_CHECK;

/* part i of out (m, n) = a^T b over rows i * each .. : a (rows, m), b (rows, n); ceil(rows / each) parts one after
 * another in out. Sums over so many rows have few results: in parts they fill the device, and keep their order. */
int product_parts(struct products *p, size_t rows, size_t each, int m, int n, const void *a, int ld_a, const void *b,
                  int ld_b, float *out, struct dcr_err *err) DCR_MUST_CHECK;

#endif
