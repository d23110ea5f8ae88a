/* spool.c - see spool.h. Threads and their events; the file and its blocks are file.c's. */
#include "collect/inject/spool.h"

#include "collect/inject/file.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define CACHE_ENTRIES 256u
#define PAIR_ENTRIES 64u
#define WIDE_BYTES 2048
#define DROPPED_RANGE (UINT64_C(1) << 63)
#define OWN_CATEGORY 0x40000000u

/* A text seen by this thread at an address. The address may hold another text tomorrow, so the texts are compared. */
struct cached {
    const char *seen_at;
    const char *text;
    uint32_t id;
};
struct cached_pair { /* the same for (domain, category text) */
    const char *seen_at;
    const char *text;
    uint32_t domain, id;
};

struct spool_track {
    uint64_t epoch;
    struct dct_block_header *block;
    uint32_t used, cap; /* slots */
    uint32_t tid;
    uint32_t generation; /* definitions up to it stand before the block */
    uint64_t seq, dropped;
    int32_t level[DOMAINS_MAX];
    struct cached name[CACHE_ENTRIES], domain[PAIR_ENTRIES];
    struct cached_pair category[PAIR_ENTRIES];
};

/* initial-exec: the general model may allocate inside a signal handler. 16 bytes fit glibc's surplus for dlopen. */
static __thread struct {
    struct spool_track *track;
    int is_busy;
} self __attribute__((tls_model("initial-exec")));

static pthread_key_t exit_key;
static pthread_once_t exit_key_once = PTHREAD_ONCE_INIT;
static int has_exit_key;

int64_t spool_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int spool_is_wanted(void)
{
    const char *spool = getenv("DCC_SPOOL");
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
    self.is_busy = 1;
    self.track = NULL; /* a signal handler that counts a drop must not find memory that is going away */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (t->block && p && t->epoch >> 32 == __atomic_load_n(&p->epoch, __ATOMIC_RELAXED) >> 32)
        file_close_block(t->block);
    munmap(t, sizeof *t);
    self.is_busy = 0;
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
    self.track = t;
    return t;
}

/* A block for the track, because it has none, it is full, or it must not refer to newer definitions. */
static int next_block(struct spool_track *t)
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
        memset(t->level, 0, sizeof t->level);
    }
    uint32_t generation;
    uint64_t epoch;
    struct dct_block_header *b = file_new_block(p, t->tid, t->seq, t->dropped, &generation, &epoch);
    if (!b)
        return -1;
    struct dct_block_header *full = t->block;
    t->block = b; /* first: a signal handler counts its drops in the block of the track */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    file_close_block(full);
    t->seq++;
    t->used = 0;
    t->cap = FILE_SLOTS;
    t->generation = generation;
    t->epoch = epoch;
    return 0;
}

static __attribute__((noinline)) struct spool_track *enter_slowly(void)
{
    struct process *p = file_process();
    struct spool_track *t = self.track;
    if (p && file_start(p) && (t || (t = new_track()) != NULL) && next_block(t) == 0)
        return t;
    count_drop(t);
    return NULL;
}

struct spool_track *spool_enter(void)
{
    if (self.is_busy) {
        count_drop(self.track);
        return NULL;
    }
    self.is_busy = 1;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    struct spool_track *t = self.track;
    const struct process *p = file_process();
    if (t && p && t->epoch == __atomic_load_n(&p->epoch, __ATOMIC_RELAXED))
        return t;
    t = enter_slowly();
    if (!t)
        self.is_busy = 0;
    return t;
}

void spool_leave(struct spool_track *t)
{
    (void)t;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    self.is_busy = 0;
}

/* ---- names ---------------------------------------------------------------------------------- */

/* The block of t may only refer to definitions that stand before it in the file. */
static void need_generation(struct spool_track *t, uint32_t generation)
{
    if (t && generation > t->generation)
        t->cap = t->used;
}

/* A text that could not be defined belongs to a generation that never comes: its events are dropped and counted. */
static void set_generation(uint32_t *generation, uint32_t defined_in)
{
    *generation = defined_in ? defined_in : UINT32_MAX;
}

static uint32_t intern(struct spool_track *t, const char *text)
{
    struct process *p = file_process();
    uint32_t len, hash = names_hash(text, DCT_MAX_TEXT, &len);
    uint32_t id = names_find(&dcc_names, text, len, hash);
    if (!id) {
        int is_new;
        pthread_mutex_lock(&p->lock);
        id = names_add(&dcc_names, text, len, hash, &is_new);
        if (is_new) {
            set_generation(&dcc_names.name[id].generation,
                           file_define(p, DCT_STRING, 0, id, dcc_names.name[id].text, len));
            names_publish(&dcc_names, id);
        }
        pthread_mutex_unlock(&p->lock);
    }
    if (id)
        need_generation(t, dcc_names.name[id].generation);
    return id;
}

