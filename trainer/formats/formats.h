/* formats.h - foreign data: speeds and road graphs from the files in which they are published. The kind of a file is
 * told by its content; docs/data.md shows each format. */
#ifndef TRAINER_FORMATS_FORMATS_H
#define TRAINER_FORMATS_FORMATS_H

#include "trainer/data/dataset.h"
#include "trainer/model/graph.h"

#define DATASET_MAX_MPH 300.0 /* a larger number is not a speed */

enum dataset_header { DATASET_HEADER_AUTO, DATASET_HEADER_YES, DATASET_HEADER_NO };

struct dataset_file {
    const char *path;
    enum dataset_header header; /* CSV */
    const char *ids_path;       /* one sensor id per column, separated by commas or lines; NULL: the file has them */
    const char *key;            /* frame of an HDF5 file, array of an npz file; NULL: the only one */
    int feature;                /* for arrays with three dimensions; usually 0 = speed */
    int has_start;              /* start_s was given */
    long long start_s;          /* seconds since 1970-01-01 of the first row, for data without time stamps */
};

/** dataset_read - speeds in miles per hour, one row per 5 minutes, one column per sensor; 0 = missing.
 *
 *  - CSV: header line and time column are both optional. In AUTO the first line is a header when none of its cells can
 *    be a speed (text, or whole numbers above 300), or when they count 0,1,2.. or 1,2,3..: the published files name
 * their columns by sensor numbers. A time column is a first column called timestamp, time, date, datetime or nothing,
 * or one whose first value is a time stamp.
 *
 *  - HDF5: a pandas frame in `fixed` format (metr-la.h5, pems-bay.h5); NaN = missing.
 *
 *  - npy, npz: an array (rows, sensors) or (rows, sensors, features) of floats or whole numbers; NaN = missing.
 *
 *  - folder: train.npz, val.npz, test.npz with windows x and y, laid back over the time axis.
 *
 *  d        gives; not yet split. d->note states the assumptions, such as the time of the first row
 *  errors   DCR_FAIL, naming file and place: text, negative or impossible speeds, ragged rows, time that does not
 *           advance, double ids, no rows, other shapes and types
 *  memory   grows with the data read, whatever a header claims */
int dataset_read(struct dataset *d, const struct dataset_file *file, struct dcr_err *err) DCR_MUST_CHECK;

/** dataset_parse_time - seconds since 1970-01-01 of YYYY-MM-DD HH:MM[:SS], `T` instead of the space accepted; no zones.
 *  returns  1 when text is one, else 0 */
int dataset_parse_time(const char *text, long long *seconds);

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
    int is_subset; /* the file may name sensors that the data lack; their lines are skipped */
};

/** graph_read - adjacency of the data set's sensors, in their order: from comma separated lists and matrices, matrices
 *  in npy and npz files (dense or as scipy.sparse writes them), and the pickle adj_mx.pkl of DCRNN. Distances
 *  go through graph_from_distances.
 *
 *  adjacency gives; free with graph_csr_free n_unknown overwritten with the number of skipped lines; may be NULL
 *  errors    DCR_FAIL, naming file and line: unknown sensors, repeated pairs, text, NaN, negative weights, a matrix of
 *            another size; a sensor of the data that the file never names; values that are no distances
 *  source    checked against pems-bay-distances-2017.csv (tests/unit/test_graph_read.c) */
int graph_read(const struct graph_file *file, const struct dataset *d, struct graph_csr *adjacency, size_t *n_unknown,
               struct dcr_err *err) DCR_MUST_CHECK;

#endif
