/* dataset_hdf5.c - speeds from a pandas frame in an HDF5 file, as METR-LA (metr-la.h5, key df) and PEMS-BAY
 * (pems-bay.h5, key speed) are published. Called by dataset_read.c.
 *
 * The frame is a group in pandas' `fixed` format, written through PyTables:
 *   axis0           sensor ids, texts of fixed width or whole numbers            shape: (sensors)
 *   axis1           times, int64 in the unit of its attribute kind ("datetime64" = ns)  shape: (rows)
 *   blockK_items    the ids of the columns of block K; all blocks together have each id once
 *   blockK_values   readings, floats or whole numbers; NaN = missing             shape: (rows, items of the block)
 * Source: class BlockManagerFixed of pandas/io/pytables.py. */
#include "trainer/formats/dataset_fill.h"

#include "trainer/formats/dataset_time.h"
#include "trainer/formats/file_kind.h"
#include "trainer/formats/h5.h"

#ifndef HAVE_HDF5
int dataset_hdf5(struct dataset_fill *f, struct dcr_err *err)
{
    return dcr_err_set(err, DCR_FAIL,
                       "'%s' is an HDF5 file, and this program was built without libhdf5; install libhdf5-dev and make "
                       "it again, or convert the file to CSV (docs/data.md)",
                       f->file->path);
}
#else

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BLOCKS 64
#define SLAB_VALUES ((size_t)1 << 17) /* read at once */

struct block {
    struct h5_array values;
    size_t *column; /* of the data set, for each item             shape: (values.dim[1]) */
};

struct frame {
    struct dataset_fill *fill;
    const char *path;
    h5_id file, group;
    char key[200];
    struct h5_array times;
    long long per_second; /* of a time stamp; 0 = the rows have none */
    struct block block[MAX_BLOCKS];
    int n_blocks;
};

/* ---- which group is the frame ------------------------------------------------------------------------------------ */

struct keys {
    h5_id file;
    char text[200], first[200];
    int n, n_frames;
};

static void note_key(void *ctx, const char *name)
{
    struct keys *k = ctx;
    char type[32];
    size_t at = strlen(k->text);
    snprintf(k->text + at, sizeof k->text - at, "%s%s", k->n++ ? ", " : "", name);
    h5_id group = h5_group(k->file, name);
    if (group >= 0 && (h5_text(group, "pandas_type", type, sizeof type) || h5_has(group, "axis1")) && !k->n_frames++)
        snprintf(k->first, sizeof k->first, "%s", name);
}

static int find_frame(struct frame *f, struct dcr_err *err)
{
    struct keys k = {.file = f->file};
    const char *wanted = f->fill->file->key;
    if (h5_keys(f->file, note_key, &k) || !k.n)
        return dcr_err_set(err, DCR_FAIL, "'%s' holds no frame of pandas", f->path);
    if (!wanted && k.n_frames > 1)
        return dcr_err_set(err, DCR_FAIL, "'%s' holds %d frames: %s; say which one by --data-key NAME", f->path,
                           k.n_frames, k.text);
    if (!wanted && !k.n_frames)
        return dcr_err_set(err, DCR_FAIL, "'%s' holds no frame of pandas; its keys are %s", f->path, k.text);
    snprintf(f->key, sizeof f->key, "%s", wanted ? wanted : k.first);
    f->group = h5_group(f->file, f->key);
    if (f->group < 0)
        return dcr_err_set(err, DCR_FAIL, "'%s' has no frame '%s'; its keys are %s", f->path, f->key, k.text);
    return 0;
}

/* pandas has other formats, and other things than frames. */
static int check_kind(const struct frame *f, struct dcr_err *err)
{
    char type[32], variety[32];
    const char *name = file_base_name(f->path);
    h5_text(f->group, "pandas_type", type, sizeof type);
    h5_text(f->group, "axis0_variety", variety, sizeof variety);
    if (!strcmp(variety, "multi"))
        return dcr_err_set(err, DCR_FAIL, "'%s': the columns of '%s' have several levels; save one level per file",
                           f->path, f->key);
    if (!strncmp(type, "frame_", 6) || !strncmp(type, "appendable_", 11))
        return dcr_err_set(err, DCR_FAIL,
                           "'%s': '%s' is in pandas' format for tables; save it in fixed format: python3 -c \"import "
                           "pandas; pandas.read_hdf('%s', '%s').to_hdf('fixed.h5', key='%s')\"",
                           f->path, f->key, name, f->key, f->key);
    if (type[0] && strcmp(type, "frame") != 0)
        return dcr_err_set(err, DCR_FAIL, "'%s': '%s' is a %s of pandas and no frame with a column per sensor", f->path,
                           f->key, type);
    return 0;
}

/* ---- sensors ----------------------------------------------------------------------------------------------------- */

struct place {
    const char *id;
    size_t column;
};

