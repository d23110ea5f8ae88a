/* h5.c - see h5.h. */
#include "trainer/formats/h5.h"

#ifdef HAVE_HDF5
#include <dlfcn.h>
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define READ_ONLY 0u /* H5F_ACC_RDONLY, which calls the library by its name */
#define MAX_CHUNK_BYTES ((hsize_t)256 << 20)
#define MAX_NAMES 65536
#define MAX_NAME_BYTES 1024
#define STORED_TEXT_BYTES 16 /* of a text of any length, in the file: length, address, number */

/* What is used of libhdf5: types from its header, places at run time. */
#define FUNCTIONS(X)              \
    X(H5open)                     \
    X(H5get_libversion)           \
    X(H5Aclose)                   \
    X(H5Aexists)                  \
    X(H5Aget_storage_size)        \
    X(H5Aget_type)                \
    X(H5Aopen)                    \
    X(H5Aread)                    \
    X(H5Dget_create_plist)        \
    X(H5Dget_num_chunks)          \
    X(H5Dget_space)               \
    X(H5Dget_storage_size)        \
    X(H5Dget_type)                \
    X(H5Dopen2)                   \
    X(H5Dread)                    \
    X(H5Eset_auto2)               \
    X(H5Ewalk2)                   \
    X(H5Fclose)                   \
    X(H5Fopen)                    \
    X(H5free_memory)              \
    X(H5Gopen2)                   \
    X(H5Lexists)                  \
    X(H5Lget_name_by_idx)         \
    X(H5Pclose)                   \
    X(H5Pcreate)                  \
    X(H5Pget_chunk)               \
    X(H5Pget_filter2)             \
    X(H5Pget_nfilters)            \
    X(H5Pget_external_count)      \
    X(H5Pget_layout)              \
    X(H5Pset_fclose_degree)       \
    X(H5Sclose)                   \
    X(H5Screate_simple)           \
    X(H5Sget_simple_extent_dims)  \
    X(H5Sget_simple_extent_ndims) \
    X(H5Sselect_hyperslab)        \
    X(H5Tclose)                   \
    X(H5Tget_class)               \
    X(H5Tget_size)                \
    X(H5Tis_variable_str)         \
    X(H5Zfilter_avail)
static struct {
    void *library;
    hid_t file_access, native_double, native_llong;
#define X(name) __typeof__(name) *name;
    FUNCTIONS(X)
#undef X
} h5;
_Static_assert(sizeof(hid_t) == sizeof(h5_id), "hid_t has been 64 bits wide since 1.10");

/* ---- loading ----------------------------------------------------------------------------------------------------- */

/* Where the functions and the numbers of built-in types and lists are; 0 when one is missing. */
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
    /* numbers of enumerators and layouts of structs hold within one minor version */
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
    static const char *const names[] = {NULL, /* the program itself: in a bundle they are in it */
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

/* libhdf5 keeps a stack of what went wrong; the innermost entry says why. */
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
    return dcr_err_set(err, DCR_FAIL, "cannot read %s of '%s': %s", what, path, why);
}

int h5_open(const char *path, h5_id *out, struct dcr_err *err)
{
    *out = -1;
    int rc = load(path, err);
    if (rc)
        return rc;
    hid_t how = h5.H5Pcreate(h5.file_access);
    if (how >= 0 && h5.H5Pset_fclose_degree(how, H5F_CLOSE_STRONG) >= 0)
        *out = h5.H5Fopen(path, READ_ONLY, how);
    if (*out < 0)
        rc = failed(path, "the structure", err);
    if (how >= 0)
        h5.H5Pclose(how);
    return rc;
}

void h5_close(h5_id file)
{
    if (file >= 0)
        h5.H5Fclose(file);
}

/* ---- objects ----------------------------------------------------------------------------------------------------- */

int h5_keys(h5_id group, void (*visit)(void *ctx, const char *name), void *ctx)
{
    char name[256];
    for (hsize_t i = 0;; i++) {
        ssize_t n = h5.H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, i, name, sizeof name, H5P_DEFAULT);
        if (n < 0)
            return i ? 0 : -1;
        visit(ctx, name);
    }
}

h5_id h5_group(h5_id parent, const char *path)
{
    return h5.H5Gopen2(parent, path, H5P_DEFAULT);
}

