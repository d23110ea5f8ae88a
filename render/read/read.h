/* read.h - one archive in, one run out. The archive is read once, as a stream, and never trusted: sizes and hashes are
 * compared with the manifest while it is read, member names are checked by lib/tar, numbers by lib/csv. */
#ifndef RENDER_READ_READ_H
#define RENDER_READ_READ_H

#include "render/model/run.h"

struct trace_ahead;

/** run_read - read and reduce an archive.
 *  path     borrows; only its file name is kept
 *  out      gives; free with run_free
 *  errors   DCR_FAIL: cannot be read or trusted (one sentence, what to do). What is only missing is in run->gaps. */
int run_read(struct run **out, const char *path, struct dcr_err *err) DCR_MUST_CHECK;

/** run_read_files - the same for plain files, the members of an archive that was not packed: a results folder, or files
 *  of other tools. Checksums are compared only if there is a manifest.json.
 *  label    the name of the run if it has none itself; a folder "4node" in it gives the number of nodes
 *  root     borrows; folder of the files, "" = names are paths
 *  names    borrows; relative to root, shape (n)
 *  ready    traces of them that were read already, NULL = none; shape (n), or NULL: none at all. The run owns their
 *           content from now on
 *  errors   DCR_FAIL: as run_read; or nothing in them is of a known kind */
int run_read_files(struct run **out, const char *label, const char *root, char *const *names,
                   struct trace_ahead *const *ready, size_t n, struct dcr_err *err) DCR_MUST_CHECK;

#endif
