/* tracefile.h - the trace of one process on disk, written by the collector. It has sealed blocks, the definitions that
 * they need, and from time to time a copy of the blocks that are still being filled. Format: lib/archive/format.h,
 * docs/FORMAT.md.
 *
 * A block is written after the definitions of all names in it. The copies of blocks in use lie at the end of the file,
 * and the next sealed blocks overwrite them. */
#ifndef COLLECT_TRACEFILE_H
#define COLLECT_TRACEFILE_H

#include "collect/drain/pieces.h"
#include "collect/guest/segment.h"
#include "lib/base/err.h"

struct tracefile;

/** tracefile_open - opens <spool>/rank<r>/trace-<pid>.dct, with -<n> after the pid when the name is taken: exec keeps
 * the pid, and a process of another container may have the same one.
 *  s, p       borrows until tracefile_close; p->file gets the name. If it already has one, a killed collector began the
 *             file, and it is continued
 *  bounds     how much of it is kept
 *  out        gives */
int tracefile_open(struct tracefile **out, const char *spool, const struct segment *s, struct segment_process *p,
                   const struct bounds *bounds, struct dcr_err *err) DCR_MUST_CHECK;
/** tracefile_inherit - definitions by that process, or by its ancestors, also apply to this one. */
int tracefile_inherit(struct tracefile *t, uint32_t serial);
/** tracefile_next - the number of the next block that this thread's stream needs. */
uint64_t tracefile_next(struct tracefile *t, uint32_t track);
/** tracefile_is_resumed - did the file hold blocks of that thread when it was resumed? */
int tracefile_is_resumed(struct tracefile *t, uint32_t track);
/** tracefile_restart - a new thread uses the number, and begins at block 0. */
void tracefile_restart(struct tracefile *t, uint32_t track);
/** tracefile_put - copy a block into the next write. The caller keeps the block until tracefile_flush.
 *  is_sealed   it gets a checksum, because its process went on to another block or ended normally
 *  returns     -1: its names could not be defined now, or no further piece could begin; err says why */
int tracefile_put(struct tracefile *t, const struct dct_block_header *b, int is_sealed, struct dcr_err *err);
/** tracefile_exceed - from now on no further piece begins: the trace ends soon, and its rest is to be written. */
void tracefile_exceed(struct tracefile *t);
/** tracefile_is_full - a tracefile_flush is due before the next tracefile_put. */
int tracefile_is_full(const struct tracefile *t);
/** tracefile_flush - write the blocks that were put.
 *  n_written  number of blocks, in the order in which they were put. On failure the others count as never put, and the
 *             caller still has them. may be NULL
 *  errors   DCR_FAIL with err->sys: disk full, quota, size limit, an I/O error; DCR_FATAL: the only piece is full */
int tracefile_flush(struct tracefile *t, uint32_t *n_written, struct dcr_err *err) DCR_MUST_CHECK;
/** tracefile_begin_copies, tracefile_copy - put copies of blocks in use after all others; flush writes them. */
void tracefile_begin_copies(struct tracefile *t);
void tracefile_copy(struct tracefile *t, const struct dct_block_header *b);
/** tracefile_note - put a sentence for people, once. */
void tracefile_note(struct tracefile *t, const char *sentence);
/** tracefile_header - overwrite the file header. */
int tracefile_header(struct tracefile *t, const struct dct_file_header *h, struct dcr_err *err) DCR_MUST_CHECK;
/** tracefile_close - seal the definitions; call flush and write the header before. Frees t.
 *  list     gets the process that sums the trace up, if one is needed */
int tracefile_close(struct tracefile *t, struct follow **list, struct dcr_err *err);
/** tracefile_begin_end - the process has ended: sums get the blocks that were reserved for them below the limit, and
 * gaps in the definitions are skipped at once. */
void tracefile_begin_end(struct tracefile *t);
/** tracefile_leave - close it as it is, because its process goes on; drain_rescue will resume it. Frees t. */
void tracefile_leave(struct tracefile *t);
/** tracefile_ranges - number of ranges, marks and calls that begin in a block, and are lost with it. */
uint64_t tracefile_ranges(const struct dct_block_header *b, uint32_t n_used);

#endif