int h5_has(h5_id group, const char *name)
{
    return h5.H5Lexists(group, name, H5P_DEFAULT) > 0;
}

int h5_has_attribute(h5_id object, const char *name)
{
    return h5.H5Aexists(object, name) > 0;
}

int h5_text(h5_id object, const char *attribute, char *out, size_t n)
{
    out[0] = 0;
    if (!h5_has_attribute(object, attribute))
        return 0;
    hid_t a = h5.H5Aopen(object, attribute, H5P_DEFAULT), type = a < 0 ? -1 : h5.H5Aget_type(a);
    size_t size = type < 0 ? 0 : h5.H5Tget_size(type);
    int is_text = type >= 0 && h5.H5Tget_class(type) == H5T_STRING && size && size <= MAX_NAME_BYTES;
    char room[MAX_NAME_BYTES + 1] = "", *pointed = NULL;
    if (is_text && h5.H5Tis_variable_str(type) > 0) {
        /* one text and no array of them, which would be as many pointers */
        is_text = h5.H5Aget_storage_size(a) <= STORED_TEXT_BYTES && h5.H5Aread(a, type, &pointed) >= 0 && pointed;
        snprintf(out, n, "%s", is_text ? pointed : "");
        h5.H5free_memory(pointed);
    } else if (is_text) {
        is_text = h5.H5Aget_storage_size(a) == size && h5.H5Aread(a, type, room) >= 0;
        snprintf(out, n, "%s", is_text ? room : "");
    }
    if (type >= 0)
        h5.H5Tclose(type);
    if (a >= 0)
        h5.H5Aclose(a);
    return is_text;
}

/* ---- arrays ------------------------------------------------------------------------------------------------------ */

/* PyTables compresses with filters that libhdf5 alone does not have. */
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

/* Are all the values in this file? A chunk that was never written, or a claim beyond the file, would be made up. */
static int check_stored(const struct h5_array *a, hid_t how, hid_t space, const char *path, const char *name,
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
    return is_whole ? 0 : dcr_err_set(err, DCR_FAIL, "'%s': the values of '%s' are not all in the file", path, name);
}

static int look(struct h5_array *a, hid_t type, hid_t space, const char *path, const char *name, struct dcr_err *err)
{
    hsize_t dim[2] = {0, 1};
    H5T_class_t class = h5.H5Tget_class(type);
    a->n_dims = h5.H5Sget_simple_extent_ndims(space);
    a->type = class == H5T_FLOAT ? H5_FLOATS : class == H5T_INTEGER ? H5_INTEGERS : H5_TEXTS;
    a->item_bytes = h5.H5Tget_size(type);
    int is_known = ((class == H5T_FLOAT || class == H5T_INTEGER) && a->item_bytes <= 16) ||
                   (class == H5T_STRING && h5.H5Tis_variable_str(type) == 0 && a->item_bytes <= MAX_NAME_BYTES);
    if (!is_known || a->n_dims < 1 || a->n_dims > 2 || h5.H5Sget_simple_extent_dims(space, dim, NULL) < 0)
        return dcr_err_set(err, DCR_FAIL,
                           "'%s': '%s' is not an array of numbers or of texts of fixed width (Python objects?)", path,
                           name);
    a->dim[0] = dim[0];
    a->dim[1] = dim[1];
    if (!dim[0] || !dim[1] || dim[0] > UINT32_MAX || dim[1] > MAX_NAMES)
        return dcr_err_set(err, DCR_FAIL, "'%s': '%s' has %zu x %zu values: none, or more than this program handles",
                           path, name, a->dim[0], a->dim[1]);
    return 0;
}

int h5_array_open(h5_id group, const char *path, const char *name, struct h5_array *out, struct dcr_err *err)
{
    memset(out, 0, sizeof *out);
    if (!h5_has(group, name))
        return dcr_err_set(err, DCR_FAIL, "'%s': the frame has no '%s'", path, name);
    out->id = h5.H5Dopen2(group, name, H5P_DEFAULT);
    if (out->id < 0)
        return failed(path, name, err);
    hid_t type = h5.H5Dget_type(out->id), space = h5.H5Dget_space(out->id), how = h5.H5Dget_create_plist(out->id);
    int rc = type < 0 || space < 0 || how < 0 ? failed(path, name, err) : look(out, type, space, path, name, err);
    if (!rc)
        rc = check_filters(how, path, name, err);
    if (!rc)
        rc = check_stored(out, how, space, path, name, err);
    if (type >= 0)
        h5.H5Tclose(type);
    if (space >= 0)
        h5.H5Sclose(space);
    if (how >= 0)
        h5.H5Pclose(how);
    return rc;
}

