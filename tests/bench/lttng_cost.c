/* lttng_cost.c - thread CPU time of two LTTng-UST tracepoints (as a push and a pop), recorded by a session that is
 * running; the yardstick of tests/bench/collect.sh. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "tests/bench/lttng_cost.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { PAIRS = 100000, REPEATS = 9, MAX_THREADS = 8 };
static double result[MAX_THREADS];

static void *work(void *arg)
{
    struct timespec a, b;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
    for (int i = 0; i < PAIRS; i++) {
        lttng_ust_tracepoint(dcr_bench, push, "forward");
        lttng_ust_tracepoint(dcr_bench, pop, i);
    }
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
    *(double *)arg = ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / PAIRS;
    return NULL;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(void)
{
    for (int n = 1; n <= MAX_THREADS; n += MAX_THREADS - 1) {
        double all[REPEATS];
        for (int r = 0; r < REPEATS; r++) {
            pthread_t t[MAX_THREADS];
            all[r] = 0;
            for (int i = 0; i < n; i++)
                pthread_create(&t[i], NULL, work, &result[i]);
            for (int i = 0; i < n; i++) {
                pthread_join(t[i], NULL);
                all[r] += result[i] / n;
            }
        }
        qsort(all, REPEATS, sizeof *all, by_value);
        printf("%-46s %d thread%s  %6.1f ns per pair  (%.1f to %.1f)\n", "LTTng-UST, two tracepoints", n,
               n > 1 ? "s" : " ", all[REPEATS / 2], all[0], all[REPEATS - 1]);
    }
    return 0;
}
