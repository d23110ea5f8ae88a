/* graph_eigen.h - the largest eigenvalue of a sparse symmetric matrix. */
#ifndef TRAINER_MODEL_GRAPH_EIGEN_H
#define TRAINER_MODEL_GRAPH_EIGEN_H

#include "trainer/model/graph.h"

/** graph_lambda_max - by Lanczos iteration with full re-orthogonalisation.
 *  m        borrows; symmetric (not checked)
 *  out      overwritten; relative error about 1e-14
 *  errors   DCR_FAIL: no memory, or no convergence within 500 steps
 *  source   Golub and Van Loan, Matrix Computations, sections 8.4 (bisection) and 10.1 (Lanczos) */
int graph_lambda_max(const struct graph_csr *m, double *out, struct dcr_err *err) DCR_MUST_CHECK;

#endif
