/* copies.c - sums of files and of dropped events, headers, and copies of what is in use. See drain_inside.h. */
#include "collect/drain/drain_inside.h"

#include "collect/record/procfs.h"
#include "lib/base/mono.h"

#include <stdio.h>
#include <string.h>

/* ---- sums ------------------------------------------------------------------------------------- */

/* Copies the slots in use. If a process was killed after taking slots for a file and before naming it, these slots are
 * left out. */
static uint32_t sums_of(const struct dct_block_header *b, struct dct_block_header *out)
{
    enum { N = 1 + DCT_N_IO * sizeof(struct dct_io) / DCT_SLOT_BYTES };
    const struct dct_slot *from = (const struct dct_slot *)(const void *)(b + 1);
    struct dct_slot *to = (struct dct_slot *)(void *)(out + 1);
    uint32_t used = 0;
    for (uint32_t i = 0; i + N <= SEGMENT_SLOTS; i += N) {
        if (__atomic_load_n(&from[i].kind, __ATOMIC_ACQUIRE) != DCT_FILE || from[i].n_extra != N - 1)
            continue;
        memcpy(to + used, from + i, N * sizeof *to);
        used += N;
    }
    out->used_slots = used;
    return used;
}

/* Writes lost sums as one event for each name, after the sums of files. */
static void put_lost(struct proc *p, const struct segment_process *entry, struct dct_block_header *out, uint64_t *seq)
{
    struct dct_slot *to = (struct dct_slot *)(void *)(out + 1);
    uint32_t used = 0;
    for (uint32_t i = 0; i < SEGMENT_LOST; i++) {
        const struct segment_lost *l = &entry->lost[i];
        if (!l->n)
            continue;
        struct dct_span span = {.dur_ns = (int64_t)(l->ns < INT64_MAX ? l->ns : INT64_MAX), .bytes = l->bytes};
        struct dct_sum sum = {.category = l->category ? (uint32_t)(l->category - 1) : 0,
                              .kind = (uint32_t)(l->key >> 40 & 0xff),
                              .n = l->n};
        to[used] = (struct dct_slot){.kind = DCT_SUM,
                                     .n_extra = 2,
                                     .domain = (uint16_t)(l->key >> 48),
                                     .name = (uint32_t)(l->key & UINT32_MAX),
                                     .t_ns = entry->header.incomplete_ns};
        memcpy(&to[used + 1], &span, sizeof span);
        memcpy(&to[used + 2], &sum, sizeof sum);
        used += 3;
    }
    out->used_slots = used;
    out->seq = *seq;
    int is_full = tracefile_is_full(p->file) && tracefile_flush(p->file, NULL, NULL) != 0;
    if (used && !is_full && tracefile_put(p->file, out, 1, NULL) == 0)
        ++*seq;
}

void drain_each_sums(struct drain *d, uint32_t owner, int is_last)
{
    const struct segment *s = segment_of(d);
    struct proc *p = &d->procs[owner];
    union {
        struct dct_block_header head;
        unsigned char bytes[SEGMENT_BLOCK_BYTES];
    } copy = {.head = {.magic = DCT_BLOCK_MAGIC, .track = DCT_TRACK_PROCESS}};
    uint64_t seq = 0;
    for (uint32_t i = 0; i < s->n_blocks; i++) {
        uint32_t state = __atomic_load_n(&segment_states(s)[i], __ATOMIC_ACQUIRE);
        if (!state || (state >> 2) - 1 != owner || segment_block(s, i)->track != DCT_TRACK_PROCESS ||
            !sums_of(segment_block(s, i), &copy.head))
            continue;
        copy.head.seq = seq++;
        if (is_last &&
            copy.head.seq < tracefile_next(p->file, DCT_TRACK_PROCESS)) /* it was written before the disk was full */
            continue;
        if (is_last && tracefile_is_full(p->file) && tracefile_flush(p->file, NULL, NULL) != 0)
            break;
        if (is_last)
            (void)tracefile_put(p->file, &copy.head, 1, NULL);
        else
            tracefile_copy(p->file, &copy.head);
    }
    if (is_last)
        put_lost(p, segment_process(s, owner), &copy.head, &seq);
}

/* ---- headers and copies ----------------------------------------------------------------------- */

/* Takes the kernel's I/O totals while the kernel has them, which includes ended processes that nobody has waited for
 * yet. */
static void look_at_io(struct dct_file_header *h)
{
    static const char *const names[DCT_N_IO_TOTALS] = {
#define X(id, kernel, column) [id] = kernel,
        DCT_IO_TOTALS(X)
#undef X
    };
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%u/io", h->pid);
    if (procfs_read(path, text, sizeof text, NULL) > 0)
        for (int i = 0; i < DCT_N_IO_TOTALS; i++)
            (void)!procfs_field(text, names[i], &h->io[i]);
}

void drain_write_header(const struct drain *d, uint32_t i)
{
    const struct proc *p = &d->procs[i];
    struct dct_file_header *h = &segment_process(segment_of(d), i)->header;
    if (p->pidfd >= 0)
        look_at_io(h);
    if (p->file)
        (void)!tracefile_header(p->file, h, NULL);
}

void drain_copy_all(struct drain *d)
{
    const struct segment *s = segment_of(d);
    uint32_t n = drain_gather(d, 1), from = 0;
    for (uint32_t i = 0; i < d->n_entries; i++) {
        struct proc *p = &d->procs[i];
        uint32_t to = from;
        int64_t used_ns = p->serial ? drain_time_used(d, i) : 0;
        int has_run = used_ns < 0 || used_ns != p->copied_ns || d->is_ending;
        while (to < n && d->todo[to].owner == i)
            to++;
        if (p->serial && p->file && !p->is_dead && has_run && dcr_mono_ns() >= p->retry_ns) {
            struct dcr_err err = {0};
            p->copied_ns = used_ns;
            tracefile_begin_copies(p->file);
            for (uint32_t k = from; k < to; k++)
                if (d->todo[k].seq == tracefile_next(p->file, d->todo[k].track))
                    tracefile_copy(p->file, segment_block(s, d->todo[k].block));
            drain_each_sums(d, i, 0);
            if (tracefile_flush(p->file, NULL, &err) != 0)
                drain_say_why(p, &err);
            drain_write_header(d, i);
        }
        from = to;
    }
}
