/* drain.h - the collector's thread that empties the segment (collect/guest/segment.h): it writes full blocks into the
 * traces of their processes, from time to time a copy of those in use, and what a process left when it ended. However
 * long a disk takes, the program does not wait: the segment fills up, and what finds no room is counted. */
#ifndef COLLECT_DRAIN_H
#define COLLECT_DRAIN_H

#include "collect/drain/pieces.h"
#include "lib/base/err.h"

#include <jansson.h>

#define DRAIN_LEFT_PREFIX \
    "segment-" /* in the spool while it is recorded: names the memory that holds the newest events */

struct drain;

/** drain_start - make the segment, for the program to map.
 *  spool    folder of the run
 *  bytes    of the segment (shared_bytes)
 *  bounds   how much stays of the trace of each process
 *  copy_s   blocks in use are copied to the disk every so many seconds; 0 = never
 *  out      gives; drain_stop
 *  errors   DCR_FAIL: nothing can be recorded; the sentence says why */
int drain_start(struct drain **out, const char *spool, int64_t bytes, const struct bounds *bounds, int copy_s,
                struct dcr_err *err) DCR_MUST_CHECK;
/** drain_path - for SEGMENT_VARIABLE in the program's environment. borrows; NULL when d is NULL */
const char *drain_path(const struct drain *d);
/** drain_look - one round now, to its end: of a program that has ended and was not waited for yet, the kernel still has
 *  its totals. NULL is fine.
 * drain_stop - empty the segment for the last time and end the thread. Processes that still live go on without us:
 *  what they record waits in the segment for `dccollect pack`. NULL is fine.
 *  is_kept  there are such processes, though they may not have recorded anything yet
 *  record   gets "recorder": processes loaded, events lost and why. may be NULL */
void drain_look(struct drain *d);
void drain_stop(struct drain *d, int is_kept, json_t *record);

/** drain_rescue - write into the traces what killed collectors of this spool left in memory. If they left nothing, it
 *  does nothing.
 *  errors   DCR_WARN: something is there that cannot be taken now, or lies on another host; the sentence says why */
int drain_rescue(const char *spool, struct dcr_err *err) DCR_MUST_CHECK;

#endif
