/* names.c - see names.h. */
#include "collect/guest/names.h"

#include <string.h>

uint32_t names_hash(const char *text, size_t max, uint32_t *len)
{
    uint32_t h = 2166136261u; /* FNV-1a */
    size_t i = 0;
    for (; i < max && text[i]; i++)
        h = (h ^ (unsigned char)text[i]) * 16777619u;
    if (text[i] && i && ((unsigned char)text[i] & 0xc0) == 0x80) { /* cut, and inside a UTF-8 sequence */
        do
            i--;
        while (i && ((unsigned char)text[i] & 0xc0) == 0x80);
        return names_hash(text, i, len);
    }
    *len = (uint32_t)i;
    return h;
}

static int is_name(const struct segment *s, uint32_t id, const char *text, uint32_t len, uint32_t hash)
{
    const struct segment_name *e = segment_names(s) + id;
    return e->hash == hash && e->len == len && memcmp(segment_text(s, id), text, len) == 0;
}

/* A number and its text, not yet in the table. returns 0: no room */
static uint32_t new_name(struct segment *s, const char *text, uint32_t len, uint32_t hash, uint32_t flags, int is_often)
{
    if (__atomic_load_n(&s->n_names, __ATOMIC_RELAXED) >= s->max_names - (is_often ? s->max_names / 8 : 0) ||
        __atomic_load_n(&s->text_used, __ATOMIC_RELAXED) + len + 1 > s->text_bytes - (is_often ? s->text_bytes / 8 : 0))
        return 0;
    uint64_t at = __atomic_fetch_add(&s->text_used, (uint64_t)len + 1, __ATOMIC_RELAXED);
    uint32_t id = __atomic_fetch_add(&s->n_names, 1, __ATOMIC_RELAXED);
    if (at + len + 1 > s->text_bytes || id >= s->max_names)
        return 0;
    char *copy = (char *)segment_at(s, s->text_at) + at;
    memcpy(copy, text, len);
    copy[len] = '\0';
    segment_names(s)[id] = (struct segment_name){.text_at = (uint32_t)at, .len = len, .hash = hash, .flags = flags};
    return id;
}

static uint32_t *place_of(const struct segment *s, uint32_t i)
{
    return (uint32_t *)segment_at(s, s->table_at) + (i & s->table_mask);
}

uint32_t names_find(const struct segment *s, const char *text, uint32_t len, uint32_t hash)
{
    for (uint32_t i = hash ^ hash >> 15;; i++) {
        uint32_t id = __atomic_load_n(place_of(s, i), __ATOMIC_ACQUIRE);
        if (!id || is_name(s, id, text, len, hash))
            return id;
    }
}

uint32_t names_intern(struct segment *s, const char *text, uint32_t len, uint32_t hash, uint32_t flags, int is_often)
{
    uint32_t mine = 0;
    for (uint32_t i = hash ^ hash >> 15;; i++) { /* at most half of the table is ever used */
        uint32_t *place = place_of(s, i), id = __atomic_load_n(place, __ATOMIC_ACQUIRE);
        if (!id) {
            if (!mine && !(mine = new_name(s, text, len, hash, flags, is_often)))
                return 0;
            if (__atomic_compare_exchange_n(place, &id, mine, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
                return mine;
        }
        if (is_name(s, id, text, len, hash))
            return id;
    }
}

uint32_t names_domain(struct segment *s, uint32_t name)
{
    uint32_t *domains = segment_domains(s);
    for (uint32_t d = 1; d < SEGMENT_DOMAINS; d++) {
        uint32_t known = __atomic_load_n(&domains[d], __ATOMIC_ACQUIRE);
        if (known == name ||
            (!known && (__atomic_compare_exchange_n(&domains[d], &known, name, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ||
                        known == name)))
            return d;
    }
    return SEGMENT_DOMAINS - 1;
}

/* The last definition of each number, in memory of this process, because programs define their categories again and
 * again. */
enum { N_LAST = 4096 };
static struct {
    uint64_t key; /* 0 = free */
    uint32_t name;
} last[N_LAST];

static int is_said(uint64_t key, uint32_t name)
{
    uint32_t i = (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 40);
    for (uint32_t k = 0; k < 64; k++, i++) {
        uint64_t known = __atomic_load_n(&last[i % N_LAST].key, __ATOMIC_ACQUIRE);
        if (known == key)
            return __atomic_exchange_n(&last[i % N_LAST].name, name, __ATOMIC_ACQ_REL) == name;
        if (!known &&
            __atomic_compare_exchange_n(&last[i % N_LAST].key, &known, key, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            __atomic_store_n(&last[i % N_LAST].name, name, __ATOMIC_RELEASE);
            return 0;
        }
        if (known == key)
            return 0;
    }
    return 0;
}

void names_say(struct segment *s, uint32_t process, int kind, uint32_t domain, uint32_t id, uint32_t name)
{
    uint64_t key = (uint64_t)kind << 48 | (uint64_t)domain << 32 | id;
    if (kind != DCT_NOTE && is_said(key, name))
        return;
    if (__atomic_load_n(&s->n_said, __ATOMIC_RELAXED) > s->max_said)
        return;
    uint32_t i = __atomic_fetch_add(&s->n_said, 1, __ATOMIC_ACQ_REL);
    if (i >= s->max_said)
        return;
    struct segment_said *said = segment_said(s) + i;
    said->process = process;
    said->id = id;
    said->name = name;
    said->domain = (uint16_t)domain;
    __atomic_store_n(&said->kind, (uint16_t)kind, __ATOMIC_RELEASE);
}
