/* read_hdf5.c - speeds from a pandas frame in an HDF5 file, as METR-LA (metr-la.h5, key df) and PEMS-BAY (pems-bay.h5,
 * key speed) are published. Called by formats.c.
 *
 * The frame is a group in pandas' `fixed` format, written through PyTables:
 *   axis0           sensor ids, texts of fixed width or whole numbers            shape: (sensors)
 *   axis1           times, int64 in the unit of its attribute kind ("datetime64" = ns)  shape: (rows)
 *   blockK_items    the ids of the columns of block K; all blocks together have each id once
 *   blockK_values   readings, floats or whole numbers; NaN = missing             shape: (rows, items of the block)
 * Source: class BlockManagerFixed of pandas/io/pytables.py.
 *
 * libhdf5 is loaded only when the first file is opened, because Debian's loads 30 libraries (for files on web servers),
 * which a training process that reads a CSV does not need. */
#include "trainer/formats/readers.h"

#ifndef HAVE_HDF5
int dataset_hdf5(struct dataset_fill *f, struct dcr_err *err)
{
    return dcr_err_set(err, DCR_FAIL,
                       "'%s' is an HDF5 file, and this program was built without libhdf5; install libhdf5-dev and make "
                       "it again, or convert the file to CSV (docs/data.md)",
                       f->file->path);
}
#else

#include "lib/base/fs.h"

#include <dlfcn.h>
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define READ_ONLY 0u /* H5F_ACC_RDONLY itself would call the library */
#define MAX_CHUNK_BYTES ((hsize_t)256 << 20)
#define MAX_NAMES 65536
#define MAX_NAME_BYTES 1024
#define STORED_TEXT_BYTES 16 /* a text of any length in the file: length, address, number */
#define MAX_BLOCKS 64
#define SLAB_VALUES ((size_t)1 << 17) /* values read at once */

/* ---- libhdf5 ----------------------------------------------------------------------------------------------------- */

/* The used parts of libhdf5: types from its header, addresses at run time. */
/* clang-format off */
#define FUNCTIONS(X) \
    X(H5open) X(H5get_libversion) X(H5Aclose) X(H5Aexists) X(H5Aget_storage_size) X(H5Aget_type) X(H5Aopen) \
    X(H5Aread) X(H5Dget_create_plist) X(H5Dget_num_chunks) X(H5Dget_space) X(H5Dget_storage_size) X(H5Dget_type) \
    X(H5Dopen2) X(H5Dread) X(H5Eset_auto2) X(H5Ewalk2) X(H5Fclose) X(H5Fopen) X(H5free_memory) X(H5Gopen2) \
    X(H5Lexists) X(H5Lget_name_by_idx) X(H5Pclose) X(H5Pcreate) X(H5Pget_chunk) X(H5Pget_filter2) X(H5Pget_nfilters) \
    X(H5Pget_external_count) X(H5Pget_layout) X(H5Pset_fclose_degree) X(H5Sclose) X(H5Screate_simple) \
    X(H5Sget_simple_extent_dims) X(H5Sget_simple_extent_ndims) X(H5Sselect_hyperslab) X(H5Tclose) X(H5Tget_class) \
    X(H5Tget_size) X(H5Tis_variable_str) X(H5Zfilter_avail)
/* clang-format on */
static struct {
    void *library;
    hid_t file_access, native_double, native_llong;
#define X(name) __typeof__(name) *name;
    FUNCTIONS(X)
#undef X
} h5;

