/* collectives.h - collectives of a device by name, size and number of ranks, with the bandwidths of nccl-tests. Inside
 * render/device only. */
#ifndef RENDER_DEVICE_COLLECTIVES_H
#define RENDER_DEVICE_COLLECTIVES_H

#include "lib/base/arena.h"
#include "render/device/activity.h"

enum { COLLECTIVES_MAX = 512 }; /* kinds; further ones are not kept */

struct collective_kinds {
    struct device_collective *list;
    size_t n, cap;
};

/** collectives_add - one operation of known size; bytes as nccl-tests count them: of an all-gather the whole output, of
 * a reduce-scatter the whole input, else one buffer. */
void collectives_add(struct collective_kinds *k, struct dcr_arena *arena, const struct device_op *op);
/** collectives_of - by summed time, longest first.                                gives (arena); shape: (*n_out) */
struct device_collective *collectives_of(const struct collective_kinds *k, int64_t device, struct dcr_arena *arena,
                                         int *n_out);
/** collective_bus_factor - busbw / algbw: allreduce 2(n-1)/n; reduce-scatter, all-gather, all-to-all (n-1)/n; else 1.
 *  source   nccl-tests doc/PERFORMANCE.md. Test: tests/unit/test_activity.c */
double collective_bus_factor(const char *name, int64_t n_ranks);

#endif
