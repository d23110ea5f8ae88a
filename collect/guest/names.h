/* names.h - the texts a program has named: strings, domains, categories, copied once and numbered; schemas of payloads.
 *
 * Lookup takes no lock. Adding needs the caller's lock (spool.c's). Memory is reserved at the first use and touched
 * only as it fills; when it is full, further texts share one number (NAMES_OVERFLOW's text). Nothing is ever freed:
 * registered strings and domains are handed to the program as pointers into these tables. */
#ifndef DCC_NAMES_H
#define DCC_NAMES_H

#include <stddef.h>
#include <stdint.h>

enum { NAMES_MAX = 1 << 17, DOMAINS_MAX = 1024, CATEGORIES_MAX = 8192, SCHEMAS_MAX = 1024 };
#define NAMES_TEXT_BYTES ((size_t)32 << 20)
#define NAMES_OVERFLOW "(more names than the collector keeps)"

struct name {
    const char *text; /* NUL-terminated */
    uint32_t len;
    uint32_t hash;
    uint32_t generation; /* of the definition block that holds it, see spool.c */
    uint32_t flags;      /* WINDOW_NAME_*, set before it is published */
};

struct domain {
    uint32_t name;
    uint32_t generation;
};

struct category {
    uint32_t domain, id, name;
};

/* Definition of a payload's fields or values (DCT_SCHEMA), kept for the files of forked children. */
struct schema {
    const char *text;
    uint32_t domain, id, len;
};

struct names {
    struct name *name;         /* [NAMES_MAX], number 0 unused */
    uint32_t *table;           /* open addressing, [2 * NAMES_MAX] */
    char *text;                /* [text_max] */
    struct category *category; /* [CATEGORIES_MAX] */
    struct domain *domain;     /* [DOMAINS_MAX], number 0 = the default domain */
    struct schema *schema;     /* [SCHEMAS_MAX] */
    uint32_t n_names, n_domains, n_categories, n_schemas;
    size_t text_used, text_max;
};

/** names_init - reserve the memory; of the texts at most text_max bytes will be used.
 *  returns  0, or -1 when there is none */
int names_init(struct names *n, size_t text_max);
/** names_hash - of a C string; *len its length, at most max bytes, cut before a UTF-8 sequence that does not fit. */
uint32_t names_hash(const char *text, size_t max, uint32_t *len);
/** names_find - number of the text, 0 when it has none yet. Lock-free. */
uint32_t names_find(const struct names *n, const char *text, uint32_t len, uint32_t hash);
/** names_add - number of the text, a new one when needed (*is_new). Caller holds the lock, and publishes a new name
 *  before it gives the lock back.
 *  returns  0 when no memory was reserved */
uint32_t names_add(struct names *n, const char *text, uint32_t len, uint32_t hash, int *is_new);
/** names_publish - from now on names_find finds it: its `generation` must be set. */
void names_publish(struct names *n, uint32_t id);
/** names_domain - number of the domain with that name; a new one when needed. Caller holds the lock. When all are
 *  taken, the last one serves for the rest. */
uint32_t names_domain(struct names *n, uint32_t name, int *is_new);
/** names_category - note that category `id` of the domain is called `name`. Caller holds the lock.
 *  returns  1 when that is news, 0 when known or no room is left */
int names_category(struct names *n, uint32_t domain, uint32_t id, uint32_t name);
/** names_schema - keep a definition in the order of their last coming, once: of one number the last counts. Caller
 * holds the lock. When no room is left it is forgotten: a forked child then records its payloads without it. */
void names_schema(struct names *n, uint32_t domain, uint32_t id, const char *text, uint32_t len);

#endif
