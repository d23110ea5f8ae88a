/* device_shares.c - see device_shares.h. */
#include "render/metrics/device_shares.h"

#include <math.h>

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
