/* room.h - where blocks of the trace file come from: space on the disk, page cache, mappings. Called by file.c, with
 * the lock held.
 *
 * Mapping and unmapping each block by itself cost more than filling it: an unmapping interrupts every processor on
 * which the process runs. So windows of some blocks are mapped at a time, and given back together, when a few later
 * ones were opened. */
#ifndef DCC_INJECT_ROOM_H
#define DCC_INJECT_ROOM_H

#include "collect/guest/file.h"

#include <sys/types.h>

/** room_reserve - allocate n bytes on the disk from offset on. returns -1 when there are none */
int room_reserve(int fd, off_t offset, off_t n);
/** room_is_below_size_limit - beyond RLIMIT_FSIZE the kernel would send SIGXFSZ, which ends the program. */
int room_is_below_size_limit(uint64_t n_bytes);
/** room_is_in_memory - the file system keeps its files there. */
int room_is_in_memory(int fd);
/* What is to be done about the file when a block was handed out. */
struct room_work {
    int fd;         /* -1: nothing */
    uint64_t block; /* to be put into the page cache */
    uint64_t flushed, asked, end;
};
/** room_next_block - block number p->n_blocks, mapped and zero; counts it. p->fd is the file.
 *  work     gives; the caller does it (room_work) before anything is written into the block, best without the lock
 *  returns  NULL without room */
struct dct_block_header *room_next_block(struct process *p, struct room_work *work);
/** room_work - takes no lock. Its descriptor must mean the trace file still. */
void room_work(const struct room_work *work);
/** room_give_back - the block is not written to any more. */
void room_give_back(struct process *p, struct dct_block_header *b);

#endif
