/* dataset_csv.h - speeds from comma separated text. Called by dataset_read.c, whose header describes the format. */
#ifndef TRAINER_FORMATS_DATASET_CSV_H
#define TRAINER_FORMATS_DATASET_CSV_H

#include "trainer/formats/dataset_fill.h"

int dataset_csv(struct dataset_fill *f, struct dcr_err *err) DCR_MUST_CHECK;
/** dataset_csv_names - sensor ids from a file of their own, separated by commas or lines. */
int dataset_csv_names(struct dataset_fill *f, const char *path, struct dcr_err *err) DCR_MUST_CHECK;

#endif
