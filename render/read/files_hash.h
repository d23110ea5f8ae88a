/* files_hash.h - what a citation names of evidence that was not packed: the checksum of the file, or of the list of
 * them. Called by evidence.c. */
#ifndef RENDER_READ_FILES_HASH_H
#define RENDER_READ_FILES_HASH_H

#include "render/model/run.h"
#include "render/read/inputs.h"

/** files_hash - set r->files_sha256: of one file its SHA-256, of several that of the list which `sha256sum` prints of
 *  them in bytewise order of their names. Nothing is set where there is a manifest, which holds the hashes, or where
 *  one of them is no plain file any more (a pipe), or where they are of more than 64 MB: hashing those would take a
 *  third as long as all the rest. Then r->files_unhashed says so.
 *  x        borrows; what r was read from
 *  cost     reads every byte once more */
void files_hash(struct run *r, const struct input *x);

#endif
