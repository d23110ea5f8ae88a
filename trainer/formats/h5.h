/* h5.h - the little of libhdf5 that dataset_hdf5.c needs: open a file, look at its objects, read rows of numbers.
 * Nothing is allocated by what a header claims.
 *
 * libhdf5 is loaded when the first file is opened and not before: Debian's brings 30 libraries (for files on web
 * servers), which no training process should carry that reads a CSV. */
#ifndef TRAINER_FORMATS_H5_H
#define TRAINER_FORMATS_H5_H

#include "lib/base/err.h"

#include <stddef.h>
#include <stdint.h>

typedef int64_t h5_id; /* an object of an open file; below 0: none */

enum h5_type { H5_FLOATS, H5_INTEGERS, H5_TEXTS /* of fixed width */ };

/* An array of one or two dimensions, all of whose values are in the file. */
struct h5_array {
    h5_id id;
    int n_dims;
    size_t dim[2];
    enum h5_type type;
    size_t item_bytes;
};

/** h5_open - read only.
 *  out      gives; h5_close closes it with every object in it
 *  errors   DCR_FAIL: no libhdf5 on this machine, or none when the program was built; libhdf5's own reason for a file
 *           that is damaged or cut off */
int h5_open(const char *path, h5_id *out, struct dcr_err *err) DCR_MUST_CHECK;
void h5_close(h5_id file);

/** h5_keys - call visit with the name of every object of a group, in order of names. returns 0, or -1 when damaged. */
int h5_keys(h5_id group, void (*visit)(void *ctx, const char *name), void *ctx);
/** h5_group - open a group by its path. returns the group, below 0 when there is none. */
h5_id h5_group(h5_id parent, const char *path);
/** h5_has - is there an object (an attribute) of that name? */
int h5_has(h5_id group, const char *name);
int h5_has_attribute(h5_id object, const char *name);
/** h5_text - the text in an attribute of an object.
 *  returns  1; 0 when there is none or it is no text, out is "" then */
int h5_text(h5_id object, const char *attribute, char *out, size_t n);

/** h5_array_open - the array called name in a group.
 *  path     of the file, for messages
 *  errors   DCR_FAIL: not there; of another type or more dimensions (texts of variable width, say); values that are
 *           not stored in this file; pieces too large to read one at a time */
int h5_array_open(h5_id group, const char *path, const char *name, struct h5_array *out,
                  struct dcr_err *err) DCR_MUST_CHECK;

/** h5_read_doubles - rows first .. first + n of an array of numbers, converted.
 *  out      overwritten                                             shape: (n) or (n, dim[1]) */
int h5_read_doubles(const struct h5_array *a, const char *path, size_t first, size_t n, double *out,
                    struct dcr_err *err) DCR_MUST_CHECK;
/** h5_read_numbers - the same for whole numbers. */
int h5_read_numbers(const struct h5_array *a, const char *path, size_t first, size_t n, long long *out,
                    struct dcr_err *err) DCR_MUST_CHECK;
/** h5_names - an array of texts or whole numbers as texts.
 *  out      gives; free it                                          shape: (dim[0]), one block */
int h5_names(const struct h5_array *a, const char *path, char ***out, struct dcr_err *err) DCR_MUST_CHECK;

#endif
