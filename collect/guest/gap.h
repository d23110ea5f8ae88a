/* gap.h - what a thread loses while no block is free, so that the sums of its steps are right all the same.
 *
 * Lost ranges and calls are added up by name and place: a node stands for those of one name inside the same lost
 * ranges. When a block is free again, when a step ends, and before a recorded range ends, the nodes are written
 * (DCT_GAP). Lost ranges that are still open are then recorded after all, with the time of their beginning. The last
 * two may take a block of the reserve, which no other event may use. Where that is empty too, the header says from when
 * on sums of steps lack something. */
#ifndef DCC_GAP_H
#define DCC_GAP_H

#include "collect/guest/track.h"

/** gap_open - t's last lost range has begun. */
void gap_open(struct spool_track *t);
/** gap_close - t's lost range number i has ended. Call before it is removed. */
void gap_close(struct spool_track *t, uint32_t i, int64_t end_ns);
/** gap_call - a call that is over was lost. */
void gap_call(struct spool_track *t, uint32_t domain, uint32_t name, uint32_t category, int64_t start_ns,
              int64_t end_ns, uint64_t bytes);
/** gap_slots - how many slots gap_write needs; 0 = nothing is to be written. */
uint32_t gap_slots(struct spool_track *t);
/** gap_write - write the nodes and the open lost ranges into t's block, which has room for them and for the pops. */
void gap_write(struct spool_track *t);
/** gap_flush - the same, in a block of the reserve if there is no other.
 *  returns  -1: no block is free, or ranges are open that nobody remembers */
int gap_flush(struct spool_track *t);
/** gap_give_up - forget the nodes; the sums of steps lack them. */
void gap_give_up(struct spool_track *t);

#endif
