/* sampler.h - one thread that asks all sources at a fixed interval. */
#ifndef COLLECT_SAMPLER_H
#define COLLECT_SAMPLER_H

#include "collect/monitor/source.h"

#include <jansson.h>

struct sampler;

/** sampler_start - configure the sources and start the thread (all signals blocked in it).
 *  config       borrows its text during the call only
 *  out          gives; sampler_stop */
int sampler_start(struct sampler **out, const char *spool, const struct source_config *config, int interval_ms,
                  struct dcr_err *err) DCR_MUST_CHECK;
/** sampler_stop - one last sample, then end the thread and free. NULL is fine.
 *  monitors     may be NULL; else an object that gets one sentence per source: "ok", "absent: ...", "partial: ..." */
void sampler_stop(struct sampler *s, json_t *monitors);

/** sampler_now - both clocks. */
struct tick sampler_now(void);

#endif
