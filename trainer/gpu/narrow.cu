/* narrow.cu - the model's ends, where rows have one or two values instead of units: the encoder's input, the projection
 * to a forecast and what the decoder is fed, and the gradient of that. A block has a whole sample and diffuses in
 * device memory: so little fits the cache in any case. Called by forward.cu and backward.cu. */
#include "trainer/gpu/diffuse.cuh"

/* Terms 1 .. M-1 of the block's sample, term 0 stored and visible. z: (N, ld), term m of feature f at m * F + f. */
static __device__ void narrow_terms(const diffusion &d, float *z, int ld, int n_features)
{
    const int n = d.n_sensors * n_features;
    for (int s = 0; s < d.n_supports; s++)
        for (int k = 1; k <= d.k_hops; k++) {
            const hop h = hop_of(d, s, k);
            __syncthreads();
            for (int e = (int)threadIdx.x; e < n; e += (int)blockDim.x) {
                const int row = e / n_features, f = e % n_features;
                float sum = 0, *own = z + (size_t)row * ld + f;
                for (int i = d.row_start[s][row]; i < d.row_start[s][row + 1]; i++)
                    sum = fmaf(d.edges[s][i].val, z[(size_t)d.edges[s][i].col * ld + h.from * n_features + f], sum);
                own[h.to * n_features] = k == 1 ? sum : 2 * sum - own[h.before * n_features];
            }
        }
}

struct input_args {
    struct diffusion d;
    int n_features, ld;
    const float *x;
    float *z;
};

static __global__ void __launch_bounds__(SAMPLE_THREADS) dcrnn_input(const __grid_constant__ input_args a)
{
    const size_t first = (size_t)blockIdx.x * a.d.n_sensors;
    float *z = a.z + first * a.ld;
    for (int e = (int)threadIdx.x; e < a.d.n_sensors * a.n_features; e += (int)blockDim.x)
        z[(size_t)(e / a.n_features) * a.ld + e % a.n_features] = a.x[first * a.n_features + e];
    narrow_terms(a.d, z, a.ld, a.n_features);
}

int launch_input(const struct diffusion *d, int n_samples, int n_features, const float *x, float *z, int ld,
                 cudaStream_t stream, struct dcr_err *err)
{
    input_args a = {*d, n_features, ld, x, z};
    LAUNCH(dcrnn_input, (unsigned)n_samples, threads_for(d->n_sensors * n_features, 256), 0, stream, a);
    return launched("dcrnn_input", err);
}

/* A warp has a row: its lanes share the units. */
static __global__ void __launch_bounds__(SAMPLE_THREADS) dcrnn_project(const __grid_constant__ project_args a)
{
    const size_t first = (size_t)blockIdx.x * a.d.n_sensors;
    const int lane = (int)threadIdx.x % WARP, n_warps = (int)blockDim.x / WARP;
    const bool is_truth = a.truth && *a.coin;
    for (int n = (int)threadIdx.x / WARP; n < a.d.n_sensors; n += n_warps) {
        const size_t row = first + n;
        for (int o = 0; o < a.n_out; o++) {
            const float *w = a.w + o * (a.width + 1);
            float sum = 0;
            for (int i = lane; i < a.width; i += WARP)
                sum = fmaf(a.h[row * a.ld_h + i], w[i], sum);
            sum = warp_sum(sum) + w[a.width];
            if (lane == 0) {
                a.y[row * a.n_out + o] = sum;
                if (a.z)
                    a.z[row * a.ld_z + o] = is_truth ? a.truth[row * a.n_out + o] : sum;
            }
        }
    }
    if (a.z)
        narrow_terms(a.d, a.z + first * a.ld_z, a.ld_z, a.n_out);
}

int launch_project(const struct project_args *a, cudaStream_t stream, struct dcr_err *err)
{
    LAUNCH(dcrnn_project, (unsigned)a->n_samples, threads_for(a->d.n_sensors * WARP, SAMPLE_THREADS), 0, stream, *a);
    return launched("dcrnn_project", err);
}

enum { BACK_ROWS = 8 };

struct narrow_back_args {
    int n_rows, width, n_x, ld;
    const void *g;
    const float *w_x;
    float *dz;
};

template <typename Z>
static __global__ void __launch_bounds__(BACK_ROWS *WARP) dcrnn_narrow_back(const __grid_constant__ narrow_back_args a)
{
    const int n = 3 * a.width, lane = (int)threadIdx.x % WARP, n_warps = (int)blockDim.x / WARP;
    const int row = (int)blockIdx.x * n_warps + (int)threadIdx.x / WARP;
    if (row >= a.n_rows) /* a whole warp: nobody waits for it */
        return;
    const Z *g = (const Z *)a.g + (size_t)row * n;
    for (int q = 0; q < a.n_x; q++) {
        float sum = 0;
        for (int i = lane; i < n; i += WARP)
            sum = fmaf(to_float(g[i]), a.w_x[(size_t)q * n + i], sum);
        sum = warp_sum(sum);
        if (lane == 0)
            a.dz[(size_t)row * a.ld + q] = sum;
    }
}

int launch_narrow_back(int n_rows, int width, int n_x, const void *g, int is_bf16, const float *w_x, float *dz, int ld,
                       cudaStream_t stream, struct dcr_err *err)
{
    narrow_back_args a = {n_rows, width, n_x, ld, g, w_x, dz};
    auto kernel = is_bf16 ? dcrnn_narrow_back<bf16> : dcrnn_narrow_back<float>;
    LAUNCH(kernel, (unsigned)((n_rows + BACK_ROWS - 1) / BACK_ROWS), BACK_ROWS * WARP, 0, stream, a);
    return launched("dcrnn_narrow_back", err);
}
