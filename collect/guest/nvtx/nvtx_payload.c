/* nvtx_payload.c - see nvtx_payload.h. NVTX looks for InitializeInjectionNvtxExtension by itself. */
#include "collect/guest/nvtx/nvtx_payload.h"

#include "collect/guest/nvtx/nvtx_chain.h"
#include "collect/guest/nvtx/payload_text.h"
#include "collect/guest/spool.h"

#include <string.h>

#define EXPORTED __attribute__((visibility("default")))
enum { MAX_SLOTS = 64 };

static intptr_t theirs[MAX_SLOTS]; /* of a chained tool */
static uint64_t n_schemas;

size_t nvtx_payload_bytes(const struct nvtxabi_item *items, size_t n, unsigned char *out)
{
    size_t used = 0;
    for (size_t i = 0; i < n && used + sizeof(struct dct_raw) <= DCT_MAX_RAW; i++) {
        size_t size = items[i].size == SIZE_MAX || !items[i].bytes ? 0 : items[i].size;
        size_t room = DCT_MAX_RAW - used - sizeof(struct dct_raw), kept = size < room ? size : room;
        struct dct_raw head = {
            .schema = items[i].schema, .size = size < UINT32_MAX ? (uint32_t)size : UINT32_MAX, .kept = (uint32_t)kept};
        size_t padded = (kept + DCT_SLOT_BYTES - 1) / DCT_SLOT_BYTES * DCT_SLOT_BYTES;
        memcpy(out + used, &head, sizeof head);
        used += sizeof head;
        memset(out + used, 0, padded);
        if (kept)
            memcpy(out + used, items[i].bytes, kept);
        used += padded;
    }
    return used;
}

/* Number of a definition: a chained tool's, since payloads reach both of us with it; else the program's; else ours. */
static uint64_t id_of(uint64_t chained, int has_own, uint64_t own)
{
    if (chained)
        return chained;
    return has_own && own ? own : NVTXABI_SCHEMA_DYNAMIC_START + __atomic_fetch_add(&n_schemas, 1, __ATOMIC_RELAXED);
}

static void define(const void *domain, uint64_t id, const char *text)
{
    struct spool_track *t = spool_enter();
    if (!t)
        return;
    spool_schema(t, spool_domain_of(t, domain), (uint32_t)id, text);
    spool_leave(t);
}

static uint64_t schema_register(const void *domain, const struct nvtxabi_schema *s)
{
    uint64_t (*next)(const void *, const struct nvtxabi_schema *);
    memcpy(&next, &theirs[NVTXABI_SCHEMA_REGISTER], sizeof next);
    uint64_t id = next ? next(nvtx_chain_domain(domain), s) : 0;
    if (!s)
        return id;
    char text[PAYLOAD_TEXT];
    id = id_of(id, (s->fields & NVTXABI_SCHEMA_HAS_ID) != 0, s->id);
    payload_text_of(s, id, text, sizeof text);
    define(domain, id, text);
    return id;
}

static uint64_t enum_register(const void *domain, const struct nvtxabi_enum *e)
{
    uint64_t (*next)(const void *, const struct nvtxabi_enum *);
    memcpy(&next, &theirs[NVTXABI_ENUM_REGISTER], sizeof next);
    uint64_t id = next ? next(nvtx_chain_domain(domain), e) : 0;
    if (!e)
        return id;
    char text[PAYLOAD_TEXT];
    id = id_of(id, (e->fields & NVTXABI_ENUM_HAS_ID) != 0, e->id);
    payload_text_of_enum(e, id, text, sizeof text);
    define(domain, id, text);
    return id;
}

/* Events whose message lies in the payload too: recorded without a name, the payload raw. */
struct raw {
    struct dct_attr attr;
    unsigned char bytes[DCT_MAX_RAW];
};

static void raw_of(const struct nvtxabi_item *items, size_t n, struct raw *out)
{
    out->attr = (struct dct_attr){.payload_type = DCT_PAYLOAD_RAW};
    out->attr.payload = items ? nvtx_payload_bytes(items, n, out->bytes) : 0;
}

static void mark_payload(const void *domain, const struct nvtxabi_item *items, size_t n)
{
    struct spool_track *t = spool_enter();
    if (t) {
        struct raw raw;
        raw_of(items, n, &raw);
        spool_put_mark_raw(t, spool_domain_of(t, domain), 0, &raw.attr, raw.bytes);
        spool_leave(t);
    }
    void (*next)(const void *, const struct nvtxabi_item *, size_t);
    memcpy(&next, &theirs[NVTXABI_MARK_PAYLOAD], sizeof next);
    if (next)
        next(nvtx_chain_domain(domain), items, n);
}

