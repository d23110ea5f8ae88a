/* gpu_test.cuh - shared by the GPU tests: arrays on both sides, random values, verdicts. nvcc compiles it for the
 * device, where a program reports in lines with '#' and by its exit status; g++ compiles it for the emulator, where it
 * prints TAP for the unit suite. */
#ifndef TESTS_GPU_TEST_CUH
#define TESTS_GPU_TEST_CUH

#include "trainer/gpu/model.cuh"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

enum { EXIT_SKIPPED = 77 };

struct gpu_test {
    int n_done, n_failed;
    uint64_t state; /* of the random numbers */
    cudaStream_t stream;
    struct dcr_err err;
};
extern struct gpu_test gpu_test;

/** must - a failed call ends the program. */
static inline void must(int rc)
{
    if (rc) {
        std::printf("# %s\n", gpu_test.err.text);
        std::exit(1);
    }
}

static inline void must_cuda(cudaError_t status)
{
    if (status != cudaSuccess) {
        std::printf("# CUDA: %s\n", cudaGetErrorString(status));
        std::exit(1);
    }
}

/* ---- random values (splitmix64) -----------------------------------------------------------------------------------
 */

static inline uint64_t random_bits()
{
    uint64_t z = gpu_test.state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline int random_int(int low, int high)
{
    return low + (int)(random_bits() % (uint64_t)(high - low + 1));
}

static inline float random_float() /* -1 .. 1 */
{
    return (float)((double)(random_bits() >> 11) * 0x1p-52 - 1);
}

static inline float round_bf16(float x)
{
    unsigned u;
    std::memcpy(&u, &x, sizeof u);
    u = (u + 0x7fffu + (u >> 16 & 1u)) & 0xffff0000u;
    std::memcpy(&x, &u, sizeof x);
    return x;
}

/* ---- arrays -------------------------------------------------------------------------------------------------------
 */

/* n entries of T on the device and on the host; room for floats stored as bf16 is an array of bf16. */
template <typename T> struct array {
    std::vector<T> host;
    T *device = nullptr;

    explicit array(size_t n) : host(n)
    {
        must_cuda(cudaMalloc(&device, (n ? n : 1) * sizeof(T)));
    }
    array(const array &) = delete;
    ~array()
    {
        (void)cudaFree(device);
    }
    void fill_random()
    {
        for (T &v : host)
            v = (T)random_float();
        put();
    }
    void put()
    {
        must_cuda(
            cudaMemcpyAsync(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice, gpu_test.stream));
    }
    void get()
    {
        must_cuda(
            cudaMemcpyAsync(host.data(), device, host.size() * sizeof(T), cudaMemcpyDeviceToHost, gpu_test.stream));
        must_cuda(cudaStreamSynchronize(gpu_test.stream));
    }
    T &operator[](size_t i)
    {
        return host[i];
    }
};

/* An array of storage type, seen as floats. */
struct z_array {
    bool is_bf16;
    array<float> wide;
    array<bf16> narrow;

    z_array(size_t n, bool is_bf16_) : is_bf16(is_bf16_), wide(is_bf16_ ? 0 : n), narrow(is_bf16_ ? n : 0)
    {
    }
    size_t size()
    {
        return is_bf16 ? narrow.host.size() : wide.host.size();
    }
    void *device()
    {
        return is_bf16 ? (void *)narrow.device : (void *)wide.device;
    }
    float at(size_t i)
    {
        if (!is_bf16)
            return wide[i];
        unsigned u = (unsigned)narrow[i].bits << 16;
        float x;
        std::memcpy(&x, &u, sizeof x);
        return x;
    }
    void set(size_t i, float x)
    {
        if (is_bf16) {
            unsigned u;
            x = round_bf16(x);
            std::memcpy(&u, &x, sizeof u);
            narrow[i].bits = (unsigned short)(u >> 16);
        } else {
            wide[i] = x;
        }
    }
    void fill_random()
    {
        for (size_t i = 0; i < size(); i++)
            set(i, random_float());
        put();
    }
    void put()
    {
        is_bf16 ? narrow.put() : wide.put();
    }
    void get()
    {
        is_bf16 ? narrow.get() : wide.get();
    }
};

/* ---- verdicts -----------------------------------------------------------------------------------------------------
 */

/* max |a - b| / max |b| over all that was added; a NaN makes it infinite. */
struct error_sum {
    double difference = 0, size = 0;

    void add(double a, double b)
    {
        double d = std::fabs(a - b);
        difference = d <= difference ? difference : std::isnan(d) ? INFINITY : d;
        size = std::fmax(size, std::fabs(b));
    }
    double value() const
    {
        return size > 0 ? difference / size : difference;
    }
};

/** verdict - one test over n shapes: ratio is the largest error in units of its limit. */
static inline void verdict(const char *name, int n, double ratio)
{
    const bool is_good = ratio <= 1;
    gpu_test.n_done++;
    gpu_test.n_failed += !is_good;
#ifdef DCRNN_EMULATED
    std::printf("%sok %d - %s, emulated: %d shapes, largest error %.2f of its limit\n", is_good ? "" : "not ",
                gpu_test.n_done, name, n, ratio);
#else
    std::printf("# %s: %d shapes, largest error %.2f of its limit%s\n", name, n, ratio, is_good ? "" : "  WRONG");
#endif
}

/** gpu_test_open - the device; ends the program with status 77 when there is none. */
static inline void gpu_test_open(uint64_t seed)
{
    int n = 0;
    if (cudaGetDeviceCount(&n) != cudaSuccess || n == 0) {
        std::printf("skipped: no CUDA device\n");
        std::exit(EXIT_SKIPPED);
    }
    must_cuda(cudaSetDevice(0));
    must_cuda(cudaStreamCreateWithPriority(&gpu_test.stream, cudaStreamNonBlocking, 0));
    gpu_test.state = seed;
}

/** gpu_test_close - the exit status. */
static inline int gpu_test_close()
{
    must_cuda(cudaStreamDestroy(gpu_test.stream));
#ifdef DCRNN_EMULATED
    std::printf("1..%d\n", gpu_test.n_done);
#endif
    return gpu_test.n_failed ? 1 : 0;
}

#endif
