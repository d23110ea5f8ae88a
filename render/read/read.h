/* read.h - one archive in, one run out. The archive is read once, as a stream, and never trusted: sizes and hashes are
 * held against the manifest while bytes pass, member names are checked by lib/tar, numbers by lib/csv. */
#ifndef RENDER_READ_READ_H
#define RENDER_READ_READ_H

#include "render/model/run.h"

/** run_read - read and reduce an archive.
 *  path     borrows; only its file name is kept
 *  out      gives; free with run_free
 *  errors   DCR_FAIL: cannot be read or trusted (one sentence, what to do). What is merely missing is in run->gaps. */
int run_read(struct run **out, const char *path, struct dcr_err *err) DCR_MUST_CHECK;

#endif
