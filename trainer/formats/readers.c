/* readers.c - checks of rows and of pairs of sensors, shared by all readers. */
#include "trainer/formats/readers.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STEP_S (DATASET_STEP_MINUTES * 60)
#define DAY_S (24 * 60 * 60)

/* ---- sensors by their ids ---------------------------------------------------------------------------------------- */

static int by_id(const void *a, const void *b)
{
    return strcmp(((const struct sensor *)a)->id, ((const struct sensor *)b)->id);
}

struct sensor *sensors_sorted(const struct dataset *d)
{
    struct sensor *sorted = calloc(d->n_sensors, sizeof *sorted);
    for (size_t i = 0; sorted && i < d->n_sensors; i++)
        sorted[i] = (struct sensor){d->id[i], (int)i};
    if (sorted)
        qsort(sorted, d->n_sensors, sizeof *sorted, by_id);
    return sorted;
}

int sensors_find(const struct sensor *sorted, const struct dataset *d, const char *id)
{
    const struct sensor key = {.id = id};
    const struct sensor *hit = bsearch(&key, sorted, d->n_sensors, sizeof *sorted, by_id);
    return hit ? hit->sensor : -1;
}

/* ---- times ------------------------------------------------------------------------------------------------------- */

int dataset_parse_time(const char *text, long long *seconds)
{
    struct tm is = {0};
    int used = 0;
    char separator;
    if (sscanf(text, "%4d-%2d-%2d%c%2d:%2d%n", &is.tm_year, &is.tm_mon, &is.tm_mday, &separator, &is.tm_hour,
               &is.tm_min, &used) != 6 ||
        !used || (separator != ' ' && separator != 'T'))
        return 0;
    const char *rest = text + used;
    if (*rest == ':') {
        if (sscanf(rest, ":%2d%n", &is.tm_sec, &used) != 1)
            return 0;
        rest += used;
        if (*rest == '.') /* pandas writes fractions that are zero */
            rest += 1 + strspn(rest + 1, "0");
    }
    is.tm_year -= 1900;
    is.tm_mon--;
    struct tm said = is;
    *seconds = timegm(&is); /* timegm turns February 29 into March 1, so the date then differs from the text */
    return !*rest && is.tm_mon == said.tm_mon && is.tm_mday == said.tm_mday && is.tm_hour == said.tm_hour &&
           is.tm_min == said.tm_min && is.tm_sec == said.tm_sec;
}

/* The reverse; :SS only when there are any. */
static void time_text(long long seconds, char *text, size_t n)
{
    struct tm tm;
    time_t t = (time_t)seconds;
    if (!gmtime_r(&t, &tm))
        snprintf(text, n, "%lld s after 1970", seconds);
    else if (!strftime(text, n, tm.tm_sec ? "%Y-%m-%d %H:%M:%S" : "%Y-%m-%d %H:%M", &tm))
        text[0] = 0;
}

/* ---- rows of speeds ---------------------------------------------------------------------------------------------- */

int fill_begin(struct dataset_fill *f, size_t n_sensors, struct dcr_err *err)
{
    if (!n_sensors)
        return dcr_err_set(err, DCR_FAIL, "'%s' has no sensor columns; add a column per sensor", f->file->path);
    f->cap_rows = ((size_t)1 << 18) / n_sensors + 16;
    int rc = dataset_alloc(f->d, f->cap_rows, n_sensors, err);
    if (rc)
        return dcr_err_while(err, "'%s'", f->file->path);
    f->d->n_rows = 0;
    return 0;
}

int fill_names(struct dataset_fill *f, char *const *names, const char *path, size_t line, struct dcr_err *err)
{
    struct dataset *d = f->d;
    char place[400];
    snprintf(place, sizeof place, line ? "'%.300s' line %zu" : "'%.300s'", path, line);
    for (size_t i = 0; i < d->n_sensors; i++) {
        if (!*names[i] || strlen(names[i]) >= DATASET_ID_BYTES)
            return dcr_err_set(err, DCR_FAIL,
                               "%s: sensor id '%.40s' of column %zu must have 1 to %d characters; rename it", place,
                               names[i], i + 1, DATASET_ID_BYTES - 1);
        snprintf(d->id[i], DATASET_ID_BYTES, "%s", names[i]);
    }
    f->has_names = 1;
    struct sensor *sorted = sensors_sorted(d);
    int rc = sorted ? 0 : dcr_err_set(err, DCR_FATAL, "out of memory for %zu sensor ids", d->n_sensors);
    for (size_t i = 1; !rc && i < d->n_sensors; i++) /* equal names are next to each other */
        if (!strcmp(sorted[i - 1].id, sorted[i].id))
            rc = dcr_err_set(err, DCR_FAIL, "%s: sensor id '%s' occurs twice; give each sensor its own", place,
                             sorted[i].id);
    free(sorted);
    return rc;
}

