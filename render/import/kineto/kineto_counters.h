/* kineto_counters.h - ranges of CUPTI counters in a Kineto trace (cat cuda_profiler_range; PyTorch: experimental_config
 * with profiler_metrics). Such a trace has counts and no operations: the profiler spreads its ranges evenly over the
 * recording, so their times mean nothing. Inside render/import only. source: docs/metrics.md#devices. Test:
 * tests/unit/test_kineto.c */
#ifndef RENDER_IMPORT_KINETO_KINETO_COUNTERS_H
#define RENDER_IMPORT_KINETO_KINETO_COUNTERS_H

#include "render/import/kineto/kineto_pairs.h"
#include "render/model/build.h"

/** kineto_counters_add - one range, by the name of its kernel. name: as written; c made with the first one, in arena.
 */
void kineto_counters_add(struct range_counters **c, struct dcr_arena *arena, struct kineto_text name,
                         const struct kineto_raw *e);
/** kineto_tables - adds the sums of these ranges, and the memory of a host, to the evidence of the run. */
void kineto_tables(struct run *r, const struct foreign_trace *t);

#endif
