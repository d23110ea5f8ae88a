/* graph.c - see graph.h: sparse adjacency, the diffusion supports, and the largest eigenvalue of a Laplacian. */
#include "trainer/model/graph.h"

#include "trainer/model/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const filter_names[] = {
#define X(id, text) text,
    GRAPH_FILTERS(X)
#undef X
};

const char *graph_filter_name(enum graph_filter filter)
{
    return filter_names[filter];
}

int graph_filter_parse(const char *text, enum graph_filter *out, struct dcr_err *err)
{
    for (int f = GRAPH_LAPLACIAN; f <= GRAPH_DUAL_RANDOM_WALK; f++)
        if (strcmp(text, filter_names[f]) == 0) {
            *out = (enum graph_filter)f;
            return 0;
        }
    return dcr_err_set(err, DCR_FAIL, "unknown filter '%s'; use laplacian, random_walk or dual_random_walk", text);
}

/* ---- sparse matrices -------------------------------------------------------------------------------------------- */

void graph_csr_free(struct graph_csr *m)
{
    free(m->row_start);
    free(m->col);
    free(m->val);
    memset(m, 0, sizeof *m);
}

static int csr_alloc(struct graph_csr *m, int n, size_t nnz, struct dcr_err *err)
{
    *m = (struct graph_csr){.n = n,
                            .row_start = calloc((size_t)n + 1, sizeof *m->row_start),
                            .col = calloc(nnz + 1, sizeof *m->col),
                            .val = calloc(nnz + 1, sizeof *m->val)};
    if (m->row_start && m->col && m->val)
        return 0;
    graph_csr_free(m);
    return dcr_err_set(err, DCR_FAIL, "out of memory for a graph of %d sensors and %zu edges", n, nnz);
}

struct entry {
    int row, col;
    double val;
};

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    return x->col < y->col ? -1 : x->col > y->col;
}

/* A sum of one such weight for every sensor is still finite. */
#define MAX_WEIGHT 1e300

/* Sorted copy of all edges; duplicates are an error even if one of them has weight zero. */
static int sort_edges(int n, int64_t n_edges, const int *from, const int *to, const double *weight,
                      struct entry *entries, struct dcr_err *err)
{
    for (int64_t e = 0; e < n_edges; e++) {
        if (from[e] < 0 || from[e] >= n || to[e] < 0 || to[e] >= n)
            return dcr_err_set(
                err, DCR_FAIL,
                "edge %lld goes from %d to %d, but there are only %d sensors; check the numbers of the sensors",
                (long long)e + 1, from[e], to[e], n);
        if (!isfinite(weight[e]) || weight[e] < 0)
            return dcr_err_set(err, DCR_FAIL, "edge %lld has weight %g; weights must be finite and not negative",
                               (long long)e + 1, weight[e]);
        if (weight[e] > MAX_WEIGHT)
            return dcr_err_set(err, DCR_FAIL, "edge %lld has weight %g, too large to be added up; scale the weights",
                               (long long)e + 1, weight[e]);
        entries[e] = (struct entry){from[e], to[e], weight[e]};
    }
    if (n_edges > 0)
        qsort(entries, (size_t)n_edges, sizeof *entries, compare_entries);
    for (int64_t e = 1; e < n_edges; e++)
        if (compare_entries(&entries[e - 1], &entries[e]) == 0)
            return dcr_err_set(err, DCR_FAIL, "the edge from %d to %d is given twice; leave one out", entries[e].row,
                               entries[e].col);
    return 0;
}

