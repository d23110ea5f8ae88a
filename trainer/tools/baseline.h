/* baseline.h - simple forecasts without a model, which a model must beat. */
#ifndef TRAINER_TOOLS_BASELINE_H
#define TRAINER_TOOLS_BASELINE_H

#include "trainer/data/dataset.h"
#include "trainer/model/loss.h"

#include <stdio.h>

/* X(enumerator, name). The forecast is: */
#define BASELINES(X)                                                                                              \
    X(BASELINE_LAST_READING, "last reading")     /* the last row of the input, a missing reading counted as 0 */  \
    X(BASELINE_LAST_VALID, "last valid reading") /* of the input rows */                                          \
    X(BASELINE_WEEKLY_AVERAGE, "weekly average") /* of the sensor in the same 5-minute slot of the week, over all \
                                                    rows of training windows, missing readings left out */
enum baseline {
#define X(id, name) id,
    BASELINES(X)
#undef X
        N_BASELINES
};

/** baseline_score - error sums per forecast step. A method without a reading forecasts the mean of the valid readings
 *  of all training inputs.
 *  sums       overwritten                                             shape: (d->n_out)
 *  errors     DCR_FATAL: no memory
 *  source     README of the public 10-sensor METR-LA data used in the tests: 3.835 / 4.800 / 6.352, 3.358 / 3.983 /
 *             5.052 and 3.766 / 3.767 / 3.766 mph at 15, 30 and 60 minutes */
int baseline_score(enum baseline what, const struct dataset *d, struct window_range range, struct loss_horizon *sums,
                   struct dcr_err *err) DCR_MUST_CHECK;

/** baseline_print - for --baseline: the errors of all of them on validation and test split. errors as baseline_score */
int baseline_print(const struct dataset *d, FILE *out, struct dcr_err *err) DCR_MUST_CHECK;

#endif
