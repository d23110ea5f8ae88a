/* summarize.h - summaries of the traces in a spool, made on the node that wrote them (by `dccollect run` when its
 * program has ended) or when they are packed. */
#ifndef COLLECT_SUMMARIZE_H
#define COLLECT_SUMMARIZE_H

#include "lib/reduce/summary.h"

/** summarize_trace - read a trace file to its end.
 *  name     of the trace in the archive
 *  errors   DCR_FAIL: it is no trace; DCR_FATAL: it cannot be read */
int summarize_trace(struct summary *out, struct dcr_arena *a, const char *path, const char *name,
                    struct dcr_err *err) DCR_MUST_CHECK;

/** summarize_load - a summary that lies in a file, if it is that of the trace as it is now.
 *  trace_path  NULL when the trace is gone
 *  errors      DCR_FAIL: not readable, or the trace was written to since */
int summarize_load(struct summary *out, struct dcr_arena *a, const char *path, const char *trace_path,
                   struct dcr_err *err) DCR_MUST_CHECK;

/** summarize_wait - wait until the processes that sum up traces of the spool (collect/drain/follow.h) are done, a
 * minute at most. A collector that was killed leaves them at work. */
void summarize_wait(const char *spool);

/** summarize_folder - a summary beside every trace of a rank's folder; what fails is left to pack. */
void summarize_folder(const char *dir, int rank);

#endif
