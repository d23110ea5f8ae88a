/* dataset_numpy.c - speeds from an array (rows, sensors) or (rows, sensors, features) in an .npy or .npz file, such as
 * the published PEMS04.npz. Such files have neither times nor names. Called by dataset_read.c. */
#include "trainer/formats/dataset_fill.h"

#include "trainer/formats/npz.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PIECE 4096 /* values at once */

/* One pass over the values as they lie in the file. */
struct pass {
    struct dataset_fill *fill;
    struct dcr_stream *bytes;
    struct npy_head head;
    size_t n_rows, n_sensors, n_features;
    /* Fortran order: the chosen feature, sensor by sensor, grown as it arrives */
    float *columns;
    size_t n_columns, cap_columns;
};

static int check_shape(struct pass *p, struct dcr_err *err)
{
    const struct npy_head *h = &p->head;
    const char *path = p->bytes->name;
    char shape[80];
    npy_shape(h, shape, sizeof shape);
    if (h->n_dims != 2 && h->n_dims != 3)
        return dcr_err_set(err, DCR_FAIL,
                           "'%s' has the shape %s; speeds need (rows, sensors) or (rows, sensors, features)", path,
                           shape);
    p->n_rows = h->dim[0];
    p->n_sensors = h->dim[1];
    p->n_features = h->n_dims == 3 ? h->dim[2] : 1;
    if (!h->n)
        return dcr_err_set(err, DCR_FAIL, "'%s' has the shape %s: there are no speeds in it", path, shape);
    if ((size_t)p->fill->file->feature >= p->n_features)
        return dcr_err_set(err, DCR_FAIL, "'%s' has the shape %s: there is no feature %d; they count from 0", path,
                           shape, p->fill->file->feature);
    return 0;
}

/* Says what else the array offers when what was read cannot be speeds: PEMS04 and its like hold flow, occupancy and
 * speed. */
static int refuse_feature(const struct pass *p, struct dcr_err *err)
{
    char sentence[sizeof err->text] = "";
    if (!err || p->n_features == 1)
        return DCR_FAIL;
    snprintf(sentence, sizeof sentence, "%s", err->text);
    return dcr_err_set(err, DCR_FAIL, "%.600s; feature %d of %zu was read: --data-feature chooses another", sentence,
                       p->fill->file->feature, p->n_features);
}

static int take_in_rows(struct pass *p, size_t at, double v, struct dcr_err *err)
{
    const size_t per_row = p->n_sensors * p->n_features, row = at / per_row, in_row = at % per_row;
    const size_t sensor = in_row / p->n_features;
    if (in_row % p->n_features == (size_t)p->fill->file->feature) {
        float *out = dataset_fill_room(p->fill, err);
        if (!out)
            return DCR_FATAL;
        if (dataset_fill_speed(p->fill, v, row + 1, sensor + 1, &out[sensor], err))
            return refuse_feature(p, err);
    }
    return in_row + 1 == per_row ? dataset_fill_end_row(p->fill, NULL, row + 1, err) : 0;
}

static int take_in_columns(struct pass *p, size_t at, double v, struct dcr_err *err)
{
    const size_t per_feature = p->n_rows * p->n_sensors, column = at % per_feature;
    if (at / per_feature != (size_t)p->fill->file->feature)
        return 0;
    if (p->n_columns == p->cap_columns) {
        size_t cap = p->cap_columns ? 2 * p->cap_columns : 16 * PIECE;
        float *grown = realloc(p->columns, cap * sizeof *grown);
        if (!grown)
            return dcr_err_set(err, DCR_FATAL, "out of memory reading '%s'", p->bytes->name);
        p->columns = grown;
        p->cap_columns = cap;
    }
    if (dataset_fill_speed(p->fill, v, column % p->n_rows + 1, column / p->n_rows + 1, &p->columns[p->n_columns++],
                           err))
        return refuse_feature(p, err);
    return 0;
}

