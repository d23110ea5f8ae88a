/* nvtx_cost.c - thread CPU time of one push + pop as the collector records it, per thread, for 1 and 8 threads.
 * Run by tests/bench/nvtx_cost.sh; prints medians of 9 repetitions. */
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

static void measure(const char *label, void (*f)(void), int n_threads)
{
    double all[REPEATS];
    work = f;
    for (int r = 0; r < REPEATS; r++) {
        pthread_t threads[MAX_THREADS];
        double sum = 0;
        for (int i = 0; i < n_threads; i++)
            pthread_create(&threads[i], NULL, thread_main, &result[i]);
        for (int i = 0; i < n_threads; i++)
            pthread_join(threads[i], NULL);
        for (int i = 0; i < n_threads; i++)
            sum += result[i];
        all[r] = sum / n_threads;
    }
    qsort(all, REPEATS, sizeof *all, by_value);
    printf("%-46s %d thread%s  %6.1f ns per pair  (%.1f to %.1f)\n", label, n_threads, n_threads > 1 ? "s" : " ",
           all[REPEATS / 2], all[0], all[REPEATS - 1]);
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
    measure("two clock reads alone", pairs_clock, 1);
    for (int n = 1; n <= MAX_THREADS; n += MAX_THREADS - 1) {
        measure("dcc_range_push, dcc_range_pop", pairs_own, n);
#ifdef HAVE_NVTX
        measure("nvtxRangePushA, nvtxRangePop", pairs_plain, n);
        measure("nvtxDomainRangePushEx (registered, payload)", pairs_domain, n);
#endif
    }
    return 0;
}