/* Finds the functions and the numbers of built-in types and lists; 0 when one is missing. */
static int resolve(void *library)
{
    const hid_t *access = dlsym(library, "H5P_CLS_FILE_ACCESS_ID_g"), *real = dlsym(library, "H5T_NATIVE_DOUBLE_g"),
                *whole = dlsym(library, "H5T_NATIVE_LLONG_g");
#define X(name)                                 \
    *(void **)&h5.name = dlsym(library, #name); \
    if (!h5.name)                               \
        return 0;
    FUNCTIONS(X)
#undef X
    unsigned major = 0, minor = 0, release = 0;
    /* numbers of enumerators and layouts of structs are fixed within one minor version */
    if (h5.H5get_libversion(&major, &minor, &release) < 0 || major != H5_VERS_MAJOR || minor != H5_VERS_MINOR)
        return 0;
    if (!access || !real || !whole || h5.H5open() < 0 || h5.H5Eset_auto2(H5E_DEFAULT, NULL, NULL) < 0)
        return 0;
    h5.file_access = *access;
    h5.native_double = *real;
    h5.native_llong = *whole;
    return 1;
}

static int load(const char *path, struct dcr_err *err)
{
    static const char *const names[] = {NULL, /* the program itself: a bundle has them linked in */
                                        "libhdf5_serial.so.103",
                                        "libhdf5.so.103",
                                        "libhdf5.so.200",
                                        "libhdf5.so.310",
                                        "libhdf5_serial.so",
                                        "libhdf5.so"};
    for (size_t i = 0; !h5.library && i < sizeof names / sizeof *names; i++) {
        void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (library && resolve(library))
            h5.library = library;
        else if (library)
            dlclose(library);
    }
    return h5.library ? 0
                      : dcr_err_set(err, DCR_FAIL,
                                    "'%s' is an HDF5 file, and there is no libhdf5 %d.%d on this machine; install it "
                                    "(libhdf5-103-1), or convert the file to CSV (docs/data.md)",
                                    path, H5_VERS_MAJOR, H5_VERS_MINOR);
}

/* libhdf5 keeps a stack of errors; the innermost entry gives the reason. */
static herr_t innermost(unsigned n, const H5E_error2_t *e, void *out)
{
    if (n == 0 && e->desc)
        snprintf(out, 200, "%s", e->desc);
    return 0;
}

static int failed(const char *path, const char *what, struct dcr_err *err)
{
    char why[200] = "it is damaged";
    h5.H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, innermost, why);
    return dcr_err_set(err, DCR_FAIL, "cannot read %s of '%s': %s; copy or save it again", what, path, why);
}

/* ---- objects ----------------------------------------------------------------------------------------------------- */

/* Closing a negative number does nothing, so objects that could not be opened are closed like the others. */

/* returns the file, or -1 */
static hid_t open_file(const char *path, struct dcr_err *err)
{
    hid_t file = -1;
    if (load(path, err))
        return -1;
    hid_t how = h5.H5Pcreate(h5.file_access);
    if (how >= 0 && h5.H5Pset_fclose_degree(how, H5F_CLOSE_STRONG) >= 0) /* together with every object in it */
        file = h5.H5Fopen(path, READ_ONLY, how);
    if (file < 0)
        failed(path, "the structure", err);
    h5.H5Pclose(how);
    return file;
}

static int has(hid_t group, const char *name)
{
    return h5.H5Lexists(group, name, H5P_DEFAULT) > 0;
}

/* The text in an attribute of an object. returns 1; 0 with out "" if the object lacks it or it is
 * no text */
static int read_text(hid_t object, const char *attribute, char *out, size_t n)
{
    out[0] = 0;
    if (h5.H5Aexists(object, attribute) <= 0)
        return 0;
    hid_t a = h5.H5Aopen(object, attribute, H5P_DEFAULT), type = a < 0 ? -1 : h5.H5Aget_type(a);
    size_t size = type < 0 ? 0 : h5.H5Tget_size(type);
    int is_text = type >= 0 && h5.H5Tget_class(type) == H5T_STRING && size && size <= MAX_NAME_BYTES;
    char room[MAX_NAME_BYTES + 1] = "", *pointed = NULL;
    if (is_text && h5.H5Tis_variable_str(type) > 0) {
        /* a single text, because an array of texts would be that many pointers */
        is_text = h5.H5Aget_storage_size(a) <= STORED_TEXT_BYTES && h5.H5Aread(a, type, &pointed) >= 0 && pointed;
        snprintf(out, n, "%s", is_text ? pointed : "");
        h5.H5free_memory(pointed);
    } else if (is_text) {
        is_text = h5.H5Aget_storage_size(a) == size && h5.H5Aread(a, type, room) >= 0;
        snprintf(out, n, "%s", is_text ? room : "");
    }
    h5.H5Tclose(type);
    h5.H5Aclose(a);
    return is_text;
}

/* ---- arrays ------------------------------------------------------------------------------------------------------ */

/* An array of one or two dimensions; all of its values are in the file. */
struct array {
    hid_t id;
    int n_dims;
    size_t dim[2];
    H5T_class_t type; /* floats, whole numbers, texts of fixed width */
    size_t item_bytes;
};

