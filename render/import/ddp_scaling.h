/* ddp_scaling.h - results of a DDP scaling benchmark: one JSON object a run with its world size, mode (strong or weak),
 * model, batch and step times over all steps. No phases are in these files. */
#ifndef RENDER_IMPORT_DDP_SCALING_H
#define RENDER_IMPORT_DDP_SCALING_H

#include "lib/stream.h"
#include "render/model/run.h"

/** ddp_scaling_is - do these first bytes begin such a file?
 *  head     from its first brace on; shape (n) */
int ddp_scaling_is(const char *head, size_t n);
/** ddp_scaling_read - fill the run's summary, program and size; GPUs of one machine are what it scales over.
 *  errors   DCR_FAIL: no JSON, or without world_size and a step time */
int ddp_scaling_read(struct run *r, struct dcr_stream *s, struct dcr_err *err) DCR_MUST_CHECK;

#endif
