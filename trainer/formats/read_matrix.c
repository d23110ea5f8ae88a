/* read_matrix.c - road graphs as matrices. They are a dense one in an .npy or .npz file, a sparse one as
 * scipy.sparse.save_npz writes it (csr, csc, coo), and the one in the pickle adj_mx.pkl of DCRNN. Row = from. In
 * NumPy's files rows and columns are the sensors in the order of the data; the pickle names them. Called by
 * formats.c. */
#include "trainer/formats/readers.h"

#include "lib/base/buf.h"
#include "lib/base/fs.h"
#include "trainer/formats/numpy.h"
#include "trainer/formats/pickle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_PICKLE_BYTES ((size_t)1 << 30)

/* The numbers do not show whether they are distances or weights. */
static int choose_meaning(struct graph_pairs *p, int is_weight_if_unsaid, struct dcr_err *err)
{
    const enum graph_format format = p->file->format;
    p->is_distance = format == GRAPH_DISTANCE_MATRIX;
    if (p->is_distance || format == GRAPH_WEIGHT_MATRIX || (format == GRAPH_AUTO && is_weight_if_unsaid))
        return 0;
    return dcr_err_set(err, DCR_FAIL, "'%s' holds a matrix; say --graph-format distance-matrix or weight-matrix",
                       p->file->path);
}

static int check_size(const struct graph_pairs *p, double rows, double columns, struct dcr_err *err)
{
    const size_t n = p->d->n_sensors;
    if (rows == (double)n && columns == (double)n)
        return 0;
    return dcr_err_set(err, DCR_FAIL,
                       "'%s': a matrix of %zu x %zu is needed, one row and column per sensor; give the matrix of the "
                       "sensors of the data",
                       p->file->path, n, n);
}

/* ---- dense ------------------------------------------------------------------------------------------------------- */

/* The size is checked before a value is read, because a small deflated file may hold a large array. */
static int read_dense(struct graph_pairs *p, const char *array, struct dcr_err *err)
{
    struct npy_file f = {0};
    struct npy a = {0};
    const size_t n = p->d->n_sensors;
    int rc = choose_meaning(p, 0, err);
    if (!rc)
        rc = npy_open(&f, p->file->path, array, err);
    if (!rc)
        rc = check_size(p, f.head.n_dims == 2 ? (double)f.head.dim[0] : 0, (double)f.head.dim[1], err);
    if (!rc)
        rc = npy_rest(&f, &a, err);
    for (size_t i = 0; !rc && i < n * n; i++)
        rc = graph_pairs_add_cell(p, (int)(i / n), (int)(i % n), a.values[i], err);
    graph_pairs_name_all(p);
    npy_free(&a);
    npy_close(&f);
    return rc;
}

int graph_npy(struct graph_pairs *p, struct dcr_err *err)
{
    return read_dense(p, NULL, err);
}

/* ---- sparse ------------------------------------------------------------------------------------------------------ */

/* coo: row and column of each value. csr: column of each value, and the values of row i are first[i] .. first[i + 1] -
 * 1; csc: the same with row and column exchanged. */
struct sparse {
    struct npy shape, data, row, column, first;
};

/* A whole number below limit, or -1. */
static long long whole(double v, size_t limit)
{
    return v >= 0 && v < (double)limit && v == (double)(long long)v ? (long long)v : -1;
}

static int disordered(const struct graph_pairs *p, struct dcr_err *err)
{
    return dcr_err_set(err, DCR_FAIL, "'%s': the parts of its sparse matrix do not fit together; save it again",
                       p->file->path);
}

/* An array of least to most values, refused before any is read. */
static int read_part(const struct graph_pairs *p, const char *name, size_t least, size_t most, struct npy *out,
                     struct dcr_err *err)
{
    struct npy_file f = {0};
    int rc = npy_open(&f, p->file->path, name, err);
    if (!rc && (f.head.n < least || f.head.n > most))
        rc = disordered(p, err);
    if (!rc)
        rc = npy_rest(&f, out, err);
    npy_close(&f);
    return rc;
}

/* Writes out rows (csr) or columns (csc) for each value, as in coo. */
static int spread(const struct graph_pairs *p, const struct npy *first, size_t n_values, struct npy *out,
                  struct dcr_err *err)
{
    *out = (struct npy){.n = n_values, .values = calloc(n_values + 1, sizeof *out->values)};
    if (!out->values)
        return dcr_err_set(err, DCR_FATAL, "out of memory for %zu values of '%s'", n_values, p->file->path);
    long long at = whole(first->values[0], 1);
    for (size_t i = 0; at >= 0 && i < p->d->n_sensors; i++) {
        const long long end = whole(first->values[i + 1], n_values + 1);
        while (at < end)
            out->values[at++] = (double)i;
        if (end < at)
            at = -1;
    }
    return at == (long long)n_values ? 0 : disordered(p, err);
}

