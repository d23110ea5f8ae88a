/* dataset_fill.c - see dataset_fill.h. */
#include "trainer/formats/dataset_fill.h"

#include "trainer/formats/dataset_time.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEP_S (DATASET_STEP_MINUTES * 60)
#define DAY_S (24 * 60 * 60)

int dataset_fill_begin(struct dataset_fill *f, size_t n_sensors, struct dcr_err *err)
{
    if (!n_sensors)
        return dcr_err_set(err, DCR_FAIL, "'%s' has no sensor columns", f->file->path);
    f->cap_rows = ((size_t)1 << 18) / n_sensors + 16;
    int rc = dataset_alloc(f->d, f->cap_rows, n_sensors, err);
    if (rc)
        return dcr_err_while(err, "'%s'", f->file->path);
    f->d->n_rows = 0;
    return 0;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sorted, equal names stand side by side. */
static int check_unique(const struct dataset *d, const char *place, struct dcr_err *err)
{
    const char **sorted = calloc(d->n_sensors, sizeof *sorted);
    if (!sorted)
        return dcr_err_set(err, DCR_FATAL, "out of memory for %zu sensor ids", d->n_sensors);
    for (size_t i = 0; i < d->n_sensors; i++)
        sorted[i] = d->id[i];
    qsort(sorted, d->n_sensors, sizeof *sorted, by_text);
    int rc = 0;
    for (size_t i = 1; !rc && i < d->n_sensors; i++)
        if (!strcmp(sorted[i - 1], sorted[i]))
            rc = dcr_err_set(err, DCR_FAIL, "%s: sensor id '%s' occurs twice", place, sorted[i]);
    free(sorted);
    return rc;
}

int dataset_fill_names(struct dataset_fill *f, char *const *names, const char *path, size_t number, struct dcr_err *err)
{
    char place[400];
    snprintf(place, sizeof place, number ? "'%.300s' line %zu" : "'%.300s'", path, number);
    for (size_t i = 0; i < f->d->n_sensors; i++) {
        if (!*names[i] || strlen(names[i]) >= DATASET_ID_BYTES)
            return dcr_err_set(err, DCR_FAIL, "%s: sensor id '%.40s' of column %zu must have 1 to %d characters", place,
                               names[i], i + 1, DATASET_ID_BYTES - 1);
        snprintf(f->d->id[i], DATASET_ID_BYTES, "%s", names[i]);
    }
    f->has_names = 1;
    return check_unique(f->d, place, err);
}

/* Twice the rows; what fits no more stays as it was. */
static int grow(struct dataset_fill *f, struct dcr_err *err)
{
    struct dataset *d = f->d;
    size_t cap = f->cap_rows * 2;
    if (cap > UINT32_MAX)
        return dcr_err_set(err, DCR_FAIL, "'%s' has more rows than this program handles", f->file->path);
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

float *dataset_fill_room(struct dataset_fill *f, struct dcr_err *err)
{
    if (f->d->n_rows == f->cap_rows && grow(f, err))
        return NULL;
    return f->d->speed_mph + f->d->n_rows * f->d->n_sensors;
}

int dataset_fill_speed(const struct dataset_fill *f, double mph, size_t number, size_t column, float *out,
                       struct dcr_err *err)
{
    if (isnan(mph))
        mph = 0;
    if (mph < 0 || mph > DATASET_MAX_MPH)
        return dcr_err_set(err, DCR_FAIL, "'%s' %s %zu, column %zu: %g is not a speed in miles per hour (0 = missing)",
                           f->file->path, f->line, number, column, mph);
    *out = (float)mph;
    return 0;
}

/* Remainder of a division that rounds down, also before 1970. */
static long long floor_mod(long long a, long long n)
{
    return ((a % n) + n) % n;
}

int dataset_fill_end_row(struct dataset_fill *f, const long long *seconds, size_t number, struct dcr_err *err)
{
    struct dataset *d = f->d;
    const size_t row = d->n_rows;
    long long s = seconds ? *seconds : f->file->start_s + (long long)row * STEP_S;
    if (row && s <= f->last_s) {
        char text[DATASET_TIME_BYTES];
        dataset_format_time(s, text);
        return dcr_err_set(err, DCR_FAIL, "'%s' %s %zu: time '%s' is not later than the %s before", f->file->path,
                           f->line, number, text, f->line);
    }
    if (row && s - f->last_s != STEP_S)
        d->n_gaps++;
    f->last_s = s;
    d->time_of_day[row] = (float)((double)floor_mod(s, DAY_S) / DAY_S);
    d->week_slot[row] = (uint16_t)(floor_mod(s, 7 * DAY_S) / STEP_S);
    d->n_rows++;
    return 0;
}
