/* burst.c - makes ranges as fast as possible, through the collector's own entry points.
 *   burst N [THREADS [REST_MS [RATE]]]
 * Each thread makes N ranges, which are 2N events. At the end the program prints the number of events and its peak
 * memory in MB, without mapped files. With REST_MS each thread rests that long after its first range and then makes
 * RATE ranges per second (50,000). */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int (*push)(const char *, const char *, const char *, uint64_t);
static int (*pop)(const char *);
static long n, rest_ms, rate = 50000;

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void pace(long i)
{
    static __thread int64_t begun_ns;
    if (i == 1)
        usleep((useconds_t)rest_ms * 1000);
    if (i == 1)
        begun_ns = now_ns();
    while (i > 1 && now_ns() < begun_ns + i * (1000000000 / rate))
        ;
}

static void *work(void *arg)
{
    for (long i = 0; i < n; i++) {
        if (rest_ms)
            pace(i);
        push("burst", "compute", "one of many", UINT64_MAX);
        pop("burst");
    }
    return arg;
}

static long memory_mb(void)
{
    char line[200];
    long kb = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, "RssAnon:", 8) == 0)
            kb = strtol(line + 8, NULL, 10);
    if (f)
        fclose(f);
    return kb / 1024;
}

int main(int argc, char **argv)
{
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_NOW) : NULL;
    n = argc > 1 ? strtol(argv[1], NULL, 10) : 1000;
    long n_threads = argc > 2 ? strtol(argv[2], NULL, 10) : 1;
    rest_ms = argc > 3 ? strtol(argv[3], NULL, 10) : 0;
    rate = argc > 4 ? strtol(argv[4], NULL, 10) : rate;
    if (!library || n_threads > 64 || rate < 1)
        return 2;
    *(void **)&push = dlsym(library, "dcc_range_push");
    *(void **)&pop = dlsym(library, "dcc_range_pop");
    pthread_t t[64];
    for (long i = 0; i < n_threads; i++)
        pthread_create(&t[i], NULL, work, NULL);
    for (long i = 0; i < n_threads; i++)
        pthread_join(t[i], NULL);
    printf("%ld %ld\n", 2 * n * n_threads, memory_mb());
    return 0;
}
