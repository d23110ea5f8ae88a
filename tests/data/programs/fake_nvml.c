/* fake_nvml.c - an NVML with two devices: the first has everything, the second neither NVLink, ECC nor PCIe counters.
 * Built as libnvidia-ml.so.1 and put on LD_LIBRARY_PATH. */
#include <stdio.h>
#include <string.h>

enum { OK = 0, NOT_SUPPORTED = 3 };
struct utilization {
    unsigned gpu, memory;
};
struct memory {
    unsigned long long total, free, used;
};
struct field {
    unsigned id, scope;
    long long timestamp_us, latency_us;
    unsigned type;
    int status;
    unsigned long long value;
};

static int devices[2], n_calls;

int nvmlInit_v2(void)
{
    return OK;
}
int nvmlShutdown(void)
{
    return OK;
}
const char *nvmlErrorString(int status)
{
    return status == NOT_SUPPORTED ? "Not Supported" : "Unknown Error";
}
int nvmlDeviceGetCount_v2(unsigned *n)
{
    *n = 2;
    return OK;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **device)
{
    *device = &devices[i];
    return OK;
}
int nvmlDeviceGetName(void *d, char *out, unsigned n)
{
    snprintf(out, n, "Fake %d", (int)((int *)d - devices));
    return OK;
}
int nvmlSystemGetDriverVersion(char *out, unsigned n)
{
    snprintf(out, n, "550.1");
    return OK;
}
int nvmlDeviceGetUtilizationRates(void *d, struct utilization *u)
{
    (void)d;
    *u = (struct utilization){70, 30};
    return OK;
}
int nvmlDeviceGetMemoryInfo(void *d, struct memory *m)
{
    (void)d;
    *m = (struct memory){80000000000ull, 60000000000ull, 20000000000ull};
    return OK;
}
int nvmlDeviceGetTemperature(void *d, int sensor, unsigned *c)
{
    (void)d, (void)sensor;
    *c = 50;
    return OK;
}
int nvmlDeviceGetPowerUsage(void *d, unsigned *mw)
{
    (void)d;
    *mw = 300500;
    return OK;
}
int nvmlDeviceGetClockInfo(void *d, int type, unsigned *mhz)
{
    (void)d, (void)type;
    *mhz = 1410;
    return OK;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void *d, unsigned long long *bits)
{
    (void)d;
    *bits = 4;
    return OK;
}
int nvmlDeviceGetTotalEccErrors(void *d, int type, int period, unsigned long long *n)
{
    *n = type == 0 ? 12 : 1;
    return d == &devices[1] || period != 0 ? NOT_SUPPORTED : OK;
}
int nvmlDeviceGetFieldValues(void *d, int n, struct field *f)
{
    for (int i = 0; i < n; i++) {
        int is_link = f[i].id == 138 || f[i].id == 139;
        f[i].status = d == &devices[1] || (is_link && f[i].scope != ~0u) ? NOT_SUPPORTED : OK;
        f[i].type = 3;
        f[i].value = is_link ? f[i].id : 1000000ull * f[i].id + (unsigned)n_calls++;
    }
    return OK;
}
