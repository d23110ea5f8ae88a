/* adam.c - see adam.h. The Makefile compiles this file with vectors (-O3). Every loop works on each weight separately,
 * so the bits are those of the plain loop. */
#include "trainer/model/adam.h"

#include <math.h>

#ifdef DCR_REAL_F64
#define real_sqrt sqrt
#else
#define real_sqrt sqrtf
#endif

enum { N_SUMS = 8 };

double adam_norm(const real *grads, size_t n)
{
    double sum[N_SUMS] = {0}, all = 0;
    size_t i = 0;
    for (; i + N_SUMS <= n; i += N_SUMS)
        for (size_t k = 0; k < N_SUMS; k++)
            sum[k] += (double)grads[i + k] * (double)grads[i + k];
    for (; i < n; i++)
        sum[i % N_SUMS] += (double)grads[i] * (double)grads[i];
    for (size_t k = 0; k < N_SUMS; k++)
        all += sum[k];
    return sqrt(all);
}

#ifndef DCR_REAL_F64
double adam_clip_factor(double norm, double clip)
{
    if (clip <= 0)
        return 1;
    double factor = clip / (norm + 1e-6);
    return factor >= 1 ? 1 : factor; /* NaN falls through */
}
#endif

void adam_step(const struct adam_config *c, int64_t step, double lr, double factor, size_t n,
               const real *restrict grads, real *restrict m, real *restrict v, real *restrict params)
{
    real b1 = (real)c->beta1, b2 = (real)c->beta2, eps = (real)c->eps, scale = (real)factor;
    real rest1 = (real)(1 - c->beta1), rest2 = (real)(1 - c->beta2);
    real rate = (real)(lr / (1 - pow(c->beta1, (double)step)));
    real root = (real)(1 / sqrt(1 - pow(c->beta2, (double)step)));
    for (size_t i = 0; i < n; i++) {
        real g = grads[i] * scale;
        m[i] = b1 * m[i] + rest1 * g;
        v[i] = b2 * v[i] + rest2 * g * g;
        real deviation = real_sqrt(v[i]) * root;
        params[i] -= rate * m[i] / (deviation + eps);
    }
}
