/* graph_read.c - see graph_read.h. */
#include "trainer/graph_read.h"

#include "trainer/table.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Sensors sorted by id, to look them up by halving. */
struct index {
    const char *id;
    size_t sensor;
};

static int by_id(const void *a, const void *b)
{
    return strcmp(((const struct index *)a)->id, ((const struct index *)b)->id);
}

struct reader {
    struct table t;
    const struct graph_file *file;
    enum graph_format format; /* resolved */
    size_t n;
    struct index *index;
    unsigned char *is_named; /* (n) */
    double *m;               /* (n, n); INFINITY = not given */
    size_t n_unknown;
};

static int is_list(enum graph_format f)
{
    return f == GRAPH_DISTANCE_LIST || f == GRAPH_WEIGHT_LIST;
}

static int is_distance(enum graph_format f)
{
    return f == GRAPH_DISTANCE_LIST || f == GRAPH_DISTANCE_MATRIX;
}

static int is_one_of(const char *text, const char *const *names)
{
    for (; *names; names++)
        if (!strcasecmp(text, *names))
            return 1;
    return 0;
}

/* A column's name, as opposed to a broken number. */
static int is_name(const char *cell)
{
    return isalpha((unsigned char)*cell) && strncasecmp(cell, "nan", 3) && strncasecmp(cell, "inf", 3);
}

/* What the file is, by its first line. *is_header: that line holds no pair. */
static int recognise(struct reader *r, int *is_header, struct dcr_err *err)
{
    static const char *const weight_names[] = {"weight", "w", NULL};
    static const char *const distance_names[] = {"metres", "meters", "distance", "dist", "cost", "m", NULL};
    const struct table *t = &r->t;
    r->format = r->file->format;
    *is_header = (r->format == GRAPH_AUTO || is_list(r->format)) && t->n_cells == 3 && is_name(t->cells[2]);
    if (r->format != GRAPH_AUTO)
        return 0;
    if (t->n_cells != 3)
        return dcr_err_set(err, DCR_FAIL,
                           "'%s' line %ld has %zu cells: not a list of from,to,value; if it is a matrix, say "
                           "--graph-format distance-matrix or weight-matrix",
                           t->path, t->line, t->n_cells);
    if (!*is_header || is_one_of(t->cells[2], distance_names))
        r->format = GRAPH_DISTANCE_LIST;
    else if (is_one_of(t->cells[2], weight_names))
        r->format = GRAPH_WEIGHT_LIST;
    else
        return dcr_err_set(
            err, DCR_FAIL,
            "'%s' line %ld: column '%.40s' is neither `metres` nor `weight`; say --graph-format distances "
            "or weights",
            t->path, t->line, t->cells[2]);
    return 0;
}

/* Index of the sensor in column c; DCR_END when the line is to be passed over. */
static int find_sensor(struct reader *r, size_t c, size_t *out, struct dcr_err *err)
{
    struct index key = {.id = r->t.cells[c]};
    const struct index *hit = bsearch(&key, r->index, r->n, sizeof *r->index, by_id);
    if (hit) {
        *out = hit->sensor;
        r->is_named[hit->sensor] = 1;
        return 0;
    }
    if (r->file->is_subset)
        return DCR_END;
    return dcr_err_set(err, DCR_FAIL,
                       "'%s' line %ld: sensor '%.40s' is not in the data; --graph-subset passes such lines over",
                       r->t.path, r->t.line, key.id);
}

static int check_value(const struct reader *r, size_t column, double v, struct dcr_err *err)
{
    if (v >= 0 || r->format == GRAPH_DISTANCE_MATRIX)
        return 0;
    return dcr_err_set(err, DCR_FAIL, "'%s' line %ld, column %zu: %g is negative, a %s cannot be", r->t.path, r->t.line,
                       column + 1, v, is_distance(r->format) ? "distance" : "weight");
}

static int read_pair(struct reader *r, struct dcr_err *err)
{
    size_t from = 0, to = 0;
    double v;
    if (r->t.n_cells != 3)
        return dcr_err_set(err, DCR_FAIL, "'%s' line %ld has %zu cells instead of 3 (from,to,%s)", r->t.path, r->t.line,
                           r->t.n_cells, is_distance(r->format) ? "metres" : "weight");
    int rc = table_number(&r->t, 2, &v, err);
    if (!rc)
        rc = check_value(r, 2, v, err);
    if (rc)
        return rc;
    int rc_from = find_sensor(r, 0, &from, err);
    int rc_to = rc_from < 0 ? rc_from : find_sensor(r, 1, &to, err);
    if (rc_from < 0 || rc_to < 0)
        return rc_to;
    if (rc_from || rc_to) {
        r->n_unknown++;
        return 0;
    }
    double *cell = &r->m[from * r->n + to];
    if (isfinite(*cell) && *cell != v)
        return dcr_err_set(err, DCR_FAIL, "'%s' line %ld: the pair %.40s,%.40s came before with another value (%g)",
                           r->t.path, r->t.line, r->t.cells[0], r->t.cells[1], *cell);
    *cell = v;
    return 0;
}

