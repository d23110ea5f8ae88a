/* dataset_numpy.h - speeds from an array (rows, sensors) or (rows, sensors, features) in an .npy or .npz file, such as
 * the published PEMS04.npz. Such files have neither times nor names. Called by dataset_read.c. */
#ifndef TRAINER_FORMATS_DATASET_NUMPY_H
#define TRAINER_FORMATS_DATASET_NUMPY_H

#include "trainer/formats/dataset_fill.h"

int dataset_npy(struct dataset_fill *f, struct dcr_err *err) DCR_MUST_CHECK;
int dataset_npz(struct dataset_fill *f, struct dcr_err *err) DCR_MUST_CHECK;

#endif
