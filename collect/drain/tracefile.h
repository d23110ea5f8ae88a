/* tracefile.h - the trace of one process on disk, written by the collector: sealed blocks, the definitions that they
 * need, and from time to time a copy of the blocks that are still being filled. Format: lib/archive/format.h,
 * docs/FORMAT.md.
 *
 * A block is written behind the definitions of all that it names. The copies of blocks in use stand at the end of the
 * file, and the next sealed blocks take their place. */
#ifndef COLLECT_TRACEFILE_H
#define COLLECT_TRACEFILE_H

#include "collect/drain/pieces.h"
#include "collect/guest/segment.h"
#include "lib/base/err.h"

struct tracefile;

/** tracefile_open - <spool>/rank<r>/trace-<pid>.dct, with -<n> behind the pid when that is taken: exec keeps the pid,
 *  and so may a process of another container.
 *  s, p       borrows until tracefile_close; p->file gets the name. When it has one, a killed collector began the file,
 *             which is gone on with
 *  bounds     how much of it stays
 *  out        gives */
int tracefile_open(struct tracefile **out, const char *spool, const struct segment *s, struct segment_process *p,
                   const struct bounds *bounds, struct dcr_err *err) DCR_MUST_CHECK;
/** tracefile_inherit - what that process, or one before it, said about its numbers counts for this one too. */
int tracefile_inherit(struct tracefile *t, uint32_t serial);
/** tracefile_next - the number of the next block that this thread's stream needs. */
uint64_t tracefile_next(struct tracefile *t, uint32_t track);
/** tracefile_is_resumed - were blocks of that thread in the file when it was gone on with? */
int tracefile_is_resumed(struct tracefile *t, uint32_t track);
/** tracefile_restart - the thread's number is used by a new one, which begins at block 0. */
void tracefile_restart(struct tracefile *t, uint32_t track);
/** tracefile_put - copy a block into the next write. The caller keeps the block until tracefile_flush.
 *  is_sealed   it has a checksum: its process went on from it, or ended in the normal way
 *  returns     -1: what it names could not be defined now, or no further piece could begin; err says why */
int tracefile_put(struct tracefile *t, const struct dct_block_header *b, int is_sealed, struct dcr_err *err);
/** tracefile_exceed - from now on no further piece begins: the trace ends soon, and what is left of it shall be
 * written. */
void tracefile_exceed(struct tracefile *t);
/** tracefile_is_full - a tracefile_flush is due before the next tracefile_put. */
int tracefile_is_full(const struct tracefile *t);
/** tracefile_flush - write what was put.
 *  n_written  blocks, in the order in which they were put. On failure the others are as if they had never been put: the
 *             caller still has them. may be NULL
 *  errors   DCR_FAIL with err->sys: disk full, quota, size limit, an I/O error; DCR_FATAL: the only
 *             piece is full */
int tracefile_flush(struct tracefile *t, uint32_t *n_written, struct dcr_err *err) DCR_MUST_CHECK;
/** tracefile_begin_copies, tracefile_copy - copies of blocks in use behind all others; flush writes them. */
void tracefile_begin_copies(struct tracefile *t);
void tracefile_copy(struct tracefile *t, const struct dct_block_header *b);
/** tracefile_note - a sentence for people, once. */
void tracefile_note(struct tracefile *t, const char *sentence);
/** tracefile_header - write the file header anew. */
int tracefile_header(struct tracefile *t, const struct dct_file_header *h, struct dcr_err *err) DCR_MUST_CHECK;
/** tracefile_close - seal the definitions; flush and write the header before. Frees t.
 *  follow   gives; who sums the trace up; NULL = nobody */
int tracefile_close(struct tracefile *t, struct follow **follow, struct dcr_err *err);
/** tracefile_begin_end - its process has ended: sums get the blocks that were kept for them below the limit, and gaps
 * in what was said are passed at once. */
void tracefile_begin_end(struct tracefile *t);
/** tracefile_leave - close it as it is: its process goes on, and drain_rescue comes back to it. Frees t. */
void tracefile_leave(struct tracefile *t);
/** tracefile_ranges - how many ranges, marks and calls begin in a block: what is lost with it. */
uint64_t tracefile_ranges(const struct dct_block_header *b, uint32_t n_used);

#endif
