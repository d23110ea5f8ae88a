/* dataset_windows.c - speeds from the training archives that DCRNN repositories publish instead of rows: a folder with
 * train.npz, val.npz and test.npz, each with x (windows, 12, sensors, features) and y (windows, 12, sensors, features).
 *
 * Window w begins at row w, over the three files in that order, so every row occurs in up to 24 windows. They are laid
 * back over the time axis, and all copies of a reading must agree. Feature 0 of x is the speed in mph, feature 1 (if
 * any) the time of day as a share of the day. Source: scripts/generate_training_data.py of liyaguang/DCRNN.
 * Called by dataset_read.c. */
#include "trainer/formats/dataset_fill.h"

#include "trainer/formats/npz.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define DAY_S (24 * 60 * 60)
#define STEP_S (DATASET_STEP_MINUTES * 60)

struct windows {
    struct dataset_fill *fill;
    size_t n_in, n_out, n_sensors; /* of the first file; the others must have the same */
    size_t first_row;              /* of the current file's first window */
    struct npy_head head[2];       /* of the current file's x and y */
    double *step;                  /* one time step of one window              shape: (n_sensors, features) */
    size_t n_step;
    char place[600]; /* of the current array, for messages */
};

/* Four dimensions, C order, a type that can be read. */
static int check_array(const struct windows *w, const struct npz_entry *e, size_t n_windows, struct dcr_err *err)
{
    const struct npy_head *h = &e->head;
    char shape[80];
    npy_shape(h, shape, sizeof shape);
    if (h->n_dims != 4 || !h->n || h->is_fortran || h->dim[1] > 4096 || h->dim[2] > 65536 || h->dim[3] > 64)
        return dcr_err_set(err, DCR_FAIL,
                           "'%s' has the shape %s%s; windows need (windows, steps, sensors, features) in C order",
                           w->place, shape, h->is_fortran ? " in Fortran order" : "");
    if ((w->n_sensors && h->dim[2] != w->n_sensors) || (n_windows && h->dim[0] != n_windows))
        return dcr_err_set(err, DCR_FAIL, "'%s' has the shape %s, which does not match the arrays before: %zu sensors",
                           w->place, shape, w->n_sensors);
    return 0;
}

/* Time of a new row: from feature 1 where there is one, else 5 minutes after the row before. */
static int time_of_row(const struct windows *w, size_t row, int has_feature, long long *s, struct dcr_err *err)
{
    *s = row ? w->fill->last_s + STEP_S : 0;
    if (!has_feature)
        return 0;
    if (!(w->step[1] >= 0 && w->step[1] < 1))
        return dcr_err_set(err, DCR_FAIL, "'%s': feature 1 of row %zu is %g and no time of day (0 to 1)", w->place,
                           row + 1, w->step[1]);
    *s = (row ? w->fill->last_s / DAY_S * DAY_S : 0) + llround(w->step[1] * DAY_S);
    if (row && *s <= w->fill->last_s)
        *s += DAY_S;
    return 0;
}

/* The row a step of a window stands for: appended when it is new, compared when it is known. */
static int place_step(struct windows *w, size_t row, size_t n_features, struct dcr_err *err)
{
    struct dataset *d = w->fill->d;
    const int is_new = row == d->n_rows;
    long long s = 0;
    assert(row <= d->n_rows); /* windows are one row apart, so rows come without a gap */
    float *out = is_new ? dataset_fill_room(w->fill, err) : d->speed_mph + row * d->n_sensors, v = 0;
    if (!out)
        return DCR_FATAL;
    for (size_t i = 0; i < d->n_sensors; i++) {
        int rc = dataset_fill_speed(w->fill, w->step[i * n_features], row + 1, i + 1, &v, err);
        if (rc)
            return rc;
        if (is_new)
            out[i] = v;
        else if (out[i] != v)
            return dcr_err_set(err, DCR_FAIL,
                               "'%s': the copies of row %zu, column %zu disagree (%g and %g): these are not windows of "
                               "one series, one row apart",
                               w->place, row + 1, i + 1, (double)out[i], (double)v);
    }
    if (!is_new)
        return 0;
    int rc = w->fill->has_times ? time_of_row(w, row, n_features > 1, &s, err) : 0;
    return rc ? rc : dataset_fill_end_row(w->fill, w->fill->has_times ? &s : NULL, row + 1, err);
}

/* One array; its step t of window i is row first + i + t. */
static int lay_back(struct windows *w, struct npz *z, const struct npy_head *expected, size_t first,
                    struct dcr_err *err)
{
    struct npy_head h;
    int rc = npy_read_head(&z->bytes, &h, err);
    if (!rc && (h.n_dims != 4 || memcmp(h.dim, expected->dim, sizeof h.dim) != 0))
        rc = dcr_err_set(err, DCR_FAIL, "'%s' changed while it was read", w->place);
    if (rc)
        return rc;
    const size_t n_step = h.dim[2] * h.dim[3];
    if (n_step > w->n_step) {
        double *grown = realloc(w->step, n_step * sizeof *grown);
        if (!grown)
            return dcr_err_set(err, DCR_FATAL, "out of memory reading '%s'", w->place);
        w->step = grown;
        w->n_step = n_step;
    }
    for (size_t i = 0; !rc && i < h.dim[0]; i++)
        for (size_t t = 0; !rc && t < h.dim[1]; t++) {
            rc = npy_read_values(&z->bytes, &h, n_step, w->step, err);
            if (!rc)
                rc = place_step(w, first + i + t, h.dim[3], err);
        }
    return rc ? rc : npy_read_end(&z->bytes, err);
}