/* PyTables compresses with filters that libhdf5 lacks. */
static int check_filters(hid_t how, const char *path, const char *name, struct dcr_err *err)
{
    for (int i = 0; i < h5.H5Pget_nfilters(how); i++) {
        char filter[32] = "";
        unsigned flags = 0;
        size_t n_values = 0;
        H5Z_filter_t id = h5.H5Pget_filter2(how, (unsigned)i, &flags, &n_values, NULL, sizeof filter, filter, NULL);
        if (id < 0 || h5.H5Zfilter_avail(id) <= 0)
            return dcr_err_set(
                err, DCR_FAIL,
                "'%s': '%s' is compressed by '%.31s', which libhdf5 does not know; save it again without "
                "compression or with complib='zlib'",
                path, name, filter);
    }
    return 0;
}

/* Are all values in this file? A chunk that was never written, or a claim beyond the file, would give invented values.
 */
static int check_stored(const struct array *a, hid_t how, hid_t space, const char *path, const char *name,
                        struct dcr_err *err)
{
    hsize_t chunk[2] = {1, 1}, n_chunks = 0, expected = 1, chunk_bytes = a->item_bytes;
    H5D_layout_t layout = h5.H5Pget_layout(how);
    int is_whole = h5.H5Pget_external_count(how) == 0;
    if (layout == H5D_CHUNKED) {
        is_whole = is_whole && h5.H5Pget_chunk(how, 2, chunk) == a->n_dims;
        for (int i = 0; is_whole && i < a->n_dims; i++) {
            is_whole = chunk[i] > 0 && chunk[i] <= MAX_CHUNK_BYTES;
            expected *= is_whole ? (a->dim[i] + chunk[i] - 1) / chunk[i] : 0;
            chunk_bytes *= chunk[i];
        }
        is_whole = is_whole && h5.H5Dget_num_chunks(a->id, space, &n_chunks) >= 0 && n_chunks == expected;
        if (is_whole && chunk_bytes > MAX_CHUNK_BYTES)
            return dcr_err_set(err, DCR_FAIL, "'%s': '%s' is stored in pieces of over 256 MiB", path, name);
    } else {
        is_whole = is_whole && (layout == H5D_CONTIGUOUS || layout == H5D_COMPACT) &&
                   h5.H5Dget_storage_size(a->id) == (hsize_t)a->dim[0] * a->dim[1] * a->item_bytes;
    }
    return is_whole ? 0
                    : dcr_err_set(err, DCR_FAIL, "'%s': the values of '%s' are not all in the file; copy it again",
                                  path, name);
}

/* Type and shape. */
static int look(struct array *a, hid_t type, hid_t space, const char *path, const char *name, struct dcr_err *err)
{
    hsize_t dim[2] = {0, 1};
    a->n_dims = h5.H5Sget_simple_extent_ndims(space);
    a->type = h5.H5Tget_class(type);
    a->item_bytes = h5.H5Tget_size(type);
    int is_known = ((a->type == H5T_FLOAT || a->type == H5T_INTEGER) && a->item_bytes <= 16) ||
                   (a->type == H5T_STRING && h5.H5Tis_variable_str(type) == 0 && a->item_bytes <= MAX_NAME_BYTES);
    if (!is_known || a->n_dims < 1 || a->n_dims > 2 || h5.H5Sget_simple_extent_dims(space, dim, NULL) < 0)
        return dcr_err_set(err, DCR_FAIL,
                           "'%s': '%s' is not an array of numbers or of texts of fixed width (Python objects?); save "
                           "it as numbers or texts",
                           path, name);
    a->dim[0] = dim[0];
    a->dim[1] = dim[1];
    if (!dim[0] || !dim[1] || dim[0] > UINT32_MAX || dim[1] > MAX_NAMES)
        return dcr_err_set(
            err, DCR_FAIL,
            "'%s': '%s' has %zu x %zu values: none, or more than this program handles; save a smaller frame", path,
            name, a->dim[0], a->dim[1]);
    return 0;
}

static int open_array(hid_t group, const char *path, const char *name, struct array *out, struct dcr_err *err)
{
    memset(out, 0, sizeof *out);
    if (!has(group, name))
        return dcr_err_set(err, DCR_FAIL, "'%s': the frame has no '%s'; save it again with to_hdf", path, name);
    out->id = h5.H5Dopen2(group, name, H5P_DEFAULT);
    if (out->id < 0)
        return failed(path, name, err);
    hid_t type = h5.H5Dget_type(out->id), space = h5.H5Dget_space(out->id), how = h5.H5Dget_create_plist(out->id);
    int rc = type < 0 || space < 0 || how < 0 ? failed(path, name, err) : look(out, type, space, path, name, err);
    if (!rc)
        rc = check_filters(how, path, name, err);
    if (!rc)
        rc = check_stored(out, how, space, path, name, err);
    h5.H5Tclose(type);
    h5.H5Sclose(space);
    h5.H5Pclose(how);
    return rc;
}

