/* numpy.c - see numpy.h. The header is a Python dictionary literal with three fixed keys; it is read by their names,
 * not by a general parser. */
#include "trainer/formats/numpy.h"

#include "lib/base/fs.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_HEADER 65536
#define MAX_CLAIM ((size_t)1 << 40)
#define MAX_VALUES ((size_t)1 << 31)
#define PIECE 4096 /* number of values converted at once */
#define BLOCK_BYTES 65536

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

struct npy_type npy_type_parse(const char *text, size_t n)
{
    static const char *const known[] = {"f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1"};
    const int has_order = n == 3 && strchr("<>|=", text[0]);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (n == 2 + (size_t)has_order && !memcmp(text + has_order, known[i], 2))
            return (struct npy_type){known[i][0], (size_t)(known[i][1] - '0'), has_order && text[0] == '>'};
    return (struct npy_type){0};
}

double npy_number(const struct npy_type *type, const unsigned char *raw)
{
    const size_t n = type->item_bytes;
    uint64_t bits = 0;
    for (size_t i = 0; i < n; i++)
        bits |= (uint64_t)raw[type->is_big_endian ? n - 1 - i : i] << (8 * i);
    if (type->kind == 'i') {
        uint64_t sign = (uint64_t)1 << (8 * n - 1);
        return (double)(int64_t)((bits ^ sign) - sign);
    }
    if (type->kind != 'f')
        return (double)bits;
    if (n == sizeof(float)) {
        uint32_t half = (uint32_t)bits;
        float v;
        memcpy(&v, &half, sizeof v);
        return (double)v;
    }
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* ---- heads ------------------------------------------------------------------------------------------------------- */

static int bad(const struct npy_file *f, const char *what, struct dcr_err *err)
{
    return dcr_err_set(err, DCR_FAIL, "cannot read '%s': %s; save it again with numpy.save", f->place, what);
}

/* The text after 'key': in the dictionary, or NULL. */
static const char *value_of(const char *header, const char *key)
{
    const char *at = strstr(header, key);
    at = at ? strchr(at + strlen(key), ':') : NULL;
    return at ? at + 1 + strspn(at + 1, " ") : NULL;
}

static int parse_shape(const char *text, struct npy_head *h)
{
    if (*text++ != '(')
        return -1;
    h->n = 1;
    for (;;) {
        text += strspn(text, " ,");
        if (*text == ')')
            return 0;
        char *end = NULL;
        errno = 0;
        unsigned long long dim = strtoull(text, &end, 10);
        if (end == text || *text == '-' || errno || h->n_dims == NPY_MAX_DIMS || dim > MAX_CLAIM ||
            (dim && h->n > MAX_CLAIM / dim))
            return -1;
        h->dim[h->n_dims++] = (size_t)dim;
        h->n *= (size_t)dim;
        text = end + (*end == 'L'); /* Python 2 marks long numbers */
    }
}

/* The name of a plain type is quoted; a record has a list instead. */
static void parse_descr(const char *descr, struct npy_head *h)
{
    const int is_text = *descr == '\'' || *descr == '"';
    if (!*descr) /* the header ends after its colon */
        return;
    const size_t n = strcspn(descr + 1, is_text ? "'\"" : "\n");
    snprintf(h->type_name, sizeof h->type_name, "%.*s", (int)n, descr + is_text);
    if (is_text)
        h->type = npy_type_parse(descr + 1, n);
}

/* Magic, version, header length, header. header holds MAX_HEADER bytes. */
static int read_text(struct npy_file *f, char *header, struct dcr_err *err)
{
    unsigned char start[12];
    ssize_t got = dcr_stream_read_full(&f->bytes, start, 10, err);
    if (got < 0)
        return (int)got;
    if (got != 10 || memcmp(start, "\x93NUMPY", 6) != 0)
        return bad(f, "not a NumPy array file", err);
    size_t length = start[8] | (size_t)start[9] << 8;
    if (start[6] < 1 || start[6] > 3)
        return dcr_err_set(err, DCR_FAIL,
                           "cannot read '%s': NumPy format version %d is not known; save it again with numpy.save",
                           f->place, start[6]);
    if (start[6] > 1) {
        got = dcr_stream_read_full(&f->bytes, start + 10, 2, err);
        length |= (size_t)start[10] << 16 | (size_t)start[11] << 24;
    }
    if (got > 0 && length < MAX_HEADER)
        got = dcr_stream_read_full(&f->bytes, header, length, err);
    if (got < 0)
        return (int)got;
    if (length >= MAX_HEADER || (size_t)got != length)
        return bad(f, "it ends in its header", err);
    header[length] = '\0';
    return 0;
}

static int read_head(struct npy_file *f, struct dcr_err *err)
{
    struct npy_head *h = &f->head;
    char *header = malloc(MAX_HEADER);
    int rc = header ? read_text(f, header, err) : dcr_err_set(err, DCR_FATAL, "out of memory reading '%s'", f->place);
    if (!rc) {
        const char *descr = value_of(header, "'descr'"), *order = value_of(header, "'fortran_order'"),
                   *shape = value_of(header, "'shape'");
        if (!descr || !order || !shape || parse_shape(shape, h) != 0) {
            rc = bad(f, "its header is not that of an array", err);
        } else {
            parse_descr(descr, h);
            h->is_fortran = !strncmp(order, "True", 4);
        }
    }
    free(header);
    return rc;
}

void npy_shape(const struct npy_head *head, char *text, size_t n)
{
    size_t at = (size_t)snprintf(text, n, "(");
    for (int i = 0; i < head->n_dims && at < n; i++)
        at += (size_t)snprintf(text + at, n - at, "%s%zu", i ? ", " : "", head->dim[i]);
    if (at < n)
        snprintf(text + at, n - at, ")");
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

/* A warning of libarchive (a wrong CRC, say) is a failure here. */
static int damaged(const struct npy_file *f, struct dcr_err *err)
{
    const char *why = archive_error_string(f->archive);
    return bad(f, why ? why : "it is damaged", err);
}

static ssize_t read_member(void *ctx, void *out, size_t n, struct dcr_err *err)
{
    struct npy_file *f = ctx;
    ssize_t got = archive_read_data(f->archive, out, n);
    return got >= 0 ? got : damaged(f, err);
}

static int open_archive(struct npy_file *f, const char *path, struct dcr_err *err)
{
    memset(f, 0, sizeof *f);
    snprintf(f->place, sizeof f->place, "%.500s", path);
    f->archive = archive_read_new();
    if (!f->archive)
        return dcr_err_set(err, DCR_FATAL, "out of memory reading '%s'", path);
    if (archive_read_support_format_zip(f->archive) < ARCHIVE_WARN ||
        archive_read_open_filename(f->archive, path, BLOCK_BYTES) != ARCHIVE_OK)
        return damaged(f, err);
    return 0;
}

/* Goes to the next array; unread values of the last one are skipped. returns 0, DCR_END, DCR_FAIL */
static int next_member(struct npy_file *f, const char *path, struct dcr_err *err)
{
    struct archive_entry *entry;
    snprintf(f->place, sizeof f->place, "%.500s", path);
    int rc = archive_read_next_header(f->archive, &entry);
    if (rc == ARCHIVE_EOF)
        return DCR_END;
    if (rc != ARCHIVE_OK)
        return damaged(f, err);
    const char *name = archive_entry_pathname(entry);
    if (!name || !dcr_ends_with(name, ".npy"))
        return dcr_err_set(err, DCR_FAIL,
                           "cannot read '%s': its member '%.60s' is not a NumPy array; save the file with numpy.savez",
                           path, name ? name : "");
    f->head = (struct npy_head){0};
    snprintf(f->head.array, sizeof f->head.array, "%.*s", (int)(strlen(name) - 4), name);
    snprintf(f->place, sizeof f->place, "%.500s: %s", path, f->head.array);
    f->bytes = (struct dcr_stream){read_member, f, f->place};
    return 0;
}

int npy_open(struct npy_file *f, const char *path, const char *array, struct dcr_err *err)
{
    int rc = 0;
    if (array) {
        rc = open_archive(f, path, err);
        while (!rc && !(rc = next_member(f, path, err)) && strcmp(f->head.array, array) != 0)
            ;
        if (rc == DCR_END)
            rc = dcr_err_set(err, DCR_FAIL, "'%s' has no array '%s'", path, array);
    } else {
        *f = (struct npy_file){.fd = open(path, O_RDONLY | O_CLOEXEC)};
        f->has_fd = f->fd >= 0;
        snprintf(f->place, sizeof f->place, "%s", path);
        f->bytes = dcr_stream_fd(&f->fd, f->place);
        if (!f->has_fd)
            rc = dcr_err_file(err, DCR_FAIL, "cannot read '%s'", path);
    }
    return rc ? rc : read_head(f, err);
}

void npy_close(struct npy_file *f)
{
    archive_read_free(f->archive); /* NULL is fine */
    if (f->has_fd)
        close(f->fd);
    f->archive = NULL;
    f->has_fd = 0;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

int npy_next(struct npy_file *f, size_t n, double *out, struct dcr_err *err)
{
    unsigned char raw[PIECE * sizeof(double)];
    const struct npy_type type = f->head.type;
    if (!type.kind)
        return dcr_err_set(err, DCR_FAIL, "cannot read '%s': type %s; only floats and whole numbers are read", f->place,
                           f->head.type_name);
    for (size_t done = 0; done < n;) {
        size_t want = n - done < PIECE ? n - done : PIECE;
        ssize_t got = dcr_stream_read_full(&f->bytes, raw, want * type.item_bytes, err);
        if (got < 0)
            return (int)got;
        if ((size_t)got < want * type.item_bytes)
            return dcr_err_set(err, DCR_FAIL,
                               "cannot read '%s': it ends before the %zu values of its header; copy it again", f->place,
                               f->head.n);
        for (size_t i = 0; i < want; i++)
            out[done + i] = npy_number(&type, raw + i * type.item_bytes);
        done += want;
    }
    return 0;
}

int npy_end(struct npy_file *f, struct dcr_err *err)
{
    char more;
    ssize_t got = dcr_stream_read_full(&f->bytes, &more, 1, err);
    return got > 0 ? bad(f, "it is longer than its header says", err) : (int)got;
}

/* Fortran order to C order: index (i0, i1, ..) lies at i0 + dim0 * (i1 + dim1 * ..). */
static int reorder(struct npy *a, struct dcr_err *err)
{
    double *out = malloc(a->n * sizeof *out + 1);
    if (!out)
        return dcr_err_set(err, DCR_FATAL, "out of memory for %zu values", a->n);
    const size_t n_rows = a->dim[0], n_rest = a->n ? a->n / n_rows : 0;
    for (size_t k = 0; k < n_rest; k++) {
        size_t column = 0, left = k;
        for (int i = 1; i < a->n_dims; i++) {
            column = column * a->dim[i] + left % a->dim[i];
            left /= a->dim[i];
        }
        for (size_t row = 0; row < n_rows; row++)
            out[row * n_rest + column] = a->values[k * n_rows + row];
    }
    free(a->values);
    a->values = out;
    return 0;
}

/* The memory doubles as values arrive, because a header may claim more than the file holds. */
int npy_rest(struct npy_file *f, struct npy *a, struct dcr_err *err)
{
    const struct npy_head *h = &f->head;
    size_t cap = 0;
    int rc = 0;
    if (h->n > MAX_VALUES)
        return dcr_err_set(err, DCR_FAIL, "cannot read '%s': %zu values are more than this program handles; give fewer",
                           f->place, h->n);
    *a = (struct npy){.n_dims = h->n_dims, .n = h->n, .is_double = h->type.kind == 'f' && h->type.item_bytes == 8};
    memcpy(a->dim, h->dim, sizeof a->dim);
    for (size_t done = 0; !rc && (done < h->n || !a->values); done = cap) {
        cap = cap ? 2 * cap : 8 * PIECE;
        cap = cap < h->n ? cap : h->n;
        double *grown = realloc(a->values, cap * sizeof *grown + 1);
        if (!grown)
            return dcr_err_set(err, DCR_FATAL, "out of memory for %zu values of '%s'", cap, f->place);
        a->values = grown;
        rc = npy_next(f, cap - done, a->values + done, err);
    }
    if (!rc)
        rc = npy_end(f, err);
    return !rc && h->is_fortran && h->n_dims > 1 ? reorder(a, err) : rc;
}

int npy_read(const char *path, const char *array, struct npy *out, struct dcr_err *err)
{
    struct npy_file f = {0};
    memset(out, 0, sizeof *out);
    int rc = npy_open(&f, path, array, err);
    if (!rc)
        rc = npy_rest(&f, out, err);
    npy_close(&f);
    if (rc)
        npy_free(out);
    return rc;
}

void npy_free(struct npy *a)
{
    free(a->values);
    memset(a, 0, sizeof *a);
}

/* ---- what an npz holds ------------------------------------------------------------------------------------------- */

int npz_list(const char *path, struct npy_head **out, int *n, struct dcr_err *err)
{
    struct npy_file f;
    *n = 0;
    *out = calloc(NPZ_MAX_ARRAYS, sizeof **out);
    if (!*out)
        return dcr_err_set(err, DCR_FATAL, "out of memory reading '%s'", path);
    int rc = open_archive(&f, path, err);
    while (!rc && *n < NPZ_MAX_ARRAYS && !(rc = next_member(&f, path, err))) {
        rc = read_head(&f, err);
        (*out)[(*n)++] = f.head;
    }
    npy_close(&f);
    if (rc == DCR_END)
        rc = 0;
    return rc || *n ? rc : dcr_err_set(err, DCR_FAIL, "'%s' holds no array; save one by numpy.savez", path);
}

const struct npy_head *npz_array(const struct npy_head *list, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(list[i].array, name))
            return &list[i];
    return NULL;
}

void npz_names(const struct npy_head *list, int n, char *text, size_t size)
{
    size_t at = 0;
    text[0] = 0;
    for (int i = 0; i < n && at < size; i++) {
        char shape[64];
        npy_shape(&list[i], shape, sizeof shape);
        at += (size_t)snprintf(text + at, size - at, "%s%s %s", i ? ", " : "", list[i].array, shape);
    }
}
