/* shared.h - the collector's side of the segment (collect/guest/segment.h): it is made, found again, and removed. */
#ifndef COLLECT_SHARED_H
#define COLLECT_SHARED_H

#include "collect/guest/segment.h"
#include "lib/base/err.h"

struct shared {
    struct segment *segment; /* mapped; NULL: none */
    int fd;                  /* locked while this collector lives */
    char path[256];          /* by which programs open it */
    int is_nameless;         /* it lies in no folder, and goes with its last process */
};

/** shared_bytes - how large the segment of one collector may be.
 *  wanted_mb   --max-mb, for each process that records
 *  n_local     collectors on this host, at least 1
 *  n_below     processes that this collector's program may start, at least 1
 *  returns     bytes: all collectors of the host together take at most 1 % of the memory that they may use */
int64_t shared_bytes(int wanted_mb, int n_local, int n_below);
/** shared_make - in /dev/shm, else without a name. Every page is reserved. What never changes in its header is a copy
 * of our own: programs may write over theirs. left     path of the file in the spool that will name it errors DCR_FAIL:
 * there is no room for it, so that nothing can be recorded */
int shared_make(struct shared *out, int64_t bytes, const char *left, struct dcr_err *err) DCR_MUST_CHECK;
/** shared_find - one that a killed collector left, by its path and token. Its header is checked, since others may write
 *  there.
 *  returns  0; DCR_END: it is not there any more; DCR_FAIL: another collector has locked it, or it is no such segment
 */
int shared_find(struct shared *out, const char *path, uint64_t token, struct dcr_err *err) DCR_MUST_CHECK;
/** shared_sweep - remove what killed collectors of this user left and nobody can use: the spool that names it is gone.
 */
void shared_sweep(void);
/** shared_close - unmap and unlock; is_removed: its name goes, so that the memory is free with its last process. */
void shared_close(struct shared *s, int is_removed);

#endif
