/* cache_misses.c - see cache_misses.h. */
#include "render/metrics/cache_misses.h"

#include "render/metrics/readings.h"

#include <string.h>

enum { LINE_BYTES = 64 }; /* a cache line of Intel's processors */

/* The first node whose processor counts misses of another cache under this name, NULL = none. */
static const struct run_node *other_cache(const struct run *a)
{
    for (int i = 0; i < a->nodes_len; i++)
        if (!strstr(a->nodes[i].cpu_model, "Intel"))
            return &a->nodes[i];
    return NULL;
}

/* -1 = they were not counted throughout. */
static double misses_per_ns(const struct run_rank *k)
{
    struct reading_window w = window_of_steps(k);
    if (k->n_delays < 2)
        return -1;
    if (w.to == w.from)
        w = (struct reading_window){k->delays[0].t_ns, k->delays[k->n_delays - 1].t_ns};
    if (!readings_cover(k->delays, k->n_delays, w))
        return -1;
    for (int i = 0; i < k->n_delays; i++)
        if (k->delays[i].misses < 0)
            return -1;
    return (double)(reading_at(k->delays, k->n_delays, w.to).misses -
                    reading_at(k->delays, k->n_delays, w.from).misses) /
           (double)(w.to - w.from);
}

struct reason missed_gb_per_s(const struct run *a, double *out)
{
    const struct run_node *other = other_cache(a);
    *out = 0;
    if (!a->ranks_len || !a->nodes_len)
        return REASON(NO_COUNTS);
    if (other)
        return REASON(COUNTS_OTHER_CACHE, slot_name(*other->cpu_model ? other->cpu_model : "this processor"));
    for (int i = 0; i < a->ranks_len; i++) {
        double rate = misses_per_ns(&a->ranks[i]);
        if (rate < 0)
            return REASON(MISSES_NOT_COUNTED);
        *out += rate * LINE_BYTES; /* bytes per nanosecond are GB/s */
    }
    return REASON(NONE);
}
