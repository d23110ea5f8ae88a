/* yields.c - gives way a thousand times and prints whether each time was a sleep of at least 50 us: all, none or some
 * of them. Another process on the core only makes it longer. The system counts a sleep as a voluntary switch unless the
 * process was preempted just before; a plain sched_yield never counts. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

static long long now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(void)
{
    struct rusage before, after;
    int n_long = 0;
    sched_yield(); /* the first call is looked up, which may read from a disk */
    getrusage(RUSAGE_THREAD, &before);
    for (int i = 0; i < 1000; i++) {
        long long begin = now_ns();
        sched_yield();
        n_long += now_ns() - begin >= 50000;
    }
    getrusage(RUSAGE_THREAD, &after);
    long sleeps = after.ru_nvcsw - before.ru_nvcsw;
    printf("%s\n", n_long == 1000 && sleeps > 0 ? "all" : sleeps == 0 ? "none" : "some");
    return 0;
}
