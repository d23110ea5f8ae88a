/* ls.h - dccollect ls: what is inside an archive, in words for people. Reads the archive once and checks no checksums,
 * which is the task of verify.h. */
#ifndef COLLECT_LS_H
#define COLLECT_LS_H

#include "lib/base/buf.h"
#include "lib/base/err.h"

#include <jansson.h>
#include <stdint.h>

/** ls_archive - appends what ran, how it ended, what was recorded and what is missing, then the content by kind.
 *  is_long  a line for every member too
 *  out      appended to; if the archive is damaged, holds the part that could be read
 *  errors   DCR_FAIL: cannot be read, or not to its end */
int ls_archive(const char *path, int is_long, struct dcr_buf *out, struct dcr_err *err) DCR_MUST_CHECK;

/* Sentences about "collector" in the metadata that `ls` and the closing line of pack share. */

/** words_window - "in the window of --steps 10:20: " for the requested window; "" when everything was to be
 * recorded. */
void words_window(const json_t *collector, char *out, size_t n);
/** words_dropped - "0 dropped", or the number of ranges, marks and calls. */
void words_dropped(uint64_t n_events, char *out, size_t n);
/** words_no_mpi - why MPI calls are not known although the program uses MPI, or may because it has several ranks; ""
 * when they are known or it uses none.
 *  borrows  of the metadata */
const char *words_no_mpi(const json_t *collector, size_t n_ranks);

#endif
