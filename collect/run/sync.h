/* sync.h - evidence reaches the disk while the program runs. The death of a process loses nothing that the kernel
 * holds; the death of the machine would. One thread of the collector asks for what was written, every few seconds; the
 * program's own threads never wait for it. */
#ifndef COLLECT_SYNC_H
#define COLLECT_SYNC_H

#include <stdint.h>

struct syncer;

/** sync_start - fdatasync every file below the folders, and fsync the folders, at the interval. Failures are ignored:
 *  the evidence is where it was.
 *  folders   borrows during the call; NULL entries are passed over                                      shape: (n)
 *  n_writes  grows when the collector writes there; while it stays, nothing is done, and the interval grows to 30 s.
 * Called by the thread, with ctx. NULL: others write there too, and all is synced each time returns   NULL when seconds
 * is 0 or there is no memory; end with sync_stop */
struct syncer *sync_start(const char *const *folders, int n, int seconds, uint64_t (*n_writes)(void *ctx), void *ctx);
/** sync_stop - end the thread; NULL is fine. */
void sync_stop(struct syncer *s);

#endif
