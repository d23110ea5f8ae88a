/* ls.h - dccollect ls: what is inside an archive, in words for people. Reads the archive once; checks no checksums
 * (that is verify.h's). */
#ifndef COLLECT_LS_H
#define COLLECT_LS_H

#include "lib/base/buf.h"
#include "lib/base/err.h"

/** ls_archive - what ran, how it ended, what was recorded and what is missing; then what lies inside, by kind.
 *  is_long  a line for every member too
 *  out      appended to; also filled, as far as it was read, when the archive is damaged
 *  errors   DCR_FAIL: cannot be read, or not to its end */
int ls_archive(const char *path, int is_long, struct dcr_buf *out, struct dcr_err *err) DCR_MUST_CHECK;

#endif
