/* verify.h - compare this implementation with a folder of reference vectors (dcrnn-train --verify DIR). */
#ifndef TRAINER_TOOLS_VERIFY_H
#define TRAINER_TOOLS_VERIFY_H

#include "lib/base/err.h"
#include "trainer/model/dcrnn.h"

#include <stdio.h>

/* Largest error that passes: max|a-b| / max|b| per tensor. */
#define VERIFY_LIMIT_F64 1e-10
#define VERIFY_LIMIT_F32 2e-5

/** verify_case - run one case (case.json, *.npy) in double and single precision and compare every array of the folder:
 *  supports, diffusion terms, cell 0, encoder state, predictions, loss, gradients, norm, parameters after the updates.
 *  dir      borrows; any sizes, layers, K, filter, recursion, coins and number of Adam steps
 *  out      one line "PRECISION_QUANTITY error" each ("f64 g_enc0_W_ru 3.1e-16"), last line
 *           "verify: ok worst=NAME error" or "verify: failed worst=NAME error"
 *  n_failed overwritten: quantities over the limit or NaN, inputs included; 0 = the case is met
 *  returns  0; DCR_FAIL with a sentence when a file is missing, damaged or contradicts case.json (nothing to compare)
 */
int verify_case(const char *dir, FILE *out, int *n_failed, struct dcr_err *err) DCR_MUST_CHECK;

/* ---- for verify_run.c: one case while it is being compared ---- */

struct verify {
    const char *dir;
    FILE *out;
    /* case.json */
    struct dcrnn_config model;
    enum graph_filter filter;
    uint8_t *coins; /* shape: (H) */
    double mean, std, lr, eps, clip;
    int adam_steps;
    /* the verdict so far */
    int n_failed, n_compared;
    double worst_ratio; /* error / limit; NaN counts as infinite */
    double worst_error;
    char worst_name[64];
};

/** verify_run_f32, verify_run_f64 - compute the case in one precision and compare everything (verify_run.c). */
int verify_run_f32(struct verify *v, struct dcr_err *err) DCR_MUST_CHECK;
int verify_run_f64(struct verify *v, struct dcr_err *err) DCR_MUST_CHECK;

#endif