int graph_csr_from_triplets(int n, int64_t n_edges, const int *from, const int *to, const double *weight,
                            struct graph_csr *out, struct dcr_err *err)
{
    memset(out, 0, sizeof *out);
    if (n < 1)
        return dcr_err_set(err, DCR_FAIL, "a graph needs at least one sensor; give one with sensors");
    if (n_edges < 0 || n_edges > INT32_MAX - 1)
        return dcr_err_set(err, DCR_FAIL, "%lld edges are too many; give a smaller graph", (long long)n_edges);
    struct entry *entries = malloc(((size_t)n_edges + 1) * sizeof *entries);
    if (!entries)
        return dcr_err_set(err, DCR_FAIL, "out of memory for %lld edges", (long long)n_edges);
    int rc = sort_edges(n, n_edges, from, to, weight, entries, err);
    if (rc == 0)
        rc = csr_alloc(out, n, (size_t)n_edges, err);
    int nnz = 0;
    for (int64_t e = 0; rc == 0 && e < n_edges; e++)
        if (entries[e].val != 0) {
            out->row_start[entries[e].row + 1]++;
            out->col[nnz] = entries[e].col;
            out->val[nnz++] = entries[e].val;
        }
    for (int i = 0; rc == 0 && i < n; i++)
        out->row_start[i + 1] += out->row_start[i];
    free(entries);
    return rc;
}

int graph_csr_from_dense(int n, const double *dense, struct graph_csr *out, struct dcr_err *err)
{
    memset(out, 0, sizeof *out);
    if (n < 1)
        return dcr_err_set(err, DCR_FAIL, "a graph needs at least one sensor; give one with sensors");
    size_t nnz = 0, all = (size_t)n * (size_t)n;
    for (size_t i = 0; i < all; i++) {
        if (!isfinite(dense[i]) || dense[i] < 0)
            return dcr_err_set(err, DCR_FAIL,
                               "entry (%zu, %zu) of the adjacency is %g; weights must be finite and not negative",
                               i / (size_t)n, i % (size_t)n, dense[i]);
        nnz += dense[i] != 0;
    }
    if (nnz > INT32_MAX - 1)
        return dcr_err_set(err, DCR_FAIL, "%lld edges are too many; give a smaller graph", (long long)nnz);
    int rc = csr_alloc(out, n, nnz, err), e = 0;
    for (int i = 0; rc == 0 && i < n; i++) {
        for (int j = 0; j < n; j++) {
            double v = dense[(size_t)i * (size_t)n + (size_t)j];
            if (v != 0) {
                out->col[e] = j;
                out->val[e++] = v;
            }
        }
        out->row_start[i + 1] = e;
    }
    return rc;
}

void graph_csr_to_dense(const struct graph_csr *m, double *out)
{
    size_t n = (size_t)m->n;
    memset(out, 0, n * n * sizeof *out);
    for (int i = 0; i < m->n; i++)
        for (int e = m->row_start[i]; e < m->row_start[i + 1]; e++)
            out[(size_t)i * n + (size_t)m->col[e]] = m->val[e];
}

int graph_csr_transpose(const struct graph_csr *m, struct graph_csr *out, struct dcr_err *err)
{
    int nnz = graph_csr_nnz(m);
    int rc = csr_alloc(out, m->n, (size_t)nnz, err);
    if (rc)
        return rc;
    for (int e = 0; e < nnz; e++)
        out->row_start[m->col[e] + 1]++;
    for (int i = 0; i < m->n; i++)
        out->row_start[i + 1] += out->row_start[i];
    /* visiting rows in order fills every column in order; row_start moves along and is shifted back at the end */
    for (int i = 0; i < m->n; i++)
        for (int e = m->row_start[i]; e < m->row_start[i + 1]; e++) {
            int at = out->row_start[m->col[e]]++;
            out->col[at] = i;
            out->val[at] = m->val[e];
        }
    memmove(out->row_start + 1, out->row_start, (size_t)m->n * sizeof *out->row_start);
    out->row_start[0] = 0;
    return 0;
}

/* ---- largest eigenvalue ------------------------------------------------------------------------------------------ */

#define MAX_LANCZOS_STEPS 500

static void multiply(const struct graph_csr *m, const double *x, double *y)
{
    for (int i = 0; i < m->n; i++) {
        y[i] = 0;
        for (int e = m->row_start[i]; e < m->row_start[i + 1]; e++)
            y[i] += m->val[e] * x[m->col[e]];
    }
}

