/* blocks.c - writes full blocks into the traces of their processes. See drain_inside.h. */
#include "collect/drain/drain_inside.h"

#include "lib/base/mono.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static void free_block(const struct drain *d, uint32_t block)
{
    segment_block(segment_of(d), block)->used_slots = 0;
    __atomic_store_n(&segment_states(segment_of(d))[block], 0, __ATOMIC_RELEASE);
}

static int in_order(const void *x, const void *y)
{
    const struct todo *a = x, *b = y;
    if (a->owner != b->owner)
        return a->owner < b->owner ? -1 : 1;
    if (a->track != b->track)
        return a->track < b->track ? -1 : 1;
    if (a->is_again != b->is_again)
        return a->is_again ? 1 : -1;
    return a->seq < b->seq ? -1 : a->seq > b->seq;
}

static uint32_t used_of(const struct dct_block_header *b)
{
    uint32_t n = __atomic_load_n(&b->used_slots, __ATOMIC_ACQUIRE);
    return n < SEGMENT_SLOTS ? n : SEGMENT_SLOTS;
}

static int is_again(const struct proc *p, const struct dct_block_header *b)
{
    return p->file && b->seq < tracefile_next(p->file, b->track);
}

/* Gathers full blocks and the blocks of dead processes; or, for copies, blocks in use. Blocks with sums of files are
 * handled in copies.c. */
uint32_t drain_gather(struct drain *d, int is_for_copies)
{
    const struct segment *s = segment_of(d);
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n_blocks; i++) {
        uint32_t state = __atomic_load_n(&segment_states(s)[i], __ATOMIC_ACQUIRE), owner = (state >> 2) - 1;
        if (!state || owner >= s->n_processes || !d->procs[owner].serial)
            continue;
        const struct dct_block_header *b = segment_block(s, i);
        int is_full = (state & 3) == BLOCK_FULL, is_wanted = is_for_copies ? !is_full : is_full;
        if ((!is_wanted && !d->procs[owner].is_dead) || b->track == DCT_TRACK_PROCESS)
            continue;
        if (used_of(b) == 0 && (is_full || d->procs[owner].is_dead))
            free_block(d, i);
        else if (used_of(b))
            d->todo[n++] = (struct todo){i, owner, b->track, is_again(&d->procs[owner], b), b->seq};
    }
    qsort(d->todo, n, sizeof *d->todo, in_order);
    return n;
}

void drain_say_why(struct proc *p, const struct dcr_err *err)
{
    const char *text = err->text;
    if (err->sys == ENOSPC || err->sys == EDQUOT)
        text = DCR_STOP_NOTE "the spool's disk is full, or over its quota";
    else if (err->sys == EFBIG)
        text = DCR_STOP_NOTE "the trace reached the limit on the size of files (ulimit -f)";
    snprintf(p->why, sizeof p->why, "%.190s", text);
    tracefile_note(p->file, p->why);
    p->retry_ns = dcr_mono_ns() + DRAIN_RETRY_MS * DRAIN_MS;
}

/* A block that could not be written is lost, and its events are counted in its process's header. */
static void lose_block(const struct drain *d, struct proc *p, uint32_t block)
{
    const struct dct_block_header *b = segment_block(segment_of(d), block);
    struct dct_file_header *h = &segment_process(segment_of(d), (uint32_t)(p - d->procs))->header;
    if (b->track != DCT_TRACK_PROCESS && used_of(b)) {
        int64_t since = ((const struct dct_slot *)(const void *)(b + 1))->t_ns;
        uint64_t n = tracefile_ranges(b, used_of(b));
        p->n_lost += n;
        __atomic_fetch_add(&h->dropped, n, __ATOMIC_RELAXED);
        segment_keep_earliest(&h->incomplete_ns, since);
        segment_keep_earliest(&h->unsummed_ns, since);
    }
    free_block(d, block);
}

/* returns  number of blocks that are free again */
static uint32_t flush(struct drain *d, struct proc *p, const struct todo *first, uint32_t n)
{
    struct dcr_err err = {0};
    uint32_t n_written = 0;
    int rc = tracefile_flush(p->file, &n_written, &err);
    p->copied_ns = -1; /* the blocks overwrote the copies */
    for (uint32_t i = 0; i < n_written; i++)
        free_block(d, first[i].block);
    if (!rc)
        return n;
    drain_say_why(p, &err);
    p->is_stopped = rc == DCR_FATAL || err.sys == EFBIG; /* no room can be expected any more */
    for (uint32_t i = n_written; i < n && p->is_stopped; i++)
        lose_block(d, p, first[i].block);
    return p->is_stopped ? n : n_written;
}

/* Writes all blocks of one process. todo: its n blocks, in order. */
static uint32_t write_process(struct drain *d, struct proc *p, struct todo *todo, uint32_t n)
{
    const struct segment *s = segment_of(d);
    uint32_t n_put = 0, n_done = 0;
    int is_sealed = segment_process(s, todo->owner)->has_exited != 0;
    for (uint32_t i = 0; i < n && p->is_stopped; i++)
        lose_block(d, p, todo[i].block);
    if (p->is_stopped)
        return n;
    if (!p->file || (dcr_mono_ns() < p->retry_ns && !d->is_ending))
        return 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct dct_block_header *b = segment_block(s, todo[i].block);
        uint32_t state = __atomic_load_n(&segment_states(s)[todo[i].block], __ATOMIC_ACQUIRE);
        uint64_t next = tracefile_next(p->file, todo[i].track);
        if (todo[i].seq < next && tracefile_is_resumed(p->file, todo[i].track)) {
            free_block(d, todo[i].block); /* a collector was killed after it had written the block */
            continue;
        }
        if (todo[i].seq == 0 && next) /* the thread has the number of an ended one, whose blocks came before */
            tracefile_restart(p->file, todo[i].track), next = 0;
        if (!p->is_dead && todo[i].seq != next) /* the previous block became full only just now */
            continue;
        struct dcr_err err = {0};
        if (d->is_ending)
            tracefile_exceed(p->file);
        if (tracefile_put(p->file, b, is_sealed || (state & 3) == BLOCK_FULL, &err) != 0) {
            if (*err.text)
                snprintf(p->why, sizeof p->why, "%.190s", err.text);
            break;
        }
        todo[n_put++] = todo[i];
        if (tracefile_is_full(p->file)) {
            uint32_t k = flush(d, p, todo, n_put);
            n_done += k;
            if (k < n_put)
                return n_done;
            n_put = 0;
        }
    }
    return n_put ? n_done + flush(d, p, todo, n_put) : n_done;
}

uint32_t drain_write_blocks(struct drain *d)
{
    uint32_t n = drain_gather(d, 0), n_done = 0;
    for (uint32_t from = 0, to; from < n; from = to) {
        for (to = from; to < n && d->todo[to].owner == d->todo[from].owner; to++)
            ;
        n_done += write_process(d, &d->procs[d->todo[from].owner], d->todo + from, to - from);
    }
    if (n_done)
        __atomic_fetch_add(&segment_of(d)->n_freed, n_done, __ATOMIC_RELEASE);
    return n_done;
}

void drain_give_up_blocks(const struct drain *d, uint32_t owner)
{
    const struct segment *s = segment_of(d);
    for (uint32_t i = 0; i < s->n_blocks; i++) {
        uint32_t state = __atomic_load_n(&segment_states(s)[i], __ATOMIC_ACQUIRE);
        if (state && (state >> 2) - 1 == owner)
            lose_block(d, &d->procs[owner], i);
    }
}
