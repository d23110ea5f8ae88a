/* nvml.c - see nvml.h. */
#include "collect/record/nvml.h"

#include <dlfcn.h>

const char *nvml_reason(const struct nvml *n, int status)
{
    if (status == NVML_MISSING)
        return "this driver has no such function";
    return n->error_string ? n->error_string(status) : "NVML gives no reason";
}

/* POSIX lets a pointer from dlsym be stored through a void pointer. */
#define FIND(field, symbol) *(void **)&n->field = dlsym(n->library, symbol)

static void find_functions(struct nvml *n)
{
    FIND(shutdown, "nvmlShutdown");
    FIND(error_string, "nvmlErrorString");
    FIND(utilization, "nvmlDeviceGetUtilizationRates");
    FIND(memory, "nvmlDeviceGetMemoryInfo");
    FIND(temperature, "nvmlDeviceGetTemperature");
    FIND(power, "nvmlDeviceGetPowerUsage");
    FIND(clock, "nvmlDeviceGetClockInfo");
    FIND(throttle_reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
    FIND(field_values, "nvmlDeviceGetFieldValues");
    FIND(ecc_errors, "nvmlDeviceGetTotalEccErrors");
    FIND(name, "nvmlDeviceGetName");
    FIND(driver_version, "nvmlSystemGetDriverVersion");
}

static int read_field(const struct nvml *n, void *device, unsigned id, unsigned scope, unsigned long long *out)
{
    struct nvml_field f = {.id = id, .scope = scope};
    int status = NVML_CALL(n, field_values, device, 1, &f);
    if (status != NVML_OK || f.status != NVML_OK)
        return status != NVML_OK ? status : f.status;
    switch (f.type) {
    case 0:
        *out = f.value.d > 0 ? (unsigned long long)f.value.d : 0;
        return NVML_OK;
    case 1:
        *out = f.value.u;
        return NVML_OK;
    case 2:
    case 3:
        *out = f.value.ull;
        return NVML_OK;
    case 4:
        *out = f.value.ll > 0 ? (unsigned long long)f.value.ll : 0;
        return NVML_OK;
    default:
        return NVML_MISSING;
    }
}

/* Fields by their numbers: NVML_FI_DEV_PCIE_COUNT_TX_BYTES, ..._RX_BYTES, NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX,
 * ..._RX. nvmlDeviceGetPcieThroughput is not used, because it takes 20 ms a direction. */
int nvml_counter(const struct nvml *n, void *device, enum nvml_counter which, unsigned long long *out)
{
    static const struct {
        unsigned id, scope, bytes; /* scope ~0: all links */
    } fields[] = {[NVML_PCIE_TX_BYTES] = {197, 0, 1},
                  [NVML_PCIE_RX_BYTES] = {198, 0, 1},
                  [NVML_NVLINK_TX_BYTES] = {138, ~0u, 1024},
                  [NVML_NVLINK_RX_BYTES] = {139, ~0u, 1024}};
    if (which == NVML_ECC_CORRECTED || which == NVML_ECC_UNCORRECTED)
        return NVML_CALL(n, ecc_errors, device, which == NVML_ECC_UNCORRECTED, 0, out);
    int status = read_field(n, device, fields[which].id, fields[which].scope, out);
    if (status == NVML_OK)
        *out *= fields[which].bytes;
    return status;
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