static int read_matrix_row(struct reader *r, size_t row, struct dcr_err *err)
{
    if (r->t.n_cells != r->n || row >= r->n)
        return dcr_err_set(err, DCR_FAIL,
                           "'%s' line %ld: a matrix of %zu x %zu is needed, one row and column per sensor%s", r->t.path,
                           r->t.line, r->n, r->n, row >= r->n ? "; there are more rows" : "");
    for (size_t j = 0; j < r->n; j++) {
        double v;
        if (r->format == GRAPH_DISTANCE_MATRIX && !*r->t.cells[j])
            continue;
        int rc = table_number(&r->t, j, &v, err);
        if (!rc)
            rc = check_value(r, j, v, err);
        if (rc)
            return rc;
        if (v >= 0)
            r->m[row * r->n + j] = v;
    }
    r->is_named[row] = 1;
    return 0;
}

/* All lines after the first has been looked at. */
static int read_all(struct reader *r, struct dcr_err *err)
{
    int is_header = 0;
    size_t n_rows = 0;
    int rc = table_next(&r->t, err);
    if (rc == DCR_END)
        return dcr_err_set(err, DCR_FAIL, "'%s' is empty", r->t.path);
    if (!rc)
        rc = recognise(r, &is_header, err);
    if (!rc && is_header)
        rc = table_next(&r->t, err);
    for (; !rc; rc = table_next(&r->t, err)) {
        rc = is_list(r->format) ? read_pair(r, err) : read_matrix_row(r, n_rows, err);
        if (rc)
            return rc;
        n_rows++;
    }
    if (rc == DCR_END && !is_list(r->format) && n_rows != r->n)
        return dcr_err_set(err, DCR_FAIL, "'%s' has %zu rows, but there are %zu sensors", r->t.path, n_rows, r->n);
    return rc == DCR_END ? 0 : rc;
}

/* A file that leaves a sensor out is nearly always the wrong file. */
static int check_whole(const struct reader *r, const struct dataset *d, struct dcr_err *err)
{
    double largest = 0;
    for (size_t i = 0; i < r->n * r->n; i++)
        if (isfinite(r->m[i]) && r->m[i] > largest)
            largest = r->m[i];
    for (size_t i = 0; i < r->n; i++)
        if (!r->is_named[i])
            return dcr_err_set(err, DCR_FAIL, "'%s' never names sensor '%s' of the data", r->t.path, d->id[i]);
    if (is_distance(r->format) && r->n > 1 && largest <= 1)
        return dcr_err_set(err, DCR_FAIL,
                           "'%s': no distance exceeds 1 metre; if these are weights, say --graph-format weights",
                           r->t.path);
    if (largest <= 0)
        return dcr_err_set(err, DCR_FAIL, "'%s' joins no two sensors", r->t.path);
    return 0;
}

static int make_index(struct reader *r, const struct dataset *d, struct dcr_err *err)
{
    r->n = d->n_sensors;
    r->index = calloc(r->n, sizeof *r->index);
    r->is_named = calloc(r->n, 1);
    r->m = calloc(r->n * r->n, sizeof *r->m);
    if (!r->index || !r->is_named || !r->m)
        return dcr_err_set(err, DCR_FATAL, "out of memory for %zu sensors", r->n);
    for (size_t i = 0; i < r->n; i++)
        r->index[i] = (struct index){d->id[i], i};
    qsort(r->index, r->n, sizeof *r->index, by_id);
    for (size_t i = 0; i < r->n * r->n; i++)
        r->m[i] = INFINITY;
    return 0;
}

/* The pairs that were given, as triplets for graph.h. */
static int to_adjacency(const struct reader *r, struct graph_csr *out, struct dcr_err *err)
{
    int64_t n = 0;
    for (size_t i = 0; i < r->n * r->n; i++)
        n += isfinite(r->m[i]) != 0;
    int *from = calloc((size_t)n, sizeof *from), *to = calloc((size_t)n, sizeof *to);
    double *value = calloc((size_t)n, sizeof *value);
    int rc;
    if (!from || !to || !value) {
        rc = dcr_err_set(err, DCR_FATAL, "out of memory for %lld pairs of sensors", (long long)n);
        goto out;
    }
    size_t k = 0;
    for (size_t i = 0; i < r->n * r->n; i++)
        if (isfinite(r->m[i])) {
            from[k] = (int)(i / r->n);
            to[k] = (int)(i % r->n);
            value[k++] = r->m[i];
        }
    rc = is_distance(r->format) ? graph_from_distances((int)r->n, n, from, to, value, out, err)
                                : graph_csr_from_triplets((int)r->n, n, from, to, value, out, err);
    if (rc)
        dcr_err_while(err, "'%s'", r->t.path);
out:
    free(from);
    free(to);
    free(value);
    return rc;
}

int graph_read(const struct graph_file *file, const struct dataset *d, struct graph_csr *adjacency, size_t *n_unknown,
               struct dcr_err *err)
{
    struct reader r = {.file = file};
    int rc = table_open(&r.t, file->path, err);
    if (!rc)
        rc = make_index(&r, d, err);
    if (!rc)
        rc = read_all(&r, err);
    if (!rc)
        rc = check_whole(&r, d, err);
    if (!rc)
        rc = to_adjacency(&r, adjacency, err);
    if (n_unknown)
        *n_unknown = r.n_unknown;
    table_close(&r.t);
    free(r.index);
    free(r.is_named);
    free(r.m);
    return rc;
}
