/* kineto.h - a PyTorch profiler (Kineto) or other Chrome trace, as JSON text, into the sums of its devices.
 *
 * It reads {"traceEvents": [...]} with other keys in any order, or the bare array. The keys of an event may come in
 * any order, and the last of equal keys counts. Categories may be those of old (Kernel, Memcpy, Memset, Runtime,
 * Operator) or new versions (kernel, gpu_memcpy ...). Events are complete ("X") or pairs of "B" and "E" on their
 * thread. Times are decimal microseconds, exact to the nanosecond. An operation belongs to args.device, else to its
 * pid. Memory: a window (with two threads a few of them), one large value, and what render/device keeps. Called by
 * render/import/import.c. */
#ifndef RENDER_IMPORT_KINETO_KINETO_H
#define RENDER_IMPORT_KINETO_KINETO_H

#include "lib/base/stream.h"
#include "render/device/activity.h"
#include "render/model/foreign.h"

/** kineto_read - one trace.
 *  s        borrows; decompressed
 *  out      filled; texts and arrays in arena
 *  errors   DCR_FAIL: not JSON, no trace, or cut (the sentence names file and byte; DCR_ERR_NO_TRACE: it is
 *           no JSON, or has no list of events); DCR_FATAL: the stream, memory */
int kineto_read(struct foreign_trace *out, struct dcr_arena *arena, struct dcr_stream *s,
                struct dcr_err *err) DCR_MUST_CHECK;
/** kineto_way - in one thread or two: for tests. */
enum kineto_way { KINETO_AS_CORES, KINETO_ALONE, KINETO_APART };
void kineto_way(enum kineto_way w);
/** kineto_work - bytes that the last kineto_read of this thread moved and indexed, for tests: a few times those of the
 *  file, whatever is in it. */
int64_t kineto_work(void);

#endif
