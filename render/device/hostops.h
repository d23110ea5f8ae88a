/* hostops.h - operators and ranges of the host by name: how often, how long, and how long without the ones inside them
 * on the same thread. Two records of one call count once. In any order; beyond a bound they are sorted through a
 * temporary file, so that memory grows with names and depth, not with events. Inside render/device only.
 *
 * source: docs/metrics.md#devices. Test: tests/unit/test_activity.c */
#ifndef RENDER_DEVICE_HOSTOPS_H
#define RENDER_DEVICE_HOSTOPS_H

#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "render/model/foreign.h"

struct host_ops;
struct host_work;
struct code_log;

/** host_ops_new - max_bytes: of events in memory. gives; free with host_ops_free. NULL: out of memory */
struct host_ops *host_ops_new(size_t max_bytes);
/** host_ops_add - one operator or range.
 *  thread   any number that identifies the thread; ranges of one thread nest. Ranges of the process have a separate
 *           number
 *  dur_ns   below 0 counts as 0 */
void host_ops_add(struct host_ops *h, int64_t thread, enum operator_kind kind, const char *name, size_t len,
                  int64_t start_ns, int64_t dur_ns);
/** host_ops_finish - the table, longest self time first; text and array in arena.
 *  work     receives all of them; NULL = not needed
 *  code     settled, holds the lines; NULL = no lines are known
 *  errors   DCR_FATAL: no memory or no temporary file */
int host_ops_finish(struct host_ops *h, struct host_work *work, struct code_log *code, struct dcr_arena *arena,
                    struct host_operators *out, struct dcr_err *err) DCR_MUST_CHECK;
void host_ops_free(struct host_ops *h);

#endif
