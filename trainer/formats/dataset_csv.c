/* dataset_csv.c - speeds from comma separated text. Called by dataset_read.c, whose header describes the format. */
#include "trainer/formats/dataset_fill.h"

#include "trainer/formats/dataset_time.h"
#include "trainer/formats/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static int is_time_name(const char *cell)
{
    static const char *const names[] = {"", "timestamp", "time", "date", "datetime"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcasecmp(cell, names[i]))
            return 1;
    return 0;
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
        rc = n == n_sensors ? dataset_fill_names(f, names, path, 0, err)
                            : dcr_err_set(err, DCR_FAIL, "'%s' names %zu sensors, but the data have %zu columns", path,
                                          n, n_sensors);
    table_close(&t);
    free(names);
    return rc;
}

static int read_speed(const struct table *t, size_t column, double *out, struct dcr_err *err)
{
    char sentence[sizeof err->text] = "";
    const int rc = table_number(t, column, out, err);
    if (rc != DCR_FAIL || !err)
        return rc;
    snprintf(sentence, sizeof sentence, "%s", err->text);
    return dcr_err_set(err, DCR_FAIL, "%.600s; a missing reading is 0", sentence);
}

static int read_row(struct dataset_fill *f, const struct table *t, struct dcr_err *err)
{
    const size_t n_sensors = f->d->n_sensors, n_before = f->has_times ? 1 : 0, line = (size_t)t->line;
    long long s = 0;
    if (t->n_cells != n_sensors + n_before)
        return dcr_err_set(err, DCR_FAIL, "'%s' line %zu has %zu cells instead of %zu", t->path, line, t->n_cells,
                           n_sensors + n_before);
    if (f->has_times && !dataset_parse_time(t->cells[0], &s))
        return dcr_err_set(err, DCR_FAIL, "'%s' line %zu: '%.40s' is not a time stamp (YYYY-MM-DD HH:MM)", t->path,
                           line, t->cells[0]);
    float *out = dataset_fill_room(f, err);
    int rc = out ? 0 : DCR_FATAL;
    for (size_t i = 0; !rc && i < n_sensors; i++) {
        double v = 0;
        rc = read_speed(t, i + n_before, &v, err);
        if (!rc)
            rc = dataset_fill_speed(f, v, line, i + n_before + 1, &out[i], err);
    }
    return rc ? rc : dataset_fill_end_row(f, f->has_times ? &s : NULL, line, err);
}

/* Shape and names of the columns from the first line; *is_header says whether it holds no readings. */
static int begin(struct dataset_fill *f, const struct table *t, int *is_header, struct dcr_err *err)
{
    const enum dataset_header header = f->file->header;
    long long seconds;
    *is_header = header == DATASET_HEADER_YES || (header == DATASET_HEADER_AUTO && looks_like_header(t));
    f->has_times = *is_header ? is_time_name(t->cells[0]) : dataset_parse_time(t->cells[0], &seconds);
    const size_t n_before = f->has_times ? 1 : 0;
    int rc = dataset_fill_begin(f, t->n_cells - n_before, err);
    if (!rc && *is_header)
        rc = dataset_fill_names(f, t->cells + n_before, t->path, (size_t)t->line, err);
    return rc;
}

int dataset_csv(struct dataset_fill *f, struct dcr_err *err)
{
    struct table t = {0};
    int is_header = 0;
    f->line = "line";
    int rc = table_open(&t, f->file->path, err);
    if (!rc)
        rc = table_next(&t, err);
    if (!rc)
        rc = table_commas(&t, err);
    if (!rc)
        rc = begin(f, &t, &is_header, err);
    if (!rc && !is_header)
        rc = read_row(f, &t, err);
    while (!rc && !(rc = table_next(&t, err)))
        rc = read_row(f, &t, err);
    table_close(&t);
    return rc == DCR_END ? 0 : rc;
}