static int by_id(const void *a, const void *b)
{
    return strcmp(((const struct place *)a)->id, ((const struct place *)b)->id);
}

static int read_sensors(struct frame *f, struct dcr_err *err)
{
    struct h5_array axis;
    char **names = NULL;
    int rc = h5_array_open(f->group, f->path, "axis0", &axis, err);
    if (!rc)
        rc = h5_names(&axis, f->path, &names, err);
    if (!rc)
        rc = dataset_fill_begin(f->fill, axis.dim[0], err);
    if (!rc)
        rc = dataset_fill_names(f->fill, names, f->path, 0, err);
    free(names);
    return rc;
}

/* Where the items of a block stand among the sensors; each sensor once over all blocks. */
static int place_items(struct frame *f, struct block *b, char *const *items, const struct place *sorted,
                       unsigned char *is_placed, struct dcr_err *err)
{
    for (size_t i = 0; i < b->values.dim[1]; i++) {
        struct place key = {.id = items[i]};
        const struct place *hit = bsearch(&key, sorted, f->fill->d->n_sensors, sizeof *sorted, by_id);
        if (!hit || is_placed[hit->column])
            return dcr_err_set(err, DCR_FAIL, "'%s': column '%.40s' of a block is %s", f->path, items[i],
                               hit ? "in another one too" : "not among the frame's columns (axis0)");
        is_placed[hit->column] = 1;
        b->column[i] = hit->column;
    }
    return 0;
}

static int open_block(struct frame *f, const struct place *sorted, unsigned char *is_placed, struct dcr_err *err)
{
    struct block *b = &f->block[f->n_blocks];
    struct h5_array items;
    char name[40], **ids = NULL;
    snprintf(name, sizeof name, "block%d_items", f->n_blocks);
    int rc = h5_array_open(f->group, f->path, name, &items, err);
    if (!rc)
        rc = h5_names(&items, f->path, &ids, err);
    snprintf(name, sizeof name, "block%d_values", f->n_blocks);
    if (!rc)
        rc = h5_array_open(f->group, f->path, name, &b->values, err);
    if (!rc && (b->values.type == H5_TEXTS || b->values.n_dims != 2))
        rc = dcr_err_set(err, DCR_FAIL, "'%s': '%s' is no table of numbers", f->path, name);
    if (!rc && (b->values.dim[0] != f->times.dim[0] || b->values.dim[1] != items.dim[0]))
        rc = dcr_err_set(err, DCR_FAIL, "'%s': '%s' is %zu x %zu, but there are %zu times and %zu columns", f->path,
                         name, b->values.dim[0], b->values.dim[1], f->times.dim[0], items.dim[0]);
    if (!rc && !(b->column = calloc(items.dim[0], sizeof *b->column)))
        rc = dcr_err_set(err, DCR_FATAL, "out of memory reading '%s'", f->path);
    if (!rc) {
        f->n_blocks++;
        rc = place_items(f, b, ids, sorted, is_placed, err);
    }
    free(ids);
    return rc;
}

static int open_blocks(struct frame *f, struct dcr_err *err)
{
    const struct dataset *d = f->fill->d;
    struct place *sorted = calloc(d->n_sensors, sizeof *sorted);
    unsigned char *is_placed = calloc(d->n_sensors, 1);
    int rc = sorted && is_placed ? 0 : dcr_err_set(err, DCR_FATAL, "out of memory reading '%s'", f->path);
    for (size_t i = 0; !rc && i < d->n_sensors; i++)
        sorted[i] = (struct place){d->id[i], i};
    if (!rc)
        qsort(sorted, d->n_sensors, sizeof *sorted, by_id);
    for (char name[40]; !rc && f->n_blocks < MAX_BLOCKS;) {
        snprintf(name, sizeof name, "block%d_values", f->n_blocks);
        if (f->n_blocks && !h5_has(f->group, name))
            break;
        rc = open_block(f, sorted, is_placed, err);
    }
    for (size_t i = 0; !rc && i < d->n_sensors; i++)
        if (!is_placed[i])
            rc = dcr_err_set(err, DCR_FAIL, "'%s': no block holds the column '%s'", f->path, d->id[i]);
    free(sorted);
    free(is_placed);
    return rc;
}

/* ---- times ------------------------------------------------------------------------------------------------------- */

