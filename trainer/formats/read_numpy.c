/* read_numpy.c - speeds from arrays of NumPy: rows, and the windows that are cut from them for training. Called by
 * formats.c. */
#include "trainer/formats/readers.h"

#include "trainer/formats/numpy.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define DAY_S (24 * 60 * 60)
#define STEP_S (DATASET_STEP_MINUTES * 60)
#define PIECE 4096 /* values read at once */

static int alloc(double **out, size_t n, const char *place, struct dcr_err *err)
{
    *out = malloc(n * sizeof **out);
    return *out ? 0 : dcr_err_set(err, DCR_FATAL, "out of memory reading '%s'", place);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* (rows, sensors) or (rows, sensors, features), such as the published PEMS04.npz. It has neither times nor names. */
static int check_shape(const struct dataset_fill *f, const struct npy_file *a, size_t *n_features, struct dcr_err *err)
{
    const struct npy_head *h = &a->head;
    char shape[80];
    npy_shape(h, shape, sizeof shape);
    if (h->n_dims != 2 && h->n_dims != 3)
        return dcr_err_set(err, DCR_FAIL,
                           "'%s' has the shape %s; speeds need (rows, sensors) or (rows, sensors, features)", a->place,
                           shape);
    *n_features = h->n_dims == 3 ? h->dim[2] : 1;
    if (!h->n)
        return dcr_err_set(err, DCR_FAIL, "'%s' has the shape %s: there are no speeds in it; name an array with values",
                           a->place, shape);
    if ((size_t)f->file->feature >= *n_features)
        return dcr_err_set(err, DCR_FAIL, "'%s' has the shape %s: there is no feature %d; they count from 0", a->place,
                           shape, f->file->feature);
    return 0;
}

/* The next row: the chosen feature of every sensor. */
static int add_row(struct dataset_fill *f, const double *mph, size_t n_features, struct dcr_err *err)
{
    int rc = fill_row(f, mph, 1, NULL, f->d->n_rows + 1, err);
    if (rc == DCR_FAIL && n_features > 1) /* PEMS04 and similar files hold flow, occupancy and speed */
        rc = dcr_err_advise(err, "feature %d of %zu was read, and --data-feature chooses another", f->file->feature,
                            n_features);
    return rc;
}

/* C order: row by row, sensor by sensor, the features side by side. mph: (n_sensors) */
static int read_rows(struct dataset_fill *f, struct npy_file *a, size_t n_features, double *mph, struct dcr_err *err)
{
    double piece[PIECE];
    size_t sensor = 0, feature = 0;
    int rc = 0;
    for (size_t left = a->head.n, n; !rc && left; left -= n) {
        n = left < PIECE ? left : PIECE;
        rc = npy_next(a, n, piece, err);
        for (size_t i = 0; !rc && i < n; i++) {
            if (feature == (size_t)f->file->feature)
                mph[sensor] = piece[i];
            if (++feature < n_features)
                continue;
            feature = 0;
            if (++sensor < a->head.dim[1])
                continue;
            sensor = 0;
            rc = add_row(f, mph, n_features, err);
        }
    }
    return rc ? rc : npy_end(a, err);
}

/* Fortran order: feature by feature, sensor by sensor. The chosen feature is kept as floats until it is complete; the
 * memory grows as it arrives. mph: (n_sensors) */
static int read_columns(struct dataset_fill *f, struct npy_file *a, size_t n_features, double *mph, struct dcr_err *err)
{
    double piece[PIECE];
    const size_t n_rows = a->head.dim[0], n_sensors = a->head.dim[1];
    const size_t begin = (size_t)f->file->feature * n_rows * n_sensors, end = begin + n_rows * n_sensors;
    float *kept = NULL;
    size_t cap = 0;
    int rc = 0;
    for (size_t done = 0, n; !rc && done < a->head.n; done += n) {
        n = a->head.n - done < PIECE ? a->head.n - done : PIECE;
        rc = npy_next(a, n, piece, err);
        for (size_t i = done > begin ? 0 : begin - done; !rc && i < n && done + i < end; i++) {
            const size_t at = done + i - begin;
            if (at == cap) {
                cap = cap ? 2 * cap : 16 * PIECE;
                float *grown = realloc(kept, cap * sizeof *grown);
                kept = grown ? grown : kept;
                rc = grown ? 0 : dcr_err_set(err, DCR_FATAL, "out of memory reading '%s'", a->place);
            }
            if (!rc)
                kept[at] = (float)piece[i];
        }
    }
    if (!rc)
        rc = npy_end(a, err);
    for (size_t row = 0; !rc && row < n_rows; row++) {
        for (size_t i = 0; i < n_sensors; i++)
            mph[i] = (double)kept[i * n_rows + row];
        rc = add_row(f, mph, n_features, err);
    }
    free(kept);
    return rc;
}

static int read_array(struct dataset_fill *f, const char *array, struct dcr_err *err)
{
    struct npy_file a = {0};
    double *mph = NULL;
    size_t n_features = 1;
    int rc = npy_open(&a, f->file->path, array, err);
    if (!rc)
        rc = check_shape(f, &a, &n_features, err);
    if (!rc)
        rc = fill_begin(f, a.head.dim[1], err);
    if (!rc)
        rc = alloc(&mph, a.head.dim[1], a.place, err);
    if (!rc)
        rc = (a.head.is_fortran ? read_columns : read_rows)(f, &a, n_features, mph, err);
    if (!rc && n_features > 1)
        snprintf(f->d->note, sizeof f->d->note, "feature %d of %zu taken as the speed", f->file->feature, n_features);
    free(mph);
    npy_close(&a);
    return rc;
}

int dataset_npy(struct dataset_fill *f, struct dcr_err *err)
{
    return read_array(f, NULL, err);
}

/* The array that holds the speeds: the one asked for, the only one, or the one called data. */
static int choose(const struct dataset_fill *f, const struct npy_head *list, int n, const char **name,
                  struct dcr_err *err)
{
    char names[300];
    npz_names(list, n, names, sizeof names);
    *name = f->file->key ? f->file->key : n == 1 ? list[0].array : "data";
    const struct npy_head *x = npz_array(list, n, "x");
    if (!f->file->key && x && x->n_dims == 4 && npz_array(list, n, "y"))
        return dcr_err_set(
            err, DCR_FAIL,
            "'%s' holds windows and not rows; give the folder that holds train.npz, val.npz and test.npz",
            f->file->path);
    if (!npz_array(list, n, *name))
        return f->file->key
                   ? dcr_err_set(err, DCR_FAIL, "'%s' has no array '%s'; it has %s", f->file->path, *name, names)
                   : dcr_err_set(err, DCR_FAIL, "'%s' has %d arrays: %s; say which are the speeds by --data-key NAME",
                                 f->file->path, n, names);
    return 0;
}

int dataset_npz(struct dataset_fill *f, struct dcr_err *err)
{
    struct npy_head *list = NULL;
    const char *name = NULL;
    int n = 0, rc = npz_list(f->file->path, &list, &n, err);
    if (!rc)
        rc = choose(f, list, n, &name, err);
    if (!rc)
        rc = read_array(f, name, err);
    free(list);
    return rc;
}

/* ---- windows -----------------------------------------------------------------------------------------------------
 * The training archives that DCRNN repositories publish instead of rows: a folder with train.npz, val.npz and test.npz,
 * each with x (windows, 12, sensors, features) and y (windows, 12, sensors, features).
 *
 * Window w begins at row w, over the three files in that order, so every row occurs in up to 24 windows. They are laid
 * back over the time axis, and all copies of a reading must agree. Feature 0 of x is the speed in mph, feature 1 (if
 * any) the time of day as a share of the day. Source: scripts/generate_training_data.py of liyaguang/DCRNN. */

struct windows {
    struct dataset_fill *fill;
    size_t n_in, n_out, n_sensors; /* from the first file; the others must have the same */
    size_t first_row;              /* of the current file's first window */
    size_t dim[2][NPY_MAX_DIMS];   /* of the current file's x and y */
};

/* Four dimensions, C order, sensors as before; windows as in x. */
static int check_array(const struct windows *w, const char *path, const struct npy_head *h, size_t n_windows,
                       struct dcr_err *err)
{
    char shape[80];
    npy_shape(h, shape, sizeof shape);
    if (h->n_dims != 4 || !h->n || h->is_fortran || h->dim[1] > 4096 || h->dim[2] > 65536 || h->dim[3] > 64)
        return dcr_err_set(err, DCR_FAIL,
                           "'%s: %s' has the shape %s%s; windows need (windows, steps, sensors, features) in C order",
                           path, h->array, shape, h->is_fortran ? " in Fortran order" : "");
    if ((w->n_sensors && h->dim[2] != w->n_sensors) || (n_windows && h->dim[0] != n_windows))
        return dcr_err_set(
            err, DCR_FAIL,
            "'%s: %s' has the shape %s, which does not match the arrays before: %zu sensors; make the arrays alike",
            path, h->array, shape, w->n_sensors);
    return 0;
}

/* Time of a new row: from feature 1 if there is one, else 5 minutes after the row before. */
static int time_of_row(const struct dataset_fill *f, const char *place, const double *time_of_day, long long *s,
                       struct dcr_err *err)
{
    const size_t row = f->d->n_rows;
    *s = row ? f->last_s + STEP_S : 0;
    if (!time_of_day)
        return 0;
    if (!(*time_of_day >= 0 && *time_of_day < 1))
        return dcr_err_set(
            err, DCR_FAIL,
            "'%s': feature 1 of row %zu is %g and no time of day (0 to 1); write feature 1 as the time of day", place,
            row + 1, *time_of_day);
    *s = (row ? f->last_s / DAY_S * DAY_S : 0) + llround(*time_of_day * DAY_S);
    if (row && *s <= f->last_s)
        *s += DAY_S;
    return 0;
}

/* The row of a window's step: appended when it is new, compared when it is known. step: (n_sensors, n_features) */
static int place_step(struct dataset_fill *f, const char *place, size_t row, const double *step, size_t n_features,
                      struct dcr_err *err)
{
    const struct dataset *d = f->d;
    long long s = 0;
    assert(row <= d->n_rows); /* windows are one row apart, so rows come without a gap */
    if (row == d->n_rows) {
        int rc = f->has_times ? time_of_row(f, place, n_features > 1 ? step + 1 : NULL, &s, err) : 0;
        return rc ? rc : fill_row(f, step, n_features, f->has_times ? &s : NULL, row + 1, err);
    }
    const float *known = d->speed_mph + row * d->n_sensors;
    for (size_t i = 0; i < d->n_sensors; i++) {
        const double v = isnan(step[i * n_features]) ? 0 : step[i * n_features];
        if (known[i] != (float)v)
            return dcr_err_set(err, DCR_FAIL,
                               "'%s': the copies of row %zu, column %zu disagree (%g and %g): these are not windows of "
                               "one series, one row apart; give rows instead of windows",
                               place, row + 1, i + 1, (double)known[i], v);
    }
    return 0;
}

/* One array; its step t of window i is row first + i + t. */
static int lay_back(struct windows *w, const char *path, int is_y, struct dcr_err *err)
{
    struct npy_file a = {0};
    const size_t *dim = a.head.dim, first = w->first_row + (is_y ? w->n_in : 0);
    double *step = NULL;
    int rc = npy_open(&a, path, is_y ? "y" : "x", err);
    if (!rc && (a.head.n_dims != 4 || memcmp(dim, w->dim[is_y], sizeof w->dim[is_y]) != 0))
        rc = dcr_err_set(err, DCR_FAIL, "'%s' changed while it was read", a.place);
    if (!rc)
        rc = alloc(&step, dim[2] * dim[3], a.place, err);
    for (size_t i = 0; !rc && i < dim[0]; i++)
        for (size_t t = 0; !rc && t < dim[1]; t++) {
            rc = npy_next(&a, dim[2] * dim[3], step, err);
            if (!rc)
                rc = place_step(w->fill, a.place, first + i + t, step, dim[3], err);
        }
    if (!rc)
        rc = npy_end(&a, err);
    free(step);
    npy_close(&a);
    return rc;
}

/* Steps must be one row apart: offsets -11..0 of x, 1..12 of y, if the file gives them. */
static int check_offsets(const char *path, const struct npy_head *h, double first, size_t n, struct dcr_err *err)
{
    struct npy a = {0};
    if (!h)
        return 0;
    int is_wrong = h->n != n, rc = is_wrong ? 0 : npy_read(path, h->array, &a, err);
    for (size_t i = 0; !rc && !is_wrong && i < n; i++)
        is_wrong = a.values[i] != first + (double)i;
    npy_free(&a);
    return is_wrong
               ? dcr_err_set(
                     err, DCR_FAIL,
                     "'%s': %s are not neighbouring rows, so the windows cannot be joined into one series; give rows "
                     "instead of windows",
                     path, h->array)
               : rc;
}

/* Shapes of x and y, before any value is read. */
static int check_file(struct windows *w, const char *path, const struct npy_head *list, int n, struct dcr_err *err)
{
    const struct npy_head *x = npz_array(list, n, "x"), *y = npz_array(list, n, "y");
    if (!x || !y)
        return dcr_err_set(err, DCR_FAIL, "'%s' has no arrays x and y with windows; name a file of windows", path);
    int rc = check_array(w, path, x, 0, err), is_first = !w->n_sensors;
    if (rc)
        return rc;
    w->n_sensors = x->dim[2];
    rc = check_array(w, path, y, x->dim[0], err);
    if (!rc && !is_first && (x->dim[1] != w->n_in || y->dim[1] != w->n_out))
        rc = dcr_err_set(err, DCR_FAIL,
                         "'%s' has windows of %zu + %zu steps, the files before %zu + %zu; make the three files alike",
                         path, x->dim[1], y->dim[1], w->n_in, w->n_out);
    memcpy(w->dim[0], x->dim, sizeof w->dim[0]);
    memcpy(w->dim[1], y->dim, sizeof w->dim[1]);
    w->n_in = x->dim[1];
    w->n_out = y->dim[1];
    w->fill->has_times |= x->dim[3] > 1;
    if (!rc)
        rc = check_offsets(path, npz_array(list, n, "x_offsets"), 1 - (double)w->n_in, w->n_in, err);
    return rc ? rc : check_offsets(path, npz_array(list, n, "y_offsets"), 1, w->n_out, err);
}

static int read_windows(struct windows *w, const char *path, struct dcr_err *err)
{
    struct npy_head *list = NULL;
    int n = 0, rc = npz_list(path, &list, &n, err);
    if (!rc)
        rc = check_file(w, path, list, n, err);
    free(list);
    if (!rc && !w->fill->d->n_sensors)
        rc = fill_begin(w->fill, w->n_sensors, err);
    for (int is_y = 0; !rc && is_y < 2; is_y++)
        rc = lay_back(w, path, is_y, err);
    w->first_row += w->dim[0][0];
    return rc;
}

int dataset_windows(struct dataset_fill *f, struct dcr_err *err)
{
    static const char *const names[] = {"train.npz", "val.npz", "test.npz"};
    struct windows w = {.fill = f};
    int rc = 0;
    for (size_t i = 0; !rc && i < 6; i++) { /* all three must exist before the first is read */
        char path[512];
        struct stat st;
        if (snprintf(path, sizeof path, "%s/%s", f->file->path, names[i % 3]) >= (int)sizeof path)
            rc = dcr_err_set(err, DCR_FAIL, "the name '%.200s...' is too long; choose a shorter one", f->file->path);
        else if (stat(path, &st) != 0 && errno == ENOENT)
            rc = dcr_err_set(err, DCR_FAIL,
                             "the folder '%.400s' has no '%s'; a folder of data holds train.npz, val.npz and test.npz",
                             f->file->path, names[i % 3]);
        else if (i >= 3)
            rc = read_windows(&w, path, err);
    }
    return rc;
}