static int read_rows(const struct h5_array *a, const char *path, size_t first, size_t n, hid_t type, void *out,
                     struct dcr_err *err)
{
    hsize_t start[2] = {first, 0}, count[2] = {n, a->dim[1]};
    hid_t there = h5.H5Dget_space(a->id), here = h5.H5Screate_simple(a->n_dims, count, NULL);
    int rc = 0;
    if (there < 0 || here < 0 || h5.H5Sselect_hyperslab(there, H5S_SELECT_SET, start, NULL, count, NULL) < 0 ||
        h5.H5Dread(a->id, type, here, there, H5P_DEFAULT, out) < 0)
        rc = failed(path, "the values", err);
    if (here >= 0)
        h5.H5Sclose(here);
    if (there >= 0)
        h5.H5Sclose(there);
    return rc;
}

int h5_read_doubles(const struct h5_array *a, const char *path, size_t first, size_t n, double *out,
                    struct dcr_err *err)
{
    return read_rows(a, path, first, n, h5.native_double, out, err);
}

int h5_read_numbers(const struct h5_array *a, const char *path, size_t first, size_t n, long long *out,
                    struct dcr_err *err)
{
    return read_rows(a, path, first, n, h5.native_llong, out, err);
}

/* Texts of PyTables fill their width and have no NUL then: read as they are and cut here. */
static int read_texts(const struct h5_array *a, const char *path, char **names, char *room, struct dcr_err *err)
{
    hid_t type = h5.H5Dget_type(a->id);
    char *raw = malloc(a->dim[0] * a->item_bytes);
    int rc = 0;
    if (!raw)
        rc = dcr_err_set(err, DCR_FATAL, "out of memory reading '%s'", path);
    else if (type < 0 || h5.H5Dread(a->id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, raw) < 0)
        rc = failed(path, "the sensor ids", err);
    for (size_t i = 0; !rc && i < a->dim[0]; i++) {
        names[i] = room + i * (a->item_bytes + 1);
        snprintf(names[i], a->item_bytes + 1, "%.*s", (int)a->item_bytes, raw + i * a->item_bytes);
    }
    free(raw);
    if (type >= 0)
        h5.H5Tclose(type);
    return rc;
}

static int number_texts(const struct h5_array *a, const char *path, char **names, char *room, size_t width,
                        struct dcr_err *err)
{
    long long *number = calloc(a->dim[0], sizeof *number);
    int rc = number ? h5_read_numbers(a, path, 0, a->dim[0], number, err)
                    : dcr_err_set(err, DCR_FATAL, "out of memory reading '%s'", path);
    for (size_t i = 0; !rc && i < a->dim[0]; i++) {
        names[i] = room + i * width;
        snprintf(names[i], width, "%lld", number[i]);
    }
    free(number);
    return rc;
}

int h5_names(const struct h5_array *a, const char *path, char ***out, struct dcr_err *err)
{
    const size_t n = a->dim[0], width = a->type == H5_TEXTS ? a->item_bytes + 1 : 24;
    *out = NULL;
    if (a->n_dims != 1 || n > MAX_NAMES || a->type == H5_FLOATS)
        return dcr_err_set(err, DCR_FAIL, "'%s': sensor ids must be texts or whole numbers, at most %d", path,
                           MAX_NAMES);
    char **names = malloc(n * (sizeof *names + width));
    if (!names)
        return dcr_err_set(err, DCR_FATAL, "out of memory reading '%s'", path);
    char *room = (char *)(names + n);
    int rc =
        a->type == H5_TEXTS ? read_texts(a, path, names, room, err) : number_texts(a, path, names, room, width, err);
    if (rc)
        free(names);
    else
        *out = names;
    return rc;
}
#endif
