/* perf.h - the processor's counters for a program and all it starts (perf_event_open): cycles, instructions, misses of
 * the last-level cache, cycles in which it waits for data or units, time on a processor. Each counter works or has a
 * reason why not; many machines and containers permit none. */
#ifndef COLLECT_PERF_H
#define COLLECT_PERF_H

#include "lib/base/err.h"

#include <jansson.h>
#include <stdint.h>
#include <sys/types.h>

enum { N_PERF = 5 }; /* in the order of their columns in process_monitor.csv */

/* Zero at first. */
struct perf {
    int fd[N_PERF]; /* -1 = not counted */
    int is_user_only[N_PERF];
    char why[N_PERF][200]; /* why it is not counted */
};

/** perf_open - begin to count the process and its future children. Call before it executes anything, because existing
 * threads are not followed. Failures are not errors: each counter that is missing has a reason. */
void perf_open(struct perf *p, pid_t pid);
/** perf_leave - count nothing, for the reason why. */
void perf_leave(struct perf *p, const char *why);
/** perf_describe - {"cycles": "ok" | "ok: user mode only" | "n/a because ...", ...}. gives */
json_t *perf_describe(const struct perf *p);
void perf_close(struct perf *p);

/** perf_open_cpu - count an event of any unit on one processor, for all programs. returns  a descriptor, or -1 (errno)
 */
int perf_open_cpu(uint32_t type, uint64_t config, int cpu);
/** perf_count - the count of a descriptor so far, scaled up when the counter had to be shared.
 *  returns  0, or -1 when it is not counted, or was never on a processor */
int perf_count(int fd, uint64_t *out);
/** perf_why - why the kernel refused a counter, from errno. */
void perf_why(char *out, size_t n, int error);

#endif