/* Doubles the rows; what does not fit stays unchanged. */
static int grow(struct dataset_fill *f, struct dcr_err *err)
{
    struct dataset *d = f->d;
    size_t cap = f->cap_rows * 2;
    if (cap > UINT32_MAX)
        return dcr_err_set(err, DCR_FAIL, "%zu rows of %zu sensors are more than this program handles; give fewer", cap,
                           d->n_sensors);
    float *speed = realloc(d->speed_mph, cap * d->n_sensors * sizeof *speed);
    if (speed)
        d->speed_mph = speed;
    float *time = realloc(d->time_of_day, cap * sizeof *time);
    if (time)
        d->time_of_day = time;
    uint16_t *slot = realloc(d->week_slot, cap * sizeof *slot);
    if (slot)
        d->week_slot = slot;
    if (!speed || !time || !slot)
        return dcr_err_set(err, DCR_FATAL, "out of memory reading '%s'", f->file->path);
    f->cap_rows = cap;
    return 0;
}

/* Remainder of a division that rounds down, also before 1970. */
static long long floor_mod(long long a, long long n)
{
    return ((a % n) + n) % n;
}

static int end_row(struct dataset_fill *f, long long s, size_t number, struct dcr_err *err)
{
    struct dataset *d = f->d;
    const size_t row = d->n_rows;
    if (row && s <= f->last_s) {
        char text[40];
        time_text(s, text, sizeof text);
        return dcr_err_set(err, DCR_FAIL,
                           "'%s' %s %zu: time '%s' is not later than the %s before; sort the rows by time",
                           f->file->path, f->line, number, text, f->line);
    }
    if (row && s - f->last_s != STEP_S)
        d->n_gaps++;
    f->last_s = s;
    d->time_of_day[row] = (float)((double)floor_mod(s, DAY_S) / DAY_S);
    d->week_slot[row] = (uint16_t)(floor_mod(s, 7 * DAY_S) / STEP_S);
    d->n_rows++;
    return 0;
}

int fill_row(struct dataset_fill *f, const double *mph, size_t stride, const long long *seconds, size_t number,
             struct dcr_err *err)
{
    struct dataset *d = f->d;
    int rc = d->n_rows == f->cap_rows ? grow(f, err) : 0;
    if (rc)
        return rc;
    float *out = d->speed_mph + d->n_rows * d->n_sensors;
    for (size_t i = 0; i < d->n_sensors; i++) {
        const double v = isnan(mph[i * stride]) ? 0 : mph[i * stride];
        if (v < 0 || v > DATASET_MAX_MPH)
            return dcr_err_set(
                err, DCR_FAIL,
                "'%s' %s %zu, column %zu: %g is not a speed in miles per hour (0 = missing); check its unit",
                f->file->path, f->line, number, f->n_before + i + 1, v);
        out[i] = (float)v;
    }
    return end_row(f, seconds ? *seconds : f->file->start_s + (long long)d->n_rows * STEP_S, number, err);
}

/* ---- pairs of sensors -------------------------------------------------------------------------------------------- */

int graph_pairs_begin(struct graph_pairs *p, const struct graph_file *file, const struct dataset *d,
                      struct dcr_err *err)
{
    *p = (struct graph_pairs){.file = file, .d = d};
    p->sorted = sensors_sorted(d);
    p->is_named = calloc(d->n_sensors, 1);
    return p->sorted && p->is_named ? 0 : dcr_err_set(err, DCR_FATAL, "out of memory for %zu sensors", d->n_sensors);
}

void graph_pairs_release(struct graph_pairs *p)
{
    free(p->sorted);
    free(p->is_named);
    free(p->pair);
    memset(p, 0, sizeof *p);
}

int graph_pairs_find(struct graph_pairs *p, const char *id, const char *place, int *sensor, struct dcr_err *err)
{
    *sensor = sensors_find(p->sorted, p->d, id);
    if (*sensor >= 0) {
        p->is_named[*sensor] = 1;
        return 0;
    }
    if (p->file->is_subset)
        return DCR_END;
    return dcr_err_set(err, DCR_FAIL, "%s: sensor '%.40s' is not in the data%s", place, id,
                       p->d->is_numbered ? ", which name no sensors; --sensor-ids FILE names them"
                                         : "; --graph-subset skips such lines");
}