/* Steps must be one row apart: offsets -11..0 of x, 1..12 of y, where the file gives them. */
static int check_offsets(const char *path, const char *name, const struct npz_entry *e, double first, size_t n,
                         struct dcr_err *err)
{
    struct npy a = {0};
    if (!e)
        return 0;
    int rc = e->head.n == n ? npz_read(path, name, &a, err) : DCR_FAIL, is_wrong = e->head.n != n;
    for (size_t i = 0; !rc && i < n; i++)
        is_wrong |= a.values[i] != first + (double)i;
    npy_free(&a);
    return is_wrong ? dcr_err_set(err, DCR_FAIL,
                                  "'%s': %s are not neighbouring rows, so the windows cannot be laid back", path, name)
                    : rc;
}

/* Shapes of x and y, before any value is read. */
static int check_file(struct windows *w, const char *path, const struct npz_entry *list, int n, struct dcr_err *err)
{
    const struct npz_entry *x = npz_entry_of(list, n, "x"), *y = npz_entry_of(list, n, "y");
    if (!x || !y)
        return dcr_err_set(err, DCR_FAIL, "'%s' has no arrays x and y with windows", path);
    snprintf(w->place, sizeof w->place, "%.500s: x", path);
    int rc = check_array(w, x, 0, err), is_first = !w->n_sensors;
    if (rc)
        return rc;
    w->n_sensors = x->head.dim[2];
    snprintf(w->place, sizeof w->place, "%.500s: y", path);
    rc = check_array(w, y, x->head.dim[0], err);
    if (!rc && !is_first && (x->head.dim[1] != w->n_in || y->head.dim[1] != w->n_out))
        rc = dcr_err_set(err, DCR_FAIL, "'%s' has windows of %zu + %zu steps, the files before %zu + %zu", path,
                         x->head.dim[1], y->head.dim[1], w->n_in, w->n_out);
    w->head[0] = x->head;
    w->head[1] = y->head;
    w->n_in = x->head.dim[1];
    w->n_out = y->head.dim[1];
    if (!rc)
        rc = check_offsets(path, "x_offsets", npz_entry_of(list, n, "x_offsets"), 1 - (double)w->n_in, w->n_in, err);
    if (!rc)
        rc = check_offsets(path, "y_offsets", npz_entry_of(list, n, "y_offsets"), 1, w->n_out, err);
    w->fill->has_times |= x->head.dim[3] > 1;
    return rc;
}

static int read_file(struct windows *w, const char *path, struct dcr_err *err)
{
    struct npz_entry *list = calloc(NPZ_MAX_ARRAYS, sizeof *list);
    int n = 0;
    int rc = list ? npz_list(path, list, &n, err) : dcr_err_set(err, DCR_FATAL, "out of memory");
    if (!rc)
        rc = check_file(w, path, list, n, err);
    free(list);
    if (!rc && !w->fill->d->n_sensors)
        rc = dataset_fill_begin(w->fill, w->n_sensors, err);
    for (int is_y = 0; !rc && is_y < 2; is_y++) {
        struct npz z = {0};
        snprintf(w->place, sizeof w->place, "%.500s: %s", path, is_y ? "y" : "x");
        rc = npz_find(&z, path, is_y ? "y" : "x", err);
        if (!rc)
            rc = lay_back(w, &z, &w->head[is_y], w->first_row + (is_y ? w->n_in : 0), err);
        npz_close(&z);
    }
    w->first_row += w->head[0].dim[0];
    return rc;
}

int dataset_windows(struct dataset_fill *f, struct dcr_err *err)
{
    static const char *const names[] = {"train.npz", "val.npz", "test.npz"};
    struct windows w = {.fill = f};
    int rc = 0;
    f->line = "row";
    for (size_t i = 0; !rc && i < 3; i++) {
        char path[512];
        struct stat st;
        if (snprintf(path, sizeof path, "%s/%s", f->file->path, names[i]) < (int)sizeof path && stat(path, &st) != 0 &&
            errno == ENOENT)
            return dcr_err_set(
                err, DCR_FAIL,
                "the folder '%.400s' has no '%s'; a folder of data holds train.npz, val.npz and test.npz",
                f->file->path, names[i]);
    }
    for (size_t i = 0; !rc && i < 3; i++) {
        char path[512];
        if (snprintf(path, sizeof path, "%s/%s", f->file->path, names[i]) >= (int)sizeof path)
            rc = dcr_err_set(err, DCR_FAIL, "the path '%.200s' is too long", f->file->path);
        else
            rc = read_file(&w, path, err);
    }
    free(w.step);
    return rc;
}
