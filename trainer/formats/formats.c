/* formats.c - see formats.h: finds the kind of a file and its reader. */
#include "trainer/formats/readers.h"

#include "lib/base/fs.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum file_kind {
    FILE_TEXT, /* any other file */
    FILE_HDF5,
    FILE_NPY,
    FILE_ZIP, /* .npz */
    FILE_PICKLE,
    FILE_FOLDER
};

/* First bytes of each kind, from the formats' own descriptions. */
static const struct {
    enum file_kind kind;
    const char *start;
    size_t n;
} known[] = {
    {FILE_HDF5, "\x89HDF\r\n\x1a\n", 8}, /* HDF5 File Format Specification, III.A */
    {FILE_NPY, "\x93NUMPY", 6},          /* numpy/lib/format.py */
    {FILE_ZIP, "PK\x03\x04", 4},         /* APPNOTE.TXT 4.3.7 */
    {FILE_ZIP, "PK\x05\x06", 4},         /* an empty archive: 4.3.16 */
    {FILE_PICKLE, "\x80\x02", 2},        /* PROTO of protocol 2 and later: Lib/pickletools.py */
    {FILE_PICKLE, "\x80\x03", 2},
    {FILE_PICKLE, "\x80\x04", 2},
    {FILE_PICKLE, "\x80\x05", 2},
    {FILE_PICKLE, "(lp", 3}, /* protocol 0, a list */
    {FILE_PICKLE, "]q", 2},  /* protocol 1 */
};

/* By the first bytes and never by the name. A Git LFS pointer, which a repository may have in place of its data, is
 * refused. */
static int kind_of(const char *path, enum file_kind *out, struct dcr_err *err)
{
    static const char pointer[] = "version https://git-lfs";
    char start[sizeof pointer] = {0};
    struct stat st;
    *out = FILE_TEXT;
    if (stat(path, &st))
        return dcr_err_file(err, DCR_FAIL, "cannot read '%s'", path);
    if (dcr_check_is_file(&st, path, err))
        return DCR_FAIL;
    if (S_ISDIR(st.st_mode)) {
        *out = FILE_FOLDER;
        return 0;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return dcr_err_file(err, DCR_FAIL, "cannot read '%s'", path);
    ssize_t n = read(fd, start, sizeof start - 1);
    close(fd);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (n >= (ssize_t)known[i].n && !memcmp(start, known[i].start, known[i].n))
            *out = known[i].kind;
    if (!strcmp(start, pointer))
        return dcr_err_set(err, DCR_FAIL,
                           "'%s' is a Git LFS pointer and not the data; run `git lfs pull` where it came from, or "
                           "download the file itself",
                           path);
    return 0;
}

/* ---- speeds ------------------------------------------------------------------------------------------------------ */

/* An option that cannot apply to this kind of file is refused, not ignored. */
static int check_wishes(const struct dataset_file *file, enum file_kind kind, struct dcr_err *err)
{
    if (file->header != DATASET_HEADER_AUTO && kind != FILE_TEXT)
        return dcr_err_set(err, DCR_FAIL, "'%s' is not a CSV file; leave --header out", file->path);
    if (file->key && kind != FILE_HDF5 && kind != FILE_ZIP)
        return dcr_err_set(err, DCR_FAIL, "'%s' holds one table; leave --data-key out", file->path);
    if (file->feature && kind != FILE_NPY && kind != FILE_ZIP)
        return dcr_err_set(err, DCR_FAIL, "'%s' has no features to choose from; leave --data-feature out", file->path);
    return 0;
}

static int read_speeds(struct dataset_fill *f, enum file_kind kind, struct dcr_err *err)
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
                           "'%s' is a Python pickle, which can run programs and is not read; convert it: `python3 -c "
                           "\"import pandas; pandas.read_pickle('%s').fillna(0).to_csv('speeds.csv')\"`",
                           f->file->path, dcr_last_part(f->file->path));
    default:
        return dataset_csv(f, err);
    }
}

/* Adds names and times that the file lacks. */
static int complete(struct dataset_fill *f, struct dcr_err *err)
{
    struct dataset *d = f->d;
    const struct dataset_file *file = f->file;
    if (!d->n_rows)
        return dcr_err_set(err, DCR_FAIL, "'%s' has no rows of speeds; give a file with rows", file->path);
    if (f->has_names && file->ids_path)
        return dcr_err_set(err, DCR_FAIL, "'%s' names its sensors; leave out --sensor-ids '%s'", file->path,
                           file->ids_path);
    if (f->has_times && file->has_start)
        return dcr_err_set(err, DCR_FAIL, "'%s' has times; leave --start-time out", file->path);
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
    int rc = kind_of(file->path, &kind, err);
    if (!rc)
        rc = check_wishes(file, kind, err);
    if (!rc)
        rc = read_speeds(&f, kind, err);
    if (!rc)
        rc = complete(&f, err);
    const char *name = dcr_last_part(file->path);
    if (rc)
        dataset_release(d);
    else
        snprintf(d->description, sizeof d->description, "%.120s: %zu rows of %zu sensors", *name ? name : file->path,
                 d->n_rows, d->n_sensors);
    return rc;
}

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

static int read_graph(struct graph_pairs *p, enum file_kind kind, struct dcr_err *err)
{
    const enum graph_format format = p->file->format;
    if (kind != FILE_TEXT && (format == GRAPH_DISTANCE_LIST || format == GRAPH_WEIGHT_LIST))
        return dcr_err_set(err, DCR_FAIL, "'%s' is not a list; leave --graph-format out, or say which matrix it is",
                           p->file->path);
    switch (kind) {
    case FILE_NPY:
        return graph_npy(p, err);
    case FILE_ZIP:
        return graph_npz(p, err);
    case FILE_PICKLE:
        return graph_pickle(p, err);
    case FILE_HDF5:
    case FILE_FOLDER:
        return dcr_err_set(err, DCR_FAIL,
                           "'%s' is %s; a graph is a list or matrix in a CSV, an npy, npz or adj_mx.pkl file",
                           p->file->path, kind == FILE_HDF5 ? "an HDF5 file" : "a folder");
    default:
        return graph_text(p, err);
    }
}

int graph_read(const struct graph_file *file, const struct dataset *d, struct graph_csr *adjacency, size_t *n_unknown,
               struct dcr_err *err)
{
    struct graph_pairs p = {0};
    enum file_kind kind;
    int rc = kind_of(file->path, &kind, err);
    if (!rc)
        rc = graph_pairs_begin(&p, file, d, err);
    if (!rc)
        rc = read_graph(&p, kind, err);
    if (!rc)
        rc = graph_pairs_adjacency(&p, adjacency, err);
    if (n_unknown)
        *n_unknown = p.n_unknown;
    graph_pairs_release(&p);
    return rc;
}
