/* drain.h - the collector's thread that empties the segment (collect/guest/segment.h). It writes full blocks into the
 * traces of their processes, now and then a copy of the blocks in use, and the rest when a process has ended. The
 * program never waits for a slow disk: the segment fills up, and events without room are counted. */
#ifndef COLLECT_DRAIN_H
#define COLLECT_DRAIN_H

#include "collect/drain/pieces.h"
#include "lib/base/err.h"

#include <jansson.h>

#define DRAIN_LEFT_PREFIX \
    "segment-" /* file in the spool during recording: names the memory that holds the newest events */

struct drain;

/** drain_start - make the segment that the program maps.
 *  spool    folder of the run
 *  bytes    of the segment (shared_bytes)
 *  bounds   how much of each process's trace is kept
 *  copy_s   seconds between copies of the blocks in use to the disk; 0 = never
 *  out      gives; drain_stop
 *  errors   DCR_FAIL: nothing can be recorded; the sentence says why */
int drain_start(struct drain **out, const char *spool, int64_t bytes, const struct bounds *bounds, int copy_s,
                struct dcr_err *err) DCR_MUST_CHECK;
/** drain_path - for SEGMENT_VARIABLE in the program's environment. borrows; NULL when d is NULL */
const char *drain_path(const struct drain *d);
/** drain_look - end the thread, and one complete round here, because the kernel still has the totals of a program that
 *  has ended and was not waited for. From now on the caller looks again as long as processes record. NULL is fine.
 *  drain_stop - empty the segment for the last time. Processes that still live go on, and their events wait in the
 *  segment for `dccollect pack`. NULL is fine.
 *  is_kept  there are such processes, though they may not have recorded anything yet
 *  record   gets "recorder": processes loaded, events lost and why. may be NULL */
void drain_look(struct drain *d);
void drain_stop(struct drain *d, int is_kept, json_t *record);

/** drain_rescue - write the contents of segments that killed collectors of this spool left in memory into the traces.
 * Without such segments it does nothing.
 *  errors   DCR_WARN: a segment cannot be read now, or lies on another host; the sentence says why */
int drain_rescue(const char *spool, struct dcr_err *err) DCR_MUST_CHECK;

#endif
