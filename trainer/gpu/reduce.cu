/* reduce.cu - sums in a fixed order and operations on single values. Sums: the loss and its gradient, weight
 * gradients of inputs too narrow for a matrix product, biases, the parts of products over row ranges, and the norm
 * of the mean gradient. Single values: Adam, and the weights in the order that products read. Formulas:
 * trainer/model/loss.h, adam.h. Values that the host decides (rate, clip) are read from device memory, so that a
 * recorded step stays valid. */
#include "trainer/gpu/launch.cuh"

enum { THREADS = 256, N_SUMS = 4 };

/* ---- loss, per forecast step ------------------------------------------------------------------------------------- */

/* Block x of n_blocks, forecast step y. */
static __global__ void __launch_bounds__(THREADS) dcrnn_loss(const __grid_constant__ loss_args a)
{
    SHARED_MEMORY(double, scratch);
    const size_t n = a.n_each, step = (size_t)gridDim.x * blockDim.x, at = (size_t)blockIdx.y * n;
    double sum[N_SUMS] = {0, 0, 0, 0};
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        const float raw = a.raw[at + i], e = a.pred_z[at + i] * a.std + a.mean - raw;
        const bool is_valid = raw != 0;
        if (is_valid) {
            double size = fabs((double)e);
            sum[0] += size;
            sum[1] += size * size;
            sum[2] += size / (double)raw;
            sum[3] += 1;
        }
        if (a.d_pred) /* a NaN must stay visible: it compares false both ways */
            a.d_pred[at + i] = !is_valid ? 0 : e > 0 ? a.std : e < 0 ? -a.std : e * 0;
    }
    for (int k = 0; k < N_SUMS; k++) {
        double total = block_sum(sum[k], scratch);
        if (threadIdx.x == 0)
            a.partial[((size_t)blockIdx.y * gridDim.x + blockIdx.x) * N_SUMS + k] = total;
    }
}

/* One block; each thread has a forecast step and one of its sums, in turn. */
static __global__ void __launch_bounds__(THREADS) dcrnn_loss_sums(const __grid_constant__ loss_args a)
{
    for (int i = (int)threadIdx.x; i < a.n_out * N_SUMS; i += (int)blockDim.x) {
        double sum = 0;
        for (int b = 0; b < a.n_blocks; b++)
            sum += a.partial[((size_t)(i / N_SUMS) * a.n_blocks + b) * N_SUMS + i % N_SUMS];
        a.answer->horizons[i / N_SUMS][i % N_SUMS] = sum;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        double *tally = a.answer->tally;
        double abs_sum = a.is_first ? 0 : tally[0], n_valid = a.is_first ? 0 : tally[1];
        for (int t = 0; t < a.n_out; t++) {
            abs_sum += a.answer->horizons[t][0];
            n_valid += a.answer->horizons[t][3];
        }
        tally[0] = abs_sum;
        tally[1] = n_valid;
        if (a.is_last)
            for (int i = 2; i < a.n_tally; i++)
                tally[i] = a.orders->tally[i];
    }
}

int launch_loss(const struct loss_args *a, cudaStream_t stream, struct dcr_err *err)
{
    loss_args own = *a;
    own.n_blocks = blocks_for(a->n_each, 2 * THREADS, LOSS_BLOCKS);
    dim3 grid((unsigned)own.n_blocks, (unsigned)a->n_out);
    TRY(LAUNCH("dcrnn_loss", dcrnn_loss, grid, THREADS, THREADS / WARP * sizeof(double), stream, own, err));
    return LAUNCH("dcrnn_loss_sums", dcrnn_loss_sums, 1, THREADS, 0, stream, own, err);
}

/* ---- weight gradients -------------------------------------------------------------------------------------------- */

enum { J_TILE = 16, O_TILE = 256 };

/* Block: a chunk of rows, O_TILE columns of wide (a thread each), J_TILE of narrow (in registers). */
template <typename Z> static __global__ void __launch_bounds__(O_TILE) dcrnn_outer(const __grid_constant__ outer_args a)
{
    const size_t each = (a.n_rows + a.n_chunks - 1) / a.n_chunks;
    const size_t begin = each * blockIdx.x, end = begin + each < a.n_rows ? begin + each : a.n_rows;
    const int o = (int)(blockIdx.y * blockDim.x + threadIdx.x), j0 = (int)blockIdx.z * J_TILE;
    const int n_j = a.n_narrow + a.has_ones, n_o = a.n_wide + a.wide_has_ones;
    float sum[J_TILE];
    for (int j = 0; j < J_TILE; j++)
        sum[j] = 0;
    if (o >= n_o)
        return;
#pragma unroll 4 /* a thread waits for memory longer than it computes */
    for (size_t row = begin; row < end; row++) {
        float w = o < a.n_wide ? to_float(((const Z *)a.wide)[row * a.ld_wide + o]) : 1;
        const float *x = a.narrow + row * a.ld_narrow + j0;
#pragma unroll
        for (int j = 0; j < J_TILE; j++)
            sum[j] = fmaf(j0 + j < a.n_narrow ? x[j] : 1, w, sum[j]);
    }
#pragma unroll
    for (int j = 0; j < J_TILE; j++)
        if (j0 + j < n_j)
            a.out[((size_t)blockIdx.x * n_j + j0 + j) * n_o + o] = sum[j];
}

