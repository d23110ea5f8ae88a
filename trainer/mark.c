/* mark.c - marks as NVTX ranges, or as direct calls into a collector. */
#include "trainer/mark.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define DOMAIN "dcrnn"

static const struct {
    const char *name;
    enum mark_category category;
} ranges[MARK_N_RANGES] = {
#define X(id, name, category) {name, category},
    MARK_RANGES(X)
#undef X
};

static const char *const categories[MARK_N_CATEGORIES] = {
#define X(id, name) name,
    MARK_CATEGORIES(X)
#undef X
};

#ifdef HAVE_NVTX

#include <nvtx3/nvToolsExt.h>

static struct {
    nvtxDomainHandle_t domain;
    nvtxEventAttributes_t attributes[MARK_N_RANGES];
} state;

void mark_open(void)
{
    state.domain = nvtxDomainCreateA(DOMAIN);
    /* ids from 1: 0 means no category */
    for (unsigned i = 0; i < MARK_N_CATEGORIES; i++)
        nvtxDomainNameCategoryA(state.domain, i + 1, categories[i]);
    for (int i = 0; i < MARK_N_RANGES; i++) {
        nvtxEventAttributes_t *a = &state.attributes[i];
        memset(a, 0, sizeof *a);
        a->version = NVTX_VERSION;
        a->size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
        a->category = (uint32_t)ranges[i].category + 1;
        a->payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
        a->messageType = NVTX_MESSAGE_TYPE_REGISTERED;
        a->message.registered = nvtxDomainRegisterStringA(state.domain, ranges[i].name);
    }
}

static nvtxEventAttributes_t with_payload(enum mark_range range, uint64_t payload)
{
    nvtxEventAttributes_t a = state.attributes[range];
    a.payload.ullValue = payload;
    return a;
}

void mark_push(enum mark_range range, uint64_t payload)
{
    const nvtxEventAttributes_t a = with_payload(range, payload);
    nvtxDomainRangePushEx(state.domain, &a);
}

void mark_pop(void)
{
    nvtxDomainRangePop(state.domain);
}

uint64_t mark_start(enum mark_range range, uint64_t payload)
{
    const nvtxEventAttributes_t a = with_payload(range, payload);
    return nvtxDomainRangeStartEx(state.domain, &a);
}

void mark_end(uint64_t id)
{
    nvtxDomainRangeEnd(state.domain, id);
}

const char *mark_way(void)
{
    return "nvtx";
}

#else

static struct {
    int (*push)(const char *domain, const char *category, const char *name, uint64_t payload);
    int (*pop)(const char *domain);
    uint64_t (*start)(const char *domain, const char *category, const char *name, uint64_t payload);
    void (*end)(const char *domain, uint64_t id);
} state;

/* ISO C has no conversion from object to function pointers; POSIX promises that the bits are the same. */
static void find(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol);
}

void mark_open(void)
{
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *library = path && *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!library)
        return;
    find(library, "dcc_range_push", &state.push);
    find(library, "dcc_range_pop", &state.pop);
    if (!state.push || !state.pop)
        state.push = NULL;
    find(library, "dcc_range_start", &state.start);
    find(library, "dcc_range_end", &state.end);
    if (!state.push || !state.start || !state.end) /* a collector of an earlier version without them */
        state.start = NULL;
}

void mark_push(enum mark_range range, uint64_t payload)
{
    if (state.push)
        state.push(DOMAIN, categories[ranges[range].category], ranges[range].name, payload);
}

void mark_pop(void)
{
    if (state.push)
        state.pop(DOMAIN);
}

uint64_t mark_start(enum mark_range range, uint64_t payload)
{
    if (!state.start)
        return 0;
    return state.start(DOMAIN, categories[ranges[range].category], ranges[range].name, payload);
}

void mark_end(uint64_t id)
{
    if (state.start)
        state.end(DOMAIN, id);
}

const char *mark_way(void)
{
    return state.push ? "collector" : "none";
}

#endif
