/* drain_inside.h - what the files of the drain share: drain.c (the thread), processes.c (who records, and how it ends),
 * blocks.c (full blocks into traces), copies.c (sums, headers, and copies of what is in use), doze.c (sleep). */
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
enum { DRAIN_RETRY_MS = 500, DRAIN_LONGEST_MS = 200 /* of a pause between two rounds */ };

/* A process that records. */
struct proc {
    uint32_t serial; /* 0: none is in this entry */
    struct tracefile *file;
    int pidfd; /* -1: it cannot be watched */
    int is_dead;
    int is_stopped; /* its trace has reached a limit for good */
    int64_t retry_ns;
    char why[200]; /* it could not be written */
    uint64_t n_lost;
    timer_t timer; /* on its processor time */
    int has_timer;
    int64_t used_ns, copied_ns; /* of that time, when it was looked at for a sleep, and for copies */
};

struct todo {
    uint32_t block, owner, track;
    int is_again; /* its number was written before: of a new thread with the number of one that ended */
    uint64_t seq;
};

struct drain {
    struct shared shared;
    char spool[PATH_MAX], left[PATH_MAX + 300]; /* left: the file that names the segment */
    struct proc *procs;
    uint32_t n_entries; /* of them, that were ever taken */
    uint32_t *parents;  /* by serial number */
    uint32_t n_parents;
    struct todo *todo;
    struct pollfd *polls;
    uint64_t own_space;      /* inode of our process id namespace */
    struct bounds bounds;    /* of each trace */
    struct follow **follows; /* of processes that have ended                                     shape: (n_follows) */
    size_t n_follows;
    int64_t copy_ns, next_copy_ns;
    uint64_t n_lost, n_processes;
    uint64_t n_lost_without_trace; /* of processes that got no trace */
    char why[200];
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t answered;
    int n_idle_rounds, is_listening;      /* is_listening: to timers */
    int64_t watched_ns;                   /* when the processes were looked at for a sleep */
    int is_threaded, is_ending, is_asked; /* asked: a round is due at once */
};

static inline struct segment *segment_of(const struct drain *d)
{
    return d->shared.segment;
}

/* ---- processes.c ---- */

/** drain_find_entries - how far the entries are taken: a process takes the first that is free. */
void drain_find_entries(struct drain *d);
/** drain_look_for_processes - who is new, and who has ended. */
void drain_look_for_processes(struct drain *d);
/** drain_finish_dead - their traces are completed and their entries free again. Those whose blocks could not be
 * written wait for a disk with room, as long as the program runs. */
void drain_finish_dead(struct drain *d);
/** drain_free_follows - of those that have written their summary. */
void drain_free_follows(struct drain *d);

/* ---- blocks.c ---- */

/** drain_gather - d->todo, in order: full blocks, and what dead processes left; or, for copies, blocks in use. Those
 *  of sums of files have a way of their own.                                                returns  how many */
uint32_t drain_gather(struct drain *d, int is_for_copies);
/** drain_write_blocks - what drain_gather finds.                        returns  blocks that are free again */
uint32_t drain_write_blocks(struct drain *d);
/** drain_say_why - p's trace cannot be written now. */
void drain_say_why(struct proc *p, const struct dcr_err *err);
/** drain_give_up_blocks - all that the process still has; events in them are counted as lost. */
void drain_give_up_blocks(const struct drain *d, uint32_t owner);

/* ---- copies.c ---- */

/** drain_write_header - of process i, with what the kernel counts for it. */
void drain_write_header(const struct drain *d, uint32_t i);
/** drain_copy_all - copies of the blocks in use, sums and headers of all that live. */
void drain_copy_all(struct drain *d);
/** drain_each_sums - the process's sums by file behind what was put.   is_last  for good, with the sums of dropped
 *  events; 0: as copies */
void drain_each_sums(struct drain *d, uint32_t owner, int is_last);

/* ---- doze.c ---- */

/** drain_sleep - of the drain's thread, between two rounds: for pause_ns, or long when the processes rest.
 *  n_written  blocks of the round before
 *  returns    1 when a process that runs again ended a long sleep */
int drain_sleep(struct drain *d, uint32_t n_written, int64_t pause_ns);
/** drain_wake - from another thread, after it has set what the drain shall see. */
void drain_wake(const struct drain *d);
/** drain_time_used - processor time of process i so far; -1: it is not told.                        unit: ns */
int64_t drain_time_used(const struct drain *d, uint32_t i);
void drain_forget_timer(struct proc *p);

#endif
