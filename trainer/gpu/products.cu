/* products.cu - see products.cuh. cuBLAS is column-major: what is row-major here is the transposed there, so that C = A
 * B becomes C^T = B^T A^T with the operands in the other order. */
#include "trainer/gpu/products.cuh"

#include <limits.h>

static int check(cublasStatus_t status, const char *call, int line, struct dcr_err *err)
{
    if (status == CUBLAS_STATUS_SUCCESS)
        return 0;
    return dcr_err_set(err, DCR_FATAL, "CUDA: %s failed in products.cu:%d: %s", call, line,
                       cublasGetStatusString(status));
}
#define BLAS_TRY(call)                                   \
    do {                                                 \
        int blas_rc = check(call, #call, __LINE__, err); \
        if (blas_rc)                                     \
            return blas_rc;                              \
    } while (0)

int products_open(struct products *p, enum gpu_precision precision, cudaStream_t stream, void *workspace,
                  size_t workspace_bytes, struct dcr_err *err)
{
    p->is_bf16 = precision == GPU_BF16;
    p->workspace = workspace;
    p->compute = precision == GPU_TF32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    BLAS_TRY(cublasCreate(&p->handle));
    BLAS_TRY(cublasSetStream(p->handle, stream));
    BLAS_TRY(cublasSetWorkspace(p->handle, workspace, workspace_bytes)); /* after the stream, which resets it */
    /* Not TF32 by default, and no sums in 16 bits inside a bf16 product. */
    BLAS_TRY(cublasSetMathMode(p->handle,
                               (cublasMath_t)(CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION)));
    return 0;
}

void products_close(struct products *p)
{
    if (p->handle)
        (void)cublasDestroy(p->handle);
    p->handle = nullptr;
}

/* cublasGemmEx of column-major matrices with our types. */
static int gemm(struct products *p, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n, int k, const void *a,
                int ld_a, const void *b, int ld_b, float beta, float *c, int ld_c, struct dcr_err *err)
{
    const float one = 1;
    const cudaDataType type = p->is_bf16 ? CUDA_R_16BF : CUDA_R_32F;
    BLAS_TRY(cublasGemmEx(p->handle, op_a, op_b, m, n, k, &one, a, type, ld_a, b, type, ld_b, &beta, c, CUDA_R_32F,
                          ld_c, p->compute, CUBLAS_GEMM_DEFAULT));
    return 0;
}

static int check_rows(size_t rows, struct dcr_err *err)
{
    if (rows <= INT_MAX)
        return 0;
    return dcr_err_set(err, DCR_FAIL, "a product of %zu rows is too large for cuBLAS; take a smaller --batch", rows);
}

int product_forward(struct products *p, size_t rows, int n, int k, const void *a, int ld_a, const void *b, int ld_b,
                    float *c, int ld_c, int add, struct dcr_err *err)
{
    TRY(check_rows(rows, err));
    return gemm(p, CUBLAS_OP_N, CUBLAS_OP_N, n, (int)rows, k, b, ld_b, a, ld_a, add ? 1.0f : 0.0f, c, ld_c, err);
}

int product_back(struct products *p, size_t rows, int n, int k, const void *a, int ld_a, const void *b, int ld_b,
                 float *c, int ld_c, struct dcr_err *err)
{
    TRY(check_rows(rows, err));
    return gemm(p, CUBLAS_OP_T, CUBLAS_OP_N, n, (int)rows, k, b, ld_b, a, ld_a, 0, c, ld_c, err);
}

int product_parts(struct products *p, size_t rows, size_t each, int m, int n, const void *a, int ld_a, const void *b,
                  int ld_b, float *out, struct dcr_err *err)
{
    const float one = 1, zero = 0;
    const size_t bytes = p->is_bf16 ? 2 : 4, whole = rows / each, rest = rows % each;
    const cudaDataType type = p->is_bf16 ? CUDA_R_16BF : CUDA_R_32F;
    TRY(check_rows(each, err));
    if (whole)
        BLAS_TRY(cublasGemmStridedBatchedEx(p->handle, CUBLAS_OP_N, CUBLAS_OP_T, n, m, (int)each, &one, b, type, ld_b,
                                            (long long)each * ld_b, a, type, ld_a, (long long)each * ld_a, &zero, out,
                                            CUDA_R_32F, n, (long long)m * n, (int)whole, p->compute,
                                            CUBLAS_GEMM_DEFAULT));
    if (!rest)
        return 0;
    const char *last_a = (const char *)a + whole * each * (size_t)ld_a * bytes;
    const char *last_b = (const char *)b + whole * each * (size_t)ld_b * bytes;
    return gemm(p, CUBLAS_OP_N, CUBLAS_OP_T, n, m, (int)rest, last_b, ld_b, last_a, ld_a, 0,
                out + whole * (size_t)m * (size_t)n, n, err);
}
