/* source_gpu.c - GPUs of the host through NVML, opened at run time: neither headers nor library are needed to build.
 * Prototypes and numbers follow NVIDIA's NVML API reference; nvml.h is not used. */
#include "collect/record/nvml.h"
#include "collect/monitor/source.h"
#include "lib/archive/format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int configure(void *ctx, const struct source_config *config, struct dcr_err *err)
{
    (void)config;
    return nvml_open(ctx, err);
}

static void destroy(void *ctx)
{
    nvml_close(ctx);
}

/* 1 when the call exists and succeeded; else the first reason of the sample is kept. */
static int got(const struct nvml *n, int status, const char *what, int *rc, struct dcr_err *err)
{
    if (status == NVML_OK)
        return 1;
    if (*rc == DCR_OK)
        *rc = dcr_err_set(err, DCR_WARN, "%s: %s", what, nvml_reason(n, status));
    return 0;
}

static void put_device(const struct nvml *n, unsigned id, const struct tick *now, struct dcr_buf *row, int *rc,
                       struct dcr_err *err)
{
    void *device = n->devices[id];
    struct nvml_utilization use = {0};
    struct nvml_memory memory = {0};
    unsigned value = 0;
    unsigned long long reasons = 0;

    cell_time(row, now);
    cell_unsigned(row, id);
    int has = got(n, NVML_CALL(n, utilization, device, &use), "utilisation", rc, err);
    cell_if(row, has, use.gpu);
    cell_if(row, has, use.memory);
    has = got(n, NVML_CALL(n, memory, device, &memory), "memory", rc, err);
    cell_real_if(row, has, (double)memory.used / 1e6, 1);
    cell_real_if(row, has, (double)memory.total / 1e6, 1);
    has = got(n, NVML_CALL(n, temperature, device, NVML_TEMPERATURE_GPU, &value), "temperature", rc, err);
    cell_if(row, has, value);
    has = got(n, NVML_CALL(n, power, device, &value), "power", rc, err);
    cell_real_if(row, has, value / 1000.0, 1); /* NVML counts milliwatts */
    cell_int(row, now->mono_ns);
    has = got(n, NVML_CALL(n, clock, device, NVML_CLOCK_SM, &value), "clock", rc, err);
    cell_if(row, has, value);
    has = got(n, NVML_CALL(n, throttle_reasons, device, &reasons), "throttle reasons", rc, err);
    cell_if(row, has, reasons);
    /* If a device lacks a counter, the metadata give the reason with the device (meta.c). */
    for (int k = 0; k < N_NVML_COUNTERS; k++) {
        has = nvml_counter(n, device, (enum nvml_counter)k, &reasons) == NVML_OK;
        cell_if(row, has, reasons);
    }
    cell_end(row);
}

static int sample(void *ctx, const struct tick *now, struct dcr_buf *rows, struct outputs *out, struct dcr_err *err)
{
    const struct nvml *n = ctx;
    int rc = DCR_OK;
    (void)out;
    for (unsigned i = 0; i < n->n_devices; i++)
        put_device(n, i, now, rows, &rc, err);
    return rc;
}

const struct source source_gpu = {
    "gpu", DCR_GPU_MONITOR_COLUMNS(SOURCE_CELL), sizeof(struct nvml), configure, sample, destroy, NULL, 0};
