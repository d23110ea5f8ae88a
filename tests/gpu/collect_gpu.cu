/* collect_gpu.cu - the collector on a GPU. This program runs itself under `dccollect run` and keeps a device busy for a
 * second under NVTX ranges. Then it reads the collector's record: NVML's utilisation and memory, and the ranges. Exit
 * status 0 passed, 1 failed, 77 skipped (no CUDA device).
 *   BUILD=build collect_gpu          the test
 *   collect_gpu --busy               the program under study */
#include <nvtx3/nvToolsExt.h>

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>

enum { SKIPPED = 77 };
static const size_t held_bytes = (size_t)256 << 20;

__global__ void spin(float *out, long long clocks)
{
    long long from = clock64();
    float x = (float)threadIdx.x;
    while (clock64() - from < clocks)
        x = x * 1.0000001f + 1.0f;
    out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

static bool ok(cudaError_t status, const char *what)
{
    if (status == cudaSuccess)
        return true;
    std::printf("# %s: %s\n", what, cudaGetErrorString(status));
    return false;
}

/* About a second of kernels, 50 of them, each in a range. */
static int busy()
{
    int khz = 0, n_sm = 0;
    float *out = nullptr;
    if (!ok(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, 0), "clock rate") ||
        !ok(cudaDeviceGetAttribute(&n_sm, cudaDevAttrMultiProcessorCount, 0), "processors") ||
        !ok(cudaMalloc(&out, held_bytes), "cudaMalloc"))
        return 1;
    for (int i = 0; i < 50; i++) {
        nvtxRangePushA("step");
        spin<<<n_sm, 256>>>(out, (long long)khz * 20); /* 20 ms at the device's highest clock */
        bool good = ok(cudaGetLastError(), "launch") && ok(cudaDeviceSynchronize(), "kernel");
        nvtxRangePop();
        if (!good)
            return 1;
    }
    return ok(cudaFree(out), "cudaFree") ? 0 : 1;
}

static std::string output_of(const std::string &command)
{
    std::string text;
    char part[4096];
    FILE *p = popen(command.c_str(), "r");
    if (!p)
        return text;
    while (std::fgets(part, sizeof part, p))
        text += part;
    pclose(p);
    return text;
}

/* Highest value of a column, named in the first line; -1 when there is no row. */
static double highest(const std::string &csv, const char *name)
{
    int column = -1, row = 0;
    double best = -1;
    for (size_t at = 0; at < csv.size(); row++) {
        size_t end = csv.find('\n', at);
        std::string line = csv.substr(at, end - at);
        at = end == std::string::npos ? csv.size() : end + 1;
        int k = 0;
        for (size_t from = 0; from <= line.size(); k++) {
            size_t comma = line.find(',', from);
            std::string cell = line.substr(from, comma == std::string::npos ? comma : comma - from);
            from = comma == std::string::npos ? line.size() + 1 : comma + 1;
            if (row == 0 && cell == name)
                column = k;
            if (row > 0 && k == column && !cell.empty())
                best = std::max(best, std::strtod(cell.c_str(), nullptr));
        }
    }
    return best;
}

static int check(bool good, const char *what, double value)
{
    std::printf("# %s: %g%s\n", what, value, good ? "" : "  WRONG");
    return good ? 0 : 1;
}

static int test(const char *self)
{
    const char *build = std::getenv("BUILD"), *tmp = std::getenv("TMP");
    std::string collect = std::string(build ? build : "build") + "/bin/dccollect";
    std::string tar = std::string(tmp ? tmp : "/tmp") + "/collect_gpu-" + std::to_string((long)getpid()) + ".tar";
    if (access(collect.c_str(), X_OK) != 0) {
        std::printf("# there is no '%s'; build dccollect first\n", collect.c_str());
        return 1;
    }
    int status = std::system(("'" + collect + "' run -o '" + tar + "' -- '" + self + "' --busy").c_str());
    int failed = check(status == 0, "status of the run", status);
    std::string gpu = output_of("tar xOf '" + tar + "' node0/gpu_monitor.csv");
    std::string metadata = output_of("tar xOf '" + tar + "' job_metadata.json");
    double use = highest(gpu, "utilization_gpu"), memory = highest(gpu, "memory_used_mb");
    failed |= check(use > 50, "highest utilisation seen, percent", use);
    failed |= check(memory * 1e6 > (double)held_bytes, "highest memory in use seen, MB", memory);
    failed |= check(highest(gpu, "power_draw_w") != 0, "power is not shown as 0, W", highest(gpu, "power_draw_w"));
    failed |= check(metadata.find("\"events\": 50") != std::string::npos, "50 ranges in the metadata", 50);
    failed |= check(metadata.find("\"gpu_id\": 0") != std::string::npos, "the device is described", 1);
    failed |= check(metadata.find("\"cuda\": \"ok\"") != std::string::npos, "CUPTI recorded GPU activity", 1);
    std::string names = output_of("tar xOf '" + tar + "' --wildcards 'rank0/trace-*.dct' | tr -c '[:print:]' '\\n'");
    failed |= check(names.find("_Z4spinPfx") != std::string::npos, "the kernel's name is in the trace", 1);
    failed |= check(names.find("cudaLaunchKernel") != std::string::npos, "so is the call that launched it", 1);
    std::remove(tar.c_str());
    return failed;
}

int main(int argc, char **argv)
{
    int n = 0;
    if (cudaGetDeviceCount(&n) != cudaSuccess || n == 0) {
        std::printf("skipped: no CUDA device\n");
        return SKIPPED;
    }
    return argc > 1 && std::strcmp(argv[1], "--busy") == 0 ? busy() : test(argv[0]);
}