static int open_times(struct frame *f, struct dcr_err *err)
{
    static const struct {
        const char *kind;
        long long per_second;
    } known[] = {{"datetime64", 1000000000}, {"datetime64[ns]", 1000000000}, {"datetime64[us]", 1000000},
                 {"datetime64[ms]", 1000},   {"datetime64[s]", 1},           {"integer", 0}};
    char kind[40], zone[64];
    int rc = h5_array_open(f->group, f->path, "axis1", &f->times, err), is_known = 0;
    if (rc)
        return rc;
    if (!h5_text(f->times.id, "kind", kind, sizeof kind)) /* rewritten by other programs: nearly always the default */
        snprintf(kind, sizeof kind, "datetime64");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(kind, known[i].kind)) {
            is_known = f->times.n_dims == 1 && f->times.type == H5_INTEGERS;
            f->per_second = known[i].per_second;
        }
    if (!is_known)
        return dcr_err_set(err, DCR_FAIL, "'%s': the rows of '%s' are named by '%s' and not by times (datetime64)",
                           f->path, f->key, kind);
    h5_text(f->times.id, "tz", zone, sizeof zone);
    if (h5_has_attribute(f->times.id, "tz") && strcmp(zone, "UTC") != 0)
        return dcr_err_set(err, DCR_FAIL,
                           "'%s': the times are of a zone (%s), which this program does not know; save local times: "
                           "frame.tz_localize(None)",
                           f->path, zone[0] ? zone : "a Python object");
    f->fill->has_times = f->per_second > 0;
    return 0;
}

/* ---- readings ---------------------------------------------------------------------------------------------------- */

struct slab {
    size_t n_rows;
    double *mph, *piece; /* (n_rows, n_sensors): of all blocks, of one */
    long long *time;     /* (n_rows) in the file's unit */
};

static int read_slab(struct frame *f, struct slab *s, size_t first, size_t n, struct dcr_err *err)
{
    const size_t n_sensors = f->fill->d->n_sensors;
    int rc = h5_read_numbers(&f->times, f->path, first, n, s->time, err);
    for (int k = 0; !rc && k < f->n_blocks; k++) {
        const struct block *b = &f->block[k];
        const size_t n_items = b->values.dim[1];
        rc = h5_read_doubles(&b->values, f->path, first, n, s->piece, err);
        for (size_t row = 0; !rc && row < n; row++)
            for (size_t i = 0; i < n_items; i++)
                s->mph[row * n_sensors + b->column[i]] = s->piece[row * n_items + i];
    }
    return rc;
}

static int take_row(struct frame *f, const struct slab *s, size_t k, size_t number, struct dcr_err *err)
{
    const size_t n_sensors = f->fill->d->n_sensors;
    float *out = dataset_fill_room(f->fill, err);
    int rc = out ? 0 : DCR_FATAL;
    for (size_t i = 0; !rc && i < n_sensors; i++)
        rc = dataset_fill_speed(f->fill, s->mph[k * n_sensors + i], number, i + 1, &out[i], err);
    if (rc || !f->per_second)
        return rc ? rc : dataset_fill_end_row(f->fill, NULL, number, err);
    long long t = s->time[k], seconds = t / f->per_second - (t % f->per_second < 0);
    if (seconds < 0 || seconds > (long long)1 << 33) /* years 1970 to 2242; NaT is far below */
        return dcr_err_set(err, DCR_FAIL, "'%s' row %zu: %lld is no time in the unit of this frame", f->path, number,
                           t);
    return dataset_fill_end_row(f->fill, &seconds, number, err);
}

static int read_rows(struct frame *f, struct dcr_err *err)
{
    const size_t n_sensors = f->fill->d->n_sensors, n_rows = f->times.dim[0];
    struct slab s = {.n_rows = SLAB_VALUES / n_sensors + 1};
    s.mph = calloc(s.n_rows * n_sensors, sizeof *s.mph);
    s.piece = calloc(s.n_rows * n_sensors, sizeof *s.piece);
    s.time = calloc(s.n_rows, sizeof *s.time);
    int rc = s.mph && s.piece && s.time ? 0 : dcr_err_set(err, DCR_FATAL, "out of memory reading '%s'", f->path);
    for (size_t first = 0; !rc && first < n_rows; first += s.n_rows) {
        size_t n = n_rows - first < s.n_rows ? n_rows - first : s.n_rows;
        rc = read_slab(f, &s, first, n, err);
        for (size_t k = 0; !rc && k < n; k++)
            rc = take_row(f, &s, k, first + k + 1, err);
    }
    free(s.mph);
    free(s.piece);
    free(s.time);
    return rc;
}

int dataset_hdf5(struct dataset_fill *fill, struct dcr_err *err)
{
    struct frame *f = calloc(1, sizeof *f);
    if (!f)
        return dcr_err_set(err, DCR_FATAL, "out of memory reading '%s'", fill->file->path);
    fill->line = "row";
    f->fill = fill;
    f->path = fill->file->path;
    int rc = h5_open(f->path, &f->file, err);
    if (!rc)
        rc = find_frame(f, err);
    if (!rc)
        rc = check_kind(f, err);
    if (!rc)
        rc = open_times(f, err);
    if (!rc)
        rc = read_sensors(f, err);
    if (!rc)
        rc = open_blocks(f, err);
    if (!rc)
        rc = read_rows(f, err);
    h5_close(f->file);
    for (int k = 0; k < f->n_blocks; k++)
        free(f->block[k].column);
    free(f);
    return rc;
}
#endif
