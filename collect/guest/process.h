/* process.h - this process in the shared segment (segment.h): the mapping, its entry, its blocks.
 *
 * struct self is in memory that the kernel zeroes in a forked child (MADV_WIPEONFORK). So the child finds no entry and
 * takes a new one at its first event, whatever the parent's threads were doing. */
#ifndef DCC_PROCESS_H
#define DCC_PROCESS_H

#include "collect/guest/segment.h"

#include <sys/types.h>

enum { SELF_FRESH = 0, SELF_CLAIMING, SELF_RECORDING, SELF_OFF };

struct self {
    uint64_t epoch; /* process id << 32 | 1 while it records, else 0; tracks compare it at every event */
    uint32_t state; /* SELF_* */
    uint32_t index; /* of the entry */
    struct segment_process *process;
    pid_t pid;              /* process of this memory; 0: a forked child that has no entry yet */
    uint64_t dropped_early; /* events that came while a thread took the entry */
};

/* NULL: nothing is recorded in this process. Both are set once, at load. */
extern struct self *dcc_self __attribute__((visibility("hidden")));
extern struct segment *dcc_segment __attribute__((visibility("hidden")));

/* struct self is zeroed in a forked child by the kernel, not by a fork handler. */
extern int process_is_wiped __attribute__((visibility("hidden")));
/* From the launcher's variables; -1: none. */
extern int process_rank_at_load __attribute__((visibility("hidden")));

/** process_claim - take an entry, unless there is one. A child of vfork() gets none: it lives in its parent's memory.
 *  returns  SELF_*: recording; claiming: another thread is taking it; off: no entry is left; fresh: a vfork() child */
uint32_t process_claim(void);
/** process_take_block - takes a free block and sets its header, except the drops.
 *  is_reserved  the last blocks (segment_reserve) may be used too: for a thread's first block, and for gap.h, which
 *               keeps the sums of steps correct
 *  returns      NULL: all are taken */
struct dct_block_header *process_take_block(uint32_t track, uint64_t seq, int is_reserved);
/** process_hand_over - the block is complete. */
void process_hand_over(struct dct_block_header *b);
/** process_incomplete - events from since_ns on may be missing in the trace. */
void process_incomplete(int64_t since_ns);
/** process_unsummed - the same, and sums of steps that end later lack these events. */
void process_unsummed(int64_t since_ns);
/** process_beside - one dropped event was a process range or an operation in flight. */
void process_beside(void);
/** process_drop - counts one dropped event without a known name. */
void process_drop(void);
/** process_lost - n events of that kind and name are dropped: they are counted and added to the sums of their name.
 *  n  1; 0: only the time of one that was counted when it began; -1: one is not lost after all */
void process_lost(int kind, uint32_t domain, uint32_t name, uint32_t category, int64_t n, uint64_t ns, uint64_t bytes);

#endif
