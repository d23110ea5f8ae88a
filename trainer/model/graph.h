/* graph.h - makes the diffusion supports of a DCRNN from a weighted directed adjacency, once per run, in double
 * precision. The model keeps a copy in its own precision. This file reads no files. Source: Li et al. 2018 (arXiv
 * 1707.01926), equations 2 and 3; which transpose is which: liyaguang/DCRNN issue 13. */
#ifndef TRAINER_MODEL_GRAPH_H
#define TRAINER_MODEL_GRAPH_H

#include "lib/base/err.h"

#include <stdint.h>

/* X(enumerator, name) */
#define GRAPH_FILTERS(X)                                                                                             \
    X(GRAPH_LAPLACIAN, "laplacian")               /* one support: (2 / lambda_max) L - I of the symmetrised graph */ \
    X(GRAPH_RANDOM_WALK, "random_walk")           /* one support: P(A)^T */                                          \
    X(GRAPH_DUAL_RANDOM_WALK, "dual_random_walk") /* two supports: P(A)^T and P(A^T)^T */
enum graph_filter {
#define X(id, text) id,
    GRAPH_FILTERS(X)
#undef X
};

/** graph_filter_name - "laplacian", "random_walk", "dual_random_walk". */
const char *graph_filter_name(enum graph_filter filter);
/** graph_filter_parse - the reverse. returns 0, or DCR_FAIL (sentence lists the names). */
int graph_filter_parse(const char *text, enum graph_filter *out, struct dcr_err *err) DCR_MUST_CHECK;

/* A sparse square matrix in compressed sparse rows: row i holds entries row_start[i] .. row_start[i+1]-1, columns
 * ascending, no duplicates, no explicit zeros. */
struct graph_csr {
    int n;          /* rows = columns */
    int *row_start; /* shape: (n + 1) */
    int *col;       /* shape: (nnz), nnz = row_start[n] */
    double *val;    /* shape: (nnz) */
};

/** graph_csr_from_triplets - build A from edges in any order.
 *  from, to, weight  borrows; weight of the edge from -> to becomes A[from][to]     shape: (n_edges)
 *                    zero weights are dropped
 *  out               gives; free with graph_csr_free
 *  errors            DCR_FAIL: n < 1, an index outside 0..n-1, a weight that is negative or not finite, an edge given
 *                    twice, no memory */
int graph_csr_from_triplets(int n, int64_t n_edges, const int *from, const int *to, const double *weight,
                            struct graph_csr *out, struct dcr_err *err) DCR_MUST_CHECK;
/** graph_csr_from_dense - the same from a dense row-major matrix.                    shape: (n, n) */
int graph_csr_from_dense(int n, const double *dense, struct graph_csr *out, struct dcr_err *err) DCR_MUST_CHECK;
/** graph_csr_to_dense - out is overwritten.                                          shape: (n, n) */
void graph_csr_to_dense(const struct graph_csr *m, double *out);
/** graph_csr_transpose - out gives; free with graph_csr_free. errors DCR_FAIL: no memory. */
int graph_csr_transpose(const struct graph_csr *m, struct graph_csr *out, struct dcr_err *err) DCR_MUST_CHECK;
/** graph_csr_nnz - stored entries. */
static inline int graph_csr_nnz(const struct graph_csr *m)
{
    return m->row_start ? m->row_start[m->n] : 0;
}
/** graph_csr_free - release and empty; an empty struct is fine. */
void graph_csr_free(struct graph_csr *m);

#define GRAPH_MAX_SUPPORTS 2

struct graph_supports {
    enum graph_filter filter;
    int n_sensors;
    int n; /* 1 or 2 */
    struct graph_csr support[GRAPH_MAX_SUPPORTS];
};

/** graph_supports_build - S1 (and S2) of an adjacency; (S x)[i] = sum_j S[i][j] x[j].
 *  adjacency  borrows; A[i][j] >= 0 the weight of i -> j. A row without weights gives a zero row of P, no division.
 *  out        gives; free with graph_supports_free
 *  errors     DCR_FAIL: no memory, or (laplacian) a graph without edges between sensors
 *  cost       O(nnz log nnz); laplacian adds a Lanczos iteration of at most 500 steps for lambda_max
 *  source     dcrnn paper section 2.2; Test: tests/unit/test_graph.c */
int graph_supports_build(const struct graph_csr *adjacency, enum graph_filter filter, struct graph_supports *out,
                         struct dcr_err *err) DCR_MUST_CHECK;
void graph_supports_free(struct graph_supports *s);

/** graph_from_distances - weights of a road graph: A[i][j] = exp(-(d/s)^2), s the population standard deviation of all
 *  given distances; entries below 0.1 are dropped; not symmetrised.
 *  from, to, distance_m  borrows; finite distances of the chosen sensors, self distances included   unit: metres
 *  out                   gives; free with graph_csr_free
 *  errors                as graph_csr_from_triplets; DCR_FAIL when they are so nearly equal that no entry is left */
int graph_from_distances(int n, int64_t n_edges, const int *from, const int *to, const double *distance_m,
                         struct graph_csr *out, struct dcr_err *err) DCR_MUST_CHECK;

/** graph_lambda_max - by Lanczos iteration with full re-orthogonalisation.
 *  m        borrows; symmetric (not checked)
 *  out      overwritten; relative error about 1e-14
 *  errors   DCR_FAIL: no memory, or no convergence within 500 steps
 *  source   Golub and Van Loan, Matrix Computations, sections 8.4 (bisection) and 10.1 (Lanczos) */
int graph_lambda_max(const struct graph_csr *m, double *out, struct dcr_err *err) DCR_MUST_CHECK;

#endif
