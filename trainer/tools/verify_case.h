/* verify_case.h - one reference case while it is being compared; for verify.c and verify_run.c. */
#ifndef TRAINER_TOOLS_VERIFY_CASE_H
#define TRAINER_TOOLS_VERIFY_CASE_H

#include "trainer/model/dcrnn.h"
#include "trainer/formats/numpy.h"

#include <stdio.h>

struct verify {
    const char *dir;
    FILE *out;
    /* case.json */
    struct dcrnn_config model;
    enum graph_filter filter;
    uint8_t *coins; /* shape: (H) */
    double mean, std, lr, eps, clip;
    int adam_steps;
    /* adj_f64 */
    struct graph_supports supports;
    /* the verdict so far */
    int n_failed, n_compared;
    double worst_ratio; /* error / limit; NaN counts as infinite */
    double worst_error;
    char worst_name[64];
};

/* A shape for messages and checks: dimensions, ended by 0. */
#define VERIFY_SHAPE(...) \
    (const int[])         \
    {                     \
        __VA_ARGS__, 0    \
    }

/** verify_read - NAME_PRECISION.npy of the case, which must have the given shape.
 *  out      gives; free with npy_free
 *  errors   DCR_FAIL: missing, damaged, another shape */
int verify_read(const struct verify *v, const char *name, const char *precision, const int *shape, struct npy *out,
                struct dcr_err *err) DCR_MUST_CHECK;
/** verify_has - whether NAME_PRECISION.npy is there. */
int verify_has(const struct verify *v, const char *name, const char *precision);
/** verify_compare - print and judge one quantity: ours against NAME_PRECISION.npy.
 *  ours     borrows                                                          shape: as `shape`
 *  errors   as verify_read; a large error is not an error but a failure of the case */
int verify_compare(struct verify *v, const char *name, const char *precision, const int *shape, const double *ours,
                   double limit, struct dcr_err *err) DCR_MUST_CHECK;

/** verify_judge - print and judge the error of one quantity. */
void verify_judge(struct verify *v, const char *name, const char *precision, double error, double limit);

/** verify_run_f32, verify_run_f64 - compute the case in one precision and compare everything (verify_run.c). */
int verify_run_f32(struct verify *v, struct dcr_err *err) DCR_MUST_CHECK;
int verify_run_f64(struct verify *v, struct dcr_err *err) DCR_MUST_CHECK;

#endif
