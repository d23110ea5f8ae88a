/* spool_names.c - see spool.h. Numbers for texts, and data of the process as a whole: schemas, notes, files. */
#include "collect/guest/hot.h"
#include "collect/guest/names.h"

#include <string.h>

#define OWN_CATEGORY 0x40000000u

/* ---- names ---------------------------------------------------------------------------------- */

/* The table is full, because the program puts a number into each name. The name gets a new number and is defined right
 * here, in front of its event. */
static uint32_t define_inline(struct spool_track *t, const char *text, uint32_t len)
{
    uint32_t n_text = (len + DCT_SLOT_BYTES - 1) / DCT_SLOT_BYTES, n = 1 + n_text;
    if (t->used + n + t->open > t->cap && (spool_next_block(t, 0) != 0 || n + t->open > t->cap))
        return SEGMENT_OVERFLOW;
    uint32_t id = SEGMENT_INLINE_NAMES + __atomic_fetch_add(&dcc_segment->next_inline, 1, __ATOMIC_RELAXED);
    if (id > SEGMENT_LAST_NAME) {
        __atomic_fetch_sub(&dcc_segment->next_inline, 1, __ATOMIC_RELAXED);
        return SEGMENT_OVERFLOW;
    }
    struct dct_slot *s = (struct dct_slot *)(t->block + 1) + t->used;
    track_head(s, DCT_STRING, n_text, 0, id, len);
    if (n_text) {
        memset(&s[n_text], 0, sizeof *s);
        memcpy(s + 1, text, len);
    }
    t->used += n;
    __atomic_store_n(&t->block->used_slots, t->used, __ATOMIC_RELEASE);
    t->inline_flags = window_name(text);
    return id;
}

/* returns 0: there is no room in the table */
static uint32_t intern(const char *text, int is_often, uint32_t *len)
{
    uint32_t hash = names_hash(text, DCT_MAX_TEXT, len);
    uint32_t id = names_find(dcc_segment, text, *len, hash);
    return id ? id : names_intern(dcc_segment, text, *len, hash, window_name(text), is_often);
}

static __attribute__((noinline)) uint32_t intern_or_overflow(const char *text)
{
    uint32_t len, id = intern(text, 0, &len);
    return id ? id : SEGMENT_OVERFLOW;
}

static uint32_t intern_or_inline(struct spool_track *t, const char *text)
{
    uint32_t len, id = intern(text, 1, &len);
    return id ? id : define_inline(t, text, len);
}

uint32_t spool_name_flags(const struct spool_track *t, uint32_t name)
{
    return name >= SEGMENT_INLINE_NAMES ? t->inline_flags : segment_names(dcc_segment)[name].flags;
}

/* The text at an address has this name, and stands for this number. */
static void remember(struct cached *c, const char *seen_at, uint32_t name, uint32_t id)
{
    const uint32_t n = segment_names(dcc_segment)[name].len + 1;
    *c = (struct cached){.seen_at = seen_at, .text = segment_text(dcc_segment, name), .id = id, .n = n};
}

__attribute__((noinline)) uint32_t spool_name_slowly(struct spool_track *t, const char *text, struct cached *c)
{
    uint32_t id = text ? intern_or_inline(t, text) : 0;
    if (id && id < SEGMENT_INLINE_NAMES)
        remember(c, text, id, id);
    return id;
}

uint32_t spool_registered(const void *handle)
{
    const struct segment_name *e = handle, *first = segment_names(dcc_segment);
    return e > first && e < first + dcc_segment->max_names ? (uint32_t)(e - first) : 0;
}

const void *spool_register(const char *text)
{
    struct spool_track *t = text ? hot_enter() : NULL;
    if (!t)
        return NULL;
    uint32_t id = intern_or_overflow(text);
    hot_leave();
    return segment_names(dcc_segment) + id;
}

const void *spool_domain(const char *name)
{
    struct spool_track *t = name && *name ? hot_enter() : NULL;
    if (!t)
        return NULL;
    uint32_t d = names_domain(dcc_segment, intern_or_overflow(name));
    hot_leave();
    return segment_domains(dcc_segment) + d;
}

uint32_t spool_domain_of(const void *handle)
{
    const uint32_t *d = handle, *first = segment_domains(dcc_segment);
    return d > first && d < first + SEGMENT_DOMAINS ? (uint32_t)(d - first) : 0;
}

