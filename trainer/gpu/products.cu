/* products.cu - the dense products of a step, and the position of each parameter in the packed weights that they read.
 * cuBLAS is column-major: a row-major matrix here is the transposed one there, so that C = A B becomes C^T = B^T A^T
 * with the operands in the other order. */
#include "trainer/gpu/model.cuh"

#include <climits>
#include <cstdlib>

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
    p->compute = precision == GPU_TF32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    BLAS_TRY(cublasCreate(&p->handle));
    BLAS_TRY(cublasSetStream(p->handle, stream));
    /* This comes after the stream is set, because that resets the workspace. */
    BLAS_TRY(cublasSetWorkspace(p->handle, workspace, workspace_bytes));
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
    return dcr_err_set(err, DCR_FAIL, "a product of %zu rows is too large for cuBLAS; use a smaller --batch", rows);
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

/* ---- packed weights ---------------------------------------------------------------------------------------------- */

void packed_place(struct gpu *g)
{
    const size_t p = (size_t)g->width, depth = p * (size_t)g->n_terms;
    size_t at = 0;
    /* Every part begins on a boundary for vectors of 16 bytes, in both types. */
    auto place = [&](size_t n) {
        size_t here = at;
        at = (at + n + 7) / 8 * 8;
        return here;
    };
    for (int d = 0; d < 2; d++)
        for (int l = 0; l < g->c.n_layers; l++) {
            struct packed_cell *w = &g->at[d][l];
            const size_t n_x = l > 0 ? depth : (size_t)g->n_x[d];
            w->x = place((n_x + 1) * 3 * p);
            w->b = w->x + n_x * 3 * p;
            w->ru = place(depth * 2 * p);
            w->c = place(depth * p);
        }
    g->proj = place((size_t)g->c.d_out * (p + 1));
    g->n_packed = at;
}

/* Copies one convolution's rows i * M + m of the parameter block, with i counted from i0, to rows m * width + i of
 * `to`. Its columns from `column` on are groups of P, one for each of `gates` groups of U. */
static void map_rows(const struct gpu *g, int *to, int ld, int column, int width, int i0, int n_i, size_t from,
                     int gates)
{
    const int units = g->c.n_units;
    for (int i = 0; i < n_i; i++)
        for (int m = 0; m < g->n_terms; m++)
            for (int k = 0; k < gates; k++)
                for (int o = 0; o < units; o++)
                    to[(size_t)(m * width + i) * (size_t)ld + (size_t)(column + k * g->width + o)] =
                        (int)(from + (size_t)((i0 + i) * g->n_terms + m) * (size_t)(gates * units) +
                              (size_t)(k * units + o));
}

static void map_cell(const struct gpu *g, int *map, int d, int l)
{
    const struct packed_cell *w = &g->at[d][l];
    const struct gpu_tensors *from = &g->c.at[d][l];
    const int p = g->width, units = g->c.n_units, n_f = l > 0 ? units : d ? g->c.d_out : g->c.d_in;
    const int width_x = l > 0 ? p : n_f; /* terms of a narrow input are packed without padding */
    map_rows(g, map + w->x, 3 * p, 0, width_x, 0, n_f, from->w_ru, 2);
    map_rows(g, map + w->x, 3 * p, 2 * p, width_x, 0, n_f, from->w_c, 1);
    map_rows(g, map + w->ru, 2 * p, 0, p, n_f, units, from->w_ru, 2);
    map_rows(g, map + w->c, p, 0, p, n_f, units, from->w_c, 1);
    for (int o = 0; o < units; o++) {
        map[w->b + (size_t)o] = (int)(from->b_ru + (size_t)o);
        map[w->b + (size_t)(p + o)] = (int)(from->b_ru + (size_t)(units + o));
        map[w->b + (size_t)(2 * p + o)] = (int)(from->b_c + (size_t)o);
    }
}

int packed_fill_map(struct gpu *g, struct dcr_err *err)
{
    int *map = (int *)std::malloc(g->n_packed * sizeof *map);
    if (!map)
        return dcr_err_set(err, DCR_FATAL, "out of memory for a table of %zu weights", g->n_packed);
    for (size_t i = 0; i < g->n_packed; i++)
        map[i] = -1;
    for (int d = 0; d < 2; d++)
        for (int l = 0; l < g->c.n_layers; l++)
            map_cell(g, map, d, l);
    for (int o = 0; o < g->c.d_out; o++) {
        int *row = map + g->proj + (size_t)(o * (g->width + 1));
        for (int i = 0; i < g->c.n_units; i++)
            row[i] = (int)(g->c.proj_w + (size_t)(i * g->c.d_out + o));
        row[g->width] = (int)(g->c.proj_b + (size_t)o);
    }
    int rc = CUDA_CHECK(cudaMemcpy(g->map, map, g->n_packed * sizeof *map, cudaMemcpyHostToDevice), err);
    std::free(map);
    return rc;
}
