/* graph_numpy.c - road graphs as NumPy arrays: a dense matrix in an .npy or .npz file, or a sparse matrix as
 * scipy.sparse.save_npz writes it (csr, csc, coo). Rows and columns are the sensors in the order of the data; row =
 * from. Called by graph_read.c. */
#include "trainer/formats/graph_pairs.h"

#include "trainer/formats/npz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the numbers of a matrix are, nobody can tell from them. */
static int choose_meaning(struct graph_pairs *p, int is_weight_if_unsaid, struct dcr_err *err)
{
    const enum graph_format format = p->file->format;
    p->is_distance = format == GRAPH_DISTANCE_MATRIX;
    if (p->is_distance || format == GRAPH_WEIGHT_MATRIX || (format == GRAPH_AUTO && is_weight_if_unsaid))
        return 0;
    return dcr_err_set(err, DCR_FAIL, "'%s' holds a matrix: say --graph-format distance-matrix or weight-matrix",
                       p->file->path);
}

static int add_dense(struct graph_pairs *p, const struct npy *a, struct dcr_err *err)
{
    const size_t n = p->d->n_sensors;
    if (a->n_dims != 2 || a->dim[0] != n || a->dim[1] != n)
        return dcr_err_set(err, DCR_FAIL, "'%s': a matrix of %zu x %zu is needed, one row and column per sensor",
                           p->file->path, n, n);
    int rc = 0;
    for (size_t i = 0; !rc && i < n * n; i++)
        rc = graph_pairs_add_cell(p, (int)(i / n), (int)(i % n), a->values[i], err);
    graph_pairs_name_all(p);
    return rc;
}

int graph_npy(struct graph_pairs *p, struct dcr_err *err)
{
    struct npy a = {0};
    int rc = choose_meaning(p, 0, err);
    if (!rc)
        rc = npy_read(p->file->path, &a, err);
    if (!rc)
        rc = add_dense(p, &a, err);
    npy_free(&a);
    return rc;
}

/* ---- sparse ------------------------------------------------------------------------------------------------------ */

struct sparse {
    struct npy data, index, pointer, row, col, shape;
    int is_csc;
};

/* A whole number below limit, or -1. */
static long long whole(double v, size_t limit)
{
    return v >= 0 && v < (double)limit && v == (double)(long long)v ? (long long)v : -1;
}

static int disordered(const struct graph_pairs *p, struct dcr_err *err)
{
    return dcr_err_set(err, DCR_FAIL, "'%s': the parts of its sparse matrix do not fit together", p->file->path);
}

/* csr: the entries of row i are pointer[i] .. pointer[i + 1] - 1; csc: of column i. */
static int add_compressed(struct graph_pairs *p, const struct sparse *s, struct dcr_err *err)
{
    const size_t n = p->d->n_sensors;
    if (s->pointer.n != n + 1 || s->index.n != s->data.n)
        return disordered(p, err);
    long long at = whole(s->pointer.values[0], 1);
    for (size_t i = 0; i < n; i++) {
        long long end = whole(s->pointer.values[i + 1], s->data.n + 1);
        if (at < 0 || end < at)
            return disordered(p, err);
        for (; at < end; at++) {
            long long j = whole(s->index.values[at], n);
            int from = s->is_csc ? (int)j : (int)i, to = s->is_csc ? (int)i : (int)j;
            int rc = j < 0 ? disordered(p, err) : graph_pairs_add_cell(p, from, to, s->data.values[at], err);
            if (rc)
                return rc;
        }
    }
    return (size_t)at == s->data.n ? 0 : disordered(p, err);
}

static int add_coordinates(struct graph_pairs *p, const struct sparse *s, struct dcr_err *err)
{
    int rc = s->row.n == s->data.n && s->col.n == s->data.n ? 0 : disordered(p, err);
    for (size_t k = 0; !rc && k < s->data.n; k++) {
        long long i = whole(s->row.values[k], p->d->n_sensors), j = whole(s->col.values[k], p->d->n_sensors);
        rc = i < 0 || j < 0 ? disordered(p, err) : graph_pairs_add_cell(p, (int)i, (int)j, s->data.values[k], err);
    }
    return rc;
}

