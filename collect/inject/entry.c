/* entry.c - see entry.h. */
#include "collect/inject/entry.h"

#include "collect/inject/spool.h"

#define EXPORTED __attribute__((visibility("default")))

enum { NOT_RECORDING = -2 }; /* as NVTX: no tracking of push and pop */

EXPORTED int dcc_range_push(const char *domain, const char *category, const char *name, uint64_t payload)
{
    struct spool_track *t = spool_enter();
    if (!t)
        return NOT_RECORDING;
    uint32_t d = spool_domain_by_text(t, domain);
    struct dct_attr attr = {.category = spool_category_by_text(t, d, category)};
    if (payload != DCC_NO_PAYLOAD) {
        attr.payload_type = DCT_PAYLOAD_U64;
        attr.payload = payload;
    }
    int has_attr = attr.category || attr.payload_type;
    int level = spool_put_push(t, d, spool_name(t, name), has_attr ? &attr : 0);
    spool_leave(t);
    return level;
}

EXPORTED int dcc_range_pop(const char *domain)
{
    struct spool_track *t = spool_enter();
    if (!t)
        return NOT_RECORDING;
    int64_t now = spool_now_ns();
    int level = spool_put_pop(t, spool_domain_by_text(t, domain), now);
    spool_leave(t);
    return level;
}
