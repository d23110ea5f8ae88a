/* device.cpp - of the emulator: the device's properties, errors, the seed. */
#include "tests/gpu/emulator/inside.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <map>

/* Small workspaces (older than 9.0) and few processors: kernels are cut as finely as on a large device with more work.
 */
struct emulator_settings emulator_settings = {
    0, (size_t)8 << 30, 96 * 1024, 6, 8, 0, 1, 13000, 0, 0, 0, 0,
};
emulator_counts emulator_counted;

static cudaError_t last_error;
static std::map<const void *, int> allowed_shared;

void emulator_die(const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    fputs("emulator: ", stderr);
    vfprintf(stderr, format, ap);
    fputc('\n', stderr);
    va_end(ap);
    fflush(nullptr);
    abort();
}

static void read_environment()
{
    static const struct {
        const char *name;
        void (*set)(unsigned long long);
    } names[] = {
        {"seed=", [](unsigned long long v) { emulator_settings.seed = v; }},
        {"memory=", [](unsigned long long v) { emulator_settings.memory_bytes = v; }},
        {"shared=", [](unsigned long long v) { emulator_settings.shared_bytes = v; }},
        {"processors=", [](unsigned long long v) { emulator_settings.n_processors = (int)v; }},
        {"capability=",
         [](unsigned long long v) {
             emulator_settings.major = (int)(v / 10);
             emulator_settings.minor = (int)(v % 10);
         }},
        {"devices=", [](unsigned long long v) { emulator_settings.n_devices = (int)v; }},
        {"slice=", [](unsigned long long v) { emulator_settings.slice = (int)v; }},
        {"hangs=", [](unsigned long long v) { emulator_settings.hangs = (int)v; }},
        {"driver=", [](unsigned long long v) { emulator_settings.driver = (int)v; }},
        {"fail_call=", [](unsigned long long v) { emulator_settings.fail_call = (int64_t)v; }},
        {"fail_work=", [](unsigned long long v) { emulator_settings.fail_work = (int64_t)v; }},
    };
    const char *p = getenv("DCRNN_EMULATOR");
    while (p && *p) {
        bool is_known = false;
        for (auto &n : names)
            if (strncmp(p, n.name, strlen(n.name)) == 0) {
                char *end = nullptr;
                n.set(strtoull(p + strlen(n.name), &end, 10));
                p = end;
                is_known = true;
                break;
            }
        if (!is_known || (*p && *p != ','))
            emulator_die("cannot read DCRNN_EMULATOR at '%s'", p);
        p += *p == ',';
    }
}

cudaError_t emulator_entered()
{
    static bool is_read;
    if (!is_read) {
        is_read = true;
        read_environment();
    }
    emulator_counted.n_calls++;
    if (emulator_settings.fail_call && emulator_counted.n_calls == emulator_settings.fail_call)
        return cudaErrorUnknown;
    return emulator_stuck;
}

struct emulator_counts emulator_count(void)
{
    return emulator_counted;
}

/* ---- order ----------------------------------------------------------------------------------------------------------
 */

size_t emulator_random(size_t n)
{
    static uint64_t state, of_seed = ~(uint64_t)0;
    if (of_seed != emulator_settings.seed)
        state = of_seed = emulator_settings.seed;
    state += 0x9e3779b97f4a7c15u; /* splitmix64 */
    uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (size_t)((z ^ (z >> 31)) % n);
}

void emulator_order(size_t n, std::vector<unsigned> *out)
{
    out->resize(n);
    for (size_t i = 0; i < n; i++)
        (*out)[i] = (unsigned)(emulator_settings.seed == 1 ? n - 1 - i : i);
    for (size_t i = n; emulator_settings.seed > 1 && i > 1; i--)
        std::swap((*out)[i - 1], (*out)[emulator_random(i)]);
}

/* ---- errors ---------------------------------------------------------------------------------------------------------
 */

