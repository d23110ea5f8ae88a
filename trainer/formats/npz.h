/* npz.h - arrays of an .npz file (a zip of .npy members), one after the other, through libarchive: stored or deflated,
 * checked by their CRC. */
#ifndef TRAINER_FORMATS_NPZ_H
#define TRAINER_FORMATS_NPZ_H

#include "trainer/formats/npy.h"

struct npz {
    struct archive *archive;
    char path[400];          /* for messages */
    char name[128];          /* of the current array, without ".npy" */
    char place[540];         /* "FILE: NAME" */
    struct dcr_stream bytes; /* of the current array, from its head on; borrows */
};

/** npz_open - z gives; npz_close in any state after {0}. errors DCR_FAIL: cannot be opened. */
int npz_open(struct npz *z, const char *path, struct dcr_err *err) DCR_MUST_CHECK;
/** npz_next - go to the next array; what was not read of the last one is passed over.
 *  returns  0, DCR_END, DCR_FAIL for a damaged file */
int npz_next(struct npz *z, struct dcr_err *err) DCR_MUST_CHECK;
void npz_close(struct npz *z);

/** npz_find - open and go to the array of that name. errors DCR_FAIL: there is none. */
int npz_find(struct npz *z, const char *path, const char *name, struct dcr_err *err) DCR_MUST_CHECK;
/** npz_read - one whole array. out gives; free with npy_free. */
int npz_read(const char *path, const char *name, struct npy *out, struct dcr_err *err) DCR_MUST_CHECK;

struct npz_entry {
    char name[128];
    struct npy_head head;
};
#define NPZ_MAX_ARRAYS 64
/** npz_list - names and heads of all arrays; no value is read.
 *  out      overwritten; room for NPZ_MAX_ARRAYS, further arrays are left out
 *  n        how many
 *  errors   DCR_FAIL: a member that is no array, a damaged file, none at all */
int npz_list(const char *path, struct npz_entry *out, int *n, struct dcr_err *err) DCR_MUST_CHECK;
/** npz_entry_of - the entry of that name, or NULL. */
const struct npz_entry *npz_entry_of(const struct npz_entry *list, int n, const char *name);
/** npz_names - "data (16992, 307, 3), x (8, 12, 4, 2)", cut short to fit. */
void npz_names(const struct npz_entry *list, int n, char *text, size_t size);

#endif
