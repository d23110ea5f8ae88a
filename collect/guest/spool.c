/* spool.c - see spool.h. Threads and their blocks; their events are spool_events.c's, the file is file.c's. */
#include "collect/guest/spool.h"

#include "collect/guest/file.h"
#include "collect/guest/hot.h"
#include "collect/guest/kept.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

__thread struct spool_self spool_self __attribute__((tls_model("initial-exec")));

static pthread_key_t exit_key;
static pthread_once_t exit_key_once = PTHREAD_ONCE_INIT;
static int has_exit_key;

#define LEAVING UINTPTR_MAX

/* Somebody comes in while the thread is inside: a signal handler, whose frame lies below what it interrupted and the
 * registers that were saved, or the program, after such a handler left by siglongjmp() and never came back. */
static __attribute__((noinline)) int is_abandoned(void)
{
    enum { SAVED_BYTES = 1024, STACK_BYTES = 8 << 20 };
    stack_t other;
    uintptr_t now = hot_stack();
    return spool_self.busy != LEAVING && now > spool_self.busy - SAVED_BYTES && now < spool_self.busy + STACK_BYTES &&
           sigaltstack(NULL, &other) == 0 && !(other.ss_flags & SS_ONSTACK);
}

int64_t spool_now_ns(void)
{
    if (!spool_self.track || spool_self.busy)
        return clock_system_ns();
    spool_self.busy = hot_stack(); /* a signal handler that asks for the time must not find the clock half-way */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    int64_t now = spool_self.track ? clock_now_ns(&spool_self.track->clock) : clock_system_ns();
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    spool_self.busy = 0;
    return now;
}

int64_t spool_track_now(struct spool_track *t)
{
    return clock_now_ns(&t->clock);
}

int spool_is_busy(void)
{
    return spool_self.busy != 0;
}

uintptr_t spool_hide(void)
{
    uintptr_t before = spool_self.busy;
    if (!before)
        spool_self.busy = hot_stack();
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return before;
}

void spool_show(uintptr_t before)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    spool_self.busy = before;
}

int spool_is_recording(void)
{
    const struct process *p = file_process();
    return p && __atomic_load_n(&p->state, __ATOMIC_RELAXED) == FILE_RECORDING;
}

/* ---- threads --------------------------------------------------------------------------------- */

int spool_is_wanted(void)
{
    const char *spool = kept_env("DCC_SPOOL");
    return spool && *spool;
}

void spool_incomplete(int64_t since_ns)
{
    struct process *p = file_process();
    if (p)
        file_incomplete(p, since_ns);
}

void spool_count_drop(struct spool_track *t)
{
    struct process *p = file_process();
    if (!p)
        return;
    file_incomplete(p, INT64_MAX);
    if (t && t->block && t->epoch >> 32 == __atomic_load_n(&p->epoch, __ATOMIC_RELAXED) >> 32)
        t->block->dropped = ++t->dropped;
    else if (p->header)
        __atomic_fetch_add(&p->header->dropped, 1, __ATOMIC_RELAXED);
    else
        __atomic_fetch_add(&p->dropped_early, 1, __ATOMIC_RELAXED);
}

static void at_thread_exit(void *arg)
{
    struct spool_track *t = arg;
    struct process *p = file_process();
    spool_self.busy = LEAVING;
    spool_self.track = NULL; /* a signal handler that counts a drop must not find memory that is going away */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (t->block && p && t->epoch >> 32 == __atomic_load_n(&p->epoch, __ATOMIC_RELAXED) >> 32) {
        struct guard g;
        file_begin_guard(&g);
        file_close_block(p, t->block);
        file_end_guard(&g);
        file_end_track(p);
    }
    munmap(t, sizeof *t);
    spool_self.busy = 0;
}

static void make_exit_key(void)
{
    has_exit_key = pthread_key_create(&exit_key, at_thread_exit) == 0;
}

