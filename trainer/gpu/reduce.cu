/* reduce.cu - sums over rows: weight gradients of inputs that are too few for a matrix product, biases, and the sum of
 * the parts that products over row ranges left. Called by backward.cu. */
#include "trainer/gpu/launch.cuh"

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
#pragma unroll 4 /* a thread waits for memory more than it computes */
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
    LAUNCH(kernel, grid, threads, 0, stream, *a);
    return launched("dcrnn_outer", err);
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

/* A block has a warp's width of entries; its warps share the chunks. In double: tens of thousands of equal terms (a
 * bias) would else lose digits by their order. */
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
    LAUNCH(dcrnn_gather, (unsigned)((n + WARP - 1) / WARP), warps * WARP, (size_t)(warps * WARP) * sizeof(double),
           stream, a);
    return launched("dcrnn_gather", err);
}
