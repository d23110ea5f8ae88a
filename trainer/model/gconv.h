/* gconv.h - diffusion over the road graph: the terms of a diffusion convolution and their adjoint.
 * The products with weights are in dcgru.c. Works on stacked samples, row s * N + n is sensor n of sample s. */
#ifndef TRAINER_MODEL_GCONV_H
#define TRAINER_MODEL_GCONV_H

#include "trainer/cpu/kernels.h"
#include "trainer/model/dcrnn.h"

#define gconv REAL_FN(gconv)
#define gconv_init REAL_FN(gconv_init)
#define gconv_release REAL_FN(gconv_release)
#define gconv_diffuse REAL_FN(gconv_diffuse)
#define gconv_adjoint REAL_FN(gconv_adjoint)
#define gconv_odd_lines REAL_FN(gconv_odd_lines)
#define gconv_scratch_row REAL_FN(gconv_scratch_row)

struct gconv {
    const struct kernels *kernels; /* borrows */
    int n_sensors, n_supports, k_hops;
    int n_terms; /* M = 1 + n_supports * k_hops */
    enum dcrnn_recursion recursion;
    struct kernels_csr support[GRAPH_MAX_SUPPORTS];
    struct kernels_csr transposed[GRAPH_MAX_SUPPORTS];
};

/** gconv_init - copy the supports and their transposes into the precision of the model.
 *  g        overwritten; free with gconv_release, also after a failure
 *  errors   DCR_FAIL: no memory */
int gconv_init(struct gconv *g, const struct graph_supports *supports, int k_hops, enum dcrnn_recursion recursion,
               const struct kernels *kernels, struct dcr_err *err) DCR_MUST_CHECK;
void gconv_release(struct gconv *g);

/** gconv_diffuse - Z_m = P_m(S) Z_0: a_1 = S a_0, a_k = 2 S a_(k-1) - a_(k-2) for every support, whose a_0 is
 *  the input, or with the published recursion a_(K-1) of the support before.
 *  z        row r, term m, column j at z[r * row + m * term + j]; term 0 is the input, 1 .. M-1 are overwritten
 *                                                                       shape: (n_samples * N, M, width)
 *  source   liyaguang/DCRNN dcgru_cell.py; where a support starts: enum dcrnn_recursion */
void gconv_diffuse(const struct gconv *g, int n_samples, int width, real *z, ptrdiff_t row, ptrdiff_t term);

/** gconv_adjoint - Q_m = P_m(S)^T Q_0, laid out as in gconv_diffuse with term = width.
 *  With G the gradient of sum_m P_m(S) X W_m, both gradients are plain products with the Q_m:
 *  dX = sum_m Q_m W_m^T and dW_m = X^T Q_m, so that the diffusion terms of X need not be kept or recomputed.
 *  scratch  used when the recursion is "published" with two supports and K > 1
 *                                                           shape: (n_samples * N, gconv_scratch_row(g, width)) */
void gconv_adjoint(const struct gconv *g, int n_samples, int width, real *q, ptrdiff_t row, real *scratch);
/** gconv_scratch_row - entries of a row of gconv_adjoint's scratch memory; grows with width. */
ptrdiff_t gconv_scratch_row(const struct gconv *g, int width);

/** gconv_odd_lines - a leading dimension for n entries of an odd number of cache lines, so that a column's lines spread
 *  over all sets of the L1 cache. */
ptrdiff_t gconv_odd_lines(ptrdiff_t n);

#endif
