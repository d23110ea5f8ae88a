/* dataset_hdf5.h - speeds from a pandas frame in an HDF5 file, as METR-LA (metr-la.h5, key df) and PEMS-BAY
 * (pems-bay.h5, key speed) are published. Called by dataset_read.c.
 *
 * The frame is a group in pandas' `fixed` format, written through PyTables:
 *   axis0           sensor ids, texts of fixed width or whole numbers            shape: (sensors)
 *   axis1           times, int64 in the unit of its attribute kind ("datetime64" = ns)  shape: (rows)
 *   blockK_items    the ids of the columns of block K; all blocks together have each id once
 *   blockK_values   readings, floats or whole numbers; NaN = missing             shape: (rows, items of the block)
 * Source: class BlockManagerFixed of pandas/io/pytables.py. */
#ifndef TRAINER_FORMATS_DATASET_HDF5_H
#define TRAINER_FORMATS_DATASET_HDF5_H

#include "trainer/formats/dataset_fill.h"

/** dataset_hdf5 - errors beyond those of dataset_read.h: no frame, several of them and no key, another format of
 *  pandas, times in a zone, compressed by a filter that libhdf5 lacks, a program built without libhdf5 */
int dataset_hdf5(struct dataset_fill *f, struct dcr_err *err) DCR_MUST_CHECK;

#endif
