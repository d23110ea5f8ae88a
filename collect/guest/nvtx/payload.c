/* payload.c - see payload.h. Test: tests/unit/test_payload.c, which includes this file */
#include "collect/guest/nvtx/payload.h"

#include "lib/archive/format.h"

#include <stdio.h>
#include <string.h>

/* Puts one more entry at out + k, or the mark of a cut definition, for which room is always kept. returns the length;
 * n: there is no room for more */
static size_t put_entry(char *out, size_t n, size_t k, int is_first, const char *entry)
{
    static const char goes_on[] = ", ...";
    const char *comma = is_first ? "" : ",";
    if (k + strlen(comma) + 1 + strlen(entry) + sizeof goes_on > n) {
        snprintf(out + k, n - k, "%s", goes_on + is_first);
        return n;
    }
    return k + (size_t)snprintf(out + k, n - k, "%s %s", comma, entry);
}

void payload_text_of(const struct nvtxabi_schema *s, uint64_t id, char *out, size_t n)
{
    const char *name = s->fields & NVTXABI_SCHEMA_HAS_NAME && s->name ? s->name : "";
    size_t size = s->fields & NVTXABI_SCHEMA_HAS_SIZE ? s->static_size : 0;
    size_t k = (size_t)snprintf(out, n, "schema %llu '%.200s' size=%zu:", (unsigned long long)id, name, size);
    for (size_t i = 0; s->entries && i < s->n_entries && k < n; i++) {
        const struct nvtxabi_schema_entry *e = &s->entries[i];
        char flags[32] = "", length[32] = "", entry[232];
        if (e->flags)
            snprintf(flags, sizeof flags, "/%llu", (unsigned long long)e->flags);
        if (e->detail && (e->flags >> 4 & 7) <= 1) /* a fixed length; otherwise the place of the length */
            snprintf(length, sizeof length, "*%llu", (unsigned long long)e->detail);
        snprintf(entry, sizeof entry, "%.100s %llu@%llu%s%s", e->name ? e->name : "", (unsigned long long)e->type,
                 (unsigned long long)e->offset, flags, length);
        k = put_entry(out, n, k, i == 0, entry);
    }
}

void payload_text_of_enum(const struct nvtxabi_enum *e, uint64_t id, char *out, size_t n)
{
    const char *name = e->fields & NVTXABI_ENUM_HAS_NAME && e->name ? e->name : "";
    size_t size = e->fields & NVTXABI_ENUM_HAS_SIZE ? e->size : 0;
    size_t k = (size_t)snprintf(out, n, "enum %llu '%.200s' size=%zu:", (unsigned long long)id, name, size);
    for (size_t i = 0; e->entries && i < e->n_entries && k < n; i++) {
        char entry[200];
        snprintf(entry, sizeof entry, "%.100s=%llu", e->entries[i].name ? e->entries[i].name : "",
                 (unsigned long long)e->entries[i].value);
        k = put_entry(out, n, k, i == 0, entry);
    }
}

size_t payload_bytes(const struct nvtxabi_item *items, size_t n, unsigned char *out)
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
