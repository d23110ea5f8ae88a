/* drain.c - see drain.h. */
#include "collect/drain/drain.h"

#include "collect/drain/shared.h"
#include "collect/drain/tracefile.h"
#include "collect/record/meta.h"
#include "collect/record/procfs.h"
#include "lib/base/fs.h"
#include "lib/base/mono.h"
#include "lib/base/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MS INT64_C(1000000)
enum { SHORTEST_MS = 1, LONGEST_MS = 200, RETRY_MS = 500 };

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
    uint32_t *parents; /* by serial number */
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
    pthread_cond_t wake;
    int is_threaded, is_ending, is_asked; /* asked: a round is due at once */
};

static struct segment *segment_of(const struct drain *d)
{
    return d->shared.segment;
}

/* ---- processes -------------------------------------------------------------------------------- */

static uint64_t pid_space(void)
{
    struct stat st;
    return stat("/proc/self/ns/pid", &st) == 0 ? st.st_ino : 0;
}

/* The program's descendants keep their parents' names for categories, schemas and threads. */
static void inherit(struct drain *d, struct proc *p, const struct segment_process *entry)
{
    enum { MOST_SERIALS = 1 << 24 };
    uint32_t serial = p->serial;
    if (serial >= MOST_SERIALS) /* no run starts so many; a program may have written over it */
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
    p->retry_ns = now + RETRY_MS * MS;
}

/* Of a process in another namespace the number means nothing here. */
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

/* The image before an exec is gone, though its process lives. */
static int has_successor(const struct segment *s, uint32_t i, uint64_t state)
{
    for (uint32_t k = 0; k < s->n_processes; k++)
        if (k != i && __atomic_load_n(&segment_process(s, k)->state, __ATOMIC_ACQUIRE) == state &&
            segment_process(s, k)->pid_space == segment_process(s, i)->pid_space &&
            segment_process(s, k)->serial > segment_process(s, i)->serial)
            return 1;
    return 0;
}

