/* graph_read.h - the sensors' road graph from a file.
 *
 * Kernel and supports are graph.h's; here are the formats in which graphs are published, told by the file's content:
 * comma separated lists and matrices; matrices in npy and npz files, dense or as scipy.sparse writes them; the pickle
 * adj_mx.pkl of DCRNN. docs/data.md shows each of them. */
#ifndef TRAINER_FORMATS_GRAPH_READ_H
#define TRAINER_FORMATS_GRAPH_READ_H

#include "trainer/data/dataset.h"
#include "trainer/model/graph.h"

/* X(enumerator, name on the command line) */
#define GRAPH_FORMATS(X)                                                                                            \
    X(GRAPH_AUTO, "auto")                       /* a list by its header, else distances; sparse, pickle: weights */ \
    X(GRAPH_DISTANCE_LIST, "distances")         /* from,to,metres */                                                \
    X(GRAPH_WEIGHT_LIST, "weights")             /* from,to,weight */                                                \
    X(GRAPH_DISTANCE_MATRIX, "distance-matrix") /* n x n metres; an empty cell or a negative number: no road */     \
    X(GRAPH_WEIGHT_MATRIX, "weight-matrix")     /* n x n weights, row = from */
enum graph_format {
#define X(id, text) id,
    GRAPH_FORMATS(X)
#undef X
};

struct graph_file {
    const char *path;
    enum graph_format format;
    int is_subset; /* the file may name sensors that the data lack: their lines are passed over */
};

/** graph_read - adjacency of the data set's sensors, in their order. Distances go through graph_from_distances.
 *
 *  adjacency gives; free with graph_csr_free
 *  n_unknown overwritten with the number of lines passed over; may be NULL
 *  errors    DCR_FAIL, naming file and line: unknown sensors, repeated pairs, text, NaN, negative weights, a matrix of
 *            another size; a sensor of the data that the file never names; distances that are no distances
 *  source    dcrnn-model.md section 2; checked against pems-bay-distances-2017.csv (tests/unit/test_graph_read.c) */
int graph_read(const struct graph_file *file, const struct dataset *d, struct graph_csr *adjacency, size_t *n_unknown,
               struct dcr_err *err) DCR_MUST_CHECK;

#endif