uint32_t spool_domain_by_text(struct spool_track *t, const char *text)
{
    if (!text || !*text)
        return 0;
    uintptr_t at = (uintptr_t)text;
    struct cached *c = &t->domain[(at ^ at >> 8) % PAIR_ENTRIES];
    if (c->seen_at == text && hot_same(text, c->text, c->n))
        return c->id;
    uint32_t name = intern_or_overflow(text), d = names_domain(dcc_segment, name);
    remember(c, text, name, d);
    return d;
}

/* While another thread takes the entry of this process, definitions cannot be published, and events are lost anyway. */
static void say(int kind, uint32_t domain, uint32_t id, uint32_t name)
{
    if (kind == DCT_CATEGORY)
        window_category(domain, id, segment_text(dcc_segment, name));
    if (dcc_self->process)
        names_say(dcc_segment, dcc_self->process->serial, kind, domain, id, name);
}

uint32_t spool_category_by_text(struct spool_track *t, uint32_t domain, const char *text)
{
    if (!text || !*text)
        return 0;
    uintptr_t at = (uintptr_t)text;
    struct cached_pair *pair = &t->category[(at ^ at >> 8 ^ domain) % PAIR_ENTRIES];
    struct cached *c = &pair->category;
    if (c->seen_at == text && pair->domain == domain && hot_same(text, c->text, c->n))
        return c->id;
    uint32_t name = intern_or_overflow(text), id = OWN_CATEGORY | name;
    say(DCT_CATEGORY, domain, id, name);
    if (!dcc_self->process) /* not published: the next event repeats it */
        return id;
    remember(c, text, name, id);
    pair->domain = domain;
    return id;
}

void spool_say(int kind, const void *domain, uint32_t id, const char *text)
{
    struct spool_track *t = text ? hot_enter() : NULL;
    if (!t)
        return;
    say(kind, spool_domain_of(domain), id, intern_or_overflow(text));
    hot_leave();
}

EXPORTED void dcc_guest_note(const char *sentence)
{
    spool_say(DCT_NOTE, NULL, 0, sentence);
}

/* ---- sums of files ---------------------------------------------------------------------------- */

/* A block of sums only grows: it is zero when it is taken, and a counter gives out its slots. */
static struct dct_slot *file_slots(struct spool_track *t, struct segment_process *p, uint32_t n)
{
    uint64_t freed = __atomic_load_n(&dcc_segment->n_freed, __ATOMIC_ACQUIRE);
    uint64_t at = __atomic_load_n(&p->files, __ATOMIC_ACQUIRE);
    for (;;) {
        if (at >> 32 && (at & UINT32_MAX) + n <= SEGMENT_SLOTS) {
            if (__atomic_compare_exchange_n(&p->files, &at, at + n, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
                return (struct dct_slot *)(segment_block(dcc_segment, (uint32_t)(at >> 32) - 1) + 1) +
                       (at & UINT32_MAX);
            continue;
        }
        if (t->is_dry && freed == t->freed_seen)
            return NULL;
        struct dct_block_header *b = process_take_block(DCT_TRACK_PROCESS, 0, 0);
        if (!b) {
            t->is_dry = 1;
            t->freed_seen = freed;
            return NULL;
        }
        memset(b + 1, 0, SEGMENT_BLOCK_BYTES - sizeof *b);
        uint64_t number = (uint64_t)((char *)b - (char *)segment_block(dcc_segment, 0)) / SEGMENT_BLOCK_BYTES;
        if (__atomic_compare_exchange_n(&p->files, &at, (number + 1) << 32, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            at = (number + 1) << 32;
        else
            __atomic_store_n(&segment_states(dcc_segment)[number], 0, __ATOMIC_RELEASE);
    }
}

EXPORTED struct dct_io *dcc_guest_file(const char *path, uint32_t *name)
{
    struct spool_track *t = hot_enter();
    if (!t)
        return NULL;
    enum { N_SLOTS = 1 + DCT_N_IO * sizeof(struct dct_io) / DCT_SLOT_BYTES };
    *name = intern_or_overflow(path);
    struct dct_slot *s = dcc_self->process ? file_slots(t, dcc_self->process, N_SLOTS) : NULL;
    if (s) {
        s->n_extra = N_SLOTS - 1;
        s->name = *name;
        s->t_ns = clock_now_ns(&t->clock);
        __atomic_store_n(&s->kind, DCT_FILE, __ATOMIC_RELEASE);
    }
    hot_leave();
    return s ? (struct dct_io *)(void *)(s + 1) : NULL;
}