int launch_outer(const struct outer_args *a, cudaStream_t stream, struct dcr_err *err)
{
    int n_o = a->n_wide + a->wide_has_ones, n_j = a->n_narrow + a->has_ones;
    int threads = threads_for(n_o, O_TILE);
    dim3 grid((unsigned)a->n_chunks, (unsigned)((n_o + threads - 1) / threads),
              (unsigned)((n_j + J_TILE - 1) / J_TILE));
    auto kernel = a->is_bf16 ? dcrnn_outer<bf16> : dcrnn_outer<float>;
    return LAUNCH("dcrnn_outer", kernel, grid, threads, 0, stream, *a, err);
}

struct gather_args {
    size_t n;
    int n_chunks;
    size_t stride;
    const float *partial;
    const int *map;
    float *grads;
};

enum { GATHER_WARPS = 16 };

/* A block covers a warp's width of entries; its warps share the chunks. The sum is in double, because tens of thousands
 * of equal terms (a bias) would lose digits otherwise. */
static __global__ void __launch_bounds__(GATHER_WARPS *WARP) dcrnn_gather(const __grid_constant__ gather_args a)
{
    SHARED_MEMORY(double, sums);
    const int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
    const int n_warps = (int)blockDim.x / WARP;
    const size_t i = (size_t)blockIdx.x * WARP + lane;
    double sum = 0;
    if (i < a.n)
#pragma unroll 4
        for (int c = warp; c < a.n_chunks; c += n_warps)
            sum += (double)a.partial[c * a.stride + i];
    sums[warp * WARP + lane] = sum;
    __syncthreads();
    if (warp > 0 || i >= a.n || a.map[i] < 0)
        return;
    for (int w = 1; w < n_warps; w++)
        sum += sums[w * WARP + lane];
    a.grads[a.map[i]] += (float)sum;
}

int launch_gather(size_t n, int n_chunks, size_t stride, const float *partial, const int *map, float *grads,
                  cudaStream_t stream, struct dcr_err *err)
{
    gather_args a = {n, n_chunks, stride, partial, map, grads};
    const int warps = n_chunks < GATHER_WARPS ? n_chunks : GATHER_WARPS;
    return LAUNCH("dcrnn_gather", dcrnn_gather, (unsigned)((n + WARP - 1) / WARP), warps * WARP,
                  (size_t)(warps * WARP) * sizeof(double), stream, a, err);
}

/* ---- update ------------------------------------------------------------------------------------------------------ */

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
    TRY(LAUNCH("dcrnn_norm", dcrnn_norm, (unsigned)own.n_blocks, THREADS, scratch, stream, own, err));
    TRY(LAUNCH("dcrnn_norm_sum", dcrnn_norm_sum, 1, THREADS, scratch, stream, own, err));
    return LAUNCH("dcrnn_adam", dcrnn_adam, (unsigned)((a->n + THREADS - 1) / THREADS), THREADS, 0, stream, own, err);
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
    return LAUNCH("dcrnn_pack", dcrnn_pack, (unsigned)((n + THREADS - 1) / THREADS), THREADS, 0, stream, a, err);
}

/* ---- on the way between ranks ------------------------------------------------------------------------------------ */

enum { MOST_WIRE_BLOCKS = 1024 };

struct wire_args {
    size_t n;
    float *values;
    bf16 *wire;
};

static __global__ void __launch_bounds__(THREADS) dcrnn_to_wire(const __grid_constant__ wire_args a)
{
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.n; i += (size_t)gridDim.x * blockDim.x)
        a.wire[i] = to_bf16(a.values[i]);
}

static __global__ void __launch_bounds__(THREADS) dcrnn_from_wire(const __grid_constant__ wire_args a)
{
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.n; i += (size_t)gridDim.x * blockDim.x)
        a.values[i] = to_float(a.wire[i]);
}

int launch_to_wire(size_t n, float *values, bf16 *wire, cudaStream_t stream, struct dcr_err *err)
{
    const wire_args a = {n, values, wire};
    return LAUNCH("dcrnn_to_wire", dcrnn_to_wire, (unsigned)blocks_for(n, THREADS, MOST_WIRE_BLOCKS), THREADS, 0,
                  stream, a, err);
}

int launch_from_wire(size_t n, bf16 *wire, float *values, cudaStream_t stream, struct dcr_err *err)
{
    const wire_args a = {n, values, wire};
    return LAUNCH("dcrnn_from_wire", dcrnn_from_wire, (unsigned)blocks_for(n, THREADS, MOST_WIRE_BLOCKS), THREADS, 0,
                  stream, a, err);
}
