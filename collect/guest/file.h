/* file.h - the trace file of this process: creation, blocks, the blocks of definitions. Called by spool.c only.
 *
 * All of struct process lies in memory that the kernel zeroes in a forked child (MADV_WIPEONFORK), lock included:
 * the child finds a process that has not started recording and begins a file of its own, whatever the parent's
 * threads were doing. The tables of names survive the fork and are written again into the child's file. */
#ifndef DCC_INJECT_FILE_H
#define DCC_INJECT_FILE_H

#include "lib/archive/format.h"

#include "collect/guest/names.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <sys/types.h>

enum { FILE_FRESH = 0, FILE_RECORDING, FILE_OFF };

enum { ROOM_WINDOW_BLOCKS = 32, ROOM_WINDOWS = 4 }; /* blocks: at most 64, the bits of is_open */
/* A mapped piece of the file. Its blocks are handed out in order. */
struct window_of_file {
    char *base;       /* NULL: none */
    uint64_t first;   /* number of its first block */
    uint64_t is_open; /* a bit per block that was not given back yet */
    uint32_t n;
};

/* What a thread was before nothing might take it out of the recorder. */
struct guard {
    sigset_t signals;
    int cancel_state;
};

struct process {
    /* Tracks compare epoch at every event; it changes when they must take a new block: after a fork, or when a
     * category was named too late for the blocks already open. High half: process id. */
    uint64_t epoch;
    uint32_t state;
    /* In another cache line: threads that take a block write here, threads that record read the fields above. */
    _Alignas(64) pthread_mutex_t lock;
    uint32_t generation; /* of definition blocks: 1, 2, ... */
    uint64_t next_range_id;
    uint64_t dropped_early;         /* before there was a file */
    struct guard holder;            /* of the lock */
    struct dct_file_header *header; /* first page of the file, kept mapped for its `dropped` */
    struct dct_block_header *definitions;
    uint64_t definition_seq;
    pid_t pid; /* whose memory this is; 0: of a forked child that has not begun a trace */
    int fd;
    char path[PATH_MAX];
    dev_t device;
    ino_t inode;
    uint64_t n_blocks, n_reserved;              /* handed out; allocated on disk (block 0 included) */
    struct window_of_file window[ROOM_WINDOWS]; /* in use, and those before */
    uint64_t n_flushed, n_asked;                /* blocks given back to memory; those that the disk was asked to take */
    uint64_t n_tracks;                          /* that hold a block */
    uint64_t max_bytes;                         /* of memory, DCC_MAX_MB */
    uint64_t max_disk_bytes;                    /* of the file, DCC_MAX_DISK_MB; 0 = no limit */
    int is_in_memory;                           /* the file system keeps its files there */
    struct dct_block_header *of_process;        /* block of DCT_TRACK_PROCESS in use */
    uint64_t of_process_seq;
};

extern struct process *dcc_process;
/** file_process - NULL when the library could not get its memory at load time. */
struct process *file_process(void);
extern struct names dcc_names;

/** file_begin_guard - no handler interrupts the thread and none cancels it until file_end_guard. They nest. */
void file_begin_guard(struct guard *g);
void file_end_guard(const struct guard *g);
/** file_lock - no handler interrupts the thread and none cancels it until file_unlock. file_try_lock returns 0 when it
 * has the lock. */
void file_lock(struct process *p);
int file_try_lock(struct process *p);
void file_unlock(struct process *p);
/** file_start - create the trace file if there is none yet, except in a child of vfork(). Takes the lock. returns 1
 * when recording */
int file_start(struct process *p);
/** file_rank - the rank that the launcher gave this process; -1 = none. */
int file_rank(void);
/** file_is_of_this_process - the process was loaded with this memory, or has begun a trace in it: it is neither a
 * forked child that has not, nor one of vfork(), in whose memory that of its parent is. */
int file_is_of_this_process(const struct process *p);
/** file_open_user_note - for processes without a trace: DCR_USER_NOTE_FILE, the same for all of the run.
 *  returns  its descriptor, or -1 */
int file_open_user_note(void);
/** file_folder_is_writable - may this process make a trace, or further files beside its trace, as the user that it is
 *  now? */
int file_folder_is_writable(const struct process *p);
/** file_new_block - a mapped, empty block of the track. Takes the lock, under the caller's guard; switches recording
 * off when there is none. *generation: every definition up to it stands before the block in the file; *epoch: of the
 * process now */
struct dct_block_header *file_new_block(struct process *p, uint32_t track, uint64_t seq, uint64_t dropped,
                                        uint32_t *generation, uint64_t *epoch);
/** file_incomplete - note in the trace that events from since_ns on may be missing. INT64_MAX = from now on. */
void file_incomplete(struct process *p, int64_t since_ns);
/** file_begin_track / file_end_track - a thread is about to take its first block, or has none any more.
 *  returns  -1 when its blocks would not fit into the memory the process may use */
int file_begin_track(struct process *p);
void file_end_track(struct process *p);
/** file_process_slots - n slots in the block of the process as a whole, zero, and count them in when they are filled.
 *  Caller holds the lock. returns NULL when there is no room; the block stays mapped and open for good */
struct dct_slot *file_process_slots(struct process *p, uint32_t n);
void file_process_slots_done(struct process *p, uint32_t n);
/** file_close_block - seal and unmap. Takes the lock, under the caller's guard. */
void file_close_block(struct process *p, struct dct_block_header *b);
void file_seal(struct dct_block_header *b);

/** file_next_definitions - a further block of definitions. Caller holds the lock. returns  0, -1 when there is no room
 */
int file_next_definitions(struct process *p);
/** file_define - append a definition; len at most DCT_MAX_TEXT. Caller holds the lock.
 *  returns  its generation, 0 when nothing was written */
uint32_t file_define(struct process *p, int kind, uint32_t domain, uint32_t name, const char *text, uint32_t len);

#define FILE_SLOTS ((DCT_BLOCK_BYTES - (uint32_t)sizeof(struct dct_block_header)) / DCT_SLOT_BYTES)

#endif
