/* blas.cpp - of the emulator: cuBLAS on top of OpenBLAS. Inputs are rounded according to their type or the compute
 * type; sums stay in single precision, in OpenBLAS's order. */
#include "tests/gpu/emulator/inside.h"

#include <cblas.h>
#include <cublas_v2.h>

struct emulator_blas {
    cudaStream_t stream;
    void *workspace;
};

/* 13.1.0 */
cublasStatus_t cublasGetProperty(libraryPropertyType type, int *value)
{
    *value = type == MAJOR_VERSION ? 13 : type == MINOR_VERSION ? 1 : 0;
    return CUBLAS_STATUS_SUCCESS;
}

const char *cublasGetStatusString(cublasStatus_t status)
{
    switch (status) {
    case CUBLAS_STATUS_SUCCESS:
        return "success";
    case CUBLAS_STATUS_NOT_INITIALIZED:
        return "the library was not initialized";
    case CUBLAS_STATUS_ALLOC_FAILED:
        return "the resource allocation failed";
    case CUBLAS_STATUS_INVALID_VALUE:
        return "an unsupported value or parameter was passed to the function";
    case CUBLAS_STATUS_EXECUTION_FAILED:
        break;
    }
    return "the function failed to launch on the GPU";
}

cublasStatus_t cublasCreate(cublasHandle_t *out)
{
    openblas_set_num_threads(1); /* the ranks of a test share the cores */
    if (emulator_entered())
        return CUBLAS_STATUS_NOT_INITIALIZED;
    *out = new emulator_blas();
    emulator_counted.n_live++;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy(cublasHandle_t handle)
{
    (void)emulator_entered();
    delete handle;
    emulator_counted.n_live--;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream)
{
    handle->stream = stream;
    handle->workspace = nullptr; /* as in CUDA: setting the stream gives the workspace up */
    return emulator_entered() ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void *workspace, size_t)
{
    if (!emulator_is_device(workspace) || (uintptr_t)workspace % 256)
        return CUBLAS_STATUS_INVALID_VALUE;
    handle->workspace = workspace;
    return emulator_entered() ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t, cublasMath_t)
{
    return emulator_entered() ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}

/* To 10 mantissa bits, to the nearest, ties away from zero. */
static float as_tf32(float x)
{
    unsigned u = __float_as_uint(x);
    if ((u & 0x7f800000u) == 0x7f800000u)
        return x;
    return __uint_as_float((u + 0x1000u) & ~0x1fffu);
}

struct matrix {
    const void *p;
    cudaDataType type;
    size_t rows, cols, ld; /* column-major, as stored */
};

static size_t bytes_of(const matrix &m)
{
    const size_t each = m.type == CUDA_R_16BF ? 2 : 4;
    return m.cols == 0 || m.rows == 0 ? 0 : ((m.cols - 1) * m.ld + m.rows) * each;
}

/* The part of a matrix that the product uses, packed; nothing outside it is read. */
static std::vector<float> read(const matrix &m, cublasComputeType_t compute)
{
    std::vector<float> out(m.rows * m.cols);
    for (size_t j = 0; j < m.cols; j++)
        for (size_t i = 0; i < m.rows; i++) {
            float v = m.type == CUDA_R_16BF
                          ? __uint_as_float((unsigned)((const unsigned short *)m.p)[j * m.ld + i] << 16)
                          : ((const float *)m.p)[j * m.ld + i];
            out[j * m.rows + i] = compute == CUBLAS_COMPUTE_32F_FAST_TF32 ? as_tf32(v) : v;
        }
    return out;
}

static void multiply(cublasOperation_t op_a, cublasOperation_t op_b, int m, int n, int k, float alpha, const matrix &a,
                     const matrix &b, float beta, float *c, int ld_c, cublasComputeType_t compute)
{
    emulator_check_range(a.p, bytes_of(a), "first matrix of a product");
    emulator_check_range(b.p, bytes_of(b), "second matrix of a product");
    emulator_check_range(c, ((size_t)(n - 1) * (size_t)ld_c + (size_t)m) * sizeof *c, "result of a product");
    const std::vector<float> own_a = read(a, compute), own_b = read(b, compute);
    cblas_sgemm(CblasColMajor, op_a == CUBLAS_OP_N ? CblasNoTrans : CblasTrans,
                op_b == CUBLAS_OP_N ? CblasNoTrans : CblasTrans, m, n, k, alpha, own_a.data(), (int)a.rows,
                own_b.data(), (int)b.rows, beta, c, ld_c);
}

static bool is_fine(const void *p, cudaDataType type, int rows, int ld)
{
    return (type == CUDA_R_32F || type == CUDA_R_16BF) && ld >= rows && ld > 0 && emulator_is_device(p) &&
           (uintptr_t)p % (type == CUDA_R_16BF ? 2 : 4) == 0;
}

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m,
                                          int n, int k, const void *alpha, const void *a, cudaDataType type_a, int ld_a,
                                          long long stride_a, const void *b, cudaDataType type_b, int ld_b,
                                          long long stride_b, const void *beta, void *c, cudaDataType type_c, int ld_c,
                                          long long stride_c, int n_batch, cublasComputeType_t compute,
                                          cublasGemmAlgo_t)
{
    const float own_alpha = *(const float *)alpha, own_beta = *(const float *)beta; /* host pointers: read now */
    const int rows_a = op_a == CUBLAS_OP_N ? m : k, cols_a = op_a == CUBLAS_OP_N ? k : m;
    const int rows_b = op_b == CUBLAS_OP_N ? k : n, cols_b = op_b == CUBLAS_OP_N ? n : k;
    if (emulator_entered())
        return CUBLAS_STATUS_EXECUTION_FAILED;
    if (!handle->workspace) /* cuBLAS would allocate memory, which a recorded step must not need */
        emulator_die("a product without a workspace");
    if (m <= 0 || n <= 0 || k <= 0 || n_batch <= 0 || !is_fine(a, type_a, rows_a, ld_a) ||
        !is_fine(b, type_b, rows_b, ld_b) || !is_fine(c, type_c, m, ld_c) || type_c != CUDA_R_32F || type_a != type_b)
        return CUBLAS_STATUS_INVALID_VALUE;
    cudaError_t status = emulator_enqueue(handle->stream, [=]() {
        emulator_counted.n_products++;
        for (int i = 0; i < n_batch; i++) {
            const size_t each = type_a == CUDA_R_16BF ? 2 : 4;
            matrix own_a = {(const char *)a + (size_t)(i * stride_a) * each, type_a, (size_t)rows_a, (size_t)cols_a,
                            (size_t)ld_a};
            matrix own_b = {(const char *)b + (size_t)(i * stride_b) * each, type_b, (size_t)rows_b, (size_t)cols_b,
                            (size_t)ld_b};
            multiply(op_a, op_b, m, n, k, own_alpha, own_a, own_b, own_beta, (float *)c + i * stride_c, ld_c, compute);
        }
    });
    return status ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n, int k,
                            const void *alpha, const void *a, cudaDataType type_a, int ld_a, const void *b,
                            cudaDataType type_b, int ld_b, const void *beta, void *c, cudaDataType type_c, int ld_c,
                            cublasComputeType_t compute, cublasGemmAlgo_t algorithm)
{
    return cublasGemmStridedBatchedEx(handle, op_a, op_b, m, n, k, alpha, a, type_a, ld_a, 0, b, type_b, ld_b, 0, beta,
                                      c, type_c, ld_c, 0, 1, compute, algorithm);
}
