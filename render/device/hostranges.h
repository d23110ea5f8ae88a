/* hostranges.h - what the host did while the GPU ran: loading, files, and calls that wait for the GPU, the last for
 * each thread too. Gathered in any order, sorted through temporary files, merged at the end. Inside render/device only.
 * Test: tests/unit/test_activity.c */
#ifndef RENDER_DEVICE_HOSTRANGES_H
#define RENDER_DEVICE_HOSTRANGES_H

#include "render/device/activity.h"
#include "render/device/inside.h"

struct host_ranges;

/** host_ranges_new - NULL when out of memory. max_bytes: kept in memory before records go to a temporary file. */
struct host_ranges *host_ranges_new(size_t max_bytes);
void host_ranges_free(struct host_ranges *h);

/** host_ranges_thread - a number for a thread of a process, which host_ranges_wait() and operations refer to;
 *  THREAD_UNKNOWN beyond THREADS_MAX. */
int host_ranges_thread(struct host_ranges *h, int64_t process, int64_t thread);
/** host_ranges_thread_id - the thread that has this number, which must not be THREAD_UNKNOWN. */
int64_t host_ranges_thread_id(const struct host_ranges *h, int at);

/** host_ranges_add - a range of the host; a range without length, or one that ends beyond int64_t, is left out. */
void host_ranges_add(struct host_ranges *h, enum host_range kind, int64_t start_ns, int64_t dur_ns);

/** host_ranges_wait - a synchronising call; it counts for HOST_SYNC and for its thread. thread: THREAD_UNKNOWN = not
 *  said */
void host_ranges_wait(struct host_ranges *h, int thread, int64_t start_ns, int64_t dur_ns);

/** host_ranges_finish - once, when all are in.
 *  out          intervals, in arena; refers to h, which has to outlive it
 *  is_too_many  1: a kind, or all threads together, has more than a million intervals, and out holds only the first
 *               of them
 *  returns      0, or a negative DCR_* code with err filled in: a temporary file failed */
int host_ranges_finish(struct host_ranges *h, struct dcr_arena *arena, struct host_side *out, int *is_too_many,
                       struct dcr_err *err);

#endif
