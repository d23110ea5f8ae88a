/* device_shares.c - see device_shares.h. */
#include "render/metrics/device_shares.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double device_overlap_ratio(const struct run_device *d)
{
    return d->value[DEV_COMM] > 0 ? (double)d->value[DEV_OVERLAP] / (double)d->value[DEV_COMM] : -1;
}

int64_t device_non_compute_ns(const struct run_device *d)
{
    return d->value[DEV_BUSY] - d->value[DEV_COMPUTE];
}

double traced_utilization(const struct run *a)
{
    double kernel = 0, steps = 0;
    for (int i = 0; i < a->n_traces; i++)
        for (int k = 0; k < a->traces[i].n_devices; k++) {
            kernel += (double)a->traces[i].devices[k].steps_kernel_ns;
            steps += (double)a->traces[i].devices[k].steps_ns;
        }
    return steps > 0 ? kernel / steps : NAN;
}

double device_idle_ratio(const struct run_device *d)
{
    return d->value[DEV_SPAN] > 0 ? (double)d->value[DEV_IDLE] / (double)d->value[DEV_SPAN] : 0;
}

const struct run_device *least_busy_device(const struct run *a)
{
    const struct run_device *least = NULL;
    for (int t = 0; t < a->n_traces; t++)
        for (int k = 0; k < a->traces[t].n_devices; k++) {
            const struct run_device *d = &a->traces[t].devices[k];
            if (d->value[DEV_SPAN] > 0 && (!least || device_idle_ratio(d) > device_idle_ratio(least)))
                least = d;
        }
    return least;
}

static int by_function(const void *a, const void *b)
{
    const struct code_line *x = a, *y = b;
    int c = strcmp(x->place, y->place);
    return c ? c : strcmp(x->function, y->function);
}

int largest_function(const struct foreign_trace *traces, int n_traces, int is_unnamed, struct function_share *out)
{
    struct dcr_arena arena = {0};
    int64_t n = 0, time = 0, sum = 0, most = 0;
    for (int i = 0; i < n_traces; i++)
        n += traces[i].code.is_unnamed == is_unnamed ? traces[i].code.n : 0;
    struct code_line *all = dcr_arena_alloc(&arena, (size_t)(n + 1) * sizeof *all);
    n = 0;
    for (int i = 0; i < n_traces; i++)
        if (traces[i].code.is_unnamed == is_unnamed && traces[i].code.n) {
            memcpy(&all[n], traces[i].code.list, (size_t)traces[i].code.n * sizeof *all);
            n += traces[i].code.n;
            time += traces[i].code.idle_ns;
        }
    if (n > 1)
        qsort(all, (size_t)n, sizeof *all, by_function);
    for (int64_t i = 0; i < n; i++) {
        sum = i > 0 && by_function(&all[i - 1], &all[i]) == 0 ? sum + all[i].idle_ns : all[i].idle_ns;
        if (sum > most && *all[i].function) { /* lines beyond the limit share one without a function */
            most = sum;
            *out = (struct function_share){all[i].place, all[i].function, (double)sum / (double)time};
        }
    }
    dcr_arena_release(&arena);
    return most > 0;
}