int graph_pairs_add(struct graph_pairs *p, int from, int to, double value, size_t line, struct dcr_err *err)
{
    if (p->n == p->cap) {
        size_t cap = p->cap ? 2 * p->cap : 1024;
        struct graph_pair *grown = realloc(p->pair, cap * sizeof *grown);
        if (!grown)
            return dcr_err_set(err, DCR_FATAL, "out of memory for %zu pairs of sensors", cap);
        p->pair = grown;
        p->cap = cap;
    }
    p->pair[p->n++] = (struct graph_pair){from, to, value, line};
    return 0;
}

int graph_pairs_add_cell(struct graph_pairs *p, int from, int to, double value, struct dcr_err *err)
{
    if (isnan(value) || (!p->is_distance && (value < 0 || isinf(value))))
        return dcr_err_set(err, DCR_FAIL, "'%s' row %d, column %d: %g is no %s; write 0 or more", p->file->path,
                           from + 1, to + 1, value, p->is_distance ? "distance" : "weight");
    if (p->is_distance ? value < 0 || isinf(value) : value == 0)
        return 0;
    return graph_pairs_add(p, from, to, value, 0, err);
}

void graph_pairs_name_all(struct graph_pairs *p)
{
    memset(p->is_named, 1, p->d->n_sensors);
}

/* By row and column, the earlier line first. */
static int by_place(const void *a, const void *b)
{
    const struct graph_pair *x = a, *y = b;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    if (x->to != y->to)
        return x->to < y->to ? -1 : 1;
    return x->line < y->line ? -1 : x->line > y->line;
}

/* Sorts, and keeps each pair once: a list may repeat a pair, but not with another value. */
static int sort_pairs(struct graph_pairs *p, struct dcr_err *err)
{
    size_t n = 0;
    if (p->n)
        qsort(p->pair, p->n, sizeof *p->pair, by_place);
    for (size_t k = 0; k < p->n; k++) {
        const struct graph_pair *now = &p->pair[k], *before = n ? &p->pair[n - 1] : NULL;
        if (!before || before->from != now->from || before->to != now->to)
            p->pair[n++] = *now;
        else if (before->value != now->value)
            return dcr_err_set(err, DCR_FAIL,
                               "'%s' line %zu: the pair %s,%s came before with another value (%g); leave one out",
                               p->file->path, now->line, p->d->id[now->from], p->d->id[now->to], before->value);
    }
    p->n = n;
    return 0;
}

/* A file that lacks a sensor is nearly always the wrong file. */
static int check_whole(const struct graph_pairs *p, struct dcr_err *err)
{
    const char *path = p->file->path;
    double largest = 0;
    for (size_t k = 0; k < p->n; k++)
        largest = fmax(largest, p->pair[k].value);
    for (size_t i = 0; i < p->d->n_sensors; i++)
        if (!p->is_named[i])
            return dcr_err_set(err, DCR_FAIL, "'%s' lacks sensor '%s' of the data; give the graph of these sensors",
                               path, p->d->id[i]);
    if (p->is_distance && p->d->n_sensors > 1 && largest <= 1)
        return dcr_err_set(err, DCR_FAIL,
                           "'%s': no distance exceeds 1 metre; if these are weights, say --graph-format weights", path);
    if (largest <= 0)
        return dcr_err_set(err, DCR_FAIL, "'%s' connects no sensors: no weight is above 0; check its values", path);
    return 0;
}

int graph_pairs_adjacency(struct graph_pairs *p, struct graph_csr *out, struct dcr_err *err)
{
    const int n_sensors = (int)p->d->n_sensors;
    int rc = sort_pairs(p, err);
    if (!rc)
        rc = check_whole(p, err);
    if (rc)
        return rc;
    int *from = calloc(p->n, sizeof *from), *to = calloc(p->n, sizeof *to);
    double *value = calloc(p->n, sizeof *value);
    if (!from || !to || !value)
        rc = dcr_err_set(err, DCR_FATAL, "out of memory for %zu pairs of sensors", p->n);
    for (size_t k = 0; !rc && k < p->n; k++) {
        from[k] = p->pair[k].from;
        to[k] = p->pair[k].to;
        value[k] = p->pair[k].value;
    }
    if (!rc) {
        rc = p->is_distance ? graph_from_distances(n_sensors, (int64_t)p->n, from, to, value, out, err)
                            : graph_csr_from_triplets(n_sensors, (int64_t)p->n, from, to, value, out, err);
        if (rc)
            dcr_err_while(err, "'%s'", p->file->path);
    }
    free(from);
    free(to);
    free(value);
    return rc;
}
