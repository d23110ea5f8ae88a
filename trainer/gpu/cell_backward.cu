/* cell_backward.cu - what a cell does between its products, backward: the adjoint diffusion of a product's result,
 * followed by the derivatives of the gates or of the candidate. Called by backward.cu. */
#include "trainer/gpu/tiled.cuh"

/* finish(sensor, its gradient), of the thread's columns: the adjoint diffusion of a product's result, or 0 where there
 * was no product. */
template <bool IN_SHARED, typename A, typename F>
static __device__ __forceinline__ void for_each_gradient(const A &a, const place &p, float *shared, F finish)
{
    if (a.dz) {
        float *dz = a.dz + (size_t)p.sample * a.d.n_sensors * a.d.n_terms * a.width + p.column + p.lane;
        adjoint_sum<IN_SHARED>(a.d, p, dz, a.width, a.columns, shared, finish);
    } else {
        for (int n = p.row; n < a.d.n_sensors; n += p.step)
            finish(n, zero4());
    }
}

template <typename Z, bool IN_SHARED>
static __global__ void __launch_bounds__(CELL_THREADS) dcrnn_gates_back(const __grid_constant__ gates_back_args a)
{
    SHARED_MEMORY(float, shared);
    const place p = place_of_thread(a.columns, a.width);
    const int column = p.column + p.lane, ld = 3 * a.width;
    const size_t first = (size_t)p.sample * a.d.n_sensors;
    /* Of one element; d_rh is the gradient of r * h. */
    auto finish = [&](int n, float4 d_rh) {
        const size_t row = first + n;
        const float *act = a.act + row * ld + column;
        Z *g = (Z *)a.g + row * ld + column;
        float *dh = a.dh + row * a.width + column;
        float4 r = load4(act), u = load4(act + a.width), c = load4(act + 2 * a.width), d = load4(dh);
        float4 h = a.h ? load4(a.h + row * a.ld_h + column) : zero4();
        float4 slope_r = fms4(-1, mul4(r, r), make_float4(-r.x, -r.y, -r.z, -r.w)); /* r (1 - r) */
        float4 slope_u = fms4(-1, mul4(u, u), make_float4(-u.x, -u.y, -u.z, -u.w));
        store4(g, mul4(mul4(d_rh, h), slope_r));
        store4(g + a.width, mul4(mul4(d, fma4(-1, c, h)), slope_u));
        if (a.h)
            store4(dh, add4(mul4(d, u), mul4(d_rh, r)));
    };
    for_each_gradient<IN_SHARED>(a, p, shared, finish);
}

/* dh (1 - u) (1 - c^2) */
static __device__ __forceinline__ float candidate_slope(float dh, float u, float c)
{
    return dh * (1 - u) * (1 - c * c);
}

static __device__ __forceinline__ float4 candidate_back(float4 dh, float4 u, float4 c)
{
    return make_float4(candidate_slope(dh.x, u.x, c.x), candidate_slope(dh.y, u.y, c.y),
                       candidate_slope(dh.z, u.z, c.z), candidate_slope(dh.w, u.w, c.w));
}

template <typename Z, bool IN_SHARED>
static __global__ void __launch_bounds__(CELL_THREADS) dcrnn_state_back(const __grid_constant__ state_back_args a)
{
    SHARED_MEMORY(float, shared);
    const place p = place_of_thread(a.columns, a.width);
    const int column = p.column + p.lane, ld = 3 * a.width;
    const size_t first = (size_t)p.sample * a.d.n_sensors;
    auto finish = [&](int n, float4 dh) {
        const size_t row = first + n, at = row * a.width + column;
        if (a.base)
            dh = add4(dh, load4(a.base + at));
        if (a.more)
            dh = add4(dh, load4(a.more + at));
        store4(a.dh + at, dh);
        if (a.act) {
            const float *act = a.act + row * ld + column;
            store4((Z *)a.g + row * ld + 2 * a.width + column,
                   candidate_back(dh, load4(act + a.width), load4(act + 2 * a.width)));
        }
    };
    for_each_gradient<IN_SHARED>(a, p, shared, finish);
}

