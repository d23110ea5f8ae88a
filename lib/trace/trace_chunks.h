/* trace_chunks.h - the blocks of a trace, read once and kept until one reader, or two on two threads, have decoded
 * them. Nobody is in charge of reading: who needs a chunk that nobody has read yet reads it, so that the faster one
 * does. Memory: eight chunks of 256 KB. Included by lib/trace*.c only. */
#ifndef DCR_TRACE_CHUNKS_H
#define DCR_TRACE_CHUNKS_H

#include "lib/base/stream.h"

#include <stdint.h>

struct dct_chunks;

/** dct_chunks_new - of what is left of s, which is not read yet.
 *  s        borrows until dct_chunks_free, on the threads of both sides, one at a time
 *  gives; NULL: no memory, or blocks too large to keep several */
struct dct_chunks *dct_chunks_new(struct dcr_stream *s, uint32_t block_bytes);
/** dct_chunks_ahead - reads the first megabyte; before anything else.
 *  returns  1: there is more behind it */
int dct_chunks_ahead(struct dct_chunks *c);
/** dct_chunks_share - is there a side 1 too? Not in the beginning; to be said before any block is taken, and both
 * sides take all blocks. */
void dct_chunks_share(struct dct_chunks *c, int is_shared);
/** dct_chunks_take - the next block of a side; it stays until that side takes the one after it.
 *  sum_is_right  as dct_sum_is_right says
 *  returns  its bytes, fewer than a block's at the end of the data; 0: there is none; or the grade with which the
 *           stream failed */
ssize_t dct_chunks_take(struct dct_chunks *c, int side, const unsigned char **block, int *sum_is_right,
                        struct dcr_err *err);
/** dct_chunks_leave - a side takes no more: the other one need not wait for it. What it took last may be gone. */
void dct_chunks_leave(struct dct_chunks *c, int side);
void dct_chunks_free(struct dct_chunks *c);

#endif
