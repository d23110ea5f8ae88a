/* files_hash.h - checksums for the citation of evidence that was not packed: of the file, or of the list of files.
 * Called by evidence.c. */
#ifndef RENDER_READ_FILES_HASH_H
#define RENDER_READ_FILES_HASH_H

#include "render/model/run.h"
#include "render/read/inputs.h"

/** files_hash - set r->files_sha256: for one file its SHA-256, for several that of the list which `sha256sum` prints
 * for them in bytewise order of their names. It is not set if there is a manifest, which holds the hashes, or if one of
 * them is not a plain file (a pipe). It is not set above 64 MB, because hashing would take a third as long as
 * everything else. Then r->files_unhashed gives the reason.
 *  x        borrows; what r was read from
 *  cost     reads every byte once more */
void files_hash(struct run *r, const struct input *x);

#endif
