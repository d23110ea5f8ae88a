/* nvtx_cost.c - thread CPU time of one push + pop as the collector records it, per thread, for 1 and 8 threads,
 * and of two clock reads in as many. Run by tests/bench/nvtx_cost.sh; prints medians of 9 repetitions. */
#ifdef HAVE_NVTX
#include <nvtx3/nvToolsExt.h>
#endif

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { PAIRS = 100000, REPEATS = 9, MAX_THREADS = 8 };

static int (*own_push)(const char *, const char *, const char *, uint64_t);
static int (*own_pop)(const char *);

static int64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void pairs_clock(void)
{
    struct timespec t;
    for (int i = 0; i < PAIRS; i++) {
        clock_gettime(CLOCK_MONOTONIC, &t);
        clock_gettime(CLOCK_MONOTONIC, &t);
    }
}

static void pairs_own(void)
{
    for (int i = 0; i < PAIRS; i++) {
        own_push("bench", "compute", "forward", UINT64_MAX);
        own_pop("bench");
    }
}

#ifdef HAVE_NVTX
static void pairs_plain(void)
{
    for (int i = 0; i < PAIRS; i++) {
        nvtxRangePushA("forward");
        nvtxRangePop();
    }
}

static void pairs_domain(void)
{
    nvtxDomainHandle_t domain = nvtxDomainCreateA("bench");
    nvtxEventAttributes_t a = {0};
    a.version = NVTX_VERSION;
    a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    a.category = 1;
    a.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
    a.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    a.message.registered = nvtxDomainRegisterStringA(domain, "backward");
    for (int i = 0; i < PAIRS; i++) {
        a.payload.ullValue = (uint64_t)i;
        nvtxDomainRangePushEx(domain, &a);
        nvtxDomainRangePop(domain);
    }
}
#endif

static void (*work)(void);
static double result[MAX_THREADS];

static void *thread_main(void *arg)
{
    double *out = arg;
    int64_t t0 = cpu_ns();
    work();
    *out = (double)(cpu_ns() - t0) / PAIRS;
    return NULL;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static const struct {
    const char *label;
    void (*work)(void);
} cases[] = {
    {"two clock reads alone", pairs_clock},
    {"dcc_range_push, dcc_range_pop", pairs_own},
#ifdef HAVE_NVTX
    {"nvtxRangePushA, nvtxRangePop", pairs_plain},
    {"nvtxDomainRangePushEx (registered, payload)", pairs_domain},
#endif
};
enum { N_CASES = sizeof cases / sizeof *cases };

/* Mean of the threads of one repetition, in ns. */
static double repeat(void (*f)(void), int n_threads)
{
    pthread_t threads[MAX_THREADS];
    double sum = 0;
    work = f;
    for (int i = 0; i < n_threads; i++)
        pthread_create(&threads[i], NULL, thread_main, &result[i]);
    for (int i = 0; i < n_threads; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < n_threads; i++)
        sum += result[i];
    return sum / n_threads;
}

/* All cases in turns, so that a host that is busy for a second is so for each of them: a pair of events beside the
 * clock reads of the same seconds and threads tells a slow recorder from a slow machine. */
static void measure(int n_threads)
{
    double all[N_CASES][REPEATS];
    for (int r = 0; r < REPEATS; r++)
        for (int c = 0; c < N_CASES; c++)
            all[c][r] = repeat(cases[c].work, n_threads);
    for (int c = 0; c < N_CASES; c++) {
        qsort(all[c], REPEATS, sizeof *all[c], by_value);
        printf("%-46s %d thread%s  %6.1f ns per pair  (%.1f to %.1f)\n", cases[c].label, n_threads,
               n_threads > 1 ? "s" : " ", all[c][REPEATS / 2], all[c][0], all[c][REPEATS - 1]);
    }
}

int main(void)
{
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *so = path ? dlopen(path, RTLD_NOW) : NULL;
    if (!so) {
        fprintf(stderr, "nvtx_cost: run it under dccollect\n");
        return 2;
    }
    *(void **)&own_push = dlsym(so, "dcc_range_push");
    *(void **)&own_pop = dlsym(so, "dcc_range_pop");
    measure(1);
    measure(MAX_THREADS);
    return 0;
}
