/* npy.h - read NumPy's array files (format versions 1.0, 2.0, 3.0): floats of 4 and 8 bytes, whole numbers of 1 to 8
 * bytes, both byte orders, C and Fortran order. What has no such type (texts, objects, records) can be recognised, not
 * read. Source: numpy/lib/format.py, the format's own description. */
#ifndef TRAINER_FORMATS_NPY_H
#define TRAINER_FORMATS_NPY_H

#include "lib/base/stream.h"

#include <stddef.h>

#define NPY_MAX_DIMS 8
#define NPY_TYPE_BYTES 16

/* How one number is stored. */
struct npy_type {
    char kind;         /* 'f' floats, 'i' 'u' 'b' whole numbers; 0: another type, whose values cannot be read */
    size_t item_bytes; /* 0 when kind is 0 */
    int is_big_endian;
};
/** npy_type_parse - from NumPy's name for it, with or without byte order: "<f8", "f4". kind 0 when it is another. */
struct npy_type npy_type_parse(const char *text, size_t n);
/** npy_number - one number of that type. raw: item_bytes. Whole numbers beyond 2^53 are rounded. */
double npy_number(const struct npy_type *type, const unsigned char *raw);

/* What stands before the values. */
struct npy_head {
    int n_dims; /* 0 for a scalar */
    size_t dim[NPY_MAX_DIMS];
    size_t n;                  /* product of the dimensions */
    char name[NPY_TYPE_BYTES]; /* of the type, cut short: "<f8", "|S3" */
    struct npy_type type;
    int is_fortran; /* the first index runs fastest */
};

/** npy_read_head - from the beginning of a stream to the first value. The dimensions are a claim: allocate by what is
 *  read, not by them.
 *  errors   DCR_FAIL with a sentence: not such a file, ends in its header, more than 2^40 values */
int npy_read_head(struct dcr_stream *s, struct npy_head *head, struct dcr_err *err) DCR_MUST_CHECK;
/** npy_read_values - the next n values, as they lie in the file.
 *  out      overwritten                                                                 shape: (n)
 *  errors   DCR_FAIL: the type cannot be read, or the stream ends before */
int npy_read_values(struct dcr_stream *s, const struct npy_head *head, size_t n, double *out,
                    struct dcr_err *err) DCR_MUST_CHECK;
/** npy_read_end - DCR_FAIL when anything follows. */
int npy_read_end(struct dcr_stream *s, struct dcr_err *err) DCR_MUST_CHECK;
/** npy_shape - "(34272, 207, 2)", cut short to fit. */
void npy_shape(const struct npy_head *head, char *text, size_t n);

struct npy {
    int n_dims;
    size_t dim[NPY_MAX_DIMS];
    size_t n;
    int is_double;  /* 1: float64 in the file, 0: another type */
    double *values; /* in C order, whatever the file's                                   shape: (n) */
};

/** npy_read_all - head, values and end of a stream.
 *  out      gives; free with npy_free
 *  errors   DCR_FAIL as above; more than 2^31 values
 *  memory   at most twice what was read */
int npy_read_all(struct dcr_stream *s, struct npy *out, struct dcr_err *err) DCR_MUST_CHECK;
/** npy_read - the whole of a file. */
int npy_read(const char *path, struct npy *out, struct dcr_err *err) DCR_MUST_CHECK;
/** npy_free - release and empty; an empty struct is fine. */
void npy_free(struct npy *a);

#endif
