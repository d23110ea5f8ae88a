/* nvtx_payload.c - see nvtx_payload.h. NVTX looks for InitializeInjectionNvtxExtension by itself. */
#include "collect/guest/nvtx/nvtx_payload.h"

#include "collect/guest/nvtx/payload_text.h"
#include "collect/guest/spool.h"

#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

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

/* Number of a definition: the program's; if it has none, one of ours. */
static uint64_t id_of(int has_own, uint64_t own)
{
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
    char text[PAYLOAD_TEXT];
    if (!s)
        return 0;
    uint64_t id = id_of((s->fields & NVTXABI_SCHEMA_HAS_ID) != 0, s->id);
    payload_text_of(s, id, text, sizeof text);
    define(domain, id, text);
    return id;
}

static uint64_t enum_register(const void *domain, const struct nvtxabi_enum *e)
{
    char text[PAYLOAD_TEXT];
    if (!e)
        return 0;
    uint64_t id = id_of((e->fields & NVTXABI_ENUM_HAS_ID) != 0, e->id);
    payload_text_of_enum(e, id, text, sizeof text);
    define(domain, id, text);
    return id;
}

/* Events whose message is also in the payload: recorded without a name, with a raw payload. */
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
    return level;
}

static int pop_payload(const void *domain, const struct nvtxabi_item *items, size_t n)
{
    int level = NVTXABI_NO_TRACKING;
    struct spool_track *t = spool_enter_to_end();
    if (t) {
        int64_t now = spool_track_now(t);
        struct raw raw;
        raw_of(items, n, &raw);
        level = spool_put_pop_raw(t, spool_domain_of(t, domain), now, raw.attr.payload ? &raw.attr : NULL, raw.bytes);
        spool_leave(t);
    }
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
    return id;
}

static void end_payload(const void *domain, uint64_t id, const struct nvtxabi_item *items, size_t n)
{
    struct spool_track *t = spool_enter_to_end();
    if (t) {
        int64_t now = spool_track_now(t);
        struct raw raw;
        raw_of(items, n, &raw);
        spool_put_end_raw(t, spool_domain_of(t, domain), id, now, raw.attr.payload ? &raw.attr : NULL, raw.bytes);
        spool_leave(t);
    }
}

static uint8_t domain_is_enabled(const void *domain)
{
    (void)domain;
    return 1;
}

EXPORTED int InitializeInjectionNvtxExtension(struct nvtxabi_module *module);

/* Other extensions (memory, counters) are not recorded. */
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
    if (!module || module->struct_size < sizeof *module || module->id != NVTXABI_EXT_PAYLOAD ||
        module->n_segments != 1 || !spool_is_wanted())
        return 0;
    struct nvtxabi_segment *s = module->segments;
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if ((size_t)ours[i].index < s->n_slots)
            s->slots[ours[i].index] = (intptr_t)ours[i].fn;
    return 1;
}
