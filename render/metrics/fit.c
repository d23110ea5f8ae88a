/* fit.c - see fit.h. */
#include "render/metrics/fit.h"

#include <math.h>
#include <string.h>

double student_975(int degrees)
{
    static const double t[] = {INFINITY, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228};
    static const int n = sizeof t / sizeof *t;
    if (degrees < n)
        return t[degrees < 0 ? 0 : degrees];
    /* Cornish-Fisher expansion around the normal quantile; off by less than 0.001 from 11 on */
    double z = 1.959964, v = degrees;
    return z + (z * z * z + z) / (4 * v) + (5 * pow(z, 5) + 16 * pow(z, 3) + 3 * z) / (96 * v * v);
}

struct fit fit_linear(const double (*x)[FIT_MAX_PARAMETERS], const double *y, int n, int n_parameters)
{
    struct fit f = {.n_parameters = n_parameters, .n_free = n - n_parameters};
    double a = 0, b = 0, c = 0, u = 0, v = 0; /* X'X = [a b; b c], X'y = [u v] */
    for (int i = 0; i < n; i++) {
        double x1 = n_parameters > 1 ? x[i][1] : 0;
        a += x[i][0] * x[i][0];
        b += x[i][0] * x1;
        c += x1 * x1;
        u += x[i][0] * y[i];
        v += x1 * y[i];
    }
    double det = n_parameters > 1 ? a * c - b * b : a;
    /* Two columns that depend on each other leave rounding errors. A single column cannot depend on another, however
     * small it is. */
    if (n < n_parameters || !(det > (n_parameters > 1 ? 1e-12 * a * c : 0)))
        return f;
    f.has = 1;
    if (n_parameters > 1) {
        f.covariance[0][0] = c / det;
        f.covariance[0][1] = f.covariance[1][0] = -b / det;
        f.covariance[1][1] = a / det;
        f.parameter[0] = (c * u - b * v) / det;
        f.parameter[1] = (a * v - b * u) / det;
    } else {
        f.covariance[0][0] = 1 / a;
        f.parameter[0] = u / a;
    }
    double sum = 0;
    for (int i = 0; i < n; i++) {
        double e = y[i] - f.parameter[0] * x[i][0] - (n_parameters > 1 ? f.parameter[1] * x[i][1] : 0);
        sum += e * e;
    }
    f.sigma = f.n_free > 0 ? sqrt(sum / f.n_free) : 0;
    return f;
}

double fit_at(const struct fit *f, const double x[FIT_MAX_PARAMETERS], double *half)
{
    double value = 0, variance = 1;
    for (int i = 0; i < f->n_parameters; i++) {
        value += f->parameter[i] * x[i];
        for (int k = 0; k < f->n_parameters; k++)
            variance += x[i] * f->covariance[i][k] * x[k];
    }
    *half = f->n_free > 0 ? student_975(f->n_free) * f->sigma * sqrt(variance) : INFINITY;
    return value;
}
