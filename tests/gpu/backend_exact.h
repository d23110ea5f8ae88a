/* backend_exact.h - the same batch in double precision on the CPU, to tell how far single precision may be from the
 * truth. */
#ifndef TESTS_GPU_BACKEND_EXACT_H
#define TESTS_GPU_BACKEND_EXACT_H

#include "tests/gpu/backend_cases.h"

/** backend_exact - predictions and gradient of the sum of errors.
 *  params   borrows                                    shape: (n_params)
 *  pred     overwritten                                shape: (H, B, N, Dout)
 *  grads    overwritten                                shape: (n_params) */
void backend_exact(const struct backend_case *c, const float *params, size_t n_params, const struct backend_batch *b,
                   double *pred, double *grads);

#endif
