/* spool.c - see spool.h. Threads and their events; the file and its blocks are file.c's. */
#include "collect/inject/spool.h"

#include "collect/inject/file.h"
#include "collect/inject/hot.h"
#include "collect/inject/kept.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DROPPED_RANGE (UINT64_C(1) << 63)
#define UNWANTED_RANGE (UINT64_C(1) << 62) /* began outside the window */

/* Numbers of process ranges are handed to threads so many at a time: who names such ranges all the time shares no line
 * of the cache with others. */
#define RANGE_IDS 1024u

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

static void count_drop(struct spool_track *t)
{
    struct process *p = file_process();
    if (!p)
        return;
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

static int next_block(struct spool_track *t)
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
    if (p && file_start(p) && (t || (t = new_track()) != NULL) && next_block(t) == 0)
        return t;
    count_drop(t);
    spool_self.busy = 0;
    return NULL;
}

__attribute__((noinline)) struct spool_track *spool_enter_again(void)
{
    if (!is_abandoned()) {
        count_drop(spool_self.track);
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

/* ---- events --------------------------------------------------------------------------------- */

/* Room for n slots, or NULL (counted). */
static struct dct_slot *room(struct spool_track *t, uint32_t n)
{
    if (t->used + n > t->cap && next_block(t) != 0) {
        t->cap = t->used; /* a shorter event might still fit: a pop whose push was dropped */
        count_drop(t);
        return NULL;
    }
    return (struct dct_slot *)(t->block + 1) + t->used;
}

static void done(struct spool_track *t, uint32_t n)
{
    t->used += n;
    __atomic_store_n(&t->block->used_slots, t->used, __ATOMIC_RELEASE);
}

/* Slots behind the head for attr and raw payload. */
static uint32_t extra_of(const struct dct_attr *attr, const void *raw)
{
    return !attr ? 0 : !raw ? 1 : 1 + (uint32_t)((attr->payload + DCT_SLOT_BYTES - 1) / DCT_SLOT_BYTES);
}

static struct dct_slot *put_attr(struct dct_slot *s, const struct dct_attr *attr, const void *raw)
{
    if (!attr)
        return s;
    memcpy(s, attr, sizeof *attr);
    if (!raw)
        return s + 1;
    memcpy(s + 1, raw, attr->payload);
    return s + extra_of(attr, raw);
}

static int64_t number_of(const struct dct_attr *attr)
{
    int type = attr ? (int)(attr->payload_type & 0xff) : DCT_PAYLOAD_NONE;
    return (type == DCT_PAYLOAD_U64 || type == DCT_PAYLOAD_I64) && attr->payload <= INT64_MAX ? (int64_t)attr->payload
                                                                                              : -1;
}

static __attribute__((noinline)) int is_unwanted_push(struct spool_track *t, uint32_t domain, uint32_t name,
                                                      const struct dct_attr *attr, int level)
{
    struct levels *l = &t->level[domain];
    window_push(&t->window, domain, dcc_names.name[name].flags, attr ? attr->category : 0, number_of(attr), level);
    if (window_is_open(spool_track_now(t)) && !l->top)
        return 0;
    if (l->recorded || l->top)
        l->top++;
    else
        l->bottom++;
    return 1;
}

int spool_put_push_raw(struct spool_track *t, uint32_t domain, uint32_t name, const struct dct_attr *attr,
                       const void *raw)
{
    struct levels *l = &t->level[domain];
    int level = l->bottom + l->recorded + l->top;
    if (__builtin_expect(dcc_window_is_used, 0) && is_unwanted_push(t, domain, name, attr, level))
        return level;
    l->recorded++;
    uint32_t n = 1 + extra_of(attr, raw);
    struct dct_slot *s = room(t, n);
    if (!s)
        return level;
    put_attr(s + 1, attr, raw);
    track_head(s, DCT_PUSH, n - 1, domain, name, clock_now_ns(&t->clock));
    done(t, n);
    return level;
}

int spool_put_push(struct spool_track *t, uint32_t domain, uint32_t name, const struct dct_attr *attr)
{
    return spool_put_push_raw(t, domain, name, attr, NULL);
}

/* returns 1 when the pop belongs to a range that is not recorded, or to none outside the window */
static __attribute__((noinline)) int is_unwanted_pop(struct spool_track *t, uint32_t domain, int64_t t_ns)
{
    struct levels *l = &t->level[domain];
    if (l->top)
        l->top--;
    else if (l->recorded)
        return 0;
    else if (l->bottom)
        l->bottom--;
    else
        return !window_is_open(t_ns);
    return 1;
}

int spool_put_pop_raw(struct spool_track *t, uint32_t domain, int64_t t_ns, const struct dct_attr *attr,
                      const void *raw)
{
    struct levels *l = &t->level[domain];
    int level = l->bottom + l->recorded + l->top - 1;
    if (__builtin_expect(dcc_window_is_used, 0) && is_unwanted_pop(t, domain, t_ns)) {
        window_pop(&t->window, domain, level);
        return level;
    }
    if (l->recorded)
        l->recorded--;
    uint32_t n = 1 + extra_of(attr, raw);
    struct dct_slot *s = room(t, n);
    if (s) {
        put_attr(s + 1, attr, raw);
        track_head(s, DCT_POP, n - 1, domain, 0, clock_not_before(&t->clock, t_ns));
        done(t, n);
    }
    if (__builtin_expect(dcc_window_is_used, 0))
        window_pop(&t->window, domain, level);
    return level;
}

int spool_put_pop(struct spool_track *t, uint32_t domain, int64_t t_ns)
{
    return spool_put_pop_raw(t, domain, t_ns, NULL, NULL);
}

uint64_t spool_put_start_raw(struct spool_track *t, uint32_t domain, uint32_t name, const struct dct_attr *attr,
                             const void *raw)
{
    if (t->next_range_id == t->end_range_id) {
        t->next_range_id = __atomic_fetch_add(&file_process()->next_range_id, RANGE_IDS, __ATOMIC_RELAXED);
        t->end_range_id = t->next_range_id + RANGE_IDS;
    }
    uint64_t id = t->next_range_id++;
    if (__builtin_expect(dcc_window_is_used, 0)) {
        window_start(dcc_names.name[name].flags, id);
        if (!window_is_open(spool_track_now(t)))
            return id | UNWANTED_RANGE;
    }
    uint32_t n = 2 + extra_of(attr, raw);
    struct dct_slot *s = room(t, n);
    if (!s)
        return id | DROPPED_RANGE;
    struct dct_slot *next = track_head(s, DCT_START, n - 1, domain, name, 0);
    next = put_attr(next, attr, raw);
    *next = (struct dct_slot){.t_ns = (int64_t)id};
    s->t_ns = clock_now_ns(&t->clock);
    done(t, n);
    return id;
}

uint64_t spool_put_start(struct spool_track *t, uint32_t domain, uint32_t name, const struct dct_attr *attr)
{
    return spool_put_start_raw(t, domain, name, attr, NULL);
}

void spool_put_end_raw(struct spool_track *t, uint32_t domain, uint64_t id, int64_t t_ns, const struct dct_attr *attr,
                       const void *raw)
{
    if (__builtin_expect(dcc_window_is_used, 0))
        window_end(id & ~(UNWANTED_RANGE | DROPPED_RANGE));
    if (id & UNWANTED_RANGE)
        return;
    if (id & DROPPED_RANGE) {
        count_drop(t);
        return;
    }
    uint32_t n = 2 + extra_of(attr, raw);
    struct dct_slot *s = room(t, n);
    if (!s)
        return;
    struct dct_slot *next = track_head(s, DCT_END, n - 1, domain, 0, clock_not_before(&t->clock, t_ns));
    next = put_attr(next, attr, raw);
    *next = (struct dct_slot){.t_ns = (int64_t)id};
    done(t, n);
}

void spool_put_end(struct spool_track *t, uint32_t domain, uint64_t id, int64_t t_ns)
{
    spool_put_end_raw(t, domain, id, t_ns, NULL, NULL);
}

void spool_put_mark_raw(struct spool_track *t, uint32_t domain, uint32_t name, const struct dct_attr *attr,
                        const void *raw)
{
    if (__builtin_expect(dcc_window_is_used, 0) && !window_is_open(spool_track_now(t)))
        return;
    uint32_t n = 1 + extra_of(attr, raw);
    struct dct_slot *s = room(t, n);
    if (!s)
        return;
    put_attr(s + 1, attr, raw);
    track_head(s, DCT_MARK, n - 1, domain, name, clock_now_ns(&t->clock));
    done(t, n);
}

void spool_put_mark(struct spool_track *t, uint32_t domain, uint32_t name, const struct dct_attr *attr)
{
    spool_put_mark_raw(t, domain, name, attr, NULL);
}

void spool_put_span(struct spool_track *t, uint32_t domain, uint32_t name, int64_t start_ns, int64_t end_ns,
                    uint64_t bytes, const struct dct_attr *attr)
{
    if (__builtin_expect(dcc_window_is_used, 0) && !window_is_open(end_ns))
        return;
    uint32_t n = attr ? 3 : 2;
    struct dct_slot *s = room(t, n);
    if (!s)
        return;
    struct dct_span span = {.dur_ns = end_ns > start_ns ? end_ns - start_ns : 0, .bytes = bytes};
    struct dct_slot *next = track_head(s, DCT_SPAN, n - 1, domain, name, start_ns);
    memcpy(next, &span, sizeof span);
    if (attr)
        memcpy(next + 1, attr, sizeof *attr);
    done(t, n);
}

void spool_put_gpu(struct spool_track *t, uint32_t domain, uint32_t name, int64_t start_ns, int64_t end_ns,
                   uint64_t bytes, const struct dct_gpu *gpu, const struct dct_kernel *kernel)
{
    if (__builtin_expect(dcc_window_is_used, 0) && !window_was_open(start_ns))
        return;
    uint32_t n = kernel ? 6 : 4;
    struct dct_slot *s = room(t, n);
    if (!s)
        return;
    struct dct_span span = {.dur_ns = end_ns > start_ns ? end_ns - start_ns : 0, .bytes = bytes};
    struct dct_slot *next = track_head(s, DCT_GPU, n - 1, domain, name, start_ns);
    memcpy(next, &span, sizeof span);
    memcpy(next + 1, gpu, sizeof *gpu);
    if (kernel)
        memcpy(next + 3, kernel, sizeof *kernel);
    done(t, n);
}

void spool_lost(uint64_t n)
{
    struct process *p = file_process();
    if (p && p->header)
        __atomic_fetch_add(&p->header->dropped, n, __ATOMIC_RELAXED);
    else if (p)
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
