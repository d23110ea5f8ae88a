/* cuda_runtime.h - of the emulator: the part of CUDA's language and run-time functions that trainer/gpu uses, under its
 * own names. Names and meanings: CUDA's documentation. */
#ifndef EMULATED_CUDA_RUNTIME_H
#define EMULATED_CUDA_RUNTIME_H

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <tuple>
#include <type_traits>

#define CUDART_VERSION 13000

/* ---- language ---------------------------------------------------------------------------------------------------- */

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __grid_constant__

struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_)
    {
    }
};
struct alignas(16) float4 {
    float x, y, z, w;
};
struct alignas(8) ushort4 {
    unsigned short x, y, z, w;
};

static inline float4 make_float4(float x, float y, float z, float w)
{
    return float4{x, y, z, w};
}
static inline ushort4 make_ushort4(unsigned short x, unsigned short y, unsigned short z, unsigned short w)
{
    return ushort4{x, y, z, w};
}
static inline float __uint_as_float(unsigned u)
{
    float f;
    std::memcpy(&f, &u, sizeof f);
    return f;
}
static inline unsigned __float_as_uint(float f)
{
    unsigned u;
    std::memcpy(&u, &f, sizeof u);
    return u;
}
using std::isfinite;

/* Position of the running thread; one thread runs at a time. */
struct emulator_place {
    uint3 thread, block;
    dim3 block_dim, grid_dim;
};
extern emulator_place emulator_here;
#define threadIdx (emulator_here.thread)
#define blockIdx (emulator_here.block)
#define blockDim (emulator_here.block_dim)
#define gridDim (emulator_here.grid_dim)

void *emulator_shared_memory();
void emulator_block_barrier();
/* All lanes of the warp give one value of up to 8 bytes and take the one of lane `from`. */
uint64_t emulator_shuffle(uint64_t mine, unsigned from);
unsigned emulator_lane();

static inline void __syncthreads()
{
    emulator_block_barrier();
}

template <typename T> static inline T __shfl_xor_sync(unsigned mask, T value, int distance)
{
    static_assert(sizeof(T) <= 8, "a shuffle moves 4 or 8 bytes");
    uint64_t bits = 0;
    (void)mask; /* always all lanes here */
    std::memcpy(&bits, &value, sizeof value);
    bits = emulator_shuffle(bits, emulator_lane() ^ (unsigned)distance);
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

/* ---- errors, devices --------------------------------------------------------------------------------------------- */

enum cudaError_t {
    cudaSuccess,
    cudaErrorInvalidValue,
    cudaErrorMemoryAllocation,
    cudaErrorInsufficientDriver,
    cudaErrorNoDevice,
    cudaErrorInvalidDevice,
    cudaErrorInvalidConfiguration,
    cudaErrorInvalidResourceHandle,
    cudaErrorNotReady,
    cudaErrorLaunchFailure,
    cudaErrorStreamCaptureUnsupported,
    cudaErrorStreamCaptureInvalidated,
    cudaErrorStreamCaptureUnjoined,
    cudaErrorUnknown,
};
const char *cudaGetErrorString(cudaError_t status);
cudaError_t cudaGetLastError();

struct cudaUUID_t {
    char bytes[16];
};
struct cudaDeviceProp {
    char name[256];
    cudaUUID_t uuid;
    int major, minor, multiProcessorCount;
    size_t sharedMemPerBlockOptin, totalGlobalMem;
};
cudaError_t cudaGetDeviceCount(int *n);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *out, int device);
cudaError_t cudaDeviceGetPCIBusId(char *out, int size, int device);
cudaError_t cudaDriverGetVersion(int *out);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDevice(int *out);
cudaError_t cudaDeviceSynchronize();

enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };
cudaError_t cudaFuncSetAttribute(const void *kernel, cudaFuncAttribute attribute, int value);

/* ---- memory ------------------------------------------------------------------------------------------------------ */

struct emulator_stream;
struct emulator_event;
struct emulator_graph;
struct emulator_exec;
typedef emulator_stream *cudaStream_t;
typedef emulator_event *cudaEvent_t;
typedef emulator_graph *cudaGraph_t;
typedef emulator_exec *cudaGraphExec_t;

enum cudaMemcpyKind { cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };
enum { cudaHostAllocDefault = 0 };

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total);
cudaError_t emulator_malloc(void **out, size_t bytes);
template <typename T> static inline cudaError_t cudaMalloc(T **out, size_t bytes)
{
    void *p = nullptr;
    cudaError_t status = emulator_malloc(&p, bytes);
    *out = (T *)p;
    return status;
}
cudaError_t cudaFree(void *p);
cudaError_t cudaHostAlloc(void **out, size_t bytes, unsigned flags);
cudaError_t cudaFreeHost(void *p);
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                         cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaMemset(void *to, int value, size_t bytes);
cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream);

/* ---- streams, events, graphs --------------------------------------------------------------------------------------
 */

enum { cudaStreamNonBlocking = 1 };
enum { cudaEventDefault = 0, cudaEventDisableTiming = 2 };
enum { cudaEventRecordDefault = 0, cudaEventRecordExternal = 1 };
enum { cudaGraphInstantiateFlagUseNodePriority = 8 };
enum cudaStreamCaptureMode {
    cudaStreamCaptureModeGlobal,
    cudaStreamCaptureModeThreadLocal,
    cudaStreamCaptureModeRelaxed
};
enum cudaStreamCaptureStatus { cudaStreamCaptureStatusNone, cudaStreamCaptureStatusActive };

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *out, unsigned flags, int priority);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *out);
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus *out);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t graph, unsigned long long flags);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);

/* ---- launches -----------------------------------------------------------------------------------------------------
 */

void emulator_enqueue_kernel(const char *name, const void *kernel, dim3 grid, dim3 block, size_t shared,
                             cudaStream_t stream, std::function<void()> body);

/* Arguments are taken by value, as a launch does. */
template <typename... P, typename... A>
static inline void emulator_launch(const char *name, void (*kernel)(P...), dim3 grid, dim3 block, size_t shared,
                                   cudaStream_t stream, const A &...arguments)
{
    static_assert((sizeof(P) + ... + 0) <= 4096, "a kernel takes at most 4 KB of arguments");
    static_assert((std::is_trivially_copyable<P>::value && ...), "arguments are copied as bytes");
    std::tuple<P...> kept(arguments...);
    emulator_enqueue_kernel(name, (const void *)kernel, grid, block, shared, stream,
                            [kernel, kept]() { std::apply(kernel, kept); });
}

#endif
