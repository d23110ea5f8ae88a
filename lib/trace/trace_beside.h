/* trace_beside.h - a watcher of a trace runs on a second core if one is free: every block is read and checked once and
 * decoded twice. Handing over decoded events would cost more per event than decoding it again (docs/performance.md).
 * Used by lib/reduce/summary.c. */
#ifndef DCR_TRACE_BESIDE_H
#define DCR_TRACE_BESIDE_H

#include "lib/trace/trace.h"

struct dct_beside;

/** dct_beside_start - from now on another thread also decodes the blocks of r and hands the events to w->event.
 *  r        open, nothing taken from it yet. Its events are the same in any case
 *  w        borrows until dct_beside_end
 *  returns  end it with dct_beside_end. NULL: the caller hands the events to w, because the trace is short or there is
 *           no free core or thread */
struct dct_beside *dct_beside_start(struct dct_reader *r, const struct dct_watch *w);
/** dct_beside_end - waits for the other thread and calls w->end. r is still open, but nothing more is taken from it and
 * its last event is no longer used. If the caller stopped before the end of the trace, the other thread still sees the
 * rest. b may be NULL */
void dct_beside_end(struct dct_beside *b);

#endif
