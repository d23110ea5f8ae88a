/* read_text.c - comma separated text: speeds; road graphs as lists of pairs and as matrices. Called by formats.c, whose
 * header describes the speeds' format. */
#include "trainer/formats/readers.h"

#include "trainer/formats/table.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static int is_one_of(const char *text, const char *const *names)
{
    for (; *names; names++)
        if (!strcasecmp(text, *names))
            return 1;
    return 0;
}

/* Opens the file and goes to its first line. */
static int begin_table(struct table *t, const char *path, struct dcr_err *err)
{
    int rc = table_open(t, path, err);
    if (!rc)
        rc = table_next(t, err);
    return rc ? rc : table_commas(t, err);
}

/* ---- speeds ------------------------------------------------------------------------------------------------------ */

static int is_time_name(const char *cell)
{
    static const char *const names[] = {"", "timestamp", "time", "date", "datetime", NULL};
    return is_one_of(cell, names);
}

/* The rule of DATASET_HEADER_AUTO for the current (first) line. */
static int looks_like_header(const struct table *t)
{
    long long seconds;
    size_t skip = (size_t)is_time_name(t->cells[0]), n_readings = 0, n_counting = 0;
    if (dataset_parse_time(t->cells[0], &seconds))
        return 0;
    double v, first = 0;
    for (size_t i = skip; i < t->n_cells; i++) {
        if (!table_is_number(t, i, &v))
            continue;
        if (i == skip)
            first = v;
        n_readings += v <= DATASET_MAX_MPH || v != floor(v);
        n_counting += v == first + (double)(i - skip) && (first == 0 || first == 1);
    }
    return !n_readings || (n_counting == t->n_cells - skip && n_counting > 1);
}

int dataset_csv_names(struct dataset_fill *f, const char *path, struct dcr_err *err)
{
    const size_t n_sensors = f->d->n_sensors;
    struct table t = {0};
    char **names = calloc(n_sensors, sizeof *names);
    size_t n = 0;
    int rc = names ? table_open(&t, path, err) : dcr_err_set(err, DCR_FATAL, "out of memory");
    while (!rc && !(rc = table_next(&t, err)))
        for (size_t i = 0; i < t.n_cells; i++, n++)
            if (n < n_sensors)
                names[n] = t.cells[i];
    if (rc == DCR_END)
        rc =
            n == n_sensors
                ? fill_names(f, names, path, 0, err)
                : dcr_err_set(err, DCR_FAIL,
                              "the number of ids in '%s' is %zu, but the data have %zu columns; give one id per column",
                              path, n, n_sensors);
    table_close(&t);
    free(names);
    return rc;
}

/* mph: room for one row */
static int read_row(struct dataset_fill *f, const struct table *t, double *mph, struct dcr_err *err)
{
    const size_t line = (size_t)t->line;
    long long s = 0;
    if (t->n_cells != f->d->n_sensors + f->n_before)
        return dcr_err_set(err, DCR_FAIL,
                           "'%s' line %zu has %zu cell%s instead of %zu; give each line one cell per sensor", t->path,
                           line, t->n_cells, t->n_cells == 1 ? "" : "s", f->d->n_sensors + f->n_before);
    if (f->has_times && !dataset_parse_time(t->cells[0], &s))
        return dcr_err_set(err, DCR_FAIL, "'%s' line %zu: '%.40s' is not a time stamp (YYYY-MM-DD HH:MM); write it so",
                           t->path, line, t->cells[0]);
    for (size_t i = 0; i < f->d->n_sensors; i++)
        if (table_number(t, i + f->n_before, &mph[i], err))
            return dcr_err_advise(err, "a missing reading is 0");
    return fill_row(f, mph, 1, f->has_times ? &s : NULL, line, err);
}

int dataset_csv(struct dataset_fill *f, struct dcr_err *err)
{
    const enum dataset_header header = f->file->header;
    struct table t = {0};
    double *mph = NULL;
    long long seconds;
    int rc = begin_table(&t, f->file->path, err);
    if (rc)
        goto out;
    const int is_header = header == DATASET_HEADER_YES || (header == DATASET_HEADER_AUTO && looks_like_header(&t));
    f->line = "line";
    f->has_times = is_header ? is_time_name(t.cells[0]) : dataset_parse_time(t.cells[0], &seconds);
    f->n_before = f->has_times ? 1 : 0;
    rc = fill_begin(f, t.n_cells - f->n_before, err);
    if (!rc && is_header)
        rc = fill_names(f, t.cells + f->n_before, t.path, (size_t)t.line, err);
    if (!rc && !(mph = calloc(f->d->n_sensors, sizeof *mph)))
        rc = dcr_err_set(err, DCR_FATAL, "out of memory reading '%s'", t.path);
    if (!rc && is_header)
        rc = table_next(&t, err);
    for (; !rc; rc = table_next(&t, err))
        if ((rc = read_row(f, &t, mph, err)))
            break;
out:
    free(mph);
    table_close(&t);
    return rc == DCR_END ? 0 : rc;
}

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

