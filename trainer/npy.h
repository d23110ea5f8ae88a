/* npy.h - read NumPy's array files (format versions 1.0 and 2.0). Little endian, C order; float32, float64.
 * Source: numpy/lib/format.py, the format's own description. */
#ifndef TRAINER_NPY_H
#define TRAINER_NPY_H

#include "lib/err.h"

#include <stddef.h>

#define NPY_MAX_DIMS 8

struct npy {
    int n_dims; /* 0 for a scalar */
    size_t dim[NPY_MAX_DIMS];
    size_t n;       /* product of the dimensions */
    int is_double;  /* 1: float64 in the file, 0: float32 */
    double *values; /* every value, exact in double                         shape: (n) */
};

/** npy_read - the whole file.
 *  path     borrows
 *  out      gives; free with npy_free
 *  errors   DCR_FAIL with a sentence: missing, not such a file, another type or order, truncated, longer than its
 * header says, more than 2^31 values */
int npy_read(const char *path, struct npy *out, struct dcr_err *err) DCR_MUST_CHECK;
/** npy_free - release and empty; an empty struct is fine. */
void npy_free(struct npy *a);

#endif