static int push_payload(const void *domain, const struct nvtxabi_item *items, size_t n)
{
    int level = NVTXABI_NO_TRACKING;
    struct spool_track *t = spool_enter();
    if (t) {
        struct raw raw;
        raw_of(items, n, &raw);
        level = spool_put_push_raw(t, spool_domain_of(t, domain), 0, &raw.attr, raw.bytes);
        spool_leave(t);
    }
    int (*next)(const void *, const struct nvtxabi_item *, size_t);
    memcpy(&next, &theirs[NVTXABI_PUSH_PAYLOAD], sizeof next);
    if (next)
        next(nvtx_chain_domain(domain), items, n);
    return level;
}

static int pop_payload(const void *domain, const struct nvtxabi_item *items, size_t n)
{
    int level = NVTXABI_NO_TRACKING;
    struct spool_track *t = spool_enter();
    if (t) {
        int64_t now = spool_track_now(t);
        struct raw raw;
        raw_of(items, n, &raw);
        level = spool_put_pop_raw(t, spool_domain_of(t, domain), now, raw.attr.payload ? &raw.attr : NULL, raw.bytes);
        spool_leave(t);
    }
    int (*next)(const void *, const struct nvtxabi_item *, size_t);
    memcpy(&next, &theirs[NVTXABI_POP_PAYLOAD], sizeof next);
    if (next)
        next(nvtx_chain_domain(domain), items, n);
    return level;
}

static uint64_t start_payload(const void *domain, const struct nvtxabi_item *items, size_t n)
{
    uint64_t id = 0;
    struct spool_track *t = spool_enter();
    if (t) {
        struct raw raw;
        raw_of(items, n, &raw);
        id = spool_put_start_raw(t, spool_domain_of(t, domain), 0, &raw.attr, raw.bytes);
        spool_leave(t);
    }
    uint64_t (*next)(const void *, const struct nvtxabi_item *, size_t);
    memcpy(&next, &theirs[NVTXABI_START_PAYLOAD], sizeof next);
    if (next)
        nvtx_chain_range(id, next(nvtx_chain_domain(domain), items, n));
    return id;
}

static void end_payload(const void *domain, uint64_t id, const struct nvtxabi_item *items, size_t n)
{
    struct spool_track *t = spool_enter();
    if (t) {
        int64_t now = spool_track_now(t);
        struct raw raw;
        raw_of(items, n, &raw);
        spool_put_end_raw(t, spool_domain_of(t, domain), id, now, raw.attr.payload ? &raw.attr : NULL, raw.bytes);
        spool_leave(t);
    }
    void (*next)(const void *, uint64_t, const struct nvtxabi_item *, size_t);
    memcpy(&next, &theirs[NVTXABI_END_PAYLOAD], sizeof next);
    if (next)
        next(nvtx_chain_domain(domain), nvtx_chain_take_range(id), items, n);
}

static uint8_t domain_is_enabled(const void *domain)
{
    (void)domain;
    return 1;
}

EXPORTED int InitializeInjectionNvtxExtension(struct nvtxabi_module *module);

/* Other extensions (memory, counters) are a chained tool's, or nobody's. */
int InitializeInjectionNvtxExtension(struct nvtxabi_module *module)
{
    static const struct {
        int index;
        void *fn;
    } ours[] = {
        {NVTXABI_SCHEMA_REGISTER, (void *)schema_register}, {NVTXABI_ENUM_REGISTER, (void *)enum_register},
        {NVTXABI_MARK_PAYLOAD, (void *)mark_payload},       {NVTXABI_PUSH_PAYLOAD, (void *)push_payload},
        {NVTXABI_POP_PAYLOAD, (void *)pop_payload},         {NVTXABI_START_PAYLOAD, (void *)start_payload},
        {NVTXABI_END_PAYLOAD, (void *)end_payload},         {NVTXABI_DOMAIN_IS_ENABLED, (void *)domain_is_enabled}};
    if (!module || module->struct_size < sizeof *module)
        return 0;
    nvtxabi_extension_fn other = nvtx_chain_extension();
    int is_payload = module->id == NVTXABI_EXT_PAYLOAD && module->n_segments == 1 && spool_is_wanted();
    intptr_t before[MAX_SLOTS] = {0};
    for (size_t i = 0; is_payload && i < MAX_SLOTS && i < module->segments->n_slots; i++)
        before[i] = module->segments->slots[i];
    int is_taken = other ? other(module) : 0;
    if (!is_payload)
        return is_taken;
    struct nvtxabi_segment *s = module->segments;
    for (size_t i = 0; i < MAX_SLOTS && i < s->n_slots; i++)
        if (is_taken && s->slots[i] != before[i])
            theirs[i] = s->slots[i];
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if ((size_t)ours[i].index < s->n_slots)
            s->slots[ours[i].index] = (intptr_t)ours[i].fn;
    return 1;
}
