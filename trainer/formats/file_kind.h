/* file_kind.h - what a data file is, told by its first bytes and never by its name. Called by dataset_read.c and
 * graph_read.c. */
#ifndef TRAINER_FORMATS_FILE_KIND_H
#define TRAINER_FORMATS_FILE_KIND_H

#include "lib/base/err.h"

enum file_kind {
    FILE_TEXT, /* anything that is none of the others; pipes too */
    FILE_HDF5,
    FILE_NPY,
    FILE_ZIP, /* .npz */
    FILE_PICKLE,
    FILE_FOLDER
};

/** file_kind_of - look at the first bytes of a file.
 *  errors   DCR_FAIL: cannot be opened; a Git LFS pointer, which stands where a repository's data should */
int file_kind_of(const char *path, enum file_kind *out, struct dcr_err *err) DCR_MUST_CHECK;

/** file_base_name - the name behind the last slash. */
const char *file_base_name(const char *path);

#endif
