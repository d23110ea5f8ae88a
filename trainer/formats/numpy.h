/* numpy.h - read arrays of NumPy: .npy files (format versions 1.0, 2.0, 3.0) and the members of .npz files, zips of
 * such.
 *
 * Floats of 4 and 8 bytes, whole numbers of 1 to 8 bytes, both byte orders, C and Fortran order. Other types (texts,
 * objects, records) are recognised but not read. An .npz goes through libarchive: stored or deflated, checked by its
 * CRCs. Source: numpy/lib/format.py, the format's own description. */
#ifndef TRAINER_FORMATS_NUMPY_H
#define TRAINER_FORMATS_NUMPY_H

#include "lib/base/stream.h"

#include <stddef.h>

#define NPY_MAX_DIMS 8

/* How one number is stored. */
struct npy_type {
    char kind;         /* 'f' floats, 'i' 'u' 'b' whole numbers; 0: another type, whose values cannot be read */
    size_t item_bytes; /* 0 when kind is 0 */
    int is_big_endian;
};
/** npy_type_parse - from NumPy's name for it, with or without byte order: "<f8", "f4". kind 0 for any other type. */
struct npy_type npy_type_parse(const char *text, size_t n);
/** npy_number - one number of that type. raw: item_bytes. Whole numbers beyond 2^53 are rounded. */
double npy_number(const struct npy_type *type, const unsigned char *raw);

/* The header before the values. The dimensions are only a claim: allocate memory by the values read. */
struct npy_head {
    char array[128]; /* name in its .npz, else "" */
    int n_dims;      /* 0 for a scalar */
    size_t dim[NPY_MAX_DIMS];
    size_t n;           /* product of the dimensions, at most 2^40 */
    char type_name[16]; /* cut short: "<f8", "|S3" */
    struct npy_type type;
    int is_fortran; /* the first index runs fastest */
};
/** npy_shape - "(34272, 207, 2)", cut short to fit. */
void npy_shape(const struct npy_head *head, char *text, size_t n);

struct npy {
    int n_dims;
    size_t dim[NPY_MAX_DIMS];
    size_t n;
    int is_double;  /* 1: float64 in the file, 0: another type */
    double *values; /* in C order, whatever the order in the file                        shape: (n) */
};
/** npy_read - a whole array.
 *  array    its name in an .npz; NULL: the file is an .npy
 *  out      gives; free with npy_free
 *  errors   DCR_FAIL: not such a file, no such array, a type that cannot be read, shorter or longer than its head
 *           states, more than 2^31 values
 *  memory   at most twice what was read */
int npy_read(const char *path, const char *array, struct npy *out, struct dcr_err *err) DCR_MUST_CHECK;
/** npy_free - release and empty; an empty struct is fine. */
void npy_free(struct npy *a);

/* An array that is read piece by piece. Not to be copied. */
struct npy_file {
    struct npy_head head;
    char place[640]; /* for messages: "FILE" or "FILE: ARRAY" */
    /* inside numpy.c only */
    int has_fd, fd;
    struct archive *archive;
    struct dcr_stream bytes;
};
/** npy_open - up to the first value. f gives; npy_close in any state after {0}. array, errors as in npy_read */
int npy_open(struct npy_file *f, const char *path, const char *array, struct dcr_err *err) DCR_MUST_CHECK;
void npy_close(struct npy_file *f);
/** npy_next - the next n values, in the order of the file.
 *  out      overwritten                                                                 shape: (n) */
int npy_next(struct npy_file *f, size_t n, double *out, struct dcr_err *err) DCR_MUST_CHECK;
/** npy_rest - all values and the end, if none was read before, so that the caller can look at the head first. out,
 *  errors and memory as in npy_read; free out after an error, too. */
int npy_rest(struct npy_file *f, struct npy *out, struct dcr_err *err) DCR_MUST_CHECK;
/** npy_end - DCR_FAIL when anything follows. */
int npy_end(struct npy_file *f, struct dcr_err *err) DCR_MUST_CHECK;

#define NPZ_MAX_ARRAYS 64
/** npz_list - names and heads of all arrays; no value is read.
 *  out      gives; free it; further arrays than NPZ_MAX_ARRAYS are left out
 *  n        number of arrays
 *  errors   DCR_FAIL: a member that is no array, a damaged file, none at all */
int npz_list(const char *path, struct npy_head **out, int *n, struct dcr_err *err) DCR_MUST_CHECK;
/** npz_array - the entry of that name, or NULL. */
const struct npy_head *npz_array(const struct npy_head *list, int n, const char *name);
/** npz_names - "data (16992, 307, 3), x (8, 12, 4, 2)", cut short to fit. */
void npz_names(const struct npy_head *list, int n, char *text, size_t size);

#endif