/* The text in the array called format: csr, csc, coo. */
static int read_format(const char *path, char format[4], struct dcr_err *err)
{
    struct npy_file a = {0};
    int rc = npy_open(&a, path, "format", err);
    if (!rc && dcr_stream_read_full(&a.bytes, format, 3, err) != 3)
        rc = dcr_err_set(err, DCR_FAIL,
                         "'%s' does not say how its sparse matrix is stored; save it by scipy.sparse.save_npz", path);
    npy_close(&a);
    if (!rc && strcmp(format, "csr") != 0 && strcmp(format, "csc") != 0 && strcmp(format, "coo") != 0)
        rc = dcr_err_set(err, DCR_FAIL, "'%s': sparse format '%s' is not csr, csc or coo; convert it by `m.tocsr()`",
                         path, format);
    return rc;
}

static int read_sparse(struct graph_pairs *p, struct sparse *s, struct dcr_err *err)
{
    const size_t n = p->d->n_sensors;
    char format[4] = "";
    int rc = choose_meaning(p, 1, err);
    if (!rc)
        rc = read_format(p->file->path, format, err);
    const int is_coo = !strcmp(format, "coo"), is_csc = !strcmp(format, "csc");
    if (!rc)
        rc = read_part(p, "shape", 0, NPY_MAX_DIMS, &s->shape, err);
    if (!rc)
        rc = check_size(p, s->shape.n == 2 ? s->shape.values[0] : 0, s->shape.n == 2 ? s->shape.values[1] : 0, err);
    if (!rc)
        rc = read_part(p, "data", 0, n * n, &s->data, err);
    const size_t n_values = s->data.n;
    if (!rc)
        rc = read_part(p, is_coo ? "row" : "indices", n_values, n_values, is_csc || is_coo ? &s->row : &s->column, err);
    if (!rc && is_coo)
        rc = read_part(p, "col", n_values, n_values, &s->column, err);
    else if (!rc && !(rc = read_part(p, "indptr", n + 1, n + 1, &s->first, err)))
        rc = spread(p, &s->first, n_values, is_csc ? &s->column : &s->row, err);
    for (size_t k = 0; !rc && k < n_values; k++) {
        const long long i = whole(s->row.values[k], n), j = whole(s->column.values[k], n);
        rc = i >= 0 && j >= 0 ? graph_pairs_add_cell(p, (int)i, (int)j, s->data.values[k], err) : disordered(p, err);
    }
    graph_pairs_name_all(p);
    return rc;
}

/* ---- npz --------------------------------------------------------------------------------------------------------- */

/* The only matrix of the file. */
static int read_only_one(struct graph_pairs *p, const struct npy_head *list, int n, struct dcr_err *err)
{
    const char *name = NULL;
    char names[300];
    int n_matrices = 0;
    for (int i = 0; i < n; i++)
        if (list[i].n_dims == 2) {
            name = list[i].array;
            n_matrices++;
        }
    npz_names(list, n, names, sizeof names);
    return n_matrices == 1 ? read_dense(p, name, err)
                           : dcr_err_set(err, DCR_FAIL, "'%s' should hold one matrix; it has %s", p->file->path, names);
}

int graph_npz(struct graph_pairs *p, struct dcr_err *err)
{
    struct npy_head *list = NULL;
    struct sparse s = {0};
    int n = 0, rc = npz_list(p->file->path, &list, &n, err);
    if (!rc)
        rc = npz_array(list, n, "format") ? read_sparse(p, &s, err) : read_only_one(p, list, n, err);
    struct npy *const parts[] = {&s.shape, &s.data, &s.row, &s.column, &s.first};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        npy_free(parts[i]);
    free(list);
    return rc;
}

/* ---- pickle ------------------------------------------------------------------------------------------------------ */

/* An id is a text or a number. */
static int id_of(const struct pickle_value *v, char *out, size_t n)
{
    if (v->type == PICKLE_INT)
        snprintf(out, n, "%lld", v->integer);
    else if (v->type == PICKLE_TEXT && v->n < n && !memchr(v->bytes, 0, v->n))
        snprintf(out, n, "%.*s", (int)v->n, v->bytes);
    else
        return -1;
    return 0;
}

