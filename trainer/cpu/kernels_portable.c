/* kernels_portable.c - the kernels for any CPU, in both precisions: 16-byte vectors as the compiler sees fit, matrix
 * products by OpenBLAS. All of double precision runs here. */
#include "trainer/cpu/kernels.h"

#include <cblas.h>

#define VL ((int)(16 / sizeof(real)))
typedef real vec __attribute__((vector_size(16)));
typedef unsigned ivec __attribute__((vector_size(16)));
#define vec_fma(a, b, c) ((a) * (b) + (c))
static inline vec vec_set1(real x)
{
    vec v;
    for (int lane = 0; lane < VL; lane++)
        v[lane] = x;
    return v;
}
#ifdef DCR_REAL_F64
#define CBLAS_GEMM cblas_dgemm
#else
#define CBLAS_GEMM cblas_sgemm
#endif
#define KERNELS_BLAS
#define KERNELS_TABLE kernels_portable
#define KERNELS_NAME "portable"
#include "trainer/cpu/kernels_body.inc"