const char *cudaGetErrorString(cudaError_t status)
{
    switch (status) {
    case cudaSuccess:
        return "no error";
    case cudaErrorInvalidValue:
        return "invalid argument";
    case cudaErrorMemoryAllocation:
        return "out of memory";
    case cudaErrorInsufficientDriver:
        return "CUDA driver version is insufficient for CUDA runtime version";
    case cudaErrorNoDevice:
        return "no CUDA-capable device is detected";
    case cudaErrorInvalidDevice:
        return "invalid device ordinal";
    case cudaErrorInvalidConfiguration:
        return "invalid configuration argument";
    case cudaErrorInvalidResourceHandle:
        return "invalid resource handle";
    case cudaErrorNotReady:
        return "device not ready";
    case cudaErrorLaunchFailure:
        return "unspecified launch failure";
    case cudaErrorStreamCaptureUnsupported:
        return "operation not permitted when stream is capturing";
    case cudaErrorStreamCaptureInvalidated:
        return "operation failed due to a previous error during capture";
    case cudaErrorStreamCaptureUnjoined:
        return "capturing stream has unjoined work";
    case cudaErrorUnknown:
        break;
    }
    return "unknown error";
}

void emulator_remember(cudaError_t status)
{
    if (status)
        last_error = status;
}

cudaError_t cudaGetLastError()
{
    cudaError_t status = last_error ? last_error : emulator_stuck;
    last_error = cudaSuccess;
    return status;
}

/* ---- devices --------------------------------------------------------------------------------------------------------
 */

cudaError_t cudaGetDeviceCount(int *n)
{
    cudaError_t status = emulator_entered();
    *n = 0;
    if (status)
        return status;
    if (emulator_settings.driver < CUDART_VERSION)
        return cudaErrorInsufficientDriver;
    if (emulator_settings.n_devices == 0)
        return cudaErrorNoDevice;
    *n = emulator_settings.n_devices;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *out, int device)
{
    if (cudaError_t status = emulator_entered())
        return status;
    if (device < 0 || device >= emulator_settings.n_devices)
        return cudaErrorInvalidDevice;
    *out = cudaDeviceProp();
    snprintf(out->name, sizeof out->name, "a CPU that emulates a GPU");
    out->uuid.bytes[0] = (char)(device + 1);
    out->uuid.bytes[15] = (char)emulator_settings.slice;
    out->major = emulator_settings.major;
    out->minor = emulator_settings.minor;
    out->multiProcessorCount = emulator_settings.n_processors;
    out->sharedMemPerBlockOptin = emulator_settings.shared_bytes;
    out->totalGlobalMem = emulator_settings.memory_bytes;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char *out, int size, int device)
{
    snprintf(out, (size_t)size, "0000:%02x:00.0", device);
    return emulator_entered();
}

cudaError_t cudaDriverGetVersion(int *out)
{
    *out = emulator_settings.driver;
    return emulator_entered();
}

static thread_local int current_device; /* per thread, as in CUDA */

cudaError_t cudaSetDevice(int device)
{
    if (cudaError_t status = emulator_entered())
        return status;
    if (device < 0 || device >= emulator_settings.n_devices)
        return cudaErrorInvalidDevice;
    current_device = device;
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int *out)
{
    *out = current_device;
    return emulator_entered();
}

cudaError_t cudaFuncSetAttribute(const void *kernel, cudaFuncAttribute, int value)
{
    if (cudaError_t status = emulator_entered())
        return status;
    if (value < 0 || (size_t)value > emulator_settings.shared_bytes)
        return cudaErrorInvalidValue;
    allowed_shared[kernel] = value;
    return cudaSuccess;
}

/* The limits of a launch. */
cudaError_t emulator_check_launch(const void *kernel, dim3 grid, dim3 block, size_t shared)
{
    const size_t threads = (size_t)block.x * block.y * block.z, most_shared = 48 * 1024;
    auto allowed = allowed_shared.find(kernel);
    if (threads == 0 || threads > 1024 || block.y != 1 || block.z != 1)
        return cudaErrorInvalidConfiguration;
    if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > 0x7fffffff || grid.y > 65535 || grid.z > 65535)
        return cudaErrorInvalidConfiguration;
    if (shared > most_shared && (allowed == allowed_shared.end() || shared > (size_t)allowed->second))
        return cudaErrorInvalidValue;
    return cudaSuccess;
}