static void look_for_processes(struct drain *d)
{
    const struct segment *s = segment_of(d);
    nfds_t n = 0;
    for (uint32_t i = 0; i < s->n_processes; i++) {
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
    for (uint32_t i = 0, k = 0; i < s->n_processes; i++) {
        struct proc *p = &d->procs[i];
        uint64_t state = __atomic_load_n(&segment_process(s, i)->state, __ATOMIC_ACQUIRE);
        if (!p->serial || p->is_dead)
            continue;
        if (p->pidfd >= 0 && k < n && d->polls[k].fd == p->pidfd)
            p->is_dead = d->polls[k++].revents != 0;
        else if (p->pidfd < 0 && is_of_our_space(d, segment_process(s, i))) /* no descriptor was free, say */
            p->is_dead = kill((pid_t)(state >> 8), 0) != 0 && errno == ESRCH;
        p->is_dead = p->is_dead || has_successor(s, i, state);
    }
}

/* ---- blocks ----------------------------------------------------------------------------------- */

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

/* Full blocks, and what dead processes left; or, for copies, blocks in use. Those of sums of files have a way of their
 * own. */
static uint32_t gather(struct drain *d, int is_for_copies)
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

static void say_why(struct proc *p, const struct dcr_err *err)
{
    const char *text = err->text;
    if (err->sys == ENOSPC || err->sys == EDQUOT)
        text = DCR_STOP_NOTE "the spool's disk is full, or over its quota";
    else if (err->sys == EFBIG)
        text = DCR_STOP_NOTE "the trace reached the limit on the size of files (ulimit -f)";
    snprintf(p->why, sizeof p->why, "%.190s", text);
    tracefile_note(p->file, p->why);
    p->retry_ns = dcr_mono_ns() + RETRY_MS * MS;
}

/* The kernel's totals, as long as it has them: of a process that was not waited for yet it does. */
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

static void write_header(const struct drain *d, uint32_t i)
{
    struct proc *p = &d->procs[i];
    struct dct_file_header *h = &segment_process(segment_of(d), i)->header;
    if (p->pidfd >= 0)
        look_at_io(h);
    if (p->file && tracefile_header(p->file, h, NULL) != 0)
        return;
}

/* What could not be written is lost, and counted where its process counts. */
static void lose_block(const struct drain *d, struct proc *p, uint32_t block)
{
    const struct dct_block_header *b = segment_block(segment_of(d), block);
    struct dct_file_header *h = &segment_process(segment_of(d), (uint32_t)(p - d->procs))->header;
    if (b->track != DCT_TRACK_PROCESS && used_of(b)) {
        int64_t since = ((const struct dct_slot *)(const void *)(b + 1))->t_ns;
        uint64_t n = tracefile_ranges(b, used_of(b));
        p->n_lost += n;
        __atomic_fetch_add(&h->dropped, n, __ATOMIC_RELAXED);
        int64_t known = __atomic_load_n(&h->incomplete_ns, __ATOMIC_RELAXED);
        while ((!known || since < known) &&
               !__atomic_compare_exchange_n(&h->incomplete_ns, &known, since, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        }
    }
    free_block(d, block);
}

/* returns  blocks that are free again */
static uint32_t flush(struct drain *d, struct proc *p, const struct todo *first, uint32_t n)
{
    struct dcr_err err = {0};
    uint32_t n_written = 0;
    int rc = tracefile_flush(p->file, &n_written, &err);
    for (uint32_t i = 0; i < n_written; i++)
        free_block(d, first[i].block);
    if (!rc)
        return n;
    say_why(p, &err);
    p->is_stopped = rc == DCR_FATAL || err.sys == EFBIG; /* there will never be room */
    for (uint32_t i = n_written; i < n && p->is_stopped; i++)
        lose_block(d, p, first[i].block);
    return p->is_stopped ? n : n_written;
}

/* All blocks of one process. todo: its n, in order. */
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
            free_block(d, todo[i].block); /* a collector was killed when it had written it */
            continue;
        }
        if (todo[i].seq == 0 && next) /* a thread has the number of one that ended, whose blocks came before */
            tracefile_restart(p->file, todo[i].track), next = 0;
        if (!p->is_dead && todo[i].seq != next) /* the one before it became full only just now */
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

static uint32_t write_blocks(struct drain *d)
{
    uint32_t n = gather(d, 0), n_done = 0;
    for (uint32_t from = 0, to; from < n; from = to) {
        for (to = from; to < n && d->todo[to].owner == d->todo[from].owner; to++)
            ;
        n_done += write_process(d, &d->procs[d->todo[from].owner], d->todo + from, to - from);
    }
    if (n_done)
        __atomic_fetch_add(&segment_of(d)->n_freed, n_done, __ATOMIC_RELEASE);
    return n_done;
}

/* ---- sums of files ---------------------------------------------------------------------------- */

/* A process was killed between taking the slots of a file and naming it: such a gap is left out. */
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

/* Lost sums as one event for each name, behind the sums of files. */
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

static void each_sums(struct drain *d, uint32_t owner, int is_last)
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
            copy.head.seq < tracefile_next(p->file, DCT_TRACK_PROCESS)) /* written before the disk was full */
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

/* ---- headers, copies, ends -------------------------------------------------------------------- */

static void copy_all(struct drain *d)
{
    const struct segment *s = segment_of(d);
    uint32_t n = gather(d, 1), from = 0;
    for (uint32_t i = 0; i < s->n_processes; i++) {
        struct proc *p = &d->procs[i];
        uint32_t to = from;
        while (to < n && d->todo[to].owner == i)
            to++;
        if (p->serial && p->file && !p->is_dead && dcr_mono_ns() >= p->retry_ns) {
            struct dcr_err err = {0};
            tracefile_begin_copies(p->file);
            for (uint32_t k = from; k < to; k++)
                if (d->todo[k].seq == tracefile_next(p->file, d->todo[k].track))
                    tracefile_copy(p->file, segment_block(s, d->todo[k].block));
            each_sums(d, i, 0);
            if (tracefile_flush(p->file, NULL, &err) != 0)
                say_why(p, &err);
            write_header(d, i);
        }
        from = to;
    }
}

static void give_up_blocks(const struct drain *d, uint32_t owner)
{
    const struct segment *s = segment_of(d);
    for (uint32_t i = 0; i < s->n_blocks; i++) {
        uint32_t state = __atomic_load_n(&segment_states(s)[i], __ATOMIC_ACQUIRE);
        if (state && (state >> 2) - 1 == owner)
            lose_block(d, &d->procs[owner], i);
    }
}

