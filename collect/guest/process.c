/* process.c - see process.h. */
#include "collect/guest/process.h"

#include "collect/guest/clock.h"
#include "collect/guest/near.h"
#include "collect/guest/spool.h"
#include "collect/guest/window.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

enum { FIRST_BLOCKS = 64 };

NEAR struct self *dcc_self;
NEAR struct segment *dcc_segment;

/* These survive a fork. */
NEAR int process_rank_at_load = -1;
NEAR static pid_t loaded_in;
NEAR int process_is_wiped;
static uint32_t last_serial; /* of this process, or of its parent */

static int rank_of_environment(void)
{
    /* The same order as in lib/archive/rank.c: torchrun's own rank first, PyTorch's names without torchrun last. A
     * batch script has a SLURM_PROCID too, which is not that of a rank. */
    static const struct {
        const char *rank, *only_with;
    } variables[] = {
        {"RANK", "TORCHELASTIC_RUN_ID"},   {"OMPI_COMM_WORLD_RANK", NULL}, {"PMIX_RANK", NULL}, {"PMI_RANK", NULL},
        {"SLURM_PROCID", "SLURM_STEP_ID"}, {"RANK", "WORLD_SIZE"}};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *text = getenv(variables[i].rank);
        if (!text || !*text || (variables[i].only_with && !getenv(variables[i].only_with)))
            continue;
        char *end;
        long rank = strtol(text, &end, 10);
        if (*end == '\0' && rank >= 0 && rank < INT_MAX)
            return (int)rank;
    }
    return -1;
}

/* ---- load ------------------------------------------------------------------------------------- */

static void forget_in_child(void)
{
    memset(dcc_self, 0, sizeof *dcc_self);
}

/* Kernels before 4.14 do not know MADV_WIPEONFORK. A fork handler then does the same for fork(), but not for
 * clone(). */
static struct self *make_self(void)
{
    struct self *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (s == MAP_FAILED)
        return NULL;
    process_is_wiped = madvise(s, sizeof *s, MADV_WIPEONFORK) == 0;
    if (!process_is_wiped && pthread_atfork(NULL, NULL, forget_in_child) != 0) {
        munmap(s, sizeof *s);
        return NULL;
    }
    s->pid = (pid_t)syscall(SYS_getpid);
    return s;
}

/* Uses system calls directly, because the calls on files are watched. Reads the beginning instead of touching it: most
 * processes of a job record nothing, and each page that they touch costs them a fault. */
