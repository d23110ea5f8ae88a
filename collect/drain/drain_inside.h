/* drain_inside.h - shared by the files of the drain: drain.c (the thread), processes.c (recording processes and their
 * ends), blocks.c (full blocks into traces), copies.c (sums, headers, and copies of blocks in use), doze.c (sleep). */
#ifndef COLLECT_DRAIN_INSIDE_H
#define COLLECT_DRAIN_INSIDE_H

#include "collect/drain/drain.h"
#include "collect/drain/shared.h"
#include "collect/drain/tracefile.h"

#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <time.h>

#define DRAIN_MS INT64_C(1000000)
enum { DRAIN_RETRY_MS = 500, DRAIN_LONGEST_MS = 200 /* pauses between two rounds */ };

/* A process that records. */
struct proc {
    uint32_t serial; /* 0: the entry has no process */
    struct tracefile *file;
    int pidfd; /* -1: it cannot be watched */
    int is_dead;
    int is_stopped; /* its trace has reached a limit for good */
    int64_t retry_ns;
    char why[200]; /* why it could not be written */
    uint64_t n_lost;
    timer_t timer; /* runs on its processor time */
    int has_timer;
    int64_t used_ns, copied_ns; /* its processor time at the last look for a sleep, and for copies */
};

struct todo {
    uint32_t block, owner, track;
    int is_again; /* its number was written before, by an ended thread with the same number */
    uint64_t seq;
};

struct drain {
    struct shared shared;
    char spool[PATH_MAX], left[PATH_MAX + 300]; /* left: the file in the spool that names the segment */
    struct proc *procs;
    uint32_t n_entries; /* number of entries that were ever taken */
    uint32_t *parents;  /* by serial number */
    uint32_t n_parents;
    struct todo *todo;
    struct pollfd *polls;
    uint64_t own_space;     /* inode of our process id namespace */
    struct bounds bounds;   /* limits of each trace */
    struct follow *follows; /* list of the summaries in progress of ended processes */
    int64_t copy_ns, next_copy_ns;
    uint64_t n_lost, n_processes;
    uint64_t n_lost_without_trace; /* events of processes that got no trace */
    char why[200];
    pthread_t thread;
    int n_idle_rounds, is_listening; /* is_listening: for timers */
    int64_t watched_ns;              /* when the processes were last looked at for a sleep */
    int is_threaded, is_stopping;    /* is_stopping: of the thread */
    int is_ending;                   /* the last round: what finds no room is lost */
};

static inline struct segment *segment_of(const struct drain *d)
{
    return d->shared.segment;
}

/* ---- processes.c ---- */

/** drain_find_entries - find how many entries are in use: a process takes the first free one. */
void drain_find_entries(struct drain *d);
/** drain_look_for_processes - find new and ended processes. */
void drain_look_for_processes(struct drain *d);
/** drain_finish_dead - complete the traces of ended processes and free their entries. If their blocks could not be
 * written, they wait for room on the disk as long as the program runs. */
void drain_finish_dead(struct drain *d);

/* ---- blocks.c ---- */

/** drain_gather - fills d->todo, in order: full blocks and the blocks of dead processes; or, for copies, blocks in use.
 * Blocks with sums of files are handled in copies.c.                                                returns  how
 * many */
uint32_t drain_gather(struct drain *d, int is_for_copies);
/** drain_write_blocks - write the blocks that drain_gather finds.                        returns  number of blocks that
 * are free again */
uint32_t drain_write_blocks(struct drain *d);
/** drain_say_why - keep the reason why p's trace cannot be written now. */
void drain_say_why(struct proc *p, const struct dcr_err *err);
/** drain_give_up_blocks - free all blocks of the process and count their events as lost. */
void drain_give_up_blocks(const struct drain *d, uint32_t owner);

/* ---- copies.c ---- */

/** drain_write_header - write the header of process i, with the kernel's counts for it. */
void drain_write_header(const struct drain *d, uint32_t i);
/** drain_copy_all - write copies of the blocks in use, sums and headers of all living processes. */
void drain_copy_all(struct drain *d);
/** drain_each_sums - write the process's sums by file after its blocks.   is_last  final, with the sums of dropped
 * events; 0: as copies */
void drain_each_sums(struct drain *d, uint32_t owner, int is_last);

/* ---- doze.c ---- */

/** drain_sleep - the drain's thread sleeps between two rounds: for pause_ns, or long when no process runs.
 *  n_written  blocks of the round before
 *  returns    1 when a process that runs again ended a long sleep */
int drain_sleep(struct drain *d, uint32_t n_written, int64_t pause_ns);
/** drain_wake - ends a sleep; called by another thread after it has set is_stopping. */
void drain_wake(const struct drain *d);
/** drain_time_used - processor time of process i so far; -1: unknown.                        unit: ns */
int64_t drain_time_used(const struct drain *d, uint32_t i);
void drain_forget_timer(struct proc *p);

#endif