/* Rows [first, first + n), converted to `type`, the type of the elements of out. */
static int read_slab(const struct array *a, const char *path, size_t first, size_t n, hid_t type, void *out,
                     struct dcr_err *err)
{
    hsize_t start[2] = {first, 0}, count[2] = {n, a->dim[1]};
    hid_t there = h5.H5Dget_space(a->id), here = h5.H5Screate_simple(a->n_dims, count, NULL);
    int rc = 0;
    if (there < 0 || here < 0 || h5.H5Sselect_hyperslab(there, H5S_SELECT_SET, start, NULL, count, NULL) < 0 ||
        h5.H5Dread(a->id, type, here, there, H5P_DEFAULT, out) < 0)
        rc = failed(path, "the values", err);
    h5.H5Sclose(here);
    h5.H5Sclose(there);
    return rc;
}

/* An array of texts or whole numbers as texts. out gives; free it: one block                    shape: (dim[0]) */
static int read_names(const struct array *a, const char *path, char ***out, struct dcr_err *err)
{
    const int is_text = a->type == H5T_STRING;
    const size_t n = a->dim[0], item = is_text ? a->item_bytes : sizeof(long long), width = is_text ? item + 1 : 24;
    if (a->n_dims != 1 || n > MAX_NAMES || a->type == H5T_FLOAT)
        return dcr_err_set(err, DCR_FAIL, "'%s': sensor ids must be texts or whole numbers, at most %d; rename them",
                           path, MAX_NAMES);
    char **names = malloc(n * (sizeof *names + width)), *raw = malloc(n * item);
    hid_t type = is_text ? h5.H5Dget_type(a->id) : h5.native_llong;
    int rc = names && raw ? read_slab(a, path, 0, n, type, raw, err)
                          : dcr_err_set(err, DCR_FATAL, "out of memory reading '%s'", path);
    for (size_t i = 0; !rc && i < n; i++) {
        long long number = 0;
        names[i] = (char *)(names + n) + i * width;
        if (!is_text)
            memcpy(&number, raw + i * item, item);
        if (is_text) /* texts of PyTables that fill their width have no NUL */
            snprintf(names[i], width, "%.*s", (int)item, raw + i * item);
        else
            snprintf(names[i], width, "%lld", number);
    }
    if (is_text)
        h5.H5Tclose(type);
    free(raw);
    if (rc)
        free(names);
    else
        *out = names;
    return rc;
}

/* ---- which group is the frame ------------------------------------------------------------------------------------ */

struct block {
    struct array values;
    size_t *column; /* column of the data set for each item             shape: (values.dim[1]) */
};

struct frame {
    struct dataset_fill *fill;
    const char *path;
    hid_t file, group;
    char key[256];
    struct array times;
    long long per_second; /* unit of a time stamp; 0 = the rows have none */
    struct block block[MAX_BLOCKS];
    int n_blocks;
};

/* The frame with the wanted key, or the only one. */
static int find_frame(struct frame *f, struct dcr_err *err)
{
    const char *wanted = f->fill->file->key;
    char name[256], type[32], keys[200] = "";
    size_t at = 0;
    int n_frames = 0;
    for (hsize_t i = 0;; i++) {
        if (h5.H5Lget_name_by_idx(f->file, ".", H5_INDEX_NAME, H5_ITER_INC, i, name, sizeof name, H5P_DEFAULT) < 0)
            break;
        at += (size_t)snprintf(keys + at, at < sizeof keys ? sizeof keys - at : 0, "%s%s", i ? ", " : "", name);
        at = at < sizeof keys ? at : sizeof keys - 1;
        hid_t group = h5.H5Gopen2(f->file, name, H5P_DEFAULT);
        if (group >= 0 && (read_text(group, "pandas_type", type, sizeof type) || has(group, "axis1")) && !n_frames++)
            snprintf(f->key, sizeof f->key, "%s", name);
    }
    if (!keys[0])
        snprintf(keys, sizeof keys, "none");
    if (!wanted && n_frames > 1)
        return dcr_err_set(err, DCR_FAIL, "'%s' holds %d frames: %s; say which one by --data-key NAME", f->path,
                           n_frames, keys);
    if (!wanted && !n_frames)
        return dcr_err_set(err, DCR_FAIL, "'%s' holds no frame of pandas; its keys: %s", f->path, keys);
    if (wanted)
        snprintf(f->key, sizeof f->key, "%s", wanted);
    f->group = h5.H5Gopen2(f->file, f->key, H5P_DEFAULT);
    if (f->group < 0)
        return dcr_err_set(err, DCR_FAIL, "'%s' has no frame '%s'; its keys: %s", f->path, f->key, keys);
    return 0;
}

