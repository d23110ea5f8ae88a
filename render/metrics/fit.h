/* fit.h - least squares with one or two regressors, and the laws of scaling that are fitted with it. */
#ifndef RENDER_METRICS_FIT_H
#define RENDER_METRICS_FIT_H

enum { FIT_MAX_PARAMETERS = 2 };

/* y = sum of parameter * x. has 0: fewer points than parameters, or the regressors depend on each other. */
struct fit {
    int has, n_parameters, n_free; /* n_free = points - parameters: without any there is no residual to judge by */
    double parameter[FIT_MAX_PARAMETERS];
    double covariance[FIT_MAX_PARAMETERS][FIT_MAX_PARAMETERS]; /* of unit residual variance: (X'X)^-1 */
    double sigma;                                              /* residual standard deviation; 0 when n_free is 0 */
};

/** fit_linear - ordinary least squares, normal equations.
 *  x        shape (n)(2); the second column is not looked at for one parameter
 *  y        shape (n)
 *  source   docs/metrics.md#fits. Test: tests/unit/test_fit.c */
struct fit fit_linear(const double (*x)[FIT_MAX_PARAMETERS], const double *y, int n, int n_parameters);
/** fit_at - the fitted value at x, and half the 95 % prediction interval (Student's t, n_free degrees of freedom); half
 *  is infinite when n_free is 0. */
double fit_at(const struct fit *f, const double x[FIT_MAX_PARAMETERS], double *half);
/** student_975 - the 97.5 % point of Student's t with so many degrees of freedom; infinite for 0. */
double student_975(int degrees);

#endif
