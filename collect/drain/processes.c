/* processes.c - the recording processes, and the work that is left when one has ended. See drain_inside.h. */
#include "collect/drain/drain_inside.h"

#include "lib/base/mono.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Descendants of a process keep its names for categories, schemas and threads. */
static void inherit(struct drain *d, struct proc *p, const struct segment_process *entry)
{
    enum { MOST_SERIALS = 1 << 24 };
    uint32_t serial = p->serial;
    if (serial >= MOST_SERIALS) /* no run starts so many processes; a program may have overwritten the number */
        return;
    if (serial >= d->n_parents) {
        uint32_t *more = realloc(d->parents, (serial + 64) * sizeof *more);
        if (!more)
            return;
        memset(more + d->n_parents, 0, (serial + 64 - d->n_parents) * sizeof *more);
        d->parents = more;
        d->n_parents = serial + 64;
    }
    d->parents[serial] = entry->parent < serial ? entry->parent : 0;
    for (uint32_t at = d->parents[serial]; at && at < d->n_parents; at = d->parents[at])
        if (tracefile_inherit(p->file, at) != 0)
            return;
}

static void open_file(struct drain *d, struct proc *p, struct segment_process *entry)
{
    struct dcr_err err = {0};
    int64_t now = dcr_mono_ns();
    if (p->file || now < p->retry_ns)
        return;
    if (tracefile_open(&p->file, d->spool, segment_of(d), entry, &d->bounds, &err) == 0) {
        inherit(d, p, entry);
        return;
    }
    snprintf(p->why, sizeof p->why, "%.190s", err.text);
    p->retry_ns = now + DRAIN_RETRY_MS * DRAIN_MS;
}

/* The process id of a process in another namespace has no meaning here. */
static int is_of_our_space(const struct drain *d, const struct segment_process *entry)
{
    return !d->own_space || entry->pid_space == d->own_space;
}

static void meet(struct drain *d, struct proc *p, struct segment_process *entry, uint64_t state)
{
    *p = (struct proc){.serial = entry->serial, .pidfd = -1};
    pid_t pid = (pid_t)(state >> 8);
    d->n_processes++;
    if (is_of_our_space(d, entry)) {
        p->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
        p->is_dead = p->pidfd < 0 && errno == ESRCH;
    }
    open_file(d, p, entry);
}

/* After an exec the old image is gone, although its process lives. */
static int has_successor(const struct drain *d, uint32_t i, uint64_t state)
{
    const struct segment *s = segment_of(d);
    for (uint32_t k = 0; k < d->n_entries; k++)
        if (k != i && __atomic_load_n(&segment_process(s, k)->state, __ATOMIC_ACQUIRE) == state &&
            segment_process(s, k)->pid_space == segment_process(s, i)->pid_space &&
            segment_process(s, k)->serial > segment_process(s, i)->serial)
            return 1;
    return 0;
}

void drain_find_entries(struct drain *d)
{
    const struct segment *s = segment_of(d);
    while (d->n_entries < s->n_processes &&
           __atomic_load_n(&segment_process(s, d->n_entries)->state, __ATOMIC_SEQ_CST) != PROCESS_FREE)
        d->n_entries++;
}

void drain_look_for_processes(struct drain *d)
{
    const struct segment *s = segment_of(d);
    nfds_t n = 0;
    drain_find_entries(d);
    for (uint32_t i = 0; i < d->n_entries; i++) {
        struct segment_process *entry = segment_process(s, i);
        struct proc *p = &d->procs[i];
        uint64_t state = __atomic_load_n(&entry->state, __ATOMIC_ACQUIRE);
        if ((state & 0xff) != PROCESS_LIVE || !entry->serial)
            continue;
        if (!p->serial)
            meet(d, p, entry, state);
        else if (!p->file)
            open_file(d, p, entry);
        if (p->pidfd >= 0 && !p->is_dead)
            d->polls[n++] = (struct pollfd){.fd = p->pidfd, .events = POLLIN};
    }
    if (!n || poll(d->polls, n, 0) < 0)
        n = 0;
    for (uint32_t i = 0, k = 0; i < d->n_entries; i++) {
        struct proc *p = &d->procs[i];
        uint64_t state = __atomic_load_n(&segment_process(s, i)->state, __ATOMIC_ACQUIRE);
        if (!p->serial || p->is_dead)
            continue;
        if (p->pidfd >= 0 && k < n && d->polls[k].fd == p->pidfd)
            p->is_dead = d->polls[k++].revents != 0;
        else if (p->pidfd < 0 && is_of_our_space(d, segment_process(s, i))) /* for instance because no descriptor was
                                                                             * free */
            p->is_dead = kill((pid_t)(state >> 8), 0) != 0 && errno == ESRCH;
        p->is_dead = p->is_dead || has_successor(d, i, state);
    }
}

/* ---- ends ------------------------------------------------------------------------------------- */

static void forget(struct drain *d, uint32_t i)
{
    struct segment_process *entry = segment_process(segment_of(d), i);
    struct proc *p = &d->procs[i];
    if (p->pidfd >= 0)
        close(p->pidfd);
    drain_forget_timer(p);
    *p = (struct proc){.pidfd = -1};
    memset((char *)entry + sizeof entry->state, 0, sizeof *entry - sizeof entry->state);
    __atomic_store_n(&entry->state, PROCESS_FREE, __ATOMIC_RELEASE);
}

static int has_blocks(const struct drain *d, uint32_t owner)
{
    const struct segment *s = segment_of(d);
    for (uint32_t i = 0; i < s->n_blocks; i++) {
        uint32_t state = __atomic_load_n(&segment_states(s)[i], __ATOMIC_ACQUIRE);
        if (state && (state >> 2) - 1 == owner && segment_block(s, i)->track != DCT_TRACK_PROCESS)
            return 1;
    }
    return 0;
}

/* The process has ended. returns 0: its sums found no room on the disk; they wait for room as long as the program
 * runs */
static int finish(struct drain *d, uint32_t i)
{
    struct proc *p = &d->procs[i];
    struct dcr_err err = {0};
    if (p->file) {
        tracefile_begin_end(p->file);
        if (*p->why && segment_process(segment_of(d), i)->header.dropped)
            tracefile_note(p->file, p->why);
        drain_each_sums(d, i, 1);
        if (tracefile_flush(p->file, NULL, &err) != 0) {
            drain_say_why(p, &err);
            if (!d->is_ending)
                return 0;
        }
    }
    drain_give_up_blocks(d, i);
    if (!p->file) { /* its dropped events are lost with the trace's header */
        p->n_lost = segment_process(segment_of(d), i)->header.dropped;
        d->n_lost_without_trace += p->n_lost;
    }
    d->n_lost += p->n_lost;
    if (p->n_lost && *p->why)
        snprintf(d->why, sizeof d->why, "%s", p->why);
    drain_write_header(d, i);
    if (p->file && tracefile_close(p->file, &d->follows, &err) != 0 && !*d->why)
        snprintf(d->why, sizeof d->why, "%.190s", err.text);
    p->file = NULL;
    return 1;
}

void drain_finish_dead(struct drain *d)
{
    for (uint32_t i = 0; i < d->n_entries; i++) {
        const struct proc *p = &d->procs[i];
        int is_due = d->is_ending || (p->file && !has_blocks(d, i) && dcr_mono_ns() >= p->retry_ns);
        if (p->serial && p->is_dead && is_due && finish(d, i))
            forget(d, i);
    }
}