/* pandas has other formats, and objects that are no frames. */
static int check_kind(const struct frame *f, struct dcr_err *err)
{
    char type[32], variety[32];
    const char *name = dcr_last_part(f->path);
    read_text(f->group, "pandas_type", type, sizeof type);
    read_text(f->group, "axis0_variety", variety, sizeof variety);
    if (!strcmp(variety, "multi"))
        return dcr_err_set(err, DCR_FAIL, "'%s': the columns of '%s' have several levels; save one level per file",
                           f->path, f->key);
    if (!strncmp(type, "frame_", 6) || !strncmp(type, "appendable_", 11))
        return dcr_err_set(err, DCR_FAIL,
                           "'%s': '%s' is in pandas' format for tables; save it in fixed format: `python3 -c \"import "
                           "pandas; pandas.read_hdf('%s', '%s').to_hdf('fixed.h5', key='%s')\"`",
                           f->path, f->key, name, f->key, f->key);
    if (type[0] && strcmp(type, "frame") != 0)
        return dcr_err_set(err, DCR_FAIL,
                           "'%s': '%s' is a %s of pandas and no frame with a column per sensor; save a DataFrame",
                           f->path, f->key, type);
    return 0;
}

/* ---- sensors ----------------------------------------------------------------------------------------------------- */

static int read_sensors(struct frame *f, struct dcr_err *err)
{
    struct array axis;
    char **names = NULL;
    int rc = open_array(f->group, f->path, "axis0", &axis, err);
    if (!rc)
        rc = read_names(&axis, f->path, &names, err);
    if (!rc)
        rc = fill_begin(f->fill, axis.dim[0], err);
    if (!rc)
        rc = fill_names(f->fill, names, f->path, 0, err);
    free(names);
    return rc;
}

/* The positions of a block's items among the sensors; each sensor once over all blocks. */
static int place_items(struct frame *f, struct block *b, char *const *items, const struct sensor *sorted,
                       unsigned char *is_placed, struct dcr_err *err)
{
    for (size_t i = 0; i < b->values.dim[1]; i++) {
        const int column = sensors_find(sorted, f->fill->d, items[i]);
        if (column < 0 || is_placed[column])
            return dcr_err_set(err, DCR_FAIL, "'%s': column '%.40s' of a block is %s; save the frame again", f->path,
                               items[i], column < 0 ? "not among the frame's columns (axis0)" : "in another one too");
        is_placed[column] = 1;
        b->column[i] = (size_t)column;
    }
    return 0;
}

