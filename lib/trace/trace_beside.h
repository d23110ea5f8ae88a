/* trace_beside.h - who looks on while a trace is read does so on a core of its own where there is one to spare: every
 * block is read and checked once and decoded twice. Handing over decoded events instead costs each of them more than
 * decoding it again does (docs/performance.md). Used by lib/reduce/summary.c. */
#ifndef DCR_TRACE_BESIDE_H
#define DCR_TRACE_BESIDE_H

#include "lib/trace/trace.h"

struct dct_beside;

/** dct_beside_start - from now on another thread decodes what r does too and hands it to w->event.
 *  r        open, nothing taken from it. Its events are the same in any case
 *  w        borrows until dct_beside_end
 *  returns  NULL: the caller hands the events to w, since the trace is short or there is neither a core nor a thread;
 *           else to be ended with dct_beside_end */
struct dct_beside *dct_beside_start(struct dct_reader *r, const struct dct_watch *w);
/** dct_beside_end - waits for the other thread and calls w->end. r is still open; nothing is taken from it any more and
 * what it gave last is not used. Where the caller stopped before its end, the other thread still sees the rest. b may
 * be NULL */
void dct_beside_end(struct dct_beside *b);

#endif
