/* dataset_windows.h - speeds from the training archives that DCRNN repositories publish instead of rows: a folder with
 * train.npz, val.npz and test.npz, each with x (windows, 12, sensors, features) and y (windows, 12, sensors, features).
 *
 * Window w begins at row w, over the three files in that order, so every row occurs in up to 24 windows. They are laid
 * back over the time axis, and all copies of a reading must agree. Feature 0 of x is the speed in mph, feature 1 (if
 * any) the time of day as a share of the day. Source: scripts/generate_training_data.py of liyaguang/DCRNN.
 * Called by dataset_read.c. */
#ifndef TRAINER_FORMATS_DATASET_WINDOWS_H
#define TRAINER_FORMATS_DATASET_WINDOWS_H

#include "trainer/formats/dataset_fill.h"

int dataset_windows(struct dataset_fill *f, struct dcr_err *err) DCR_MUST_CHECK;

#endif
