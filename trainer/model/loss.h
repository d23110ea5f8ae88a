/* loss.h - masked mean absolute error in the unit of the readings (mph), its gradient, and the error sums that
 * evaluation reports per horizon. Sums and counts are separate, so that ranks add them and divide once.
 *
 * The mask comes from the raw targets: 0 means missing. Predictions are z-scored; error = prediction * std + mean -
 * raw. Arrays have n entries in the same order, here (H, B, N, Dout); sums run in double and in array order. */
#ifndef TRAINER_MODEL_LOSS_H
#define TRAINER_MODEL_LOSS_H

#include "trainer/cpu/real.h"

#include <stddef.h>
#include <stdint.h>

#define loss_sum REAL_FN(loss_sum)
#define loss_gradient REAL_FN(loss_gradient)
#define loss_count_valid REAL_FN(loss_count_valid)
#define loss_horizons_add REAL_FN(loss_horizons_add)

/** loss_count_valid - targets that are not missing. */
int64_t loss_count_valid(const real *raw, size_t n);

/** loss_sum - sum of |error| over valid targets; the loss is sum / count over all ranks, 0 when nothing is valid.
 *  pred_z   borrows; z-scored predictions               shape: (n)
 *  raw      borrows; targets in mph, 0 = missing        shape: (n)
 *  n_valid  overwritten, may be NULL
 *  returns  the sum, unit mph; NaN if a prediction with a valid target is NaN */
double loss_sum(const real *pred_z, const real *raw, size_t n, double mean, double std, int64_t *n_valid);

/** loss_gradient - d(sum of |error| * scale) / d pred_z = scale * std * sign(error) on valid targets, else 0; sign(0)
 *  is 0.
 *  scale    training takes 1 and divides the sum of all ranks' gradients by the number of their valid targets
 *  grad     overwritten                                 shape: (n) */
void loss_gradient(const real *pred_z, const real *raw, size_t n, double mean, double std, double scale, real *grad);

/* Error sums of one forecast step. MAE = abs / n_valid, RMSE = sqrt(square / n_valid), MAPE = relative / n_valid. */
struct loss_horizon {
    double abs;      /* sum of |error|            unit: mph */
    double square;   /* sum of error^2            unit: mph^2 */
    double relative; /* sum of |error| / target   unit: ratio */
    double n_valid;  /* a count; double so that one all-reduce adds everything */
};

/** loss_horizons_add - add the errors of one batch to the sums.
 *  n_each   values per forecast step, B * N * Dout
 *  sums     accumulated into                            shape: (n_out) */
void loss_horizons_add(const real *pred_z, const real *raw, int n_out, size_t n_each, double mean, double std,
                       struct loss_horizon *sums);

/** loss_mae, loss_rmse, loss_mape - of one horizon's sums; NaN when nothing is valid. unit: mph, mph, ratio */
double loss_mae(const struct loss_horizon *h);
double loss_rmse(const struct loss_horizon *h);
double loss_mape(const struct loss_horizon *h);

#endif
