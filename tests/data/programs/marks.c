/* marks.c - one sequence of ranges by one of two routes: through NVTX (-DHAVE_NVTX), or through the collector's own
 * entry points, as a program built without NVTX's headers finds them. Both traces must have the same content.
 *   marks [N [SIGNAL [STATUS]]]   N steps (3); after half of them raise SIGNAL; exit with STATUS
 * MARKS_STEP_US: length of a step's forward range in microseconds. MARKS_RANK: only this rank raises.
 * MARKS_BUCKETS: two process ranges in each step, which overlap and end in the order of their start. */
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef HAVE_NVTX
#include <nvtx3/nvToolsExt.h>

static nvtxDomainHandle_t domain;

static void begin(void)
{
    domain = nvtxDomainCreateA("dcrnn");
    nvtxDomainNameCategoryA(domain, 1, "step");
    nvtxDomainNameCategoryA(domain, 2, "compute");
}

static int push(const char *category, const char *name, uint64_t payload)
{
    nvtxEventAttributes_t a = {0};
    a.version = NVTX_VERSION;
    a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    a.category = strcmp(category, "step") == 0 ? 1 : strcmp(category, "compute") == 0 ? 2 : 0;
    if (payload != UINT64_MAX) {
        a.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
        a.payload.ullValue = payload;
    }
    a.messageType = NVTX_MESSAGE_TYPE_ASCII;
    a.message.ascii = name;
    return nvtxDomainRangePushEx(domain, &a);
}

static int pop(void)
{
    return nvtxDomainRangePop(domain);
}

static uint64_t start(const char *name, uint64_t payload)
{
    nvtxEventAttributes_t a = {0};
    a.version = NVTX_VERSION;
    a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    a.category = 2;
    a.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
    a.payload.ullValue = payload;
    a.messageType = NVTX_MESSAGE_TYPE_ASCII;
    a.message.ascii = name;
    return nvtxDomainRangeStartEx(domain, &a);
}

static void end(uint64_t id)
{
    nvtxDomainRangeEnd(domain, id);
}
#else
static int (*own_push)(const char *, const char *, const char *, uint64_t);
static int (*own_pop)(const char *);
static uint64_t (*own_start)(const char *, const char *, const char *, uint64_t);
static void (*own_end)(const char *, uint64_t);

static void begin(void)
{
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_NOW) : NULL;
    if (!library)
        return;
    *(void **)&own_push = dlsym(library, "dcc_range_push");
    *(void **)&own_pop = dlsym(library, "dcc_range_pop");
    *(void **)&own_start = dlsym(library, "dcc_range_start");
    *(void **)&own_end = dlsym(library, "dcc_range_end");
}

static int push(const char *category, const char *name, uint64_t payload)
{
    return own_push ? own_push("dcrnn", category, name, payload) : 0;
}

static int pop(void)
{
    return own_pop ? own_pop("dcrnn") : 0;
}

static uint64_t start(const char *name, uint64_t payload)
{
    return own_start ? own_start("dcrnn", "compute", name, payload) : 0;
}

static void end(uint64_t id)
{
    if (own_end)
        own_end("dcrnn", id);
}
#endif

int main(int argc, char **argv)
{
    int n = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 3;
    int signal = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 0;
    int has_buckets = getenv("MARKS_BUCKETS") != NULL;
    const char *length = getenv("MARKS_STEP_US"), *only = getenv("MARKS_RANK"), *rank = getenv("OMPI_COMM_WORLD_RANK");
    if (only && rank && strcmp(only, rank) != 0)
        signal = 0;
    begin();
    for (int i = 0; i < n; i++) {
        char name[32];
        uint64_t bucket[2] = {0};
        int a = push("step", "step", (uint64_t)i);
        if (has_buckets)
            bucket[0] = start("bucket", 100);
        snprintf(name, sizeof name, "forward"); /* the same buffer for both names, because the text counts and not its
                                                 * address */
        int b = push("compute", name, UINT64_MAX);
        if (length)
            usleep((useconds_t)strtol(length, NULL, 10));
        int c = pop();
        snprintf(name, sizeof name, "backward");
        push("compute", name, UINT64_MAX);
        pop();
        if (has_buckets)
            bucket[1] = start("bucket", 101);
        for (int k = 0; has_buckets && k < 2; k++)
            end(bucket[k]);
        push("", "unsorted", UINT64_MAX);
        if (signal && i == n / 2)
            raise(signal);
        pop();
        int d = pop();
        if (getenv("MARKS_LEVELS"))
            printf("levels %d %d %d %d\n", a, b, c, d);
    }
    return argc > 3 ? (int)strtol(argv[3], NULL, 10) : 0;
}
