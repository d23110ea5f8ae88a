/* hostwork.h - where the time of a step goes on a host without a GPU. Each instant is data loading or I/O where the
 * host is in such a range (hostranges.h). Else it is compute when a thread is in an operator, else communication when a
 * collective is under way, else overhead. An operator counts without the collectives it contains: those that lie wholly
 * in it, on its thread, or on another thread after a call for a collective in it. Ranges that a program names are
 * ignored.
 *
 * Pieces of time are sorted through a temporary file when there are many. Inside render/device only.
 * source: docs/metrics.md#hosts-without-a-gpu. Test: tests/unit/test_host_work.c */
#ifndef RENDER_DEVICE_HOSTWORK_H
#define RENDER_DEVICE_HOSTWORK_H

#include "render/device/steps.h"

struct code_log;
struct host_work;

/* A collective of a backend, or the call for one. */
struct host_comm {
    int64_t start_ns, end_ns, thread;
    enum host_name name;
};

/** host_work_new - steps: sorted (device_steps_sort); they count their operators. max_bytes: of pieces in memory.
 *  gives; free with host_work_free. NULL: out of memory */
struct host_work *host_work_new(struct device_steps *steps, size_t max_bytes);
/** host_work_comm - all collectives and calls for them. borrows until host_work_finish; sorted here. Once, first */
void host_work_comm(struct host_work *w, struct host_comm *list, size_t n);
/** host_work_add - any range of the host. Threads come one after the other, and the ranges of a thread come sorted by
 *  start. */
void host_work_add(struct host_work *w, int64_t thread, enum host_name name, int64_t start_ns, int64_t end_ns);
/** host_work_finish - compute, communication, hidden communication and collectives of the steps, which are settled.
 *  host     data loading and I/O
 *  code     settled; gets the overhead of the counted steps. NULL: it is not needed
 *  errors   DCR_FATAL: no memory or no temporary file */
int host_work_finish(struct host_work *w, const struct intervals *host, struct code_log *code, struct dcr_arena *arena,
                     struct dcr_err *err) DCR_MUST_CHECK;
/** host_work_phases - adds the parts of compute to the phases of the steps that device_steps_finish wrote.
 *  arena    of the arrays */
void host_work_phases(const struct host_work *w, struct dcr_arena *arena, struct reduced *out);
void host_work_free(struct host_work *w);

#endif
