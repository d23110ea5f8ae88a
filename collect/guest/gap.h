/* gap.h - sums of a thread's lost events while no block is free, which keep the sums of its steps correct.
 *
 * Lost ranges and calls are added up by name and place: a node stands for those of one name inside the same lost
 * ranges. The nodes are written (DCT_GAP) when a block is free again, when a step ends, and before a recorded range
 * ends. Lost ranges that are still open are then recorded with the time of their beginning. In the last two cases the
 * nodes may take a block of the reserve, which no other event may use. If the reserve is empty too, the header says
 * from which time on sums of steps are incomplete. */
#ifndef DCC_GAP_H
#define DCC_GAP_H

#include "collect/guest/track.h"

/** gap_open - t's last lost range has begun. */
void gap_open(struct spool_track *t);
/** gap_close - t's lost range number i has ended. Call before it is removed. */
void gap_close(struct spool_track *t, uint32_t i, int64_t end_ns);
/** gap_call - a complete call was lost. */
void gap_call(struct spool_track *t, uint32_t domain, uint32_t name, uint32_t category, int64_t start_ns,
              int64_t end_ns, uint64_t bytes);
/** gap_slots - number of slots that gap_write needs; 0 = nothing to write. */
uint32_t gap_slots(struct spool_track *t);
/** gap_write - writes the nodes and the open lost ranges into t's block, which has room for them and for the pops. */
void gap_write(struct spool_track *t);
/** gap_flush - the same, in a block of the reserve if no other is free.
 *  returns  -1: no block is free, or there are more open ranges than could be remembered */
int gap_flush(struct spool_track *t);
/** gap_give_up - forgets the nodes, so the sums of steps lack them. */
void gap_give_up(struct spool_track *t);

#endif