static int columns_to_rows(struct pass *p, struct dcr_err *err)
{
    for (size_t row = 0; row < p->n_rows; row++) {
        float *out = dataset_fill_room(p->fill, err);
        if (!out)
            return DCR_FATAL;
        for (size_t i = 0; i < p->n_sensors; i++)
            out[i] = p->columns[i * p->n_rows + row];
        int rc = dataset_fill_end_row(p->fill, NULL, row + 1, err);
        if (rc)
            return rc;
    }
    return 0;
}

/* The array whose head was read, to its end. */
static int load(struct pass *p, struct dcr_err *err)
{
    double piece[PIECE];
    p->fill->line = "row";
    int rc = check_shape(p, err);
    if (!rc)
        rc = dataset_fill_begin(p->fill, p->n_sensors, err);
    for (size_t done = 0; !rc && done < p->head.n;) {
        size_t n = p->head.n - done < PIECE ? p->head.n - done : PIECE;
        rc = npy_read_values(p->bytes, &p->head, n, piece, err);
        for (size_t i = 0; !rc && i < n; i++)
            rc = p->head.is_fortran ? take_in_columns(p, done + i, piece[i], err)
                                    : take_in_rows(p, done + i, piece[i], err);
        done += n;
    }
    if (!rc)
        rc = npy_read_end(p->bytes, err);
    if (!rc && p->head.is_fortran)
        rc = columns_to_rows(p, err);
    free(p->columns);
    if (!rc && p->n_features > 1)
        snprintf(p->fill->d->note, sizeof p->fill->d->note, "feature %d of %zu taken as the speed",
                 p->fill->file->feature, p->n_features);
    return rc;
}

int dataset_npy(struct dataset_fill *f, struct dcr_err *err)
{
    int fd = open(f->file->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return dcr_err_sys(err, DCR_FAIL, "cannot open '%s'", f->file->path);
    struct dcr_stream bytes = dcr_stream_fd(&fd, f->file->path);
    struct pass p = {.fill = f, .bytes = &bytes};
    int rc = npy_read_head(&bytes, &p.head, err);
    if (!rc)
        rc = load(&p, err);
    close(fd);
    return rc;
}

/* The array that holds the speeds: the one asked for, the only one, or the one called data. */
static int choose(const struct dataset_fill *f, const struct npz_entry *list, int n, const char **name,
                  struct dcr_err *err)
{
    char names[300];
    npz_names(list, n, names, sizeof names);
    *name = f->file->key ? f->file->key : n == 1 ? list[0].name : "data";
    const struct npz_entry *x = npz_entry_of(list, n, "x");
    if (!f->file->key && x && x->head.n_dims == 4 && npz_entry_of(list, n, "y"))
        return dcr_err_set(
            err, DCR_FAIL,
            "'%s' holds windows and not rows: give the folder that holds train.npz, val.npz and test.npz",
            f->file->path);
    if (!npz_entry_of(list, n, *name))
        return f->file->key
                   ? dcr_err_set(err, DCR_FAIL, "'%s' has no array '%s'; it has %s", f->file->path, *name, names)
                   : dcr_err_set(err, DCR_FAIL, "'%s' has %d arrays: %s; say which are the speeds by --data-key NAME",
                                 f->file->path, n, names);
    return 0;
}

int dataset_npz(struct dataset_fill *f, struct dcr_err *err)
{
    struct npz_entry *list = calloc(NPZ_MAX_ARRAYS, sizeof *list);
    struct npz z = {0};
    struct pass p = {.fill = f, .bytes = &z.bytes};
    const char *name = NULL;
    int n = 0;
    int rc = list ? npz_list(f->file->path, list, &n, err)
                  : dcr_err_set(err, DCR_FATAL, "out of memory reading '%s'", f->file->path);
    if (!rc)
        rc = choose(f, list, n, &name, err);
    if (!rc)
        rc = npz_find(&z, f->file->path, name, err);
    if (!rc)
        rc = npy_read_head(&z.bytes, &p.head, err);
    if (!rc)
        rc = load(&p, err);
    npz_close(&z);
    free(list);
    return rc;
}
