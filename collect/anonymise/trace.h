/* trace.h - a native trace (docs/FORMAT.md) without its names: texts and the host change, all events stay. */
#ifndef COLLECT_ANONYMISE_TRACE_H
#define COLLECT_ANONYMISE_TRACE_H

#include "collect/anonymise/documents.h"

#include <stdint.h>

/** anonymise_trace - write the trace `in` to sink. Texts may need more room than before, which adds blocks. A damaged
 * block becomes an empty block that readers count as damaged.
 *  print    gives; the fingerprint of what was written (summary_fingerprint in lib/reduce/summary.h)
 *  errors   DCR_FAIL: not a trace, or one of a later version; DCR_FATAL: it cannot be read or written */
int anonymise_trace(struct hide *h, struct dcr_stream *in, documents_sink sink, void *ctx, uint32_t *print,
                    struct dcr_err *err) DCR_MUST_CHECK;

#endif
