/* kernels.h - the inner loops of the CPU back end, one table per instruction set. They are written once in
 * kernels_body.inc; kernels_avx512.c, kernels_avx2.c and kernels_portable.c compile it for their instruction sets.
 * Every width called `n`, `width` or `units` here is a multiple of KERNELS_LANES unless said otherwise, so that no loop
 * over units has a tail; callers pad with zeros. Nothing here allocates or keeps state; results depend on the arguments
 * and the table only. */
#ifndef TRAINER_CPU_KERNELS_H
#define TRAINER_CPU_KERNELS_H

#include "lib/base/err.h"
#include "trainer/cpu/real.h"

#include <stddef.h>

#define KERNELS_LANES 16 /* floats of the widest vector */

#define kernels REAL_FN(kernels)
#define kernels_csr REAL_FN(kernels_csr)
#define kernels_choose REAL_FN(kernels_choose)

/* A support in the precision of the model. Fields as in graph.h. */
struct kernels_csr {
    int n;
    int *row_start, *col;
    real *val;
};

struct kernels {
    const char *name;
    int panel; /* columns per panel of a packed right-hand matrix */
    int strip; /* columns that spmm keeps in registers */

    /** gemm - C = A B, or C += A B.
     *  a        element (i, k) at a[i * a_row + k * a_col]; one of the strides is 1           shape: (m, k)
     *  b        element (k, j) at b[(j / panel) * b_panel + k * b_row + j % panel]            shape: (k, n)
     *           packed: b_row = min(panel, n) and b_panel = k * b_row; plain row-major: b_row = its leading dimension
     *           and b_panel = panel
     *  c        leading dimension c_row; accumulated into when `add`, else overwritten        shape: (m, n)
     *  m, k     any size >= 0 */
    void (*gemm)(int m, int n, int k, const real *a, ptrdiff_t a_row, ptrdiff_t a_col, const real *b, ptrdiff_t b_row,
                 ptrdiff_t b_panel, real *c, ptrdiff_t c_row, int add);

    /** dots - y[i][j] += sum_k a[i][k] * w[j][k]; for few outputs (n any size, k a multiple of KERNELS_LANES). */
    void (*dots)(int m, int n, int k, const real *a, ptrdiff_t a_row, const real *w, ptrdiff_t w_row, real *y,
                 ptrdiff_t y_row);

    /** spmm - y = factor * S x - prev for n_samples stacked samples.
     *  x, y, prev  row i of sample s at [(s * S->n + i) * row]; all with the same leading dimensions unless stated;
     *           prev may be NULL (0) and may be y                                          shape: (n_samples * n,
     *           width)
     *  width       any size */
    void (*spmm)(const struct kernels_csr *s, int n_samples, int width, real factor, const real *x, ptrdiff_t x_row,
                 const real *prev, ptrdiff_t prev_row, real *y, ptrdiff_t y_row);

    /** gates - r = sigmoid(pre[:units] + b[:units]), u = sigmoid(pre[units:] + b[units:]), rh = r * h.
     *  h        NULL = zero state: rh is not written                                          shape: (m, units) each
     *  pre      shape: (m, 2 units); rh has leading dimension rh_row */
    void (*gates)(int m, int units, const real *pre, const real *b, const real *h, real *r, real *u, real *rh,
                  ptrdiff_t rh_row);
    /** state - c = tanh(pre + b), h_new = u * h + (1 - u) * c. h NULL = zero state.           shape: (m, units) */
    void (*state)(int m, int units, const real *pre, const real *b, const real *u, const real *h, real *c, real *h_new);

    /** back_candidate - through h_new = u h + (1-u) c and the tanh: g_c = dh (1-u) (1-c^2).     shape: (m, units)
     *  sum_b    += the sums of g_c's columns, the gradient of the bias                         shape: (units) */
    void (*back_candidate)(int m, int units, const real *dh, const real *u, const real *c, real *g_c, ptrdiff_t g_c_row,
                           real *sum_b);
    /** back_gates - through both sigmoids: g_r = d_rh h r (1-r), g_u = dh (h-c) u (1-u); then dh = dh u + d_rh r.
     *  h        NULL = zero state: dh is left alone, d_rh is not read and g_r, all zero, not written
     *                                                                                          shape: (m, units) each
     *  g_r, g_u  g_r has leading dimension g_row
     *  sum_b    += the sums of the columns of g_r, then of g_u                                 shape: (2 units) */
    void (*back_gates)(int m, int units, const real *d_rh, const real *h, const real *r, const real *u, const real *c,
                       real *dh, real *g_r, ptrdiff_t g_row, real *g_u, real *sum_b);

    /** multiply - y = a * b elementwise. n any multiple of KERNELS_LANES */
    void (*multiply)(ptrdiff_t n, const real *a, const real *b, real *y);
};

/** kernels_choose - the table for this CPU.
 *  name     NULL = the best this CPU can run; else "avx512", "avx2" or "portable" (matrix products by OpenBLAS)
 *  out      borrows, static
 *  errors   DCR_FAIL: unknown name, or this CPU cannot run it */
int kernels_choose(const char *name, const struct kernels **out, struct dcr_err *err) DCR_MUST_CHECK;

/* The tables that kernels_choose knows. The portable one takes its products from OpenBLAS: all of double precision,
 * and single precision on CPUs without AVX2. The others have separate products, chosen by CPUID. Debian 12's
 * OpenBLAS falls back to kernels of 2004 (Prescott, SSE3) on CPUs that it does not know. On those that it knows it
 * is 5 to 18 % slower at the shapes of a tile, because it copies both factors for every product
 * (docs/performance.md). */
#define kernels_portable REAL_FN(kernels_portable)
extern const struct kernels kernels_portable;
#ifndef DCR_REAL_F64
extern const struct kernels kernels_avx2, kernels_avx512;
#endif

#endif
