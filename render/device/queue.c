/* queue.c - see queue.h. */
#include "render/device/queue.h"

#include <stdlib.h>
#include <string.h>

enum { DEPTHS = 4096 }; /* deeper counts as this deep in the median and p75 */

void queue_add(struct spill *s, uint32_t device, int64_t stream, int64_t launch_ns, int64_t start_ns)
{
    struct queue_record r = {.key = {(int64_t)device << 32 | (stream & 0xffffffff), launch_ns}, .delta = 1};
    if (start_ns < launch_ns)
        return; /* clocks disagree */
    spill_add(s, &r);
    r.key.b = start_ns;
    r.delta = -1;
    spill_add(s, &r);
}

/* The smallest depth with at least that share of the events at or below it. */
static int64_t quantile(const int64_t *counts, int64_t n, int64_t num, int64_t den)
{
    int64_t seen = 0;
    for (int d = 0; d < DEPTHS; d++)
        if ((seen += counts[d]) * den >= n * num)
            return d;
    return DEPTHS;
}

int queue_finish(struct spill *s, struct device_queue *out, size_t n_devices, struct dcr_err *err)
{
    int64_t *counts = calloc((size_t)(n_devices + 1) * DEPTHS, sizeof *counts), key = -1, depth = 0;
    const struct queue_record *r;
    memset(out, 0, n_devices * sizeof *out);
    int rc = counts ? spill_sort(s, err) : dcr_err_set(err, DCR_FATAL, "out of memory");
    while (!rc && (r = spill_next(s)) != NULL) {
        depth = (r->key.a == key ? depth : 0) + r->delta;
        key = r->key.a;
        size_t d = (size_t)(key >> 32);
        if (d >= n_devices)
            continue;
        out[d].n++;
        out[d].sum += depth;
        out[d].max = depth > out[d].max ? depth : out[d].max;
        counts[d * DEPTHS + (size_t)(depth < 0 ? 0 : depth < DEPTHS ? depth : DEPTHS - 1)]++;
    }
    for (size_t d = 0; !rc && d < n_devices; d++) {
        out[d].median = quantile(counts + d * DEPTHS, out[d].n, 1, 2);
        out[d].p75 = quantile(counts + d * DEPTHS, out[d].n, 3, 4);
    }
    free(counts);
    return rc;
}
