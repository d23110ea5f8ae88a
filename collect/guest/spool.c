/* spool.c - see spool.h. Threads and their blocks. Their events are in spool_events.c, the process in process.c. */
#include "collect/guest/spool.h"

#include "collect/guest/gap.h"
#include "collect/guest/hot.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Events of more simultaneous threads count as dropped. Pages that no thread uses are never touched. */
enum { MAX_TRACKS = 320 };
static struct spool_track tracks[MAX_TRACKS];

__thread struct spool_self spool_self __attribute__((tls_model("initial-exec")));

static pthread_key_t exit_key;
static int has_exit_key;

#define LEAVING UINTPTR_MAX

/* Called when code comes in while the thread is already inside. It may be a signal handler, whose frame lies below the
 * interrupted frame and the saved registers. Or it is the program, after such a handler left by siglongjmp() and never
 * came back. */
static __attribute__((noinline)) int is_abandoned(uintptr_t busy)
{
    enum { SAVED_BYTES = 1024, STACK_BYTES = 8 << 20 };
    stack_t other;
    uintptr_t now = hot_stack();
    return busy != LEAVING && now > busy - SAVED_BYTES && now < busy + STACK_BYTES && sigaltstack(NULL, &other) == 0 &&
           !(other.ss_flags & SS_ONSTACK);
}

EXPORTED int64_t dcc_guest_now(void)
{
    if (!spool_self.track || spool_self.busy)
        return dcr_mono_ns();
    spool_self.busy = hot_stack(); /* a signal handler must not find the clock in the middle of a change */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    int64_t now = spool_self.track ? clock_now_ns(&spool_self.track->clock) : dcr_mono_ns();
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    spool_self.busy = 0;
    return now;
}

EXPORTED int dcc_guest_is_recording(void)
{
    return dcc_self && __atomic_load_n(&dcc_self->epoch, __ATOMIC_RELAXED) != 0;
}

EXPORTED int dcc_guest_is_wanted(void)
{
    return dcc_segment != NULL;
}

/* ---- threads --------------------------------------------------------------------------------- */

static int is_of_this_process(const struct spool_track *t)
{
    return dcc_self && t->epoch == __atomic_load_n(&dcc_self->epoch, __ATOMIC_RELAXED);
}

static void at_thread_exit(void *arg)
{
    struct spool_track *t = arg;
    spool_self.busy = LEAVING;
    spool_self.track = NULL; /* a signal handler must not find a track that is going away */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (is_of_this_process(t) && t->gap.n && gap_flush(t) != 0)
        gap_give_up(t);
    if (t->block && is_of_this_process(t))
        process_hand_over(t->block);
    t->block = NULL;
    __atomic_store_n(&t->is_in_use, 0, __ATOMIC_RELEASE);
    spool_self.busy = 0;
}

void spool_begin(void)
{
    has_exit_key = pthread_key_create(&exit_key, at_thread_exit) == 0;
}

void spool_forget_others(void)
{
    for (uint32_t i = 0; i < MAX_TRACKS; i++)
        if (tracks[i].is_in_use && &tracks[i] != spool_self.track)
            __atomic_store_n(&tracks[i].is_in_use, 0, __ATOMIC_RELAXED);
}

/* Begins a track: of a new thread; of the thread in a forked child; or of a thread that came before the process had its
 * entry. The last keeps its open ranges, which are all lost. */
static void begin_track(struct spool_track *t, int is_new)
{
    if (is_new || t->epoch) {
        t->n_lost = t->n_top = t->gap.n = 0;
        memset(t->level, 0, sizeof t->level);
        memset(&t->window, 0, sizeof t->window);
    }
    t->block = t->fresh = t->full = NULL;
    t->used = t->cap = t->open = 0;
    t->tid = (uint32_t)syscall(SYS_gettid);
    t->seq = 0;
    t->next_range_id = t->end_range_id = 0;
    t->is_dry = t->is_reserve = 0;
    t->is_slow = dcc_window_is_used || t->n_lost || t->n_top;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    t->epoch = __atomic_load_n(&dcc_self->epoch, __ATOMIC_RELAXED);
}

static struct spool_track *new_track(void)
{
    static uint32_t next;
    for (uint32_t k = 0; k < MAX_TRACKS; k++) {
        struct spool_track *t = &tracks[__atomic_fetch_add(&next, 1, __ATOMIC_RELAXED) % MAX_TRACKS];
        if (__atomic_exchange_n(&t->is_in_use, 1, __ATOMIC_ACQ_REL))
            continue;
        begin_track(t, 1);
        if (has_exit_key)
            (void)pthread_setspecific(exit_key, t);
        spool_self.track = t;
        return t;
    }
    return NULL;
}

/* A signal handler may leave here by siglongjmp(). Then the change is repeated from its beginning when the thread comes
 * again. The full block may have a new owner by then. */
static void change_block(struct spool_track *t)
{
    struct dct_block_header *full = t->full;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    t->block = t->fresh;
    t->used = 0;
    t->cap = SEGMENT_SLOTS - SPOOL_END_SLOTS;
    t->seq = t->fresh->seq + 1;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (full && full->track == t->tid && full->seq + 1 == t->fresh->seq)
        process_hand_over(full);
    t->full = NULL;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    t->fresh = NULL;
}

int spool_next_block(struct spool_track *t, int is_reserved)
{
    if (!t->epoch) /* another thread is about to take the entry of this process */
        return -1;
    uint64_t freed = __atomic_load_n(&dcc_segment->n_freed, __ATOMIC_ACQUIRE);
    if (!is_reserved && t->is_dry && freed == t->freed_seen)
        return -1;
    /* A thread without any block may use the reserve too, because otherwise fewer threads would fit. */
    struct dct_block_header *b = process_take_block(t->tid, t->seq, is_reserved || t->seq == 0);
    if (!is_reserved) {
        t->is_dry = !b;
        t->freed_seen = freed;
    }
    if (!b)
        return -1;
    t->is_reserve = is_reserved;
    t->full = t->block;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    t->fresh = b;
    change_block(t);
    return 0;
}

__attribute__((noinline)) struct spool_track *spool_enter_slowly(int is_counted)
{
    struct spool_track *t = spool_self.track;
    uint32_t state = dcc_self ? process_claim() : SELF_FRESH;
    if ((state == SELF_RECORDING || state == SELF_CLAIMING) && (t || (t = new_track()) != NULL)) {
        if (!is_of_this_process(t))
            begin_track(t, 0);
        return t;
    }
    if (is_counted && state != SELF_FRESH)
        process_drop();
    spool_self.busy = 0;
    return NULL;
}

__attribute__((noinline)) struct spool_track *spool_enter_again(int is_counted)
{
    if (!is_abandoned(spool_self.busy)) {
        if (is_counted && dcc_self)
            process_drop();
        return NULL;
    }
    window_abandon();
    if (spool_self.track && spool_self.track->fresh)
        change_block(spool_self.track);
    spool_self.busy = 0;
    return hot_enter_as(is_counted);
}

/* ---- what is lost ----------------------------------------------------------------------------- */

EXPORTED void dcc_guest_lost(uint64_t n)
{
    if (dcc_guest_is_recording()) {
        __atomic_fetch_add(&dcc_self->process->header.dropped, n, __ATOMIC_RELAXED);
        __atomic_fetch_add(&dcc_self->process->header.dropped_gpu, n, __ATOMIC_RELAXED);
    } else if (dcc_segment) {
        __atomic_fetch_add(&dcc_segment->dropped, n, __ATOMIC_RELAXED);
    }
}
