/* npy.c - see npy.h. The header is a Python dictionary literal with three fixed keys; it is read by their names, not by
 * a general parser. */
#include "trainer/formats/npy.h"

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
#define PIECE 4096 /* values converted at once */

/* The text behind 'key': in the dictionary, or NULL. */
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

/* The name of a plain type is quoted; a record has a list instead. */
static void parse_descr(const char *descr, struct npy_head *h)
{
    const int is_text = *descr == '\'' || *descr == '"';
    if (!*descr) /* the header ends behind its colon */
        return;
    const size_t n = strcspn(descr + 1, is_text ? "'\"" : "\n");
    snprintf(h->name, sizeof h->name, "%.*s", (int)n, descr + is_text);
    if (is_text)
        h->type = npy_type_parse(descr + 1, n);
}

/* Magic, version, header length, header. header holds MAX_HEADER bytes. */
static int read_text(struct dcr_stream *s, char *header, struct dcr_err *err)
{
    unsigned char start[12];
    ssize_t got = dcr_stream_read_full(s, start, 10, err);
    if (got < 0)
        return (int)got;
    if (got != 10 || memcmp(start, "\x93NUMPY", 6) != 0)
        return dcr_err_set(err, DCR_FAIL, "cannot read '%s': not a NumPy array file", s->name);
    size_t length = start[8] | (size_t)start[9] << 8;
    if (start[6] < 1 || start[6] > 3)
        return dcr_err_set(err, DCR_FAIL, "cannot read '%s': NumPy format version %d is not known", s->name, start[6]);
    if (start[6] > 1) {
        got = dcr_stream_read_full(s, start + 10, 2, err);
        length |= (size_t)start[10] << 16 | (size_t)start[11] << 24;
    }
    if (got > 0 && length < MAX_HEADER)
        got = dcr_stream_read_full(s, header, length, err);
    if (got < 0)
        return (int)got;
    if (length >= MAX_HEADER || (size_t)got != length)
        return dcr_err_set(err, DCR_FAIL, "cannot read '%s': it ends in its header", s->name);
    header[length] = '\0';
    return 0;
}

int npy_read_head(struct dcr_stream *s, struct npy_head *head, struct dcr_err *err)
{
    char *header = malloc(MAX_HEADER);
    memset(head, 0, sizeof *head);
    int rc = header ? read_text(s, header, err) : dcr_err_set(err, DCR_FATAL, "cannot read '%s': no memory", s->name);
    if (!rc) {
        const char *descr = value_of(header, "'descr'"), *order = value_of(header, "'fortran_order'"),
                   *shape = value_of(header, "'shape'");
        if (!descr || !order || !shape || parse_shape(shape, head) != 0) {
            rc = dcr_err_set(err, DCR_FAIL, "cannot read '%s': its header is not that of an array", s->name);
        } else {
            parse_descr(descr, head);
            head->is_fortran = !strncmp(order, "True", 4);
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

int npy_read_values(struct dcr_stream *s, const struct npy_head *head, size_t n, double *out, struct dcr_err *err)
{
    unsigned char raw[PIECE * sizeof(double)];
    const size_t size = head->type.item_bytes;
    if (!head->type.kind)
        return dcr_err_set(err, DCR_FAIL, "cannot read '%s': type %s; only floats and whole numbers are read", s->name,
                           head->name);
    for (size_t done = 0; done < n;) {
        size_t want = n - done < PIECE ? n - done : PIECE;
        ssize_t got = dcr_stream_read_full(s, raw, want * size, err);
        if (got < 0)
            return (int)got;
        if ((size_t)got < want * size)
            return dcr_err_set(err, DCR_FAIL, "cannot read '%s': it ends before the %zu values its header promises",
                               s->name, head->n);
        for (size_t i = 0; i < want; i++)
            out[done + i] = npy_number(&head->type, raw + i * size);
        done += want;
    }
    return 0;
}

int npy_read_end(struct dcr_stream *s, struct dcr_err *err)
{
    char more;
    ssize_t got = dcr_stream_read_full(s, &more, 1, err);
    if (got > 0)
        return dcr_err_set(err, DCR_FAIL, "cannot read '%s': it is longer than its header says", s->name);
    return (int)got;
}

/* Fortran order to C order: index (i0, i1, ..) lies at i0 + dim0 * (i1 + dim1 * ..). */
static int reorder(struct npy *a, struct dcr_err *err)
{
    double *out = malloc(a->n * sizeof *out + 1);
    size_t index[NPY_MAX_DIMS] = {0};
    if (!out)
        return dcr_err_set(err, DCR_FATAL, "out of memory for %zu values", a->n);
    for (size_t k = 0; k < a->n; k++) {
        size_t at = 0;
        for (int i = a->n_dims; i-- > 0;)
            at = at * a->dim[i] + index[i];
        out[k] = a->values[at];
        for (int i = a->n_dims; i-- > 0 && ++index[i] == a->dim[i];)
            index[i] = 0;
    }
    free(a->values);
    a->values = out;
    return 0;
}

/* Room doubles as values arrive: a header may claim what the file does not hold. */
static int read_growing(struct dcr_stream *s, const struct npy_head *h, struct npy *a, struct dcr_err *err)
{
    size_t cap = 0;
    for (size_t done = 0; done < h->n || !a->values;) {
        if (done == cap) {
            cap = cap ? 2 * cap : 8 * PIECE;
            cap = cap < h->n ? cap : h->n;
            double *grown = realloc(a->values, cap * sizeof *grown + 1);
            if (!grown)
                return dcr_err_set(err, DCR_FATAL, "cannot read '%s': no memory for %zu values", s->name, cap);
            a->values = grown;
        }
        int rc = npy_read_values(s, h, cap - done, a->values + done, err);
        if (rc)
            return rc;
        done = cap;
    }
    return npy_read_end(s, err);
}

int npy_read_all(struct dcr_stream *s, struct npy *out, struct dcr_err *err)
{
    struct npy_head h;
    memset(out, 0, sizeof *out);
    int rc = npy_read_head(s, &h, err);
    if (!rc && h.n > MAX_VALUES)
        rc =
            dcr_err_set(err, DCR_FAIL, "cannot read '%s': %zu values are more than this program handles", s->name, h.n);
    if (!rc) {
        out->n_dims = h.n_dims;
        memcpy(out->dim, h.dim, sizeof out->dim);
        out->n = h.n;
        out->is_double = h.type.kind == 'f' && h.type.item_bytes == sizeof(double);
        rc = read_growing(s, &h, out, err);
    }
    if (!rc && h.is_fortran && h.n_dims > 1)
        rc = reorder(out, err);
    if (rc)
        npy_free(out);
    return rc;
}

int npy_read(const char *path, struct npy *out, struct dcr_err *err)
{
    memset(out, 0, sizeof *out);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return dcr_err_sys(err, DCR_FAIL, "cannot read '%s'", path);
    struct dcr_stream s = dcr_stream_fd(&fd, path);
    int rc = npy_read_all(&s, out, err);
    close(fd);
    return rc;
}

void npy_free(struct npy *a)
{
    free(a->values);
    memset(a, 0, sizeof *a);
}
