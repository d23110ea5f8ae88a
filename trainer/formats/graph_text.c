/* graph_text.c - road graphs as comma separated text: lists of pairs and matrices. Called by graph_read.c. */
#include "trainer/formats/graph_pairs.h"

#include "trainer/formats/table.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

struct reader {
    struct table t;
    struct graph_pairs *p;
    enum graph_format format; /* resolved */
};

static int is_list(enum graph_format f)
{
    return f == GRAPH_DISTANCE_LIST || f == GRAPH_WEIGHT_LIST;
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
    r->format = r->p->file->format;
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
        return dcr_err_set(err, DCR_FAIL,
                           "'%s' line %ld: column '%.40s' is neither `metres` nor `weight`; say --graph-format "
                           "distances or weights",
                           t->path, t->line, t->cells[2]);
    return 0;
}

static int check_value(const struct reader *r, size_t column, double v, struct dcr_err *err)
{
    if (v >= 0 || r->format == GRAPH_DISTANCE_MATRIX)
        return 0;
    return dcr_err_set(err, DCR_FAIL, "'%s' line %ld, column %zu: %g is negative, a %s cannot be", r->t.path, r->t.line,
                       column + 1, v, r->p->is_distance ? "distance" : "weight");
}

static int read_pair(struct reader *r, struct dcr_err *err)
{
    int from = 0, to = 0;
    double v = 0;
    char place[600];
    if (r->t.n_cells != 3)
        return dcr_err_set(err, DCR_FAIL, "'%s' line %ld has %zu cells instead of 3 (from,to,%s)", r->t.path, r->t.line,
                           r->t.n_cells, r->p->is_distance ? "metres" : "weight");
    int rc = table_number(&r->t, 2, &v, err);
    if (!rc)
        rc = check_value(r, 2, v, err);
    if (rc)
        return rc;
    snprintf(place, sizeof place, "'%s' line %ld", r->t.path, r->t.line);
    int rc_from = graph_pairs_find(r->p, r->t.cells[0], place, &from, err);
    int rc_to = rc_from < 0 ? rc_from : graph_pairs_find(r->p, r->t.cells[1], place, &to, err);
    if (rc_from < 0 || rc_to < 0)
        return rc_to;
    if (!rc_from && !rc_to)
        return graph_pairs_add(r->p, from, to, v, (size_t)r->t.line, err);
    r->p->n_unknown++;
    return 0;
}

static int read_matrix_row(struct reader *r, size_t row, struct dcr_err *err)
{
    const size_t n = r->p->d->n_sensors;
    if (r->t.n_cells != n || row >= n)
        return dcr_err_set(err, DCR_FAIL,
                           "'%s' line %ld: a matrix of %zu x %zu is needed, one row and column per sensor%s", r->t.path,
                           r->t.line, n, n, row >= n ? "; there are more rows" : "");
    for (size_t j = 0; j < n; j++) {
        double v = 0;
        if (r->format == GRAPH_DISTANCE_MATRIX && !*r->t.cells[j])
            continue;
        int rc = table_number(&r->t, j, &v, err);
        if (!rc)
            rc = check_value(r, j, v, err);
        if (!rc)
            rc = graph_pairs_add_cell(r->p, (int)row, (int)j, v, err);
        if (rc)
            return rc;
    }
    return 0;
}

/* All lines after the first has been looked at. */
static int read_all(struct reader *r, struct dcr_err *err)
{
    const size_t n = r->p->d->n_sensors;
    int is_header = 0;
    size_t n_rows = 0;
    int rc = table_next(&r->t, err);
    if (rc == DCR_END)
        return dcr_err_set(err, DCR_FAIL, "'%s' is empty", r->t.path);
    if (!rc)
        rc = table_commas(&r->t, err);
    if (!rc)
        rc = recognise(r, &is_header, err);
    r->p->is_distance = r->format == GRAPH_DISTANCE_LIST || r->format == GRAPH_DISTANCE_MATRIX;
    if (!rc && is_header)
        rc = table_next(&r->t, err);
    for (; !rc; rc = table_next(&r->t, err)) {
        rc = is_list(r->format) ? read_pair(r, err) : read_matrix_row(r, n_rows, err);
        if (rc)
            return rc;
        n_rows++;
    }
    if (rc != DCR_END || is_list(r->format))
        return rc == DCR_END ? 0 : rc;
    graph_pairs_name_all(r->p);
    return n_rows == n
               ? 0
               : dcr_err_set(err, DCR_FAIL, "'%s' has %zu rows, but there are %zu sensors", r->t.path, n_rows, n);
}

int graph_text(struct graph_pairs *p, struct dcr_err *err)
{
    struct reader r = {.p = p};
    int rc = table_open(&r.t, p->file->path, err);
    if (!rc)
        rc = read_all(&r, err);
    table_close(&r.t);
    return rc;
}
