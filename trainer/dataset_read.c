/* dataset_read.c - see dataset_read.h. */
#include "trainer/dataset_read.h"

#include "trainer/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MAX_SPEED_MPH 300.0
#define DAY_S (24 * 60 * 60)

/* Days since 1970-01-01 of a proleptic Gregorian date (era arithmetic with March as first month). */
static long long days_from_civil(int y, int m, int d)
{
    y -= m <= 2;
    long long era = (y >= 0 ? y : y - 399) / 400;
    int year_of_era = (int)(y - era * 400);
    int day_of_year = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
    return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

int dataset_parse_time(const char *text, long long *seconds)
{
    int year, month, day, hour, minute, second = 0, used = 0;
    char separator;
    if (sscanf(text, "%4d-%2d-%2d%c%2d:%2d%n", &year, &month, &day, &separator, &hour, &minute, &used) != 6 || !used)
        return 0;
    if (separator != ' ' && separator != 'T')
        return 0;
    const char *rest = text + used;
    if (*rest == ':') {
        if (sscanf(rest, ":%2d%n", &second, &used) != 1)
            return 0;
        rest += used;
        if (*rest == '.') /* pandas writes fractions that are all zero */
            rest += 1 + strspn(rest + 1, "0");
    }
    if (*rest || month < 1 || month > 12 || day < 1 || day > 31 || hour < 0 || hour > 23 || minute < 0 || minute > 59 ||
        second < 0 || second > 59)
        return 0;
    *seconds = days_from_civil(year, month, day) * DAY_S + hour * 3600LL + minute * 60LL + second;
    return 1;
}

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
        n_readings += v <= MAX_SPEED_MPH || v != floor(v);
        n_counting += v == first + (double)(i - skip) && (first == 0 || first == 1);
    }
    return !n_readings || (n_counting == t->n_cells - skip && n_counting > 1);
}

struct reader {
    struct table t;
    struct dataset *d;
    size_t cap_rows;
    size_t has_time; /* 1 or 0: number of columns before the speeds */
    long long last_s;
};

static int set_ids(struct dataset *d, char *const *names, const char *path, long line, struct dcr_err *err)
{
    for (size_t i = 0; i < d->n_sensors; i++) {
        if (!*names[i] || strlen(names[i]) >= DATASET_ID_BYTES)
            return dcr_err_set(err, DCR_FAIL,
                               "'%s' line %ld: sensor id '%.40s' of column %zu must have 1 to %d characters", path,
                               line, names[i], i + 1, DATASET_ID_BYTES - 1);
        snprintf(d->id[i], DATASET_ID_BYTES, "%s", names[i]);
        for (size_t j = 0; j < i; j++)
            if (!strcmp(d->id[i], d->id[j]))
                return dcr_err_set(err, DCR_FAIL, "'%s' line %ld: sensor id '%s' occurs twice (columns %zu and %zu)",
                                   path, line, d->id[i], j + 1, i + 1);
    }
    return 0;
}

static int read_ids_file(struct dataset *d, const char *path, struct dcr_err *err)
{
    struct table t = {0};
    char **names = calloc(d->n_sensors, sizeof *names);
    size_t n = 0;
    int rc = names ? table_open(&t, path, err) : dcr_err_set(err, DCR_FATAL, "out of memory");
    while (!rc && !(rc = table_next(&t, err)))
        for (size_t i = 0; i < t.n_cells; i++, n++)
            if (n < d->n_sensors)
                names[n] = t.cells[i];
    if (rc == DCR_END)
        rc = n == d->n_sensors ? set_ids(d, names, path, t.line, err)
                               : dcr_err_set(err, DCR_FAIL, "'%s' names %zu sensors, but the data have %zu columns",
                                             path, n, d->n_sensors);
    table_close(&t);
    free(names);
    return rc;
}

/* Room for at least one more row. */
static int grow(struct reader *r, struct dcr_err *err)
{
    struct dataset *d = r->d;
    if (d->n_rows < r->cap_rows)
        return 0;
    size_t cap = r->cap_rows * 2;
    if (cap > UINT32_MAX)
        return dcr_err_set(err, DCR_FAIL, "'%s' has more rows than this program handles", r->t.path);
    float *speed = realloc(d->speed_mph, cap * d->n_sensors * sizeof *speed);
    if (speed)
        d->speed_mph = speed;
    float *time = realloc(d->time_of_day, cap * sizeof *time);
    if (time)
        d->time_of_day = time;
    if (!speed || !time)
        return dcr_err_set(err, DCR_FATAL, "out of memory reading '%s'", r->t.path);
    r->cap_rows = cap;
    return 0;
}

