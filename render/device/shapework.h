/* shapework.h - the time of operators whose work follows from their shapes: on the host the time of the call, on a GPU
 * that of the kernels launched in it. In nested operators, only the outermost one with known work counts. Inside
 * render/device only. source: docs/metrics.md#operators-by-shapes. Test: tests/unit/test_shapes.c */
#ifndef RENDER_DEVICE_SHAPEWORK_H
#define RENDER_DEVICE_SHAPEWORK_H

#include "lib/base/arena.h"
#include "render/device/shapes.h"
#include "render/model/foreign.h"

/* Maximum number of calls kept. A trace with more calls gets no table. */
enum { SHAPED_CALLS_MAX = 1 << 19 };

struct shape_log;

/** shape_log_new - gives; free with shape_log_free. NULL: out of memory */
struct shape_log *shape_log_new(void);
/** shape_log_add - one call of an operator for which shape_is_counted.
 *  thread   of any numbering */
void shape_log_add(struct shape_log *l, int64_t thread, const char *name, size_t len, const struct shape_work *w,
                   int64_t start_ns, int64_t end_ns);
/** shape_log_settle - all calls are in: nested ones are left out. Before the first kernel */
void shape_log_settle(struct shape_log *l);
/** shape_log_kernel - one kernel of the GPU that the thread launched. */
void shape_log_kernel(struct shape_log *l, int64_t thread, int64_t launch_ns, int64_t dur_ns);
/** shape_log_finish - a row for each operator and type, longest first. Settles, if that was not done.
 *  has_gpu  the times are those of kernels; a row has no time if one of its calls launched no kernel
 *  out      gives, in arena; shape (*n)
 *  returns  1; 0: there were more than SHAPED_CALLS_MAX calls, and *n is 0 */
int shape_log_finish(struct shape_log *l, int has_gpu, struct dcr_arena *arena, struct run_kernel_counts **out, int *n);
void shape_log_free(struct shape_log *l);

#endif
