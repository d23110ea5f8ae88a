/* fake_cupti.c - a CUPTI without a GPU: the functions that the collector calls, over buffers built with the structs of
 * the real header. fake_emit, called by cupti_program.c, fills them.
 *   FAKE_CUPTI=refuse   cuptiActivityEnable fails, as without permission
 *   FAKE_CUPTI=drop     seven dropped records are reported with every buffer */
#include <cupti.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int fake_emit(long n);

static CUpti_BuffersCallbackRequestFunc request;
static CUpti_BuffersCallbackCompleteFunc complete;
static unsigned enabled;
static uint8_t *buffer;
static size_t size, used, n_dropped, n_lost;

/* A separate clock: an hour ahead, and 100 parts in a million faster. */
static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    uint64_t ns = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
    return ns + ns / 10000 + 3600000000000ull;
}

static int is(const char *word)
{
    const char *mode = getenv("FAKE_CUPTI");
    return mode && strcmp(mode, word) == 0;
}

CUptiResult cuptiGetVersion(uint32_t *version)
{
    *version = CUPTI_API_VERSION;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetTimestamp(uint64_t *timestamp)
{
    *timestamp = now();
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char **text)
{
    *text = result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES" : "CUPTI_ERROR";
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc r, CUpti_BuffersCallbackCompleteFunc c)
{
    request = r;
    complete = c;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
    if (is("refuse"))
        return CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
    enabled++;
    return kind == CUPTI_ACTIVITY_KIND_OVERHEAD ? CUPTI_ERROR_NOT_SUPPORTED : CUPTI_SUCCESS;
}

enum { RUNTIME_LAUNCH = 211, DRIVER_LAUNCH = 307, RUNTIME_ASKS = 17, DRIVER_ASKS = 90, NAMELESS = 9999 };

CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t id, const char **name)
{
    int is_runtime = domain == CUPTI_CB_DOMAIN_RUNTIME_API;
    *name = id == RUNTIME_ASKS && is_runtime   ? "cudaGetDevice_v3020"
            : id == DRIVER_ASKS && !is_runtime ? "cuEventQuery"
            : is_runtime                       ? "cudaLaunchKernel_v7000"
                                               : "cuLaunchKernel";
    return id == RUNTIME_LAUNCH || id == DRIVER_LAUNCH || id == (is_runtime ? RUNTIME_ASKS : DRIVER_ASKS)
               ? CUPTI_SUCCESS
               : CUPTI_ERROR_INVALID_PARAMETER;
}

static int runtime_asks_is_off, driver_asks_is_off;

CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId id, uint8_t enable)
{
    runtime_asks_is_off |= id == RUNTIME_ASKS && !enable;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId id, uint8_t enable)
{
    driver_asks_is_off |= id == DRIVER_ASKS && !enable;
    return CUPTI_SUCCESS;
}

static size_t size_of(const CUpti_Activity *a)
{
    switch (a->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        return sizeof(CUpti_ActivityKernel10);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
        return sizeof(CUpti_ActivityMemcpy6);
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
        return sizeof(CUpti_ActivityMemcpyPtoP4);
    case CUPTI_ACTIVITY_KIND_MEMSET:
        return sizeof(CUpti_ActivityMemset4);
    case CUPTI_ACTIVITY_KIND_MEMORY2:
        return sizeof(CUpti_ActivityMemory4);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
        return sizeof(CUpti_ActivitySynchronization2);
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
        return sizeof(CUpti_ActivityOverhead3);
    default:
        return sizeof(CUpti_ActivityAPI);
    }
}

CUptiResult cuptiActivityGetNextRecord(uint8_t *b, size_t valid, CUpti_Activity **record)
{
    uint8_t *next = *record ? (uint8_t *)*record + (size_of(*record) + 7) / 8 * 8 : b;
    if (next >= b + valid)
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = (CUpti_Activity *)next;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream, size_t *dropped)
{
    (void)context, (void)stream;
    *dropped = n_dropped;
    n_dropped = 0;
    return CUPTI_SUCCESS;
}

static void hand_over(void)
{
    if (!buffer)
        return;
    n_dropped += is("drop") ? 7 : 0;
    complete(NULL, 0, buffer, size, used);
    buffer = NULL;
}

CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
    (void)flag;
    hand_over();
    return CUPTI_SUCCESS;
}