static double dot(int n, const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Number of eigenvalues above x of the tridiagonal matrix: signs of its Sturm sequence. */
static int count_above(int n, const double *diagonal, const double *beside, double x)
{
    int above = 0;
    double d = 1;
    for (int i = 0; i < n; i++) {
        double b = i > 0 ? beside[i - 1] : 0;
        d = diagonal[i] - x - b * b / d;
        if (d == 0)
            d = 1e-300;
        above += d > 0;
    }
    return above;
}

static double tridiagonal_max(int n, const double *diagonal, const double *beside)
{
    double low = diagonal[0], high = diagonal[0];
    for (int i = 0; i < n; i++) { /* Gershgorin */
        double radius = (i > 0 ? fabs(beside[i - 1]) : 0) + (i + 1 < n ? fabs(beside[i]) : 0);
        low = fmin(low, diagonal[i] - radius);
        high = fmax(high, diagonal[i] + radius);
    }
    for (int k = 0; k < 200; k++) {
        double middle = low + (high - low) / 2;
        if (middle <= low || middle >= high)
            break;
        if (count_above(n, diagonal, beside, middle) > 0)
            low = middle;
        else
            high = middle;
    }
    return high;
}

int graph_lambda_max(const struct graph_csr *m, double *out, struct dcr_err *err)
{
    int n = m->n, limit = n < MAX_LANCZOS_STEPS ? n : MAX_LANCZOS_STEPS, is_done = 0, rc = 0;
    double diagonal[MAX_LANCZOS_STEPS], beside[MAX_LANCZOS_STEPS], last = 0;
    double *basis = malloc((size_t)(limit + 1) * (size_t)n * sizeof *basis);
    if (!basis)
        return dcr_err_set(err, DCR_FAIL, "out of memory for the eigenvalue of a graph of %d sensors", n);
    for (int i = 0; i < n; i++)
        basis[i] = rng_normal(1, RNG_TEST, (uint64_t)i); /* any direction with a part in every eigenvector */
    double norm = sqrt(dot(n, basis, basis));
    for (int i = 0; i < n; i++)
        basis[i] /= norm;
    for (int k = 0; k < limit && !is_done; k++) {
        const double *q = basis + (ptrdiff_t)k * n;
        double *next = basis + (ptrdiff_t)(k + 1) * n;
        multiply(m, q, next);
        diagonal[k] = dot(n, q, next);
        for (int pass = 0; pass < 2; pass++) /* a single pass leaves its rounding errors */
            for (int j = 0; j <= k; j++) {
                const double *b = basis + (ptrdiff_t)j * n;
                double along = dot(n, b, next);
                for (int i = 0; i < n; i++)
                    next[i] -= along * b[i];
            }
        beside[k] = sqrt(dot(n, next, next));
        double now = tridiagonal_max(k + 1, diagonal, beside);
        /* The space is exhausted, or the value has stopped changing; its error is quadratic in the residual. */
        is_done = k + 1 == n || beside[k] < 1e-14 || (k > 20 && k % 10 == 0 && fabs(now - last) <= 1e-15 * fabs(now));
        if (k % 10 == 0)
            last = now;
        *out = now;
        for (int i = 0; i < n && !is_done; i++)
            next[i] /= beside[k];
    }
    if (!is_done)
        rc = dcr_err_set(err, DCR_FAIL,
                         "the largest eigenvalue of the graph's laplacian did not converge in %d steps; check its "
                         "weights, or use random_walk",
                         MAX_LANCZOS_STEPS);
    free(basis);
    return rc;
}

/* ---- supports --------------------------------------------------------------------------------------------------- */

/* P(A)^T: divide every row of A by its sum, then transpose. Stored rows are not empty and weights are positive, but a
 * sum may still underflow to 0 for denormal weights: then the row stays zero. */
static int random_walk(const struct graph_csr *adjacency, struct graph_csr *out, struct dcr_err *err)
{
    int rc = graph_csr_transpose(adjacency, out, err);
    double *sum = rc == 0 ? calloc((size_t)adjacency->n, sizeof *sum) : NULL;
    if (rc == 0 && !sum)
        rc = dcr_err_set(err, DCR_FAIL, "out of memory for a graph of %d sensors", adjacency->n);
    if (rc == 0) {
        for (int i = 0; i < adjacency->n; i++)
            for (int e = adjacency->row_start[i]; e < adjacency->row_start[i + 1]; e++)
                sum[i] += adjacency->val[e];
        for (int e = 0; e < graph_csr_nnz(out); e++)
            out->val[e] = sum[out->col[e]] > 0 ? out->val[e] / sum[out->col[e]] : 0;
    }
    free(sum);
    if (rc)
        graph_csr_free(out);
    return rc;
}

static double entry_at(const struct graph_csr *m, int row, int col)
{
    for (int e = m->row_start[row]; e < m->row_start[row + 1]; e++)
        if (m->col[e] == col)
            return m->val[e];
    return 0;
}

/* The entries of max(A, A^T), each once, and the identity's diagonal where A has none (weight 0). */
static size_t symmetric_entries(const struct graph_csr *a, const struct graph_csr *at, struct entry *entries)
{
    size_t n = 0;
    for (int i = 0; i < a->n; i++) {
        int has_diagonal = 0;
        for (int e = a->row_start[i]; e < a->row_start[i + 1]; e++) {
            int j = a->col[e];
            has_diagonal |= i == j;
            entries[n++] = (struct entry){i, j, fmax(a->val[e], entry_at(at, i, j))};
        }
        for (int e = at->row_start[i]; e < at->row_start[i + 1]; e++)
            if (entry_at(a, i, at->col[e]) == 0)
                entries[n++] = (struct entry){i, at->col[e], at->val[e]};
        if (!has_diagonal)
            entries[n++] = (struct entry){i, i, 0};
    }
    qsort(entries, n, sizeof *entries, compare_entries);
    return n;
}

/* L = I - D^-1/2 W D^-1/2 with W = max(A, A^T); D^-1/2 is 0 where the degree is 0. */
static int normalised_laplacian(const struct graph_csr *a, struct graph_csr *out, struct dcr_err *err)
{
    struct graph_csr at = {0};
    struct entry *entries = NULL;
    double *root = NULL;
    size_t n = 0, room = 2 * (size_t)graph_csr_nnz(a) + (size_t)a->n;
    int rc = graph_csr_transpose(a, &at, err);
    if (rc == 0)
        rc = csr_alloc(out, a->n, room, err);
    if (rc)
        goto out;
    entries = malloc(room * sizeof *entries);
    root = calloc((size_t)a->n, sizeof *root);
    if (!entries || !root) {
        rc = dcr_err_set(err, DCR_FAIL, "out of memory for a graph of %d sensors", a->n);
        goto out;
    }
    n = symmetric_entries(a, &at, entries);
    for (size_t e = 0; e < n; e++)
        root[entries[e].row] += entries[e].val;
    for (int i = 0; i < a->n; i++)
        root[i] = root[i] > 0 ? 1 / sqrt(root[i]) : 0;
    for (size_t e = 0; e < n; e++) {
        const struct entry *x = &entries[e];
        out->col[e] = x->col;
        out->val[e] = (x->row == x->col) - root[x->row] * x->val * root[x->col];
        out->row_start[x->row + 1] = (int)e + 1;
    }
out:
    free(root);
    free(entries);
    graph_csr_free(&at);
    if (rc)
        graph_csr_free(out);
    return rc;
}

/* (2 / lambda_max) L - I. L has every diagonal entry stored. */
static int scaled_laplacian(const struct graph_csr *adjacency, struct graph_csr *out, struct dcr_err *err)
{
    double lambda = 0;
    if (graph_csr_nnz(adjacency) == 0)
        return dcr_err_set(err, DCR_FAIL,
                           "the graph has no edges, so its laplacian filter is not defined; give a graph with edges, "
                           "or use random_walk");
    int rc = normalised_laplacian(adjacency, out, err);
    if (rc == 0)
        rc = graph_lambda_max(out, &lambda, err);
    if (rc == 0 && !(lambda > 1e-12)) /* rounding leaves a little of terms that cancel */
        rc = dcr_err_set(err, DCR_FAIL,
                         "the graph has only self loops, so its laplacian filter is not defined; use random_walk");
    if (rc) {
        graph_csr_free(out);
        return rc;
    }
    for (int i = 0; i < out->n; i++)
        for (int e = out->row_start[i]; e < out->row_start[i + 1]; e++)
            out->val[e] = 2 / lambda * out->val[e] - (out->col[e] == i);
    return 0;
}

int graph_supports_build(const struct graph_csr *adjacency, enum graph_filter filter, struct graph_supports *out,
                         struct dcr_err *err)
{
    struct graph_csr transposed = {0};
    int rc = 0;
    *out = (struct graph_supports){.filter = filter, .n_sensors = adjacency->n};
    if (filter == GRAPH_LAPLACIAN)
        rc = scaled_laplacian(adjacency, &out->support[0], err);
    else
        rc = random_walk(adjacency, &out->support[0], err);
    out->n = 1;
    if (rc == 0 && filter == GRAPH_DUAL_RANDOM_WALK) {
        rc = graph_csr_transpose(adjacency, &transposed, err);
        if (rc == 0)
            rc = random_walk(&transposed, &out->support[1], err);
        out->n = 2;
    }
    graph_csr_free(&transposed);
    if (rc)
        graph_supports_free(out);
    return rc;
}

void graph_supports_free(struct graph_supports *s)
{
    for (int i = 0; i < GRAPH_MAX_SUPPORTS; i++)
        graph_csr_free(&s->support[i]);
    s->n = 0;
}

/* ---- weights from distances ------------------------------------------------------------------------------------- */

#define SMALLEST_WEIGHT 0.1 /* of the authors' gen_adj_mx.py */

int graph_from_distances(int n, int64_t n_edges, const int *from, const int *to, const double *distance_m,
                         struct graph_csr *out, struct dcr_err *err)
{
    memset(out, 0, sizeof *out);
    double sum = 0, square = 0;
    for (int64_t e = 0; e < n_edges; e++) {
        if (!isfinite(distance_m[e]) || distance_m[e] < 0)
            return dcr_err_set(err, DCR_FAIL, "distance %lld is %g metres; it must be finite and not negative",
                               (long long)e + 1, distance_m[e]);
        sum += distance_m[e];
    }
    double mean = n_edges > 0 ? sum / (double)n_edges : 0;
    for (int64_t e = 0; e < n_edges; e++)
        square += (distance_m[e] - mean) * (distance_m[e] - mean);
    double deviation = n_edges > 0 ? sqrt(square / (double)n_edges) : 0;
    double *weight = malloc(((size_t)n_edges + 1) * sizeof *weight);
    if (!weight)
        return dcr_err_set(err, DCR_FAIL, "out of memory for %lld edges", (long long)n_edges);
    int64_t n_kept = 0;
    for (int64_t e = 0; e < n_edges; e++) {
        double d = deviation > 0 ? distance_m[e] / deviation : INFINITY, w = exp(-d * d);
        weight[e] = w < SMALLEST_WEIGHT ? 0 : w;
        n_kept += weight[e] > 0;
    }
    int rc =
        n_kept
            ? graph_csr_from_triplets(n, n_edges, from, to, weight, out, err)
            : dcr_err_set(err, DCR_FAIL,
                          "all %lld distances are nearly equal, so no weights follow from them; give weights instead",
                          (long long)n_edges);
    free(weight);
    return rc;
}
