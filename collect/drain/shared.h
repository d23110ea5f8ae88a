/* shared.h - the collector's side of the segment (collect/guest/segment.h): making, finding and removing it. */
#ifndef COLLECT_SHARED_H
#define COLLECT_SHARED_H

#include "collect/guest/segment.h"
#include "lib/base/err.h"

struct shared {
    struct segment *segment; /* mapped; NULL: none */
    size_t bytes;            /* that are mapped */
    int fd;                  /* locked while this collector lives */
    char path[256];          /* programs open it by this path */
    int is_nameless;         /* it lies in no folder, and vanishes with its last process */
};

/** shared_bytes - largest size of one collector's segment.
 *  wanted_mb   --max-mb, for each process that records
 *  n_local     collectors on this host, at least 1
 *  n_below     processes that this collector's program may start, at least 1
 *  returns     bytes; all collectors of the host together take at most 1 % of the memory that they may use */
int64_t shared_bytes(int wanted_mb, int n_local, int n_below);
/** shared_make - make the segment in /dev/shm, else without a name. Every page is reserved. The constant part of the
 * header is a private copy, because programs may overwrite theirs.
 *  left     path of the file in the spool that will name it
 *  errors   DCR_FAIL: there is no room for it, so nothing can be recorded */
int shared_make(struct shared *out, int64_t bytes, const char *left, struct dcr_err *err) DCR_MUST_CHECK;
/** shared_find - find the segment of a killed collector by its path and token. Its header is checked, because others
 * may write there.
 *  returns  0; DCR_END: it is gone; DCR_FAIL: another collector has locked it, or it is not such a segment */
int shared_find(struct shared *out, const char *path, uint64_t token, struct dcr_err *err) DCR_MUST_CHECK;
/** shared_sweep - remove segments of this user's killed collectors that are useless because the spools that name them
 * are gone. */
void shared_sweep(void);
/** shared_close - unmap and unlock. is_removed: also remove its name, so that the memory is freed with its last
 * process. */
void shared_close(struct shared *s, int is_removed);

#endif