struct reader {
    struct table t;
    struct graph_pairs *p;
    enum graph_format format; /* resolved */
};

static int is_list(enum graph_format f)
{
    return f == GRAPH_DISTANCE_LIST || f == GRAPH_WEIGHT_LIST;
}

/* Is it the name of a column, and not a broken number? */
static int is_name(const char *cell)
{
    return isalpha((unsigned char)*cell) && strncasecmp(cell, "nan", 3) && strncasecmp(cell, "inf", 3);
}

/* The kind of the file, by its first line. *is_header: that line holds no pair. */
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
                           "'%s' line %ld has %zu cell%s: not a list of from,to,value; if it is a matrix, say "
                           "--graph-format distance-matrix or weight-matrix",
                           t->path, t->line, t->n_cells, t->n_cells == 1 ? "" : "s");
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

/* A distance or weight; negative ones only in matrices of distances. */
static int read_value(const struct reader *r, size_t column, double *v, struct dcr_err *err)
{
    int rc = table_number(&r->t, column, v, err);
    if (!rc && *v < 0 && r->format != GRAPH_DISTANCE_MATRIX)
        rc = dcr_err_set(err, DCR_FAIL, "'%s' line %ld, column %zu: %g is negative, a %s cannot be; write 0 or more",
                         r->t.path, r->t.line, column + 1, *v, r->p->is_distance ? "distance" : "weight");
    return rc;
}

static int read_pair(struct reader *r, struct dcr_err *err)
{
    int end[2];
    double v = 0;
    char place[600];
    if (r->t.n_cells != 3)
        return dcr_err_set(err, DCR_FAIL, "'%s' line %ld has %zu cell%s instead of 3 (from,to,%s); write those three",
                           r->t.path, r->t.line, r->t.n_cells, r->t.n_cells == 1 ? "" : "s",
                           r->p->is_distance ? "metres" : "weight");
    snprintf(place, sizeof place, "'%s' line %ld", r->t.path, r->t.line);
    int rc = read_value(r, 2, &v, err), is_unknown = 0;
    for (size_t i = 0; !rc && i < 2; i++) {
        rc = graph_pairs_find(r->p, r->t.cells[i], place, &end[i], err);
        is_unknown |= rc == DCR_END;
        rc = rc == DCR_END ? 0 : rc;
    }
    r->p->n_unknown += !rc && is_unknown;
    return rc || is_unknown ? rc : graph_pairs_add(r->p, end[0], end[1], v, (size_t)r->t.line, err);
}

static int read_matrix_row(struct reader *r, size_t row, struct dcr_err *err)
{
    const size_t n = r->p->d->n_sensors;
    if (r->t.n_cells != n || row >= n)
        return dcr_err_set(err, DCR_FAIL,
                           "'%s' line %ld: a matrix of %zu x %zu is needed, one row and column per sensor%s; give the "
                           "matrix of the sensors of the data",
                           r->t.path, r->t.line, n, n, row >= n ? ": there are more rows" : "");
    int rc = 0;
    for (size_t j = 0; !rc && j < n; j++) {
        double v = 0;
        if (r->format == GRAPH_DISTANCE_MATRIX && !*r->t.cells[j])
            continue;
        rc = read_value(r, j, &v, err);
        if (!rc)
            rc = graph_pairs_add_cell(r->p, (int)row, (int)j, v, err);
    }
    return rc;
}

int graph_text(struct graph_pairs *p, struct dcr_err *err)
{
    struct reader r = {.p = p};
    size_t n_rows = 0;
    int is_header = 0, rc = begin_table(&r.t, p->file->path, err);
    if (rc == DCR_END)
        rc = dcr_err_set(err, DCR_FAIL, "'%s' is empty; give a file with rows", r.t.path);
    if (!rc)
        rc = recognise(&r, &is_header, err);
    p->is_distance = r.format == GRAPH_DISTANCE_LIST || r.format == GRAPH_DISTANCE_MATRIX;
    if (!rc && is_header)
        rc = table_next(&r.t, err);
    for (; !rc; rc = table_next(&r.t, err))
        if ((rc = is_list(r.format) ? read_pair(&r, err) : read_matrix_row(&r, n_rows++, err)))
            break;
    if (rc == DCR_END) {
        rc = 0;
        if (!is_list(r.format)) {
            graph_pairs_name_all(p);
            if (n_rows != p->d->n_sensors)
                rc = dcr_err_set(err, DCR_FAIL, "'%s' has %zu rows, but there are %zu sensors; give one row per sensor",
                                 r.t.path, n_rows, p->d->n_sensors);
        }
    }
    table_close(&r.t);
    return rc;
}
