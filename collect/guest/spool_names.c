/* spool_names.c - see spool.h. Numbers for texts, and what belongs to the process as a whole: schemas, notes, files. */
#include "collect/guest/hot.h"

#include <pthread.h>
#include <string.h>

#define WIDE_BYTES 2048
#define OWN_CATEGORY 0x40000000u

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
        file_lock(p);
        id = names_add(&dcc_names, text, len, hash, &is_new);
        if (is_new) {
            dcc_names.name[id].flags = dcc_window_is_used ? window_name(dcc_names.name[id].text) : 0;
            set_generation(&dcc_names.name[id].generation,
                           file_define(p, DCT_STRING, 0, id, dcc_names.name[id].text, len));
            names_publish(&dcc_names, id);
        }
        file_unlock(p);
    }
    if (id)
        need_generation(t, dcc_names.name[id].generation);
    return id;
}

__attribute__((noinline)) uint32_t spool_name_slowly(struct spool_track *t, const char *text, struct cached *c)
{
    uint32_t id = text ? intern(t, text) : 0;
    if (id)
        *c = (struct cached){
            .seen_at = text, .text = dcc_names.name[id].text, .id = id, .n = dcc_names.name[id].len + 1};
    return id;
}

uint32_t spool_name(struct spool_track *t, const char *text)
{
    return hot_name(t, text);
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
    file_lock(p);
    uint32_t d = names_domain(&dcc_names, name, &is_new);
    struct name *e = &dcc_names.name[name];
    if (is_new)
        set_generation(&dcc_names.domain[d].generation, file_define(p, DCT_DOMAIN, d, 0, e->text, e->len));
    file_unlock(p);
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
    if (c->seen_at == text && hot_same(text, c->text, c->n))
        return c->id;
    uint32_t d = intern_domain(t, text);
    if (d) {
        const struct name *e = &dcc_names.name[dcc_names.domain[d].name];
        *c = (struct cached){.seen_at = text, .text = e->text, .id = d, .n = e->len + 1};
    }
    return d;
}

static void define_category(struct spool_track *t, uint32_t domain, uint32_t category, const char *text)
{
    struct process *p = file_process();
    uint32_t name = intern(t, text);
    if (!name)
        return;
    const struct name *e = &dcc_names.name[name];
    file_lock(p);
    if (names_category(&dcc_names, domain, category, name)) {
        if (dcc_window_is_used)
            window_category(domain, category, e->text);
        uint32_t generation = file_define(p, DCT_CATEGORY, domain, category, e->text, e->len);
        /* Events carry the program's own number and nobody looks it up here: if the name no longer stands before
         * the blocks now open, every thread shall go on in a new one. */
        if (generation > 1)
            __atomic_fetch_add(&p->epoch, 1, __ATOMIC_RELEASE);
    }
    file_unlock(p);
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
    if (c->seen_at == text && c->domain == domain && hot_same(text, c->text, c->n))
        return c->id;
    uint32_t name = intern(t, text);
    if (!name)
        return 0;
    uint32_t id = OWN_CATEGORY | name;
    define_category(t, domain, id, text);
    const struct name *e = &dcc_names.name[name];
    *c = (struct cached_pair){.seen_at = text, .text = e->text, .domain = domain, .id = id, .n = e->len + 1};
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
    file_lock(p);
    file_define(p, DCT_THREAD, 0, tid, name, len);
    file_unlock(p);
    spool_leave(t);
}

/* ---- what belongs to the process -------------------------------------------------------------- */

void spool_schema(struct spool_track *t, uint32_t domain, uint32_t schema, const char *text)
{
    struct process *p = file_process();
    uint32_t len;
    (void)t;
    names_hash(text, DCT_MAX_TEXT, &len);
    file_lock(p);
    file_define(p, DCT_SCHEMA, domain, schema, text, len);
    names_schema(&dcc_names, domain, schema, text, len);
    file_unlock(p);
}

void spool_note(const char *sentence)
{
    struct spool_track *t = spool_enter();
    if (!t)
        return;
    struct process *p = file_process();
    file_lock(p);
    file_define(p, DCT_NOTE, 0, 0, sentence, (uint32_t)strnlen(sentence, DCT_MAX_TEXT));
    file_unlock(p);
    spool_leave(t);
}

struct dct_io *spool_file(const char *path, uint32_t *name)
{
    struct spool_track *t = spool_enter();
    if (!t)
        return NULL;
    struct process *p = file_process();
    enum { N_SLOTS = 1 + DCT_N_IO * sizeof(struct dct_io) / DCT_SLOT_BYTES };
    *name = intern(t, path);
    int64_t now = clock_now_ns(&t->clock);
    file_lock(p);
    struct dct_slot *s = *name ? file_process_slots(p, N_SLOTS) : NULL;
    if (s) {
        track_head(s, DCT_FILE, N_SLOTS - 1, 0, *name, now);
        file_process_slots_done(p, N_SLOTS);
    }
    file_unlock(p);
    spool_leave(t);
    return s ? (struct dct_io *)(void *)(s + 1) : NULL;
}
