/* nvml.c - see nvml.h. */
#include "collect/nvml.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static int no_utilization(void *d, struct nvml_utilization *u)
{
    (void)d, (void)u;
    return NVML_MISSING;
}
static int no_memory(void *d, struct nvml_memory *m)
{
    (void)d, (void)m;
    return NVML_MISSING;
}
static int no_number_of(void *d, int which, unsigned *value)
{
    (void)d, (void)which, (void)value;
    return NVML_MISSING;
}
static int no_number(void *d, unsigned *value)
{
    (void)d, (void)value;
    return NVML_MISSING;
}
static int no_bits(void *d, unsigned long long *value)
{
    (void)d, (void)value;
    return NVML_MISSING;
}
static int no_name(void *d, char *out, unsigned n)
{
    (void)d, (void)out, (void)n;
    return NVML_MISSING;
}
static int no_version(char *out, unsigned n)
{
    (void)out, (void)n;
    return NVML_MISSING;
}

const char *nvml_reason(const struct nvml *n, int status)
{
    if (status == NVML_MISSING)
        return "this driver has no such function";
    return n->error_string ? n->error_string(status) : "NVML gives no reason";
}

/* POSIX lets a pointer from dlsym be stored through a void pointer. */
#define FIND(field, symbol, otherwise)                   \
    do {                                                 \
        *(void **)&n->field = dlsym(n->library, symbol); \
        if (!n->field)                                   \
            n->field = otherwise;                        \
    } while (0)

static void find_functions(struct nvml *n)
{
    FIND(shutdown, "nvmlShutdown", NULL);
    FIND(error_string, "nvmlErrorString", NULL);
    FIND(utilization, "nvmlDeviceGetUtilizationRates", no_utilization);
    FIND(memory, "nvmlDeviceGetMemoryInfo", no_memory);
    FIND(temperature, "nvmlDeviceGetTemperature", no_number_of);
    FIND(power, "nvmlDeviceGetPowerUsage", no_number);
    FIND(clock, "nvmlDeviceGetClockInfo", no_number_of);
    FIND(throttle_reasons, "nvmlDeviceGetCurrentClocksThrottleReasons", no_bits);
    FIND(name, "nvmlDeviceGetName", no_name);
    FIND(driver_version, "nvmlSystemGetDriverVersion", no_version);
}

static int find_devices(struct nvml *n, struct dcr_err *err)
{
    int (*count)(unsigned *), (*handle)(unsigned, void **);
    *(void **)&count = dlsym(n->library, "nvmlDeviceGetCount_v2");
    *(void **)&handle = dlsym(n->library, "nvmlDeviceGetHandleByIndex_v2");
    unsigned found = 0;
    if (!count || !handle)
        return dcr_err_set(err, DCR_FAIL, "NVML is older than this collector can use");
    int status = count(&found);
    if (status != NVML_OK)
        return dcr_err_set(err, DCR_FAIL, "NVML cannot count devices: %s", nvml_reason(n, status));
    for (unsigned i = 0; i < found && n->n_devices < NVML_MAX_DEVICES; i++)
        if (handle(i, &n->devices[n->n_devices]) == NVML_OK)
            n->n_devices++;
    return n->n_devices ? DCR_OK : dcr_err_set(err, DCR_FAIL, "NVML sees no device");
}

int nvml_open(struct nvml *n, struct dcr_err *err)
{
    *n = (struct nvml){0};
    n->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!n->library)
        return dcr_err_set(err, DCR_FAIL, "no NVIDIA driver here (libnvidia-ml.so.1 is not found)");
    int (*init)(void);
    *(void **)&init = dlsym(n->library, "nvmlInit_v2");
    find_functions(n);
    int status = init ? init() : NVML_MISSING;
    if (status != NVML_OK) {
        dcr_err_set(err, DCR_FAIL, "NVML does not start: %s", nvml_reason(n, status));
        n->shutdown = NULL;
        nvml_close(n);
        return DCR_FAIL;
    }
    int rc = find_devices(n, err);
    if (rc)
        nvml_close(n);
    return rc;
}

void nvml_close(struct nvml *n)
{
    if (n->shutdown)
        n->shutdown();
    if (n->library)
        dlclose(n->library);
    *n = (struct nvml){0};
}