static int read_time(struct reader *r, float *time_of_day, struct dcr_err *err)
{
    const size_t row = r->d->n_rows;
    long long s = (long long)row * DATASET_STEP_MINUTES * 60;
    if (r->has_time && !dataset_parse_time(r->t.cells[0], &s))
        return dcr_err_set(err, DCR_FAIL, "'%s' line %ld: '%.40s' is not a time stamp (YYYY-MM-DD HH:MM)", r->t.path,
                           r->t.line, r->t.cells[0]);
    if (row && s <= r->last_s)
        return dcr_err_set(err, DCR_FAIL, "'%s' line %ld: time '%.40s' is not later than the line before", r->t.path,
                           r->t.line, r->t.cells[0]);
    if (row && s - r->last_s != DATASET_STEP_MINUTES * 60)
        r->d->n_gaps++;
    r->last_s = s;
    long long of_day = ((s % DAY_S) + DAY_S) % DAY_S;
    *time_of_day = (float)((double)of_day / DAY_S);
    return 0;
}

static int read_row(struct reader *r, struct dcr_err *err)
{
    struct dataset *d = r->d;
    const struct table *t = &r->t;
    if (t->n_cells != d->n_sensors + r->has_time)
        return dcr_err_set(err, DCR_FAIL, "'%s' line %ld has %zu cells instead of %zu", t->path, t->line, t->n_cells,
                           d->n_sensors + r->has_time);
    int rc = grow(r, err);
    if (!rc)
        rc = read_time(r, &d->time_of_day[d->n_rows], err);
    float *out = d->speed_mph + d->n_rows * d->n_sensors;
    for (size_t i = 0; !rc && i < d->n_sensors; i++) {
        double v;
        rc = table_number(t, i + r->has_time, &v, err);
        if (rc == 0 && (v < 0 || v > MAX_SPEED_MPH))
            rc = dcr_err_set(err, DCR_FAIL,
                             "'%s' line %ld, column %zu: %g is not a speed in miles per hour (0 = missing)", t->path,
                             t->line, i + r->has_time + 1, v);
        if (!rc)
            out[i] = (float)v;
    }
    if (!rc)
        d->n_rows++;
    return rc;
}

/* Shape and names of the columns from the first line; *is_header says whether it holds no readings. */
static int begin(struct reader *r, enum dataset_header header, const char *ids_path, int *is_header,
                 struct dcr_err *err)
{
    struct table *t = &r->t;
    long long seconds;
    *is_header = header == DATASET_HEADER_YES || (header == DATASET_HEADER_AUTO && looks_like_header(t));
    r->has_time = (size_t)(*is_header ? is_time_name(t->cells[0]) : dataset_parse_time(t->cells[0], &seconds));
    if (t->n_cells <= r->has_time)
        return dcr_err_set(err, DCR_FAIL, "'%s' line %ld has no sensor columns", t->path, t->line);
    if (*is_header && ids_path)
        return dcr_err_set(err, DCR_FAIL, "'%s' names its sensors in line %ld: sensor ids from '%s' are not needed",
                           t->path, t->line, ids_path);
    r->cap_rows = 4096;
    int rc = dataset_alloc(r->d, r->cap_rows, t->n_cells - r->has_time, err);
    if (rc)
        return rc;
    r->d->n_rows = 0;
    if (*is_header)
        return set_ids(r->d, t->cells + r->has_time, t->path, t->line, err);
    if (ids_path)
        return read_ids_file(r->d, ids_path, err);
    for (size_t i = 0; i < r->d->n_sensors; i++)
        snprintf(r->d->id[i], DATASET_ID_BYTES, "%zu", i);
    return 0;
}

int dataset_read_csv(struct dataset *d, const char *path, enum dataset_header header, const char *ids_path,
                     struct dcr_err *err)
{
    struct reader r = {.d = d};
    int is_header = 0;
    memset(d, 0, sizeof *d);
    int rc = table_open(&r.t, path, err);
    if (rc)
        return rc;
    rc = table_next(&r.t, err);
    if (!rc)
        rc = begin(&r, header, ids_path, &is_header, err);
    if (!rc && !is_header)
        rc = read_row(&r, err);
    while (!rc && !(rc = table_next(&r.t, err)))
        rc = read_row(&r, err);
    if (rc == DCR_END && d->n_rows)
        rc = 0;
    else if (rc == DCR_END)
        rc = dcr_err_set(err, DCR_FAIL, "'%s' has no rows of speeds", path);
    table_close(&r.t);
    const char *slash = strrchr(path, '/');
    if (rc)
        dataset_release(d);
    else
        snprintf(d->description, sizeof d->description, "%.120s: %zu rows of %zu sensors", slash ? slash + 1 : path,
                 d->n_rows, d->n_sensors);
    return rc;
}
