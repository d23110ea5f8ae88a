/* trace_chunks.h - the blocks of a trace, read once and kept until one reader, or two on two threads, have decoded
 * them. No thread owns reading: the first thread that needs a chunk reads it. Memory: eight chunks of 256 KB. Included
 * by lib/trace*.c only. */
#ifndef DCR_TRACE_CHUNKS_H
#define DCR_TRACE_CHUNKS_H

#include "lib/base/stream.h"

#include <stdint.h>

struct dct_chunks;

/** dct_chunks_new - chunks of the unread rest of s. Sides 0 and 1 both take all blocks, until one leaves.
 *  s        borrows until dct_chunks_free; both sides' threads read it, one at a time
 *  gives; NULL: no memory, or blocks too large to keep several */
struct dct_chunks *dct_chunks_new(struct dcr_stream *s, uint32_t block_bytes);
/** dct_chunks_ahead - reads the first megabyte; call it before anything else.
 *  returns  1: more data follow */
int dct_chunks_ahead(struct dct_chunks *c);
/** dct_chunks_take - the next block of a side; it stays until that side takes the one after it.
 *  sum_is_right  as dct_sum_is_right says
 *  returns  its bytes, fewer than a block's at the end of the data; 0: there is none; or the grade with which the
 *           stream failed */
ssize_t dct_chunks_take(struct dct_chunks *c, int side, const unsigned char **block, int *sum_is_right,
                        struct dcr_err *err);
/** dct_chunks_leave - a side takes no more blocks, so the other one need not wait for it. The last block it took may
 * become invalid. */
void dct_chunks_leave(struct dct_chunks *c, int side);
void dct_chunks_free(struct dct_chunks *c);

#endif
