/* anonymise.h - dccollect anonymise: the same archive without the names of hosts, users, paths, jobs and labels. Every
 * number stays. */
#ifndef COLLECT_ANONYMISE_H
#define COLLECT_ANONYMISE_H

#include "lib/base/buf.h"
#include "lib/base/err.h"

/** anonymise_archive - write `output` from the archive `input`. The same input gives the same bytes.
 *  said     gets a line appended for each kind of member that was left out
 *  message  one line for people: what was replaced
 *  errors   DCR_FAIL: output exists; input is not an archive, or damaged; no room. Output is removed then */
int anonymise_archive(const char *input, const char *output, struct dcr_buf *said, char *message, size_t n,
                      struct dcr_err *err) DCR_MUST_CHECK;

#endif
