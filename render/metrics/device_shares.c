/* device_shares.c - see device_shares.h. */
#include "render/metrics/device_shares.h"

double device_overlap_ratio(const struct run_device *d)
{
    return d->value[DEV_COMM] > 0 ? (double)d->value[DEV_OVERLAP] / (double)d->value[DEV_COMM] : -1;
}

int64_t device_non_compute_ns(const struct run_device *d)
{
    return d->value[DEV_BUSY] - d->value[DEV_COMPUTE];
}
