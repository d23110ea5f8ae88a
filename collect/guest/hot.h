/* hot.h - entering and leaving, and the inline path of every push and pop, which calls functions only in rare cases.
 * Those continue in spool.c and spool_names.c. */
#ifndef DCC_INJECT_HOT_H
#define DCC_INJECT_HOT_H

#include "collect/guest/process.h"
#include "collect/guest/spool.h"
#include "collect/guest/track.h"

#include <string.h>

#define HOT static inline __attribute__((always_inline))
#define LIKELY(condition) __builtin_expect(!!(condition), 1)

/* initial-exec: the general model may allocate inside a signal handler. The few bytes of all parts fit glibc's surplus
 * for dlopen. */
extern __thread struct spool_self {
    struct spool_track *track;
    uintptr_t busy; /* stack address at which the thread came in; 0: it is not inside */
} spool_self __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Rare cases, in spool.c and spool_names.c. spool_next_block: returns 0 when the track has a new block; else it keeps
 * the old one. is_reserved: the block may be of the reserve. */
int spool_next_block(struct spool_track *t, int is_reserved);
/* Slots kept free in a block for the ends of process ranges, which may come from any thread. */
#define SPOOL_END_SLOTS 32u
/* is_counted: if nothing is recorded, one event counts as lost. The pop of a lost push does not count again. */
struct spool_track *spool_enter_again(int is_counted);
struct spool_track *spool_enter_slowly(int is_counted);
uint32_t spool_name_slowly(struct spool_track *t, const char *text, struct cached *c);
/* WINDOW_NAME_* flags of the name that the track has just looked up. */
uint32_t spool_name_flags(const struct spool_track *t, uint32_t name);

HOT uintptr_t hot_stack(void)
{
#if defined(__x86_64__)
    uintptr_t now;
    __asm__ volatile("mov %%rsp, %0" : "=r"(now));
    return now;
#else
    return (uintptr_t)__builtin_frame_address(0);
#endif
}

/** hot_enter - this thread's track, ready for events. hot_enter_to_end is the same for the end of a range: without a
 *  track nothing is counted, because its beginning was.
 *  returns  NULL when the event must be dropped (it is counted) */
HOT struct spool_track *hot_enter_as(int is_counted)
{
    if (!LIKELY(spool_self.busy == 0))
        return spool_enter_again(is_counted);
    spool_self.busy = hot_stack();
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    struct spool_track *t = spool_self.track; /* a thread with a track belongs to a process with an entry */
    if (LIKELY(t && t->epoch == __atomic_load_n(&dcc_self->epoch, __ATOMIC_RELAXED)))
        return t;
    return spool_enter_slowly(is_counted);
}

HOT struct spool_track *hot_enter(void)
{
    return hot_enter_as(1);
}

HOT struct spool_track *hot_enter_to_end(void)
{
    return hot_enter_as(0);
}

HOT void hot_leave(void)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    spool_self.busy = 0;
}

HOT uint64_t hot_word(const char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

/** hot_same - is text the known text of n bytes, including its NUL? If it is, no byte after its NUL is read. If not,
 * only bytes of the page where it begins are read. */
HOT int hot_same(const char *text, const char *known, uint32_t n)
{
    enum { PAGE = 4096 };
    if (n > 32 || n < 4 || ((uintptr_t)text & (PAGE - 1)) > PAGE - 32)
        return strcmp(text, known) == 0;
    const char *text_end = text + n, *known_end = known + n;
    if (n < 8) {
        uint32_t a, b, c, d;
        memcpy(&a, text, sizeof a);
        memcpy(&b, known, sizeof b);
        memcpy(&c, text_end - sizeof c, sizeof c);
        memcpy(&d, known_end - sizeof d, sizeof d);
        return ((a ^ b) | (c ^ d)) == 0;
    }
    uint64_t differs = (hot_word(text) ^ hot_word(known)) | (hot_word(text_end - 8) ^ hot_word(known_end - 8));
    if (n > 16)
        differs |= (hot_word(text + 8) ^ hot_word(known + 8)) | (hot_word(text_end - 16) ^ hot_word(known_end - 16));
    return differs == 0;
}

/** hot_name - number of a text. Text is copied, because a pointer may point to another text later. */
HOT uint32_t hot_name(struct spool_track *t, const char *text)
{
    uintptr_t at = (uintptr_t)text;
    struct cached *c = &t->name[(at ^ at >> 8) % CACHE_ENTRIES];
    if (LIKELY(text && c->seen_at == text && hot_same(text, c->text, c->n)))
        return c->id;
    return spool_name_slowly(t, text, c);
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && sizeof(struct dct_slot) == 16 &&
                   offsetof(struct dct_slot, n_extra) == 1 && offsetof(struct dct_slot, domain) == 2 &&
                   offsetof(struct dct_slot, name) == 4,
               "hot_put writes the first half of a slot as one number, little endian");

/* Writes the head of an event with n slots in total, last before the count. */
HOT void hot_put(struct spool_track *t, struct dct_slot *s, int kind, uint32_t n, uint32_t domain, uint32_t name,
                 int64_t t_ns)
{
    uint64_t head = (uint64_t)kind | (uint64_t)(n - 1) << 8 | (uint64_t)domain << 16 | (uint64_t)name << 32;
    memcpy(s, &head, sizeof head);
    s->t_ns = t_ns;
    __atomic_signal_fence(__ATOMIC_RELEASE); /* a signal handler may leave here by siglongjmp() */
    t->used += n;
    __atomic_store_n(&t->block->used_slots, t->used, __ATOMIC_RELEASE);
}

/** hot_push - as spool_put_push. A slot stays free for the pop of each open range, so that a range is recorded whole or
 * not at all. */
HOT int hot_push(struct spool_track *t, uint32_t domain, uint32_t name, const struct dct_attr *attr)
{
    const uint32_t n = attr ? 2 : 1;
    if (!LIKELY(t->used + n + t->open < t->cap && t->open < MAX_KEPT_POPS && !t->is_slow))
        return spool_put_push(t, domain, name, attr, NULL);
    struct dct_slot *s = (struct dct_slot *)(t->block + 1) + t->used;
    if (attr)
        memcpy(s + 1, attr, sizeof *attr);
    hot_put(t, s, DCT_PUSH, n, domain, name, clock_now_ns(&t->clock));
    t->open++;
    return t->level[domain].recorded++; /* no other ranges are open */
}

/** hot_pop - as spool_put_pop; t_ns was taken on the track after hot_enter. */
HOT int hot_pop(struct spool_track *t, uint32_t domain, int64_t t_ns)
{
    struct levels *l = &t->level[domain];
    if (!LIKELY(l->recorded > 0 && t->open > 0 && !t->is_slow))
        return spool_put_pop(t, domain, t_ns, NULL, NULL);
    t->open--;
    hot_put(t, (struct dct_slot *)(t->block + 1) + t->used, DCT_POP, 1, domain, 0, t_ns);
    return --l->recorded;
}

#endif
