/* ls.h - dccollect ls: what is inside an archive, in words for people. Reads the archive once; checks no checksums
 * (that is verify.h's). */
#ifndef COLLECT_LS_H
#define COLLECT_LS_H

#include "lib/base/buf.h"
#include "lib/base/err.h"

#include <jansson.h>
#include <stdint.h>

/** ls_archive - what ran, how it ended, what was recorded and what is missing; then what lies inside, by kind.
 *  is_long  a line for every member too
 *  out      appended to; also filled, as far as it was read, when the archive is damaged
 *  errors   DCR_FAIL: cannot be read, or not to its end */
int ls_archive(const char *path, int is_long, struct dcr_buf *out, struct dcr_err *err) DCR_MUST_CHECK;

/* What `ls` and the closing line of pack say alike of "collector" in the metadata. */

/** words_window - "in the window of --steps 10:20: " of what was asked for; "" when everything was to be recorded. */
void words_window(const json_t *collector, char *out, size_t n);
/** words_dropped - "0 dropped", or how many ranges, marks and calls. */
void words_dropped(uint64_t n_events, char *out, size_t n);
/** words_no_mpi - why the MPI calls of a program that uses MPI, or may as it has several ranks, are not known; "" when
 *  they are, or it uses none.
 *  borrows  of the metadata */
const char *words_no_mpi(const json_t *collector, size_t n_ranks);

#endif
