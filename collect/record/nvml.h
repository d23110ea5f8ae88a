/* nvml.h - the few functions of NVIDIA's management library that we call, found at run time.
 * Signatures and numbers: NVML API reference; structures of version 1, which every driver keeps. */
#ifndef COLLECT_NVML_H
#define COLLECT_NVML_H

#include "lib/base/err.h"

enum { NVML_OK = 0, NVML_TEMPERATURE_GPU = 0, NVML_CLOCK_SM = 1, NVML_MAX_DEVICES = 64, NVML_MISSING = -1 };

struct nvml_utilization {
    unsigned gpu, memory; /* percent of the driver's last sample period */
};
struct nvml_memory {
    unsigned long long total, free, used; /* bytes */
};

/* Counters, some of which a device may not have (NVML_ERROR_NOT_SUPPORTED). */
enum nvml_counter {
    NVML_PCIE_TX_BYTES = 0, /* may wrap around; drivers from 550 on */
    NVML_PCIE_RX_BYTES,
    NVML_NVLINK_TX_BYTES, /* all links together, data without protocol */
    NVML_NVLINK_RX_BYTES,
    NVML_ECC_CORRECTED, /* since the driver was loaded */
    NVML_ECC_UNCORRECTED,
    N_NVML_COUNTERS
};

/* nvmlFieldValue_t */
struct nvml_field {
    unsigned id, scope;
    long long timestamp_us, latency_us;
    unsigned type; /* 0 double, 1 unsigned, 2 unsigned long (of 8 bytes), 3 unsigned long long, 4 long long */
    int status;
    union {
        double d;
        unsigned u;
        unsigned long long ull;
        long long ll;
    } value;
};

struct nvml {
    void *library;
    unsigned n_devices;
    void *devices[NVML_MAX_DEVICES];
    int (*shutdown)(void);
    const char *(*error_string)(int);
    int (*utilization)(void *, struct nvml_utilization *);
    int (*memory)(void *, struct nvml_memory *);
    int (*temperature)(void *, int sensor, unsigned *celsius);
    int (*power)(void *, unsigned *milliwatts);
    int (*clock)(void *, int type, unsigned *mhz);
    int (*throttle_reasons)(void *, unsigned long long *bits);
    int (*field_values)(void *, int n, struct nvml_field *);
    int (*ecc_errors)(void *, int type, int period, unsigned long long *n);
    int (*name)(void *, char *out, unsigned n);
    int (*driver_version)(char *out, unsigned n);
};

/* Calls a function; NVML_MISSING when an old driver lacks it. */
#define NVML_CALL(n, function, ...) ((n)->function ? (n)->function(__VA_ARGS__) : NVML_MISSING)

/** nvml_open - load the library and find the devices. Functions that an old driver lacks are NULL: NVML_CALL.
 *  errors   DCR_FAIL: no library, no driver, no device; the sentence says which. n is then empty */
int nvml_open(struct nvml *n, struct dcr_err *err) DCR_MUST_CHECK;
const char *nvml_reason(const struct nvml *n, int status);
/** nvml_counter - one of the counters. returns  NVML_OK, NVML_MISSING, or NVML's own status */
int nvml_counter(const struct nvml *n, void *device, enum nvml_counter which, unsigned long long *out);
void nvml_close(struct nvml *n);

#endif