uint32_t spool_name(struct spool_track *t, const char *text)
{
    if (!text)
        return 0;
    uintptr_t at = (uintptr_t)text;
    struct cached *c = &t->name[(at ^ at >> 8) % CACHE_ENTRIES];
    if (c->seen_at == text && strcmp(c->text, text) == 0)
        return c->id;
    uint32_t id = intern(t, text);
    if (id)
        *c = (struct cached){.seen_at = text, .text = dcc_names.name[id].text, .id = id};
    return id;
}

static size_t put_utf8(uint32_t c, char out[4])
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        c = 0xfffd;
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--, c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)((n == 2 ? 0xc0 : n == 3 ? 0xe0 : 0xf0) | c);
    return n;
}

void spool_wide_to_utf8(const wchar_t *in, char *out, size_t n)
{
    size_t used = 0;
    for (; *in; in++) {
        char one[4];
        size_t len = put_utf8((uint32_t)*in, one);
        if (used + len + 1 > n)
            break;
        memcpy(out + used, one, len);
        used += len;
    }
    out[used] = '\0';
}

uint32_t spool_name_wide(struct spool_track *t, const wchar_t *text)
{
    if (!text)
        return 0;
    char utf8[WIDE_BYTES];
    spool_wide_to_utf8(text, utf8, sizeof utf8);
    return intern(t, utf8);
}

uint32_t spool_registered(struct spool_track *t, const void *handle)
{
    const struct name *e = handle, *first = dcc_names.name;
    if (!first || e <= first || e >= first + __atomic_load_n(&dcc_names.n_names, __ATOMIC_RELAXED))
        return 0;
    need_generation(t, e->generation);
    return (uint32_t)(e - first);
}

const void *spool_register(const char *text)
{
    struct spool_track *t = text ? spool_enter() : NULL;
    if (!t)
        return NULL;
    uint32_t id = intern(t, text);
    spool_leave(t);
    return id ? &dcc_names.name[id] : NULL;
}

const void *spool_register_wide(const wchar_t *text)
{
    char utf8[WIDE_BYTES];
    if (!text)
        return NULL;
    spool_wide_to_utf8(text, utf8, sizeof utf8);
    return spool_register(utf8);
}

static uint32_t intern_domain(struct spool_track *t, const char *text)
{
    uint32_t name = intern(t, text);
    if (!name)
        return 0;
    struct process *p = file_process();
    int is_new;
    pthread_mutex_lock(&p->lock);
    uint32_t d = names_domain(&dcc_names, name, &is_new);
    struct name *e = &dcc_names.name[name];
    if (is_new)
        set_generation(&dcc_names.domain[d].generation, file_define(p, DCT_DOMAIN, d, 0, e->text, e->len));
    pthread_mutex_unlock(&p->lock);
    need_generation(t, dcc_names.domain[d].generation);
    return d;
}

const void *spool_domain(const char *name)
{
    struct spool_track *t = name && *name ? spool_enter() : NULL;
    if (!t)
        return NULL;
    uint32_t d = intern_domain(t, name);
    spool_leave(t);
    return d ? &dcc_names.domain[d] : NULL;
}

const void *spool_domain_wide(const wchar_t *name)
{
    char utf8[WIDE_BYTES];
    if (!name)
        return NULL;
    spool_wide_to_utf8(name, utf8, sizeof utf8);
    return spool_domain(utf8);
}

uint32_t spool_domain_of(struct spool_track *t, const void *handle)
{
    const struct domain *d = handle, *first = dcc_names.domain;
    if (!first || d <= first || d >= first + DOMAINS_MAX)
        return 0;
    need_generation(t, d->generation);
    return (uint32_t)(d - first);
}

uint32_t spool_domain_by_text(struct spool_track *t, const char *text)
{
    if (!text || !*text)
        return 0;
    uintptr_t at = (uintptr_t)text;
    struct cached *c = &t->domain[(at ^ at >> 8) % PAIR_ENTRIES];
    if (c->seen_at == text && strcmp(c->text, text) == 0)
        return c->id;
    uint32_t d = intern_domain(t, text);
    if (d)
        *c = (struct cached){.seen_at = text, .text = dcc_names.name[dcc_names.domain[d].name].text, .id = d};
    return d;
}

