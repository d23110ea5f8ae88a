/* entry.c - see entry.h. */
#include "collect/guest/entry.h"

#include "collect/guest/hot.h"

enum { NOT_RECORDING = -2 }; /* the value of NVTX for "push and pop are not tracked" */

/* Category and payload of an event; returns NULL when it has neither. */
static const struct dct_attr *attr_of(struct spool_track *t, uint32_t domain, const char *category, uint64_t payload,
                                      struct dct_attr *out)
{
    *out = (struct dct_attr){.category = spool_category_by_text(t, domain, category)};
    if (payload != DCC_NO_PAYLOAD) {
        out->payload_type = DCT_PAYLOAD_U64;
        out->payload = payload;
    }
    return out->category || out->payload_type ? out : 0;
}

EXPORTED int dcc_range_push(const char *domain, const char *category, const char *name, uint64_t payload)
{
    struct spool_track *t = hot_enter();
    if (!t)
        return NOT_RECORDING;
    struct dct_attr attr;
    uint32_t d = spool_domain_by_text(t, domain);
    int level = hot_push(t, d, hot_name(t, name), attr_of(t, d, category, payload, &attr));
    hot_leave();
    return level;
}

EXPORTED int dcc_range_pop(const char *domain)
{
    struct spool_track *t = hot_enter_to_end();
    if (!t)
        return NOT_RECORDING;
    int64_t now = clock_now_ns(&t->clock);
    int level = hot_pop(t, spool_domain_by_text(t, domain), now);
    hot_leave();
    return level;
}

EXPORTED uint64_t dcc_range_start(const char *domain, const char *category, const char *name, uint64_t payload)
{
    struct spool_track *t = hot_enter();
    if (!t)
        return 0;
    struct dct_attr attr;
    uint32_t d = spool_domain_by_text(t, domain);
    uint64_t id = spool_put_start(t, d, hot_name(t, name), attr_of(t, d, category, payload, &attr), NULL);
    hot_leave();
    return id;
}

EXPORTED void dcc_range_end(const char *domain, uint64_t id)
{
    if (!id)
        return;
    struct spool_track *t = hot_enter_to_end();
    if (!t)
        return;
    int64_t now = clock_now_ns(&t->clock);
    spool_put_end(t, spool_domain_by_text(t, domain), id, now, NULL, NULL);
    hot_leave();
}
