/* npy.c - see npy.h. The header is a Python dictionary literal with three fixed keys; it is read by their names, not by
 * a general parser. */
#include "trainer/npy.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_HEADER 65536
#define MAX_VALUES ((size_t)1 << 31)

void npy_free(struct npy *a)
{
    free(a->values);
    memset(a, 0, sizeof *a);
}

/* The text behind 'key': in the dictionary, or NULL. */
static const char *value_of(const char *header, const char *key)
{
    const char *at = strstr(header, key);
    at = at ? strchr(at + strlen(key), ':') : NULL;
    return at ? at + 1 + strspn(at + 1, " ") : NULL;
}

static int parse_shape(const char *text, struct npy *a)
{
    if (*text++ != '(')
        return -1;
    a->n = 1;
    for (;;) {
        text += strspn(text, " ,");
        if (*text == ')')
            return 0;
        char *end = NULL;
        errno = 0;
        unsigned long long dim = strtoull(text, &end, 10);
        if (end == text || *text == '-' || errno || a->n_dims == NPY_MAX_DIMS || dim > MAX_VALUES ||
            (dim && a->n > MAX_VALUES / dim))
            return -1;
        a->dim[a->n_dims++] = (size_t)dim;
        a->n *= (size_t)dim;
        text = end;
    }
}

static int parse_header(const char *path, const char *header, struct npy *a, struct dcr_err *err)
{
    const char *descr = value_of(header, "'descr'"), *order = value_of(header, "'fortran_order'"),
               *shape = value_of(header, "'shape'");
    if (!descr || !order || !shape || parse_shape(shape, a) != 0)
        return dcr_err_set(err, DCR_FAIL, "cannot read '%s': its header is not that of an array", path);
    if (strncmp(descr, "'<f8'", 5) == 0)
        a->is_double = 1;
    else if (strncmp(descr, "'<f4'", 5) != 0)
        return dcr_err_set(err, DCR_FAIL,
                           "cannot read '%s': type %.6s; only little-endian float32 and float64 are read", path, descr);
    if (strncmp(order, "False", 5) != 0)
        return dcr_err_set(err, DCR_FAIL, "cannot read '%s': it is in Fortran order; save it in C order", path);
    return 0;
}

/* Magic, version, header length, header. */
static int read_header(FILE *f, const char *path, char *header, struct dcr_err *err)
{
    unsigned char start[12];
    if (fread(start, 1, 10, f) != 10 || memcmp(start, "\x93NUMPY", 6) != 0)
        return dcr_err_set(err, DCR_FAIL, "cannot read '%s': not a NumPy array file", path);
    size_t length = start[8] | (size_t)start[9] << 8;
    if (start[6] == 2) {
        if (fread(start + 10, 1, 2, f) != 2)
            return dcr_err_set(err, DCR_FAIL, "cannot read '%s': it ends in its header", path);
        length |= (size_t)start[10] << 16 | (size_t)start[11] << 24;
    } else if (start[6] != 1) {
        return dcr_err_set(err, DCR_FAIL, "cannot read '%s': NumPy format version %d is not known", path, start[6]);
    }
    if (length >= MAX_HEADER || fread(header, 1, length, f) != length)
        return dcr_err_set(err, DCR_FAIL, "cannot read '%s': it ends in its header", path);
    header[length] = '\0';
    return 0;
}

/* Read into the end of the array and widen towards its beginning: no second buffer. */
static int read_values(FILE *f, const char *path, struct npy *a, struct dcr_err *err)
{
    size_t size = a->is_double ? sizeof(double) : sizeof(float);
    a->values = malloc(a->n * sizeof(double) + 1);
    if (!a->values)
        return dcr_err_set(err, DCR_FAIL, "cannot read '%s': no memory for %zu values", path, a->n);
    char *raw = (char *)a->values + a->n * (sizeof(double) - size);
    size_t got = fread(raw, size, a->n, f);
    if (got != a->n)
        return dcr_err_set(err, DCR_FAIL, "cannot read '%s': it holds %zu of the %zu values its header promises", path,
                           got, a->n);
    if (fgetc(f) != EOF)
        return dcr_err_set(err, DCR_FAIL, "cannot read '%s': it is longer than its header says", path);
    for (size_t i = 0; !a->is_double && i < a->n; i++) {
        float v;
        memcpy(&v, raw + i * sizeof v, sizeof v);
        a->values[i] = (double)v;
    }
    return 0;
}

int npy_read(const char *path, struct npy *out, struct dcr_err *err)
{
    memset(out, 0, sizeof *out);
    char *header = malloc(MAX_HEADER);
    FILE *f = fopen(path, "rb");
    int rc = 0;
    if (!f)
        rc = dcr_err_sys(err, DCR_FAIL, "cannot read '%s'", path);
    else if (!header)
        rc = dcr_err_set(err, DCR_FAIL, "cannot read '%s': no memory", path);
    if (rc == 0)
        rc = read_header(f, path, header, err);
    if (rc == 0)
        rc = parse_header(path, header, out, err);
    if (rc == 0)
        rc = read_values(f, path, out, err);
    if (f)
        fclose(f);
    free(header);
    if (rc)
        npy_free(out);
    return rc;
}