/* The text in the array called format: csr, csc, coo. */
static int read_format(const char *path, char format[4], struct dcr_err *err)
{
    struct npz z = {0};
    struct npy_head h;
    int rc = npz_find(&z, path, "format", err);
    if (!rc)
        rc = npy_read_head(&z.bytes, &h, err);
    if (!rc && dcr_stream_read_full(&z.bytes, format, 3, err) != 3)
        rc = dcr_err_set(err, DCR_FAIL, "'%s' does not say how its sparse matrix is stored", path);
    npz_close(&z);
    return rc;
}

static int read_parts(struct sparse *s, const char *path, int is_coo, struct dcr_err *err)
{
    int rc = npz_read(path, "data", &s->data, err);
    if (!rc)
        rc = npz_read(path, "shape", &s->shape, err);
    if (!rc)
        rc = is_coo ? npz_read(path, "row", &s->row, err) : npz_read(path, "indices", &s->index, err);
    if (!rc)
        rc = is_coo ? npz_read(path, "col", &s->col, err) : npz_read(path, "indptr", &s->pointer, err);
    return rc;
}

static int add_sparse(struct graph_pairs *p, struct dcr_err *err)
{
    const char *path = p->file->path;
    const double n = (double)p->d->n_sensors;
    struct sparse s = {0};
    char format[4] = "";
    int rc = choose_meaning(p, 1, err), is_coo;
    if (!rc)
        rc = read_format(path, format, err);
    if (!rc && strcmp(format, "csr") != 0 && strcmp(format, "csc") != 0 && strcmp(format, "coo") != 0)
        rc = dcr_err_set(err, DCR_FAIL, "'%s': sparse format '%s' is not csr, csc or coo; convert it: m.tocsr()", path,
                         format);
    is_coo = !strcmp(format, "coo");
    s.is_csc = !strcmp(format, "csc");
    if (!rc)
        rc = read_parts(&s, path, is_coo, err);
    if (!rc && (s.shape.n != 2 || s.shape.values[0] != n || s.shape.values[1] != n))
        rc = dcr_err_set(err, DCR_FAIL, "'%s': a matrix of %.0f x %.0f is needed, one row and column per sensor", path,
                         n, n);
    if (!rc)
        rc = is_coo ? add_coordinates(p, &s, err) : add_compressed(p, &s, err);
    graph_pairs_name_all(p);
    struct npy *const parts[] = {&s.data, &s.index, &s.pointer, &s.row, &s.col, &s.shape};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        npy_free(parts[i]);
    return rc;
}

/* The only matrix of the file. */
static int add_only(struct graph_pairs *p, const struct npz_entry *list, int n, struct dcr_err *err)
{
    struct npy a = {0};
    const char *name = NULL;
    char names[300];
    int n_matrices = 0;
    for (int i = 0; i < n; i++)
        if (list[i].head.n_dims == 2) {
            name = list[i].name;
            n_matrices++;
        }
    npz_names(list, n, names, sizeof names);
    int rc = n_matrices == 1
                 ? choose_meaning(p, 0, err)
                 : dcr_err_set(err, DCR_FAIL, "'%s' should hold one matrix; it has %s", p->file->path, names);
    if (!rc)
        rc = npz_read(p->file->path, name, &a, err);
    if (!rc)
        rc = add_dense(p, &a, err);
    npy_free(&a);
    return rc;
}

int graph_npz(struct graph_pairs *p, struct dcr_err *err)
{
    struct npz_entry *list = calloc(NPZ_MAX_ARRAYS, sizeof *list);
    int n = 0;
    int rc = list ? npz_list(p->file->path, list, &n, err)
                  : dcr_err_set(err, DCR_FATAL, "out of memory reading '%s'", p->file->path);
    if (!rc)
        rc = npz_entry_of(list, n, "format") ? add_sparse(p, err) : add_only(p, list, n, err);
    free(list);
    return rc;
}