/* The position of each row of the matrix among the sensors of the data; -1: not there. */
static int find_sensors(struct graph_pairs *p, const struct pickle_value *ids, int *sensor, struct dcr_err *err)
{
    char id[DATASET_ID_BYTES], place[600];
    unsigned char *is_taken = calloc(p->d->n_sensors, 1);
    int rc = is_taken ? 0 : dcr_err_set(err, DCR_FATAL, "out of memory for %zu sensors", p->d->n_sensors);
    for (size_t i = 0; !rc && i < ids->n; i++) {
        snprintf(place, sizeof place, "'%.500s' sensor %zu", p->file->path, i + 1);
        if (id_of(ids->items[i], id, sizeof id))
            rc = dcr_err_set(err, DCR_FAIL, "%s has an id that is no text of up to %d characters; shorten it", place,
                             DATASET_ID_BYTES - 1);
        else if ((rc = graph_pairs_find(p, id, place, &sensor[i], err)) == DCR_END) {
            p->n_unknown++;
            rc = 0;
        } else if (!rc && is_taken[sensor[i]]++) {
            rc = dcr_err_set(err, DCR_FAIL, "%s: sensor id '%s' occurs twice; give each sensor its own", place, id);
        }
    }
    free(is_taken);
    return rc;
}

static int add_matrix(struct graph_pairs *p, const struct pickle_value *ids, const struct pickle_value *matrix,
                      struct dcr_err *err)
{
    const size_t n = ids->n;
    const struct npy_type *type = &matrix->dtype->type_of_items;
    const unsigned char *raw = (const unsigned char *)matrix->data->bytes;
    int *sensor = calloc(n, sizeof *sensor);
    int rc = sensor ? find_sensors(p, ids, sensor, err) : dcr_err_set(err, DCR_FATAL, "out of memory");
    for (size_t k = 0; !rc && k < n * n; k++) {
        size_t i = matrix->is_fortran ? k % n : k / n, j = matrix->is_fortran ? k / n : k % n;
        if (sensor[i] >= 0 && sensor[j] >= 0)
            rc = graph_pairs_add_cell(p, sensor[i], sensor[j], npy_number(type, raw + k * type->item_bytes), err);
    }
    free(sensor);
    return rc;
}

/* [ids, index, matrix] */
static int add_published(struct graph_pairs *p, const struct pickle_value *all, struct dcr_err *err)
{
    const struct pickle_value *ids, *matrix;
    const char *wrong = NULL;
    if ((all->type != PICKLE_LIST && all->type != PICKLE_TUPLE) || all->n != 3)
        wrong = "three parts";
    else if (ids = all->items[0], (ids->type != PICKLE_LIST && ids->type != PICKLE_TUPLE) || !ids->n)
        wrong = "sensor ids in the first place";
    else if (matrix = all->items[2], matrix->type != PICKLE_ARRAY || !matrix->dtype)
        wrong = "a matrix in the third place";
    else if (matrix->shape->n != 2 || matrix->shape->items[0]->integer != (long long)ids->n ||
             matrix->shape->items[1]->integer != (long long)ids->n)
        wrong = "a row and a column for each sensor id";
    else
        return add_matrix(p, ids, matrix, err);
    return dcr_err_set(err, DCR_FAIL,
                       "'%s' is a pickle, but not of [sensor ids, index, matrix]: it lacks %s; write its matrix with "
                       "numpy.save and give that (docs/data.md)",
                       p->file->path, wrong);
}

int graph_pickle(struct graph_pairs *p, struct dcr_err *err)
{
    const char *path = p->file->path;
    struct dcr_buf bytes = {.max = MAX_PICKLE_BYTES};
    struct dcr_arena arena = {0};
    struct pickle_value *all = NULL;
    int fd;
    if (p->file->format != GRAPH_AUTO && p->file->format != GRAPH_WEIGHT_MATRIX)
        return dcr_err_set(err, DCR_FAIL, "'%s' is a pickle of weights; leave --graph-format out", path);
    int rc = dcr_open_file("graph", path, &fd, err);
    if (rc)
        return rc;
    struct dcr_stream s = dcr_stream_fd(&fd, path);
    rc = dcr_stream_slurp(&s, &bytes, MAX_PICKLE_BYTES, err);
    close(fd);
    if (!rc && pickle_read(bytes.data, bytes.len, path, &arena, &all, err))
        /* Python runs code in the file, so this is only advice for files from a trusted source */
        rc = dcr_err_advise(err,
                            "if you trust its origin: `python3 -c \"import pickle, numpy; numpy.save('adj.npy', "
                            "pickle.load(open('%.99s', 'rb'), encoding='latin1')[2])\"`, then --graph adj.npy "
                            "--graph-format weight-matrix",
                            dcr_last_part(path));
    if (!rc)
        rc = add_published(p, all, err);
    dcr_arena_release(&arena);
    dcr_buf_release(&bytes);
    return rc;
}