/* Room for a record in the current buffer, or in a new one; NULL: the record is dropped. */
static void *room(size_t n)
{
    n = (n + 7) / 8 * 8;
    if (buffer && used + n > size)
        hand_over();
    if (!buffer) {
        size_t max = 0;
        request(&buffer, &size, &max);
        used = 0;
        if (!buffer) {
            n_dropped++;
            n_lost++;
            return NULL;
        }
    }
    uint8_t *at = buffer + used;
    used += n;
    memset(at, 0x5a, n); /* fields that are not set must not matter */
    return at;
}

#define RECORD(type, name, the_kind) \
    type *name = room(sizeof *name); \
    if (name)                        \
    name->kind = CUPTI_ACTIVITY_KIND_##the_kind

static void emit_call(CUpti_ActivityKind kind, uint32_t id, uint64_t start, uint64_t end, uint32_t correlation)
{
    RECORD(CUpti_ActivityAPI, r, RUNTIME);
    if (r)
        r->kind = kind, r->cbid = id, r->start = start, r->end = end, r->threadId = 77, r->processId = 1,
        r->correlationId = correlation, r->returnValue = kind == CUPTI_ACTIVITY_KIND_DRIVER;
}

static void emit_one(uint32_t i, uint64_t t)
{
    if (!runtime_asks_is_off)
        emit_call(CUPTI_ACTIVITY_KIND_RUNTIME, RUNTIME_ASKS, t, t + 100, 0);
    if (!driver_asks_is_off)
        emit_call(CUPTI_ACTIVITY_KIND_DRIVER, DRIVER_ASKS, t, t + 100, 0);
    emit_call(CUPTI_ACTIVITY_KIND_RUNTIME, RUNTIME_LAUNCH, t, t + 5000, i);
    emit_call(CUPTI_ACTIVITY_KIND_DRIVER, i % 2 ? DRIVER_LAUNCH : NAMELESS, t + 1000, t + 4000, i);
    RECORD(CUpti_ActivityKernel10, k, CONCURRENT_KERNEL);
    if (k) {
        k->name = "_Z4spinPfx";
        k->start = t + 10000, k->end = t + 30000, k->deviceId = 1, k->contextId = 2, k->streamId = 7;
        k->gridX = 132, k->gridY = 2, k->gridZ = 3, k->blockX = 256, k->blockY = 4, k->blockZ = 5;
        k->registersPerThread = 40, k->staticSharedMemory = 1024, k->dynamicSharedMemory = 2048;
        k->correlationId = i, k->graphId = 6, k->graphNodeId = 0x600000001ull;
    }
    RECORD(CUpti_ActivityMemcpy6, m, MEMCPY);
    if (m)
        m->copyKind = 1, m->bytes = 4096, m->start = t + 31000, m->end = t + 32000, m->deviceId = 1, m->contextId = 2,
        m->streamId = 8, m->correlationId = i, m->graphId = 0, m->graphNodeId = 0;
    RECORD(CUpti_ActivityMemcpyPtoP4, p, MEMCPY2);
    if (p)
        p->copyKind = 10, p->bytes = 8192, p->start = t + 32000, p->end = t + 33000, p->deviceId = 1, p->contextId = 2,
        p->streamId = 8, p->correlationId = i, p->graphId = 0, p->graphNodeId = 0;
    RECORD(CUpti_ActivityMemset4, s, MEMSET);
    if (s)
        s->bytes = 512, s->start = t + 33000, s->end = t + 34000, s->deviceId = 1, s->contextId = 2, s->streamId = 8,
        s->correlationId = i, s->graphId = 0, s->graphNodeId = 0;
    RECORD(CUpti_ActivityMemory4, a, MEMORY2);
    if (a)
        a->memoryOperationType = i % 2 ? 1 : 2, a->bytes = 1 << 20, a->timestamp = t + 35000, a->address = 0xabc000,
        a->deviceId = 1, a->contextId = 2, a->streamId = 0, a->correlationId = i;
    RECORD(CUpti_ActivitySynchronization2, y, SYNCHRONIZATION);
    if (y)
        y->type = 3, y->start = t + 36000, y->end = t + 37000, y->correlationId = i, y->contextId = 2, y->streamId = 7;
    RECORD(CUpti_ActivityOverhead3, o, OVERHEAD);
    if (o)
        o->overheadKind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH, o->start = t + 38000, o->end = t + 39000;
}

/* n records of each of nine kinds, about now. returns the number of dropped ones */
int fake_emit(long n)
{
    for (long i = 1; enabled && i <= n; i++)
        emit_one((uint32_t)i, now());
    return (int)n_lost;
}
