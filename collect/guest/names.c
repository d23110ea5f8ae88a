/* names.c - see names.h. */
#include "collect/guest/names.h"

#include <string.h>
#include <sys/mman.h>

static void *reserve(size_t n_bytes)
{
    void *p = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

int names_init(struct names *n, size_t text_max)
{
    if (n->name)
        return 0;
    size_t table_bytes = 2 * (size_t)NAMES_MAX * sizeof *n->table;
    size_t name_bytes = (size_t)NAMES_MAX * sizeof *n->name;
    size_t category_bytes = (size_t)CATEGORIES_MAX * sizeof *n->category;
    size_t domain_bytes = (size_t)DOMAINS_MAX * sizeof *n->domain;
    size_t schema_bytes = (size_t)SCHEMAS_MAX * sizeof *n->schema;
    size_t text_bytes = text_max < NAMES_TEXT_BYTES ? text_max : NAMES_TEXT_BYTES;
    char *all = reserve(table_bytes + name_bytes + category_bytes + domain_bytes + schema_bytes + text_bytes);
    if (!all)
        return -1;
    n->name = (struct name *)(void *)all;
    n->table = (uint32_t *)(void *)(all + name_bytes);
    n->category = (struct category *)(void *)(all + name_bytes + table_bytes);
    n->domain = (struct domain *)(void *)(all + name_bytes + table_bytes + category_bytes);
    n->schema = (struct schema *)(void *)(all + name_bytes + table_bytes + category_bytes + domain_bytes);
    n->text = (char *)n->schema + schema_bytes;
    n->text_max = text_bytes;
    n->n_names = 1;
    n->n_domains = 1;
    int is_new;
    uint32_t len, hash = names_hash(NAMES_OVERFLOW, SIZE_MAX, &len);
    names_publish(n, names_add(n, NAMES_OVERFLOW, len, hash, &is_new));
    return 0;
}

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

static uint32_t *slot_of(const struct names *n, const char *text, uint32_t len, uint32_t hash)
{
    const uint32_t mask = 2 * NAMES_MAX - 1;
    for (uint32_t i = (hash ^ hash >> 15) & mask;; i = (i + 1) & mask) {
        uint32_t id = __atomic_load_n(&n->table[i], __ATOMIC_ACQUIRE);
        if (!id)
            return &n->table[i];
        const struct name *e = &n->name[id];
        if (e->hash == hash && e->len == len && memcmp(e->text, text, len) == 0)
            return &n->table[i];
    }
}

uint32_t names_find(const struct names *n, const char *text, uint32_t len, uint32_t hash)
{
    return n->name ? __atomic_load_n(slot_of(n, text, len, hash), __ATOMIC_ACQUIRE) : 0;
}

uint32_t names_add(struct names *n, const char *text, uint32_t len, uint32_t hash, int *is_new)
{
    *is_new = 0;
    if (!n->name)
        return 0;
    uint32_t *slot = slot_of(n, text, len, hash);
    if (*slot)
        return *slot;
    if (n->n_names >= NAMES_MAX || n->text_max - n->text_used < (size_t)len + 1)
        return 1; /* NAMES_OVERFLOW, the first name of all */
    char *copy = n->text + n->text_used;
    memcpy(copy, text, len);
    copy[len] = '\0';
    n->text_used += (size_t)len + 1;
    n->name[n->n_names] = (struct name){.text = copy, .len = len, .hash = hash, .generation = 0};
    *is_new = 1;
    return n->n_names++;
}

void names_publish(struct names *n, uint32_t id)
{
    const struct name *e = &n->name[id];
    __atomic_store_n(slot_of(n, e->text, e->len, e->hash), id, __ATOMIC_RELEASE);
}

uint32_t names_domain(struct names *n, uint32_t name, int *is_new)
{
    *is_new = 0;
    for (uint32_t d = 1; d < n->n_domains; d++)
        if (n->domain[d].name == name)
            return d;
    if (n->n_domains >= DOMAINS_MAX)
        return DOMAINS_MAX - 1;
    n->domain[n->n_domains] = (struct domain){.name = name, .generation = 0};
    *is_new = 1;
    return n->n_domains++;
}

int names_category(struct names *n, uint32_t domain, uint32_t id, uint32_t name)
{
    for (uint32_t i = 0; i < n->n_categories; i++) {
        struct category *c = &n->category[i];
        if (c->domain != domain || c->id != id)
            continue;
        int is_news = c->name != name;
        c->name = name;
        return is_news;
    }
    if (n->n_categories >= CATEGORIES_MAX)
        return 0;
    n->category[n->n_categories++] = (struct category){.domain = domain, .id = id, .name = name};
    return 1;
}

void names_schema(struct names *n, uint32_t domain, uint32_t id, const char *text, uint32_t len)
{
    uint32_t known = UINT32_MAX;
    int is_last = 1; /* of that number: who reads takes the last one */
    for (uint32_t i = n->n_schemas; i-- > 0 && known == UINT32_MAX;) {
        const struct schema *s = &n->schema[i];
        if (s->domain != domain || s->id != id)
            continue;
        if (s->len == len && memcmp(s->text, text, len) == 0)
            known = i;
        else
            is_last = 0;
    }
    if (known != UINT32_MAX && is_last)
        return;
    if (known != UINT32_MAX) { /* back to an earlier one: it moves, so that turns between two fill nothing up */
        struct schema again = n->schema[known];
        memmove(n->schema + known, n->schema + known + 1, (n->n_schemas - known - 1) * sizeof again);
        n->schema[n->n_schemas - 1] = again;
        return;
    }
    if (!n->name || n->n_schemas == SCHEMAS_MAX || n->text_max - n->text_used < (size_t)len + 1)
        return;
    char *copy = n->text + n->text_used;
    memcpy(copy, text, len);
    copy[len] = '\0';
    n->text_used += (size_t)len + 1;
    n->schema[n->n_schemas++] = (struct schema){.text = copy, .domain = domain, .id = id, .len = len};
}