static struct segment *map_segment(const char *path)
{
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
    struct segment *s = NULL;
    if (fd < 0)
        return NULL;
    struct segment_begin begin;
    if (syscall(SYS_pread64, fd, &begin, sizeof begin, (off_t)0) == sizeof begin && begin.magic == SEGMENT_MAGIC) {
        void *all = mmap(NULL, begin.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        void *head = all == MAP_FAILED ? mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
        s = all == MAP_FAILED ? NULL : all;
        clock_has_tsc = begin.has_tsc != 0;
        if (!s && head != MAP_FAILED)
            __atomic_fetch_add(&((struct segment *)head)->n_refused, 1, __ATOMIC_RELAXED);
        if (head != MAP_FAILED)
            munmap(head, sizeof *s);
    }
    syscall(SYS_close, fd);
    return s;
}

/* A child that forked without an exec has this handler too, but not its parent's entry. */
static void at_status(int status, void *unused)
{
    (void)unused;
    if (!dcc_self || !dcc_self->process || dcc_self->pid != getpid())
        return;
    dcc_self->process->header.exit_status = (uint64_t)status & 0xff;
    __atomic_store_n(&dcc_self->process->header.exit_ns, dcr_clock_ns(CLOCK_MONOTONIC), __ATOMIC_RELEASE);
}

/* Before the constructors of the parts that watch calls, and after their destructors. */
__attribute__((constructor(1000))) static void at_load(void)
{
    const char *path = getenv(SEGMENT_VARIABLE);
    int saved_errno = errno;
    struct self *self = path && *path ? make_self() : NULL;
    struct segment *segment = self ? map_segment(path) : NULL;
    if (segment) {
        loaded_in = self->pid;
        process_rank_at_load = rank_of_environment();
        dcc_self = self;
        window_begin();
        spool_begin();
        (void)on_exit(at_status, NULL); /* a destructor does not get the status */
        __atomic_store_n(&dcc_segment, segment, __ATOMIC_RELEASE);
    }
    errno = saved_errno;
}

__attribute__((destructor(1000))) static void at_exit(void)
{
    if (dcc_self && dcc_self->process && dcc_self->pid == getpid())
        __atomic_store_n(&dcc_self->process->has_exited, 1, __ATOMIC_RELEASE);
}

/* ---- the entry -------------------------------------------------------------------------------- */

static struct segment_process *free_entry(pid_t pid)
{
    for (uint32_t i = 0; i < dcc_segment->n_processes; i++) {
        struct segment_process *p = segment_process(dcc_segment, i);
        uint64_t free = PROCESS_FREE;
        if (__atomic_load_n(&p->state, __ATOMIC_RELAXED) == PROCESS_FREE &&
            __atomic_compare_exchange_n(&p->state, &free, (uint64_t)pid << 8 | PROCESS_TAKEN, 0, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED))
            return p;
    }
    return NULL;
}

/* Once for each process, without waiting for the collector to make room. */
static void wake_collector(struct segment *s)
{
    uint32_t how = SLEEPS_LONG;
    if (__atomic_compare_exchange_n(&s->sleeps, &how, SLEEPS_NOT, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        syscall(SYS_futex, &s->sleeps, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static int claim(void)
{
    struct segment *s = dcc_segment;
    pid_t pid = getpid();
    struct segment_process *p = free_entry(pid);
    struct stat space;
    if (!p) {
        wake_collector(s); /* the entries of dead processes become free for the next one */
        return -1;
    }
    int rank = rank_of_environment(); /* a forked worker may have got its own rank */
    rank = rank >= 0 ? rank : process_rank_at_load;
    p->serial = __atomic_add_fetch(&s->next_serial, 1, __ATOMIC_RELAXED);
    p->parent = last_serial;
    p->pid_space = stat("/proc/self/ns/pid", &space) == 0 ? space.st_ino : 0;
    p->next_range_id = 1;
    struct dct_file_header *h = &p->header;
    h->version = DCT_WHOLE_VERSION;
    h->flags = DCT_HAS_STEP_SUMS;
    h->block_bytes = SEGMENT_BLOCK_BYTES;
    h->rank = rank >= 0 ? rank : 0; /* a program without ranks is rank 0 */
    h->node = -1;
    h->pid = (uint32_t)pid;
    h->mono_ns = dcr_clock_ns(CLOCK_MONOTONIC);
    h->real_ns = dcr_clock_ns(CLOCK_REALTIME);
    h->magic = DCT_MAGIC;
    __atomic_store_n(&p->state, (uint64_t)pid << 8 | PROCESS_LIVE, __ATOMIC_SEQ_CST);
    wake_collector(s);
    last_serial = p->serial;
    clock_begin();
    dcc_self->process = p;
    dcc_self->index = (uint32_t)(p - segment_process(s, 0));
    dcc_self->pid = pid;
    if (pid != loaded_in) {
        loaded_in = pid;
        spool_forget_others();
        window_forget_others();
    }
    if (dcc_window_is_used)
        window_tell();
    return 0;
}

/* Signals are blocked so that no handler can leave here by siglongjmp(), and the thread cannot be cancelled. Signals
 * for our own errors are let through. */
static int claim_guarded(void)
{
    static const int ours[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
    sigset_t others, before;
    int cancel_state, saved_errno = errno;
    sigfillset(&others);
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        sigdelset(&others, ours[i]);
    pthread_sigmask(SIG_BLOCK, &others, &before);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    uint32_t fresh = SELF_FRESH;
    int is_mine =
        __atomic_compare_exchange_n(&dcc_self->state, &fresh, SELF_CLAIMING, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
    if (is_mine) {
        int is_off = claim() != 0;
        if (!is_off)
            __atomic_store_n(&dcc_self->epoch, (uint64_t)dcc_self->pid << 32 | 1, __ATOMIC_RELEASE);
        __atomic_store_n(&dcc_self->state, is_off ? SELF_OFF : SELF_RECORDING, __ATOMIC_SEQ_CST);
        /* Fills the page tables of the first blocks now instead of at each first store. Older kernels cannot. */
        uint32_t n = dcc_segment->n_blocks < FIRST_BLOCKS ? dcc_segment->n_blocks : FIRST_BLOCKS;
        if (!is_off)
            (void)madvise(segment_block(dcc_segment, 0), (size_t)n * SEGMENT_BLOCK_BYTES, MADV_POPULATE_WRITE);
    }
    pthread_setcancelstate(cancel_state, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = saved_errno;
    return is_mine;
}

static void count_early(void)
{
    uint32_t state = __atomic_load_n(&dcc_self->state, __ATOMIC_SEQ_CST);
    uint64_t n = state == SELF_RECORDING || state == SELF_OFF
                     ? __atomic_exchange_n(&dcc_self->dropped_early, 0, __ATOMIC_SEQ_CST)
                     : 0;
    if (n && state == SELF_RECORDING) {
        __atomic_fetch_add(&dcc_self->process->header.dropped, n, __ATOMIC_RELAXED);
        process_unsummed(dcc_self->process->header.mono_ns);
    } else if (n) {
        __atomic_fetch_add(&dcc_segment->dropped, n, __ATOMIC_RELAXED);
    }
}

uint32_t process_claim(void)
{
    if (__atomic_load_n(&dcc_self->state, __ATOMIC_ACQUIRE) == SELF_FRESH &&
        (!dcc_self->pid || dcc_self->pid == getpid()) && claim_guarded())
        count_early();
    /* Another thread needs some microseconds here. A thread that waited in vain loses its event. */
    for (int i = 0; i < 1000 && __atomic_load_n(&dcc_self->state, __ATOMIC_ACQUIRE) == SELF_CLAIMING; i++)
        syscall(SYS_sched_yield);
    return __atomic_load_n(&dcc_self->state, __ATOMIC_ACQUIRE);
}

/* ---- blocks ----------------------------------------------------------------------------------- */

/* Takes the first free block, because blocks that were used before are in the cache. */
struct dct_block_header *process_take_block(uint32_t track, uint64_t seq, int is_reserved)
{
    uint32_t n = dcc_segment->n_blocks - (is_reserved ? 0 : segment_reserve(dcc_segment->n_blocks));
    uint32_t *states = segment_states(dcc_segment), mine = (dcc_self->index + 1) << 2 | BLOCK_TAKEN;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t free = 0;
        if (__atomic_load_n(&states[i], __ATOMIC_RELAXED) != 0 ||
            !__atomic_compare_exchange_n(&states[i], &free, mine, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            continue;
        struct dct_block_header *b = segment_block(dcc_segment, i);
        b->state = DCT_BLOCK_OPEN;
        b->track = track;
        b->seq = seq;
        b->crc32c = 0;
        __atomic_store_n(&b->magic, DCT_BLOCK_MAGIC, __ATOMIC_RELEASE);
        return b;
    }
    return NULL;
}

void process_hand_over(struct dct_block_header *b)
{
    uint64_t i = (uint64_t)((char *)b - (char *)segment_block(dcc_segment, 0)) / SEGMENT_BLOCK_BYTES;
    __atomic_store_n(&segment_states(dcc_segment)[i], (dcc_self->index + 1) << 2 | BLOCK_FULL, __ATOMIC_RELEASE);
}

/* ---- what is lost ----------------------------------------------------------------------------- */

void process_incomplete(int64_t since_ns)
{
    if (dcc_self->process)
        segment_keep_earliest(&dcc_self->process->header.incomplete_ns, since_ns);
}

void process_unsummed(int64_t since_ns)
{
    process_incomplete(since_ns);
    if (dcc_self->process)
        segment_keep_earliest(&dcc_self->process->header.unsummed_ns, since_ns);
}

void process_beside(void)
{
    if (dcc_self->process)
        __atomic_fetch_add(&dcc_self->process->header.dropped_beside, 1, __ATOMIC_RELAXED);
}

static struct segment_lost *lost_of(int kind, uint32_t domain, uint32_t name, uint64_t category)
{
    struct segment_lost *all = dcc_self->process->lost;
    uint64_t key = (uint64_t)domain << 48 | (uint64_t)kind << 40 | (name < SEGMENT_INLINE_NAMES ? name : 0);
    for (uint32_t i = 0; i + 1 < SEGMENT_LOST; i++) {
        struct segment_lost *l = &all[i];
        uint64_t known = __atomic_load_n(&l->key, __ATOMIC_ACQUIRE);
        if (!known && __atomic_compare_exchange_n(&l->key, &known, key, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            __atomic_store_n(&l->category, category + 1, __ATOMIC_RELEASE);
            return l;
        }
        if (known == key && __atomic_load_n(&l->category, __ATOMIC_ACQUIRE) == category + 1)
            return l;
    }
    return &all[SEGMENT_LOST - 1]; /* shared by all other names */
}

void process_drop(void)
{
    if (__atomic_load_n(&dcc_self->state, __ATOMIC_ACQUIRE) == SELF_RECORDING) {
        __atomic_fetch_add(&dcc_self->process->header.dropped, 1, __ATOMIC_RELAXED);
        process_unsummed(dcr_mono_ns());
        return;
    }
    __atomic_fetch_add(&dcc_self->dropped_early, 1, __ATOMIC_SEQ_CST);
    count_early(); /* if the process has an entry by now */
}

void process_lost(int kind, uint32_t domain, uint32_t name, uint32_t category, int64_t n, uint64_t ns, uint64_t bytes)
{
    if (!dcc_self->process) {
        if (n)
            process_drop();
        return;
    }
    struct segment_lost *l = lost_of(kind, domain, name, category);
    __atomic_fetch_add(&l->n, (uint64_t)n, __ATOMIC_RELAXED);
    __atomic_fetch_add(&l->ns, ns, __ATOMIC_RELAXED);
    __atomic_fetch_add(&l->bytes, bytes, __ATOMIC_RELAXED);
    __atomic_fetch_add(&dcc_self->process->header.dropped, (uint64_t)n, __ATOMIC_RELAXED);
}
