/* dataset_read.c - see dataset_read.h. */
#include "trainer/formats/dataset_read.h"

#include "trainer/formats/dataset_fill.h"
#include "trainer/formats/dataset_time.h"
#include "trainer/formats/file_kind.h"

#include <stdio.h>
#include <string.h>

/* What the file cannot have is no wish of the user's to pass over in silence. */
static int check_wishes(const struct dataset_file *file, enum file_kind kind, struct dcr_err *err)
{
    if (file->header != DATASET_HEADER_AUTO && kind != FILE_TEXT)
        return dcr_err_set(err, DCR_FAIL, "'%s' is no CSV: leave --header out", file->path);
    if (file->key && kind != FILE_HDF5 && kind != FILE_ZIP)
        return dcr_err_set(err, DCR_FAIL, "'%s' holds one table: leave --data-key out", file->path);
    if (file->feature && kind != FILE_NPY && kind != FILE_ZIP)
        return dcr_err_set(err, DCR_FAIL, "'%s' has no features to choose from: leave --data-feature out", file->path);
    return 0;
}

static int read_kind(struct dataset_fill *f, enum file_kind kind, struct dcr_err *err)
{
    switch (kind) {
    case FILE_HDF5:
        return dataset_hdf5(f, err);
    case FILE_NPY:
        return dataset_npy(f, err);
    case FILE_ZIP:
        return dataset_npz(f, err);
    case FILE_FOLDER:
        return dataset_windows(f, err);
    case FILE_PICKLE:
        return dcr_err_set(err, DCR_FAIL,
                           "'%s' is a Python pickle, which can run programs and is not read; convert it: python3 -c "
                           "\"import pandas; pandas.read_pickle('%s').fillna(0).to_csv('speeds.csv')\"",
                           f->file->path, file_base_name(f->file->path));
    default:
        return dataset_csv(f, err);
    }
}

/* Names and times that the file does not have. */
static int complete(struct dataset_fill *f, struct dcr_err *err)
{
    struct dataset *d = f->d;
    const struct dataset_file *file = f->file;
    if (!d->n_rows)
        return dcr_err_set(err, DCR_FAIL, "'%s' has no rows of speeds", file->path);
    if (f->has_names && file->ids_path)
        return dcr_err_set(err, DCR_FAIL, "'%s' names its sensors: sensor ids from '%s' are not needed", file->path,
                           file->ids_path);
    if (f->has_times && file->has_start)
        return dcr_err_set(err, DCR_FAIL, "'%s' has times: leave --start-time out", file->path);
    if (!f->has_times && !file->has_start) {
        size_t at = strlen(d->note);
        snprintf(d->note + at, sizeof d->note - at,
                 "%sno times: the first row is taken as midnight, the others 5 minutes apart (--start-time)",
                 at ? "; " : "");
    }
    if (file->ids_path)
        return dataset_csv_names(f, file->ids_path, err);
    d->is_numbered = !f->has_names;
    for (size_t i = 0; d->is_numbered && i < d->n_sensors; i++)
        snprintf(d->id[i], DATASET_ID_BYTES, "%zu", i);
    return 0;
}

int dataset_read(struct dataset *d, const struct dataset_file *file, struct dcr_err *err)
{
    struct dataset_fill f = {.file = file, .d = d, .line = "row"};
    enum file_kind kind;
    memset(d, 0, sizeof *d);
    int rc = file_kind_of(file->path, &kind, err);
    if (!rc)
        rc = check_wishes(file, kind, err);
    if (!rc)
        rc = read_kind(&f, kind, err);
    if (!rc)
        rc = complete(&f, err);
    const char *name = file_base_name(file->path);
    if (rc)
        dataset_release(d);
    else
        snprintf(d->description, sizeof d->description, "%.120s: %zu rows of %zu sensors", *name ? name : file->path,
                 d->n_rows, d->n_sensors);
    return rc;
}