int launch_gates_back(const struct gates_back_args *a, const struct tiling *t, cudaStream_t stream, struct dcr_err *err)
{
    return LAUNCH_TILED(dcrnn_gates_back, a, t, stream, err);
}

int launch_state_back(const struct state_back_args *a, const struct tiling *t, cudaStream_t stream, struct dcr_err *err)
{
    return LAUNCH_TILED(dcrnn_state_back, a, t, stream, err);
}

/* ---- the top layer, through the projection ------------------------------------------------------------------------
 */

/* adjoint_sum for an array of few columns, in device memory: element e of the sample is sensor e / F, feature e % F. */
static __device__ void narrow_adjoint(const diffusion &d, float *q, int ld, int n_features)
{
    const int n = d.n_sensors * n_features;
    for (int s = d.n_supports - 1; s >= 0; s--)
        for (int k = d.k_hops - 1; k >= 0; k--) {
            const int from = hop_of(d, s, k + 1).to, to = k > 0 ? from - 1 : start_term(d, s);
            __syncthreads();
            for (int e = (int)threadIdx.x; e < n; e += (int)blockDim.x) {
                const int row = e / n_features, f = e % n_features;
                float sum = 0, *own = q + (size_t)row * ld + f;
                for (int i = d.row_start[s][row]; i < d.row_start[s][row + 1]; i++)
                    sum = fmaf(d.edges[s][i].val, q[(size_t)d.edges[s][i].col * ld + from * n_features + f], sum);
                float before = k + 2 <= d.k_hops ? own[(from + 1) * n_features] : 0;
                own[to * n_features] += (k > 0 ? 2 : 1) * sum - before;
            }
        }
    __syncthreads();
}

template <typename Z>
static __global__ void __launch_bounds__(SAMPLE_THREADS) dcrnn_top_back(const __grid_constant__ top_back_args a)
{
    const size_t first = (size_t)blockIdx.x * a.d.n_sensors;
    const int n_sensors = a.d.n_sensors, ld = 3 * a.width, lanes = a.width / 4;
    if (a.dz) {
        float *dz = a.dz + first * a.ld_z;
        narrow_adjoint(a.d, dz, a.ld_z, a.n_out);
        const float share = *a.coin ? 0 : 1; /* the truth has no gradient */
        for (int e = (int)threadIdx.x; e < n_sensors * a.n_out; e += (int)blockDim.x)
            a.dy[first * a.n_out + e] += share * dz[(size_t)(e / a.n_out) * a.ld_z + e % a.n_out];
        __syncthreads();
    }
    for (int e = (int)threadIdx.x; e < n_sensors * lanes; e += (int)blockDim.x) {
        const size_t row = first + e / lanes;
        const int column = e % lanes * 4;
        float4 dh = a.base ? load4(a.base + row * a.width + column) : zero4();
        for (int o = 0; o < a.n_out; o++) {
            const float *w = a.w + o * (a.width + 1) + column; /* rows of P + 1: no vectors */
            dh = fma4(a.dy[row * a.n_out + o], make_float4(w[0], w[1], w[2], w[3]), dh);
        }
        store4(a.dh + row * a.width + column, dh);
        const float *act = a.act + row * ld + column;
        store4((Z *)a.g + row * ld + 2 * a.width + column,
               candidate_back(dh, load4(act + a.width), load4(act + 2 * a.width)));
    }
}

int launch_top_back(const struct top_back_args *a, cudaStream_t stream, struct dcr_err *err)
{
    int threads = threads_for(a->d.n_sensors * (a->width / 4), SAMPLE_THREADS);
    auto kernel = a->is_bf16 ? dcrnn_top_back<bf16> : dcrnn_top_back<float>;
    LAUNCH(kernel, (unsigned)a->n_samples, threads, 0, stream, *a);
    return launched("dcrnn_top_back", err);
}
