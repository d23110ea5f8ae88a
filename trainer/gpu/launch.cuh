/* launch.cuh - for every file with kernels: a launch for both nvcc and the emulator of tests/gpu/emulator, shared
 * memory, conversion from and to bf16, vectors of four values, sums over a block.
 *
 * Kernels take one argument struct by value and use no CUDA feature beyond blocks, threads, __syncthreads, warp
 * shuffles and dynamic shared memory. They use no atomics: sums have a fixed order, so the same inputs give the same
 * bits. */
#ifndef TRAINER_GPU_LAUNCH_CUH
#define TRAINER_GPU_LAUNCH_CUH

#include "trainer/gpu/kernels.cuh"

/* LAUNCH - 0, or DCR_FATAL with the name of the kernel. */
#ifdef DCRNN_EMULATED
#define LAUNCH(name, kernel, grid, block, shared, stream, args, err) \
    (emulator_launch(name, kernel, grid, block, shared, stream, args), launched(name, err))
#define SHARED_MEMORY(type, name) type *name = (type *)emulator_shared_memory()
#else
#define LAUNCH(name, kernel, grid, block, shared, stream, args, err) \
    (kernel<<<grid, block, shared, stream>>>(args), launched(name, err))
#define SHARED_MEMORY(type, name)              \
    extern __shared__ float4 shared_memory_[]; \
    type *name = (type *)shared_memory_
#endif

enum { WARP = 32 };

/* ---- storage ----------------------------------------------------------------------------------------------------- */

static __device__ __forceinline__ float to_float(float x)
{
    return x;
}

static __device__ __forceinline__ float to_float(bf16 x)
{
    return __uint_as_float((unsigned)x.bits << 16);
}

/* To the nearest, ties to even; a NaN stays a NaN. */
static __device__ __forceinline__ bf16 to_bf16(float x)
{
    unsigned u = __float_as_uint(x);
    bf16 out;
    out.bits =
        (unsigned short)((u & 0x7fffffffu) > 0x7f800000u ? (u >> 16 | 0x40u) : (u + 0x7fffu + (u >> 16 & 1u)) >> 16);
    return out;
}

static __device__ __forceinline__ float4 load4(const float *p)
{
    return *(const float4 *)p;
}

static __device__ __forceinline__ float4 load4(const bf16 *p)
{
    ushort4 v = *(const ushort4 *)p;
    return make_float4(__uint_as_float((unsigned)v.x << 16), __uint_as_float((unsigned)v.y << 16),
                       __uint_as_float((unsigned)v.z << 16), __uint_as_float((unsigned)v.w << 16));
}

static __device__ __forceinline__ void store4(float *p, float4 v)
{
    *(float4 *)p = v;
}

static __device__ __forceinline__ void store4(bf16 *p, float4 v)
{
    *(ushort4 *)p = make_ushort4(to_bf16(v.x).bits, to_bf16(v.y).bits, to_bf16(v.z).bits, to_bf16(v.w).bits);
}

/* ---- arithmetic on four values ----------------------------------------------------------------------------------- */

static __device__ __forceinline__ float4 zero4(void)
{
    return make_float4(0, 0, 0, 0);
}

static __device__ __forceinline__ float4 add4(float4 a, float4 b)
{
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

static __device__ __forceinline__ float4 mul4(float4 a, float4 b)
{
    return make_float4(a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w);
}

/* s * a + b */
static __device__ __forceinline__ float4 fma4(float s, float4 a, float4 b)
{
    return make_float4(fmaf(s, a.x, b.x), fmaf(s, a.y, b.y), fmaf(s, a.z, b.z), fmaf(s, a.w, b.w));
}

/* s * a - b */
static __device__ __forceinline__ float4 fms4(float s, float4 a, float4 b)
{
    return make_float4(fmaf(s, a.x, -b.x), fmaf(s, a.y, -b.y), fmaf(s, a.z, -b.z), fmaf(s, a.w, -b.w));
}

/* f of each */
template <typename F> static __device__ __forceinline__ float4 map4(F f, float4 a)
{
    return make_float4(f(a.x), f(a.y), f(a.z), f(a.w));
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

template <typename T> static __device__ __forceinline__ T warp_sum(T v)
{
    for (int d = WARP / 2; d > 0; d /= 2)
        v += __shfl_xor_sync(0xffffffffu, v, d);
    return v;
}

/* Sum over all threads of a block, returned to thread 0; scratch holds one value per warp. Every thread must call. */
static __device__ __forceinline__ double block_sum(double v, double *scratch)
{
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, n_warps = (blockDim.x + WARP - 1) / WARP;
    v = warp_sum(v);
    __syncthreads(); /* the scratch of an earlier sum has been read */
    if (lane == 0)
        scratch[warp] = v;
    __syncthreads();
    double sum = 0;
    if (threadIdx.x == 0)
        for (int i = 0; i < n_warps; i++)
            sum += scratch[i];
    return sum;
}

/* ---- launching --------------------------------------------------------------------------------------------------- */

/** allow_shared - a kernel gets more than 48 KB of shared memory only on request. The request is always for the maximum
 *  of a block, because a smaller one must not take memory from a recorded launch of the same kernel. */
template <typename K> static inline int allow_shared(K *kernel, size_t bytes, size_t limit, struct dcr_err *err)
{
    if (bytes <= 48 * 1024)
        return 0;
    return CUDA_CHECK(
        cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)limit), err);
}

/* Number of blocks for n values with `each` values a block, at least one and at most `most`. */
static inline int blocks_for(size_t n, size_t each, int most)
{
    const size_t blocks = (n + each - 1) / each;
    return blocks < 1 ? 1 : blocks > (size_t)most ? most : (int)blocks;
}

/* Number of threads of a block for these elements: whole warps, at most `most`. */
static inline int threads_for(int elements, int most)
{
    return elements >= most ? most : (elements + WARP - 1) / WARP * WARP;
}

static inline int launched(const char *kernel, struct dcr_err *err)
{
    cudaError_t status = cudaGetLastError();
    if (status == cudaSuccess)
        return 0;
    return dcr_err_set(err, DCR_FATAL, "CUDA: kernel %s could not be launched: %s", kernel, cudaGetErrorString(status));
}

#endif