static void define_category(struct spool_track *t, uint32_t domain, uint32_t category, const char *text)
{
    struct process *p = file_process();
    uint32_t name = intern(t, text);
    if (!name)
        return;
    const struct name *e = &dcc_names.name[name];
    pthread_mutex_lock(&p->lock);
    if (names_category(&dcc_names, domain, category, name)) {
        uint32_t generation = file_define(p, DCT_CATEGORY, domain, category, e->text, e->len);
        /* Events carry the program's own number and nobody looks it up here: if the name no longer stands before
         * the blocks now open, every thread shall go on in a new one. */
        if (generation > 1)
            __atomic_fetch_add(&p->epoch, 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&p->lock);
}

void spool_category(const void *domain, uint32_t category, const char *name)
{
    struct spool_track *t = name ? spool_enter() : NULL;
    if (!t)
        return;
    define_category(t, spool_domain_of(t, domain), category, name);
    spool_leave(t);
}

uint32_t spool_category_by_text(struct spool_track *t, uint32_t domain, const char *text)
{
    if (!text || !*text)
        return 0;
    uintptr_t at = (uintptr_t)text;
    struct cached_pair *c = &t->category[(at ^ at >> 8 ^ domain) % PAIR_ENTRIES];
    if (c->seen_at == text && c->domain == domain && strcmp(c->text, text) == 0)
        return c->id;
    uint32_t name = intern(t, text);
    if (!name)
        return 0;
    uint32_t id = OWN_CATEGORY | name;
    define_category(t, domain, id, text);
    *c = (struct cached_pair){.seen_at = text, .text = dcc_names.name[name].text, .domain = domain, .id = id};
    return id;
}

void spool_thread_name(uint32_t tid, const char *name)
{
    struct spool_track *t = name ? spool_enter() : NULL;
    if (!t)
        return;
    struct process *p = file_process();
    uint32_t len;
    names_hash(name, DCT_MAX_TEXT, &len);
    pthread_mutex_lock(&p->lock);
    file_define(p, DCT_THREAD, 0, tid, name, len);
    pthread_mutex_unlock(&p->lock);
    spool_leave(t);
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

static struct dct_slot *put_head(struct dct_slot *s, int kind, uint32_t n_extra, uint32_t domain, uint32_t name,
                                 int64_t t_ns)
{
    s->kind = (uint8_t)kind;
    s->n_extra = (uint8_t)n_extra;
    s->domain = (uint16_t)domain;
    s->name = name;
    s->t_ns = t_ns;
    return s + 1;
}

int spool_put_push(struct spool_track *t, uint32_t domain, uint32_t name, const struct dct_attr *attr)
{
    uint32_t n = attr ? 2 : 1;
    int level = t->level[domain]++;
    struct dct_slot *s = room(t, n);
    if (!s)
        return level;
    if (attr)
        memcpy(s + 1, attr, sizeof *attr);
    put_head(s, DCT_PUSH, n - 1, domain, name, spool_now_ns());
    done(t, n);
    return level;
}

int spool_put_pop(struct spool_track *t, uint32_t domain, int64_t t_ns)
{
    int level = t->level[domain] > 0 ? --t->level[domain] : -1;
    struct dct_slot *s = room(t, 1);
    if (s) {
        put_head(s, DCT_POP, 0, domain, 0, t_ns);
        done(t, 1);
    }
    return level;
}

uint64_t spool_put_start(struct spool_track *t, uint32_t domain, uint32_t name, const struct dct_attr *attr)
{
    uint64_t id = __atomic_fetch_add(&file_process()->next_range_id, 1, __ATOMIC_RELAXED);
    uint32_t n = attr ? 3 : 2;
    struct dct_slot *s = room(t, n);
    if (!s)
        return id | DROPPED_RANGE;
    struct dct_slot *next = put_head(s, DCT_START, n - 1, domain, name, 0);
    if (attr)
        memcpy(next++, attr, sizeof *attr);
    *next = (struct dct_slot){.t_ns = (int64_t)id};
    s->t_ns = spool_now_ns();
    done(t, n);
    return id;
}

void spool_put_end(struct spool_track *t, uint32_t domain, uint64_t id, int64_t t_ns)
{
    if (id & DROPPED_RANGE) {
        count_drop(t);
        return;
    }
    struct dct_slot *s = room(t, 2);
    if (!s)
        return;
    struct dct_slot *next = put_head(s, DCT_END, 1, domain, 0, t_ns);
    *next = (struct dct_slot){.t_ns = (int64_t)id};
    done(t, 2);
}

void spool_put_mark(struct spool_track *t, uint32_t domain, uint32_t name, const struct dct_attr *attr)
{
    uint32_t n = attr ? 2 : 1;
    struct dct_slot *s = room(t, n);
    if (!s)
        return;
    if (attr)
        memcpy(s + 1, attr, sizeof *attr);
    put_head(s, DCT_MARK, n - 1, domain, name, spool_now_ns());
    done(t, n);
}

__attribute__((destructor)) static void at_exit(void)
{
    struct spool_track *t = self.track;
    struct process *p = file_process();
    if (!t || !p || self.is_busy || !t->block || t->epoch >> 32 != __atomic_load_n(&p->epoch, __ATOMIC_RELAXED) >> 32)
        return;
    file_seal(t->block);
    t->cap = t->used; /* a destructor that still names ranges goes on in a new block */
}
