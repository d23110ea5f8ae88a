/* optimizer.cu - norm of the mean gradient, clipping and Adam, as in adam.h, and the weights in the order that products
 * read. What the host decides (rate, clip) comes from device memory, so that a recorded step stays valid. */
#include "trainer/gpu/launch.cuh"

enum { THREADS = 256 };

/* 1 / valid targets of all ranks. */
static __device__ __forceinline__ float mean_scale(const update_args &a)
{
    const double n_valid = a.answer->tally[1];
    return a.is_scaled ? 1 : n_valid > 0 ? (float)(1 / n_valid) : 0;
}

static __global__ void __launch_bounds__(THREADS) dcrnn_norm(const __grid_constant__ update_args a)
{
    SHARED_MEMORY(double, scratch);
    const float scale = mean_scale(a);
    double sum = 0;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.n; i += (size_t)gridDim.x * blockDim.x) {
        const float g = a.grads[i] * scale;
        sum += (double)g * (double)g;
    }
    sum = block_sum(sum, scratch);
    if (threadIdx.x == 0)
        a.partial[blockIdx.x] = sum;
}

/* One block. */
static __global__ void __launch_bounds__(THREADS) dcrnn_norm_sum(const __grid_constant__ update_args a)
{
    SHARED_MEMORY(double, scratch);
    double sum = block_sum((int)threadIdx.x < a.n_blocks ? a.partial[threadIdx.x] : 0, scratch);
    if (threadIdx.x == 0) {
        const double norm = sqrt(sum);
        a.answer->norm = norm;
        a.answer->is_updated = isfinite(norm) ? 1 : 0;
    }
}

static __global__ void __launch_bounds__(THREADS) dcrnn_adam(const __grid_constant__ update_args a)
{
    const double norm = a.answer->norm;
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (!isfinite(norm) || i >= a.n)
        return;
    const double clip = (double)a.orders->clip, factor = clip / (norm + 1e-6);
    const float scale = mean_scale(a), clipped = clip > 0 && factor < 1 ? (float)factor : 1;
    const float g = a.grads[i] * scale * clipped;
    const float m = a.beta1 * a.m[i] + a.rest1 * g, v = a.beta2 * a.v[i] + a.rest2 * g * g;
    a.m[i] = m;
    a.v[i] = v;
    a.params[i] -= a.orders->rate * m / (sqrtf(v) * a.orders->root + a.eps);
}

int launch_update(const struct update_args *a, cudaStream_t stream, struct dcr_err *err)
{
    const size_t scratch = THREADS / WARP * sizeof(double);
    static_assert((int)NORM_BLOCKS <= (int)THREADS, "dcrnn_norm_sum reads one value per thread");
    update_args own = *a;
    own.n_blocks = blocks_for(a->n, 4 * THREADS, NORM_BLOCKS);
    LAUNCH(dcrnn_norm, (unsigned)own.n_blocks, THREADS, scratch, stream, own);
    TRY(launched("dcrnn_norm", err));
    LAUNCH(dcrnn_norm_sum, 1, THREADS, scratch, stream, own);
    TRY(launched("dcrnn_norm_sum", err));
    LAUNCH(dcrnn_adam, (unsigned)((a->n + THREADS - 1) / THREADS), THREADS, 0, stream, own);
    return launched("dcrnn_adam", err);
}

struct pack_args {
    size_t n;
    const int *map;
    const float *params;
    float *packed;
    bf16 *packed_bf16;
};

static __global__ void __launch_bounds__(THREADS) dcrnn_pack(const __grid_constant__ pack_args a)
{
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= a.n)
        return;
    const float p = a.map[i] < 0 ? 0 : a.params[a.map[i]];
    a.packed[i] = p;
    if (a.packed_bf16)
        a.packed_bf16[i] = to_bf16(p);
}

int launch_pack(size_t n, const int *map, const float *params, float *packed, bf16 *packed_bf16, cudaStream_t stream,
                struct dcr_err *err)
{
    pack_args a = {n, map, params, packed, packed_bf16};
    LAUNCH(dcrnn_pack, (unsigned)((n + THREADS - 1) / THREADS), THREADS, 0, stream, a);
    return launched("dcrnn_pack", err);
}
