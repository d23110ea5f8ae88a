/* loss.c - the sums of loss.h, in array order. */
#include "trainer/model/loss.h"

#include <math.h>

int64_t loss_count_valid(const real *raw, size_t n)
{
    int64_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += raw[i] != 0;
    return count;
}

/* In the working precision, like the model. The single-precision reference does the same. */
static real error_at(real pred_z, real raw, real mean, real std)
{
    return pred_z * std + mean - raw;
}

double loss_sum(const real *pred_z, const real *raw, size_t n, double mean, double std, int64_t *n_valid)
{
    double sum = 0;
    int64_t count = 0;
    for (size_t i = 0; i < n; i++)
        if (raw[i] != 0) {
            sum += fabs((double)error_at(pred_z[i], raw[i], (real)mean, (real)std));
            count++;
        }
    if (n_valid)
        *n_valid = count;
    return sum;
}

void loss_gradient(const real *pred_z, const real *raw, size_t n, double mean, double std, double scale, real *grad)
{
    real one = (real)(std * scale);
    for (size_t i = 0; i < n; i++) {
        real e = error_at(pred_z[i], raw[i], (real)mean, (real)std);
        /* a NaN must stay visible: it compares false both ways */
        grad[i] = raw[i] == 0 ? 0 : e > 0 ? one : e < 0 ? -one : e * 0;
    }
}

void loss_horizons_add(const real *pred_z, const real *raw, int n_out, size_t n_each, double mean, double std,
                       struct loss_horizon *sums)
{
    for (int t = 0; t < n_out; t++, pred_z += n_each, raw += n_each)
        for (size_t i = 0; i < n_each; i++)
            if (raw[i] != 0) {
                double e = fabs((double)error_at(pred_z[i], raw[i], (real)mean, (real)std));
                sums[t].abs += e;
                sums[t].square += e * e;
                sums[t].relative += e / (double)raw[i];
                sums[t].n_valid += 1;
            }
}

#ifndef DCR_REAL_F64
double loss_mae(const struct loss_horizon *h)
{
    return h->n_valid > 0 ? h->abs / h->n_valid : NAN;
}

double loss_rmse(const struct loss_horizon *h)
{
    return h->n_valid > 0 ? sqrt(h->square / h->n_valid) : NAN;
}

double loss_mape(const struct loss_horizon *h)
{
    return h->n_valid > 0 ? h->relative / h->n_valid : NAN;
}
#endif