static struct spool_track *new_track(void)
{
    struct spool_track *t = mmap(NULL, sizeof *t, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (t == MAP_FAILED)
        return NULL;
    pthread_once(&exit_key_once, make_exit_key);
    if (has_exit_key)
        (void)pthread_setspecific(exit_key, t);
    spool_self.track = t;
    return t;
}

/* A block for the track, because it has none, it is full, or it must not refer to newer definitions. */
static int take_block(struct spool_track *t)
{
    struct process *p = file_process();
    if (__atomic_load_n(&p->state, __ATOMIC_ACQUIRE) != FILE_RECORDING)
        return -1;
    if (t->epoch >> 32 != __atomic_load_n(&p->epoch, __ATOMIC_ACQUIRE) >> 32) { /* new thread, or forked child */
        struct dct_block_header *parents = t->block;
        t->block = NULL;
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        if (parents)
            munmap(parents, DCT_BLOCK_BYTES);
        t->tid = (uint32_t)syscall(SYS_gettid);
        t->seq = t->dropped = 0;
        t->next_range_id = t->end_range_id = 0;
        t->is_refused = 0;
        memset(t->level, 0, sizeof t->level);
        memset(&t->window, 0, sizeof t->window);
        /* Met, though it has no block yet: a thread refused below stays so, or it would begin between a push and its
         * pop. */
        t->epoch = __atomic_load_n(&p->epoch, __ATOMIC_ACQUIRE) >> 32 << 32;
    }
    if (t->is_refused || (!t->block && file_begin_track(p) != 0)) {
        t->is_refused = 1;
        return -1;
    }
    uint32_t generation;
    uint64_t epoch;
    struct dct_block_header *b = file_new_block(p, t->tid, t->seq, t->dropped, &generation, &epoch);
    if (!b) {
        if (!t->block)
            file_end_track(p);
        return -1;
    }
    struct dct_block_header *full = t->block;
    t->block = b; /* first: a signal handler counts its drops in the block of the track */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    file_close_block(p, full);
    t->seq++;
    t->used = 0;
    t->cap = FILE_SLOTS;
    t->generation = generation;
    t->epoch = epoch;
    return 0;
}

int spool_next_block(struct spool_track *t)
{
    struct guard g;
    file_begin_guard(&g);
    int rc = take_block(t);
    file_end_guard(&g);
    return rc;
}

__attribute__((noinline)) struct spool_track *spool_enter_slowly(void)
{
    struct process *p = file_process();
    struct spool_track *t = spool_self.track;
    if (p && file_start(p) && (t || (t = new_track()) != NULL) && spool_next_block(t) == 0)
        return t;
    spool_count_drop(t);
    spool_self.busy = 0;
    return NULL;
}

__attribute__((noinline)) struct spool_track *spool_enter_again(void)
{
    if (!is_abandoned()) {
        spool_count_drop(spool_self.track);
        return NULL;
    }
    spool_self.busy = 0;
    return hot_enter();
}

struct spool_track *spool_enter(void)
{
    return hot_enter();
}

void spool_leave(struct spool_track *t)
{
    (void)t;
    hot_leave();
}

void spool_lost(uint64_t n)
{
    struct process *p = file_process();
    if (p && p->header) {
        __atomic_fetch_add(&p->header->dropped, n, __ATOMIC_RELAXED);
        __atomic_fetch_add(&p->header->dropped_gpu, n, __ATOMIC_RELAXED);
    } else if (p)
        __atomic_fetch_add(&p->dropped_early, n, __ATOMIC_RELAXED);
}

__attribute__((destructor)) static void at_exit(void)
{
    struct spool_track *t = spool_self.track;
    struct process *p = file_process();
    if (!t || !p || spool_self.busy || !t->block ||
        t->epoch >> 32 != __atomic_load_n(&p->epoch, __ATOMIC_RELAXED) >> 32)
        return;
    file_seal(t->block);
    t->cap = t->used; /* a destructor that still names ranges goes on in a new block */
}