static void forget(struct drain *d, uint32_t i)
{
    struct segment_process *entry = segment_process(segment_of(d), i);
    struct proc *p = &d->procs[i];
    if (p->pidfd >= 0)
        close(p->pidfd);
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

/* Its summary may take a moment, in which the others go on. */
static void close_file(struct drain *d, struct proc *p)
{
    struct dcr_err err = {0};
    struct follow *f = NULL;
    if (p->file && tracefile_close(p->file, &f, &err) != 0 && !*d->why)
        snprintf(d->why, sizeof d->why, "%.190s", err.text);
    p->file = NULL;
    struct follow **more = f ? realloc(d->follows, (d->n_follows + 1) * sizeof *more) : NULL;
    if (more) {
        d->follows = more;
        d->follows[d->n_follows++] = f;
    } else if (f) {
        follow_free(f);
    }
}

/* The process has ended. returns 0: its sums found no room on the disk; they wait for it as long as the program runs */
static int finish(struct drain *d, uint32_t i)
{
    struct proc *p = &d->procs[i];
    struct dcr_err err = {0};
    if (p->file) {
        tracefile_begin_end(p->file);
        each_sums(d, i, 1);
        if (tracefile_flush(p->file, NULL, &err) != 0) {
            say_why(p, &err);
            if (!d->is_ending)
                return 0;
        }
    }
    give_up_blocks(d, i);
    if (!p->file) { /* all that it dropped before is lost with the trace's header */
        p->n_lost = segment_process(segment_of(d), i)->header.dropped;
        d->n_lost_without_trace += p->n_lost;
    }
    d->n_lost += p->n_lost;
    if (p->n_lost && *p->why)
        snprintf(d->why, sizeof d->why, "%s", p->why);
    write_header(d, i);
    close_file(d, p);
    return 1;
}

/* Those whose blocks could not be written wait for a disk with room, as long as the program runs. */
static void finish_dead(struct drain *d)
{
    const struct segment *s = segment_of(d);
    for (uint32_t i = 0; i < s->n_processes; i++) {
        const struct proc *p = &d->procs[i];
        int is_due = d->is_ending || (p->file && !has_blocks(d, i) && dcr_mono_ns() >= p->retry_ns);
        if (p->serial && p->is_dead && is_due && finish(d, i))
            forget(d, i);
    }
}

/* Those that have written their summary. */
static void free_follows(struct drain *d)
{
    size_t n = 0;
    for (size_t i = 0; i < d->n_follows; i++)
        if (follow_is_done(d->follows[i]))
            follow_free(d->follows[i]);
        else
            d->follows[n++] = d->follows[i];
    d->n_follows = n;
}

/* ---- the thread ------------------------------------------------------------------------------- */

static uint32_t one_round(struct drain *d)
{
    look_for_processes(d);
    uint32_t n = write_blocks(d);
    finish_dead(d);
    free_follows(d);
    if (d->copy_ns && dcr_mono_ns() >= d->next_copy_ns) {
        copy_all(d);
        d->next_copy_ns = dcr_mono_ns() + d->copy_ns;
    }
    return n;
}

/* A sixteenth of the blocks a round is a good pace: more, and the next round comes sooner. */
static int64_t next_pause(const struct drain *d, int64_t pause_ns, uint32_t n)
{
    uint32_t all = segment_of(d)->n_blocks;
    if (n > all / 16)
        pause_ns /= 4;
    else if (n < all / 64)
        pause_ns += pause_ns / 2;
    return pause_ns < SHORTEST_MS * MS ? SHORTEST_MS * MS : pause_ns > LONGEST_MS * MS ? LONGEST_MS * MS : pause_ns;
}

static void *work(void *arg)
{
    struct drain *d = arg;
    int64_t pause_ns = 2 * MS;
    pthread_mutex_lock(&d->lock);
    while (!d->is_ending) {
        pthread_mutex_unlock(&d->lock);
        int is_asked = __atomic_load_n(&d->is_asked, __ATOMIC_ACQUIRE);
        pause_ns = next_pause(d, pause_ns, one_round(d));
        int64_t until = dcr_mono_ns() + pause_ns;
        struct timespec at = {.tv_sec = until / 1000000000, .tv_nsec = until % 1000000000};
        pthread_mutex_lock(&d->lock);
        if (is_asked) {
            d->is_asked = 0;
            pthread_cond_broadcast(&d->wake);
        }
        while (!d->is_ending && !d->is_asked && pthread_cond_timedwait(&d->wake, &d->lock, &at) != ETIMEDOUT)
            ;
    }
    pthread_mutex_unlock(&d->lock);
    return NULL;
}

static void release(struct drain *d, int is_removed)
{
    if (is_removed && *d->left)
        unlink(d->left);
    for (size_t i = 0; i < d->n_follows; i++)
        follow_free(d->follows[i]); /* a trace without a summary is there still, or says what it lacks */
    free(d->follows);
    shared_close(&d->shared, is_removed);
    pthread_cond_destroy(&d->wake);
    pthread_mutex_destroy(&d->lock);
    free(d->procs);
    free(d->parents);
    free(d->todo);
    free(d->polls);
    free(d);
}

static struct drain *new_drain(const char *spool)
{
    struct drain *d = calloc(1, sizeof *d);
    if (!d)
        return NULL;
    d->shared.fd = -1;
    snprintf(d->spool, sizeof d->spool, "%s", spool);
    d->own_space = pid_space();
    pthread_mutex_init(&d->lock, NULL);
    thread_condition(&d->wake);
    return d;
}

static int make_tables(struct drain *d, struct dcr_err *err)
{
    const struct segment *s = segment_of(d);
    d->procs = calloc(s->n_processes, sizeof *d->procs);
    d->polls = calloc(s->n_processes, sizeof *d->polls);
    d->todo = calloc(s->n_blocks, sizeof *d->todo);
    return d->procs && d->polls && d->todo ? DCR_OK : dcr_err_set(err, DCR_FAIL, "no memory to record");
}

int drain_start(struct drain **out, const char *spool, int64_t bytes, const struct bounds *bounds, int copy_s,
                struct dcr_err *err)
{
    *out = NULL;
    struct drain *d = new_drain(spool);
    if (!d)
        return dcr_err_set(err, DCR_FAIL, "no memory to record");
    char host[256], line[700];
    meta_host_name(host, sizeof host);
    snprintf(d->left, sizeof d->left, "%s/" DRAIN_LEFT_PREFIX "%s-%ld", spool, host, (long)getpid());
    shared_sweep();
    int rc = shared_make(&d->shared, bytes, d->left, err);
    if (rc == 0)
        rc = make_tables(d, err);
    if (rc == 0) {
        snprintf(line, sizeof line, "%s %" PRIu64 "\n", d->shared.path, segment_of(d)->token);
        (void)!dcr_write_file(d->left, line, strlen(line), NULL);
        d->bounds = *bounds;
        d->copy_ns = (int64_t)copy_s * 1000 * MS;
        d->next_copy_ns = dcr_mono_ns() + d->copy_ns;
        d->is_threaded = thread_start(&d->thread, work, d) == 0;
        if (!d->is_threaded)
            rc = dcr_err_set(err, DCR_FAIL, "cannot start the thread that writes the traces");
    }
    if (rc)
        release(d, 1);
    else
        *out = d;
    return rc;
}

const char *drain_path(const struct drain *d)
{
    return d ? d->shared.path : NULL;
}

void drain_look(struct drain *d)
{
    if (!d || !d->is_threaded)
        return;
    pthread_mutex_lock(&d->lock);
    __atomic_store_n(&d->is_asked, 1, __ATOMIC_RELEASE);
    pthread_cond_broadcast(&d->wake);
    while (d->is_asked)
        pthread_cond_wait(&d->wake, &d->lock);
    pthread_mutex_unlock(&d->lock);
}

/* returns  processes that still live; they keep the segment */
static uint32_t end(struct drain *d)
{
    const struct segment *s = segment_of(d);
    uint32_t n_live = 0;
    if (d->is_threaded) {
        pthread_mutex_lock(&d->lock);
        d->is_ending = 1;
        pthread_cond_broadcast(&d->wake);
        pthread_mutex_unlock(&d->lock);
        pthread_join(d->thread, NULL);
    }
    d->is_ending = 1;
    (void)one_round(d);
    copy_all(d);
    for (uint32_t i = 0; i < s->n_processes; i++)
        if (d->procs[i].serial) {
            n_live++;
            if (!d->procs[i].file)
                continue;
            tracefile_leave(d->procs[i].file);
            d->procs[i].file = NULL;
        }
    return n_live;
}

static void put_record(const struct drain *d, json_t *record)
{
    const struct segment *s = segment_of(d);
    json_t *o = json_object();
    json_object_set_new(o, "segment_bytes", json_integer((json_int_t)s->bytes));
    json_object_set_new(o, "loaded", json_integer(s->n_loaded));
    json_object_set_new(o, "recorded", json_integer((json_int_t)d->n_processes));
    if (s->n_refused)
        json_object_set_new(o, "without_memory", json_integer(s->n_refused));
    if (s->dropped + d->n_lost_without_trace)
        json_object_set_new(o, "lost_without_trace", json_integer((json_int_t)(s->dropped + d->n_lost_without_trace)));
    if (d->n_lost)
        json_object_set_new(o, "lost", json_integer((json_int_t)d->n_lost));
    if (s->n_said > s->max_said)
        json_object_set_new(o, "unsaid", json_integer((json_int_t)(s->n_said - s->max_said)));
    if (*d->why)
        json_object_set_new(o, "why", json_string(d->why));
    json_object_set_new(record, "recorder", o);
}

void drain_stop(struct drain *d, int is_kept, json_t *record)
{
    if (!d)
        return;
    uint32_t n_live = end(d);
    if (record)
        put_record(d, record);
    release(d, n_live == 0 && !is_kept);
}

/* ---- what a killed collector left ------------------------------------------------------------- */

static int rescue_one(const char *spool, const char *name, struct dcr_err *err)
{
    char text[700];
    struct drain *d = new_drain(spool);
    if (!d)
        return dcr_err_set(err, DCR_WARN, "no memory to take what a killed collector left");
    snprintf(d->left, sizeof d->left, "%s/%s", spool, name);
    int fd = open(d->left, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    char *blank = strchr(text, ' ');
    uint64_t token = blank ? strtoull(blank, NULL, 10) : 0;
    text[blank ? blank - text : 0] = '\0';
    int rc = blank ? shared_find(&d->shared, text, token, err) : DCR_END;
    if (rc != 0) {
        char here[300], host[256];
        meta_host_name(host, sizeof host);
        snprintf(here, sizeof here, DRAIN_LEFT_PREFIX "%s-", host);
        release(d, 0);
        if (rc == DCR_END && strncmp(name, here, strlen(here)) != 0)
            return dcr_err_set(err, DCR_WARN,
                               "the newest events of a collector that was killed on another host lie in the memory of "
                               "that host ('%s'); to have them, pack there",
                               name);
        return rc == DCR_END ? DCR_OK : DCR_WARN;
    }
    rc = make_tables(d, err);
    uint32_t n_live = rc == 0 ? end(d) : 1;
    release(d, n_live == 0);
    if (rc == 0 && n_live)
        rc = dcr_err_set(err, DCR_WARN, "%" PRIu32 " process%s of the run still record%s; pack again when %s ended",
                         n_live, n_live == 1 ? "" : "es", n_live == 1 ? "s" : "", n_live == 1 ? "it has" : "they have");
    return rc ? DCR_WARN : DCR_OK;
}

int drain_rescue(const char *spool, struct dcr_err *err)
{
    char **names = NULL;
    size_t n = 0;
    int rc = DCR_OK;
    if (dcr_list_dir(spool, &names, &n, NULL) != 0)
        return DCR_OK; /* who reads the folder says it */
    for (size_t i = 0; i < n; i++)
        if (strncmp(names[i], DRAIN_LEFT_PREFIX, strlen(DRAIN_LEFT_PREFIX)) == 0 &&
            rescue_one(spool, names[i], err) != 0)
            rc = DCR_WARN;
    dcr_free_names(names, n);
    return rc;
}