static int open_block(struct frame *f, const struct sensor *sorted, unsigned char *is_placed, struct dcr_err *err)
{
    struct block *b = &f->block[f->n_blocks];
    struct array items;
    char name[40], **ids = NULL;
    snprintf(name, sizeof name, "block%d_items", f->n_blocks);
    int rc = open_array(f->group, f->path, name, &items, err);
    if (!rc)
        rc = read_names(&items, f->path, &ids, err);
    snprintf(name, sizeof name, "block%d_values", f->n_blocks);
    if (!rc)
        rc = open_array(f->group, f->path, name, &b->values, err);
    if (!rc && (b->values.type == H5T_STRING || b->values.n_dims != 2))
        rc = dcr_err_set(err, DCR_FAIL, "'%s': '%s' is not a table of numbers; save the frame as numbers", f->path,
                         name);
    if (!rc && (b->values.dim[0] != f->times.dim[0] || b->values.dim[1] != items.dim[0]))
        rc = dcr_err_set(err, DCR_FAIL,
                         "'%s': '%s' is %zu x %zu, but there are %zu times and %zu columns; save the frame again",
                         f->path, name, b->values.dim[0], b->values.dim[1], f->times.dim[0], items.dim[0]);
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
    struct sensor *sorted = sensors_sorted(d);
    unsigned char *is_placed = calloc(d->n_sensors, 1);
    int rc = sorted && is_placed ? 0 : dcr_err_set(err, DCR_FATAL, "out of memory reading '%s'", f->path);
    for (char name[40]; !rc && f->n_blocks < MAX_BLOCKS;) {
        snprintf(name, sizeof name, "block%d_values", f->n_blocks);
        if (f->n_blocks && !has(f->group, name))
            break;
        rc = open_block(f, sorted, is_placed, err);
    }
    for (size_t i = 0; !rc && i < d->n_sensors; i++)
        if (!is_placed[i])
            rc = dcr_err_set(err, DCR_FAIL, "'%s': no block holds the column '%s'; save the frame again", f->path,
                             d->id[i]);
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
    int rc = open_array(f->group, f->path, "axis1", &f->times, err), is_known = 0;
    if (rc)
        return rc;
    if (!read_text(f->times.id, "kind", kind, sizeof kind)) /* rewritten by other programs: nearly always the default */
        snprintf(kind, sizeof kind, "datetime64");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(kind, known[i].kind)) {
            is_known = f->times.n_dims == 1 && f->times.type == H5T_INTEGER;
            f->per_second = known[i].per_second;
        }
    if (!is_known)
        return dcr_err_set(
            err, DCR_FAIL,
            "'%s': the rows of '%s' are named by '%s' and not by times (datetime64); save it with a DatetimeIndex",
            f->path, f->key, kind);
    read_text(f->times.id, "tz", zone, sizeof zone);
    if (h5.H5Aexists(f->times.id, "tz") > 0 && strcmp(zone, "UTC") != 0)
        return dcr_err_set(err, DCR_FAIL,
                           "'%s': the times are of a zone (%s), which this program does not know; save local times: "
                           "frame.tz_localize(None)",
                           f->path, zone[0] ? zone : "a Python object");
    f->fill->has_times = f->per_second > 0;
    return 0;
}

/* ---- readings ---------------------------------------------------------------------------------------------------- */

static int take_row(struct frame *f, const double *mph, long long t, size_t number, struct dcr_err *err)
{
    if (!f->per_second)
        return fill_row(f->fill, mph, 1, NULL, number, err);
    const long long seconds = t / f->per_second - (t % f->per_second < 0);
    if (seconds < 0 || seconds > (long long)1 << 33) /* years 1970 to 2242; NaT is far below */
        return dcr_err_set(err, DCR_FAIL,
                           "'%s' row %zu: %lld is not a time in the unit of this frame; save the frame again", f->path,
                           number, t);
    return fill_row(f->fill, mph, 1, &seconds, number, err);
}

static int read_rows(struct frame *f, struct dcr_err *err)
{
    const size_t n_sensors = f->fill->d->n_sensors, n_rows = f->times.dim[0], n_at_once = SLAB_VALUES / n_sensors + 1;
    double *mph = calloc(n_at_once * n_sensors, sizeof *mph), *piece = calloc(n_at_once * n_sensors, sizeof *piece);
    long long *time = calloc(n_at_once, sizeof *time);
    int rc = mph && piece && time ? 0 : dcr_err_set(err, DCR_FATAL, "out of memory reading '%s'", f->path);
    for (size_t first = 0; !rc && first < n_rows; first += n_at_once) {
        const size_t n = n_rows - first < n_at_once ? n_rows - first : n_at_once;
        rc = read_slab(&f->times, f->path, first, n, h5.native_llong, time, err);
        for (int k = 0; !rc && k < f->n_blocks; k++) {
            const struct block *b = &f->block[k];
            const size_t n_items = b->values.dim[1];
            rc = read_slab(&b->values, f->path, first, n, h5.native_double, piece, err);
            for (size_t row = 0; !rc && row < n; row++)
                for (size_t i = 0; i < n_items; i++)
                    mph[row * n_sensors + b->column[i]] = piece[row * n_items + i];
        }
        for (size_t k = 0; !rc && k < n; k++)
            rc = take_row(f, mph + k * n_sensors, time[k], first + k + 1, err);
    }
    free(mph);
    free(piece);
    free(time);
    return rc;
}

int dataset_hdf5(struct dataset_fill *fill, struct dcr_err *err)
{
    struct frame *f = calloc(1, sizeof *f);
    if (!f)
        return dcr_err_set(err, DCR_FATAL, "out of memory reading '%s'", fill->file->path);
    f->fill = fill;
    f->path = fill->file->path;
    f->file = open_file(f->path, err);
    int rc = f->file < 0 ? DCR_FAIL : find_frame(f, err);
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
    if (f->file >= 0)
        h5.H5Fclose(f->file);
    for (int k = 0; k < f->n_blocks; k++)
        free(f->block[k].column);
    free(f);
    return rc;
}
#endif
