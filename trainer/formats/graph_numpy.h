/* graph_numpy.h - road graphs as NumPy arrays: a dense matrix in an .npy or .npz file, or a sparse matrix as
 * scipy.sparse.save_npz writes it (csr, csc, coo). Rows and columns are the sensors in the order of the data; row =
 * from. Called by graph_read.c. */
#ifndef TRAINER_FORMATS_GRAPH_NUMPY_H
#define TRAINER_FORMATS_GRAPH_NUMPY_H

#include "trainer/formats/graph_pairs.h"

int graph_npy(struct graph_pairs *p, struct dcr_err *err) DCR_MUST_CHECK;
int graph_npz(struct graph_pairs *p, struct dcr_err *err) DCR_MUST_CHECK;

#endif
