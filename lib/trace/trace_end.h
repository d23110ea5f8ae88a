/* trace_end.h - how much of a trace file was ever used. Space is reserved ahead, and a process that is killed or leaves
 * by _exit does not give it back. */
#ifndef DCR_TRACE_END_H
#define DCR_TRACE_END_H

#include <stdint.h>

/** dct_used_bytes - up to the end of the last block whose header is not all zero, at least the file header's block.
 *  fd       borrows; its offset stays
 *  returns  bytes; the file's size if it is not a trace or ends inside a block; -1: it cannot be read (errno) */
int64_t dct_used_bytes(int fd);
/** dct_blocks_before - how many blocks the earlier pieces of this trace have; 0 if it has no earlier pieces, or if the
 *  file is not a trace. */
int64_t dct_blocks_before(int fd);

#endif
