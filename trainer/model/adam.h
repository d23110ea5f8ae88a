/* adam.h - global gradient norm, clipping, and Adam in PyTorch's form, on flat blocks.
 * Source: Kingma and Ba 2015, algorithm 1; eps is added to the bias-corrected sqrt(v). */
#ifndef TRAINER_MODEL_ADAM_H
#define TRAINER_MODEL_ADAM_H

#include "trainer/cpu/real.h"

#include <stddef.h>
#include <stdint.h>

#define adam_norm REAL_FN(adam_norm)
#define adam_step REAL_FN(adam_step)

struct adam_config {
    double beta1; /* 0.9 */
    double beta2; /* 0.999 */
    double eps;   /* 1e-3, not the usual 1e-8 */
};
static inline struct adam_config adam_config_default(void)
{
    return (struct adam_config){.beta1 = 0.9, .beta2 = 0.999, .eps = 1e-3};
}

/** adam_norm - L2 norm of a gradient, in double: weight i is added to sum i modulo 8, and the eight sums in order. NaN
 *  in, NaN out. */
double adam_norm(const real *grads, size_t n);
/** adam_clip_factor - min(1, clip / (norm + 1e-6)); 1 when clip <= 0 (off). NaN for a NaN norm. */
double adam_clip_factor(double norm, double clip);

/** adam_step - one update: g = factor * grad; m, v moving means of g and g^2; p -= lr * mhat / (sqrt(vhat) + eps).
 *  step     1 for the first update; the caller counts, and stores it in checkpoints
 *  lr       learning rate of this step
 *  factor   from adam_clip_factor
 *  m, v     zero before the first step; together with step the whole state: stored and restored they continue with
 *           the same bits
 *  params, m, v   updated in place; no two of the arrays overlap   shape: (n) */
void adam_step(const struct adam_config *c, int64_t step, double lr, double factor, size_t n,
               const real *restrict grads, real *restrict m, real *restrict v, real *restrict params);

#endif
