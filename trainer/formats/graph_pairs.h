/* graph_pairs.h - pairs of sensors as they come out of a graph file, whatever its format: ids are looked up, doubles
 * and gaps found, and the adjacency made here once for all readers. Memory grows with the pairs that were read. */
#ifndef TRAINER_FORMATS_GRAPH_PAIRS_H
#define TRAINER_FORMATS_GRAPH_PAIRS_H

#include "trainer/formats/graph_read.h"

struct graph_pair {
    int from, to;
    double value; /* metres or weight */
    size_t line;  /* for a complaint; 0 = none */
};

struct graph_pairs {
    const struct graph_file *file; /* borrows */
    const struct dataset *d;       /* borrows */
    int is_distance;               /* the reader says so */
    struct graph_sensor *index;    /* (n_sensors) sorted by id */
    unsigned char *is_named;       /* (n_sensors) */
    struct graph_pair *pair;       /* (n) */
    size_t n, cap, n_unknown;
};

/** graph_pairs_begin - p gives; graph_pairs_release in any state after {0}. */
int graph_pairs_begin(struct graph_pairs *p, const struct graph_file *file, const struct dataset *d,
                      struct dcr_err *err) DCR_MUST_CHECK;
void graph_pairs_release(struct graph_pairs *p);

/** graph_pairs_find - the sensor of that id, which counts as named.
 *  returns  0; DCR_END when the data lack it and the file may be a larger one; DCR_FAIL when it may not
 *  place    "'FILE' line 7", for the complaint */
int graph_pairs_find(struct graph_pairs *p, const char *id, const char *place, int *sensor,
                     struct dcr_err *err) DCR_MUST_CHECK;
/** graph_pairs_add - one value, which the reader has checked: finite, not negative. */
int graph_pairs_add(struct graph_pairs *p, int from, int to, double value, size_t line,
                    struct dcr_err *err) DCR_MUST_CHECK;
/** graph_pairs_add_cell - a cell of a matrix: what says "no road" is passed over (0 or, of distances, a negative or
 *  infinite number).
 *  errors   DCR_FAIL: NaN; a weight that is negative or infinite */
int graph_pairs_add_cell(struct graph_pairs *p, int from, int to, double value, struct dcr_err *err) DCR_MUST_CHECK;
/** graph_pairs_name_all - a matrix without names has a row for every sensor. */
void graph_pairs_name_all(struct graph_pairs *p);

/** graph_pairs_adjacency - out gives; free with graph_csr_free.
 *  errors   DCR_FAIL: a pair twice with two values; a sensor never named; distances that are none; no pair at all */
int graph_pairs_adjacency(struct graph_pairs *p, struct graph_csr *out, struct dcr_err *err) DCR_MUST_CHECK;

/* The readers, one a format; what a format is stands in the head of its file. Called by graph_read.c. */
int graph_text(struct graph_pairs *p, struct dcr_err *err) DCR_MUST_CHECK;
int graph_npy(struct graph_pairs *p, struct dcr_err *err) DCR_MUST_CHECK;
int graph_npz(struct graph_pairs *p, struct dcr_err *err) DCR_MUST_CHECK;
int graph_pickle(struct graph_pairs *p, struct dcr_err *err) DCR_MUST_CHECK;

#endif
