/* cell.cu - the kernels between the products of a step: gates and candidate of a cell, each followed by the
 * diffusion of its result, and both backward. Others are for the model's ends, where rows have one or two values
 * instead of units. Called by forward.cu and backward.cu. Equations: dcgru.h. */
#include "trainer/gpu/diffuse.cuh"

/* ---- how kernels that diffuse are cut ---------------------------------------------------------------------------- */

struct tiling tiling_choose(const struct limits *l, int n_sensors, int n_samples, int width, int is_bf16)
{
    struct tiling t = {};
    t.n_samples = n_samples;
    t.width = width;
    t.is_bf16 = is_bf16;
    t.shared_limit = l->shared_bytes;
    /* 32 floats are a cache line, and have no bank conflicts. */
    t.columns = width % 32 == 0 ? 32 : width % 16 == 0 ? 16 : 8;
    while (t.columns > 8 && (long)n_samples * (width / t.columns) * 4 < (long)l->n_processors * 3)
        t.columns /= 2;
    for (;; t.columns /= 2) {
        t.shared_bytes = 2 * sizeof(float) * (size_t)n_sensors * (size_t)t.columns;
        t.in_shared = t.shared_bytes <= l->shared_bytes;
        if (t.in_shared || t.columns == 8)
            break;
    }
    if (!t.in_shared) { /* in device memory wide accesses matter most */
        t.columns = width % 32 == 0 ? 32 : width % 16 == 0 ? 16 : 8;
        t.shared_bytes = 0;
    }
    t.threads = threads_for(n_sensors * (t.columns / 4), CELL_THREADS);
    return t;
}

/* ---- a cell forward ---------------------------------------------------------------------------------------------- */

static __device__ __forceinline__ float sigmoid(float x)
{
    return 1 / (1 + expf(-x));
}

/* bias + pre + narrow x, four columns from `column` on. */
template <typename A> static __device__ __forceinline__ float4 pre_activation(const A &a, size_t row, int column)
{
    const int ld = 3 * a.width;
    float4 v = load4(a.bias + column);
    if (a.pre)
        v = add4(v, load4(a.pre + row * ld + column));
    for (int q = 0; q < a.n_x; q++)
        v = fma4(a.x_terms[row * a.ld_x + q], load4(a.w_x + q * ld + column), v);
    return v;
}

template <typename Z, bool IN_SHARED>
static __global__ void __launch_bounds__(CELL_THREADS) dcrnn_gates(const __grid_constant__ gates_args a)
{
    SHARED_MEMORY(float, shared);
    const place p = place_of_thread(a.columns, a.width);
    const int column = p.column + p.lane, ld = 3 * a.width;
    const size_t first = (size_t)p.sample * a.d.n_sensors, ld_z = (size_t)a.d.n_terms * a.width;
    Z *z = (Z *)a.z + first * ld_z + column;
    for (int n = p.row; n < a.d.n_sensors; n += p.step) {
        const size_t row = first + n;
        float4 r = pre_activation(a, row, column), u = pre_activation(a, row, a.width + column);
        if (a.pre_h) {
            const float *pre_h = a.pre_h + row * 2 * a.width + column;
            r = add4(r, load4(pre_h));
            u = add4(u, load4(pre_h + a.width));
        }
        r = map4(sigmoid, r);
        u = map4(sigmoid, u);
        store4(a.act + row * ld + column, r);
        store4(a.act + row * ld + a.width + column, u);
        if (a.h) {
            float4 rh = mul4(r, load4(a.h + row * a.ld_h + column));
            store4(z + n * ld_z, rh);
            if (IN_SHARED)
                store4(shared + n * a.columns + p.lane, rh);
        }
    }
    if (a.h)
        diffuse_terms<IN_SHARED>(a.d, p, z, a.width, a.columns, shared);
}

template <typename Z, bool IN_SHARED>
static __global__ void __launch_bounds__(CELL_THREADS) dcrnn_state(const __grid_constant__ state_args a)
{
    SHARED_MEMORY(float, shared);
    const place p = place_of_thread(a.columns, a.width);
    const int column = p.column + p.lane, ld = 3 * a.width;
    const size_t first = (size_t)p.sample * a.d.n_sensors, ld_z = (size_t)a.d.n_terms * a.width;
    Z *z = (Z *)a.z + first * ld_z + column;
    for (int n = p.row; n < a.d.n_sensors; n += p.step) {
        const size_t row = first + n;
        float4 c = map4(tanhf, pre_activation(a, row, 2 * a.width + column));
        float4 u = load4(a.act + row * ld + a.width + column);
        float4 h = a.h ? load4(a.h + row * a.ld_h + column) : zero4();
        float4 h_new = add4(c, mul4(u, fma4(-1, c, h))); /* u h + (1 - u) c */
        store4(a.act + row * ld + 2 * a.width + column, c);
        store4(z + n * ld_z, h_new);
        if (a.h_new)
            store4(a.h_new + row * a.width + column, h_new);
        if (IN_SHARED)
            store4(shared + n * a.columns + p.lane, h_new);
    }
    if (a.wants_terms)
        diffuse_terms<IN_SHARED>(a.d, p, z, a.width, a.columns, shared);
}

int launch_gates(const struct gates_args *a, const struct tiling *t, cudaStream_t stream, struct dcr_err *err)
{
    return LAUNCH_TILED(dcrnn_gates, a, t, stream, err);
}

int launch_state(const struct state_args *a, const struct tiling *t, cudaStream_t stream, struct dcr_err *err)
{
    return LAUNCH_TILED(dcrnn_state, a, t, stream, err);
}

/* ---- a cell backward: the adjoint diffusion, then the derivatives ------------------------------------------------ */

/* finish(sensor, its gradient), for the thread's columns: the adjoint diffusion of a product's result, or 0 without a
 * product. */
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
    /* For one element; d_rh is the gradient of r * h. */
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

/* ---- inputs and outputs of few features -------------------------------------------------------------------------- */

/* A block has a whole sample and diffuses in device memory, because so little data stays in the cache. Terms 1 .. M-1
 * of the block's sample, term 0 stored and visible. z: (N, ld), term m of feature f at m * F + f. */
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
    return LAUNCH("dcrnn_input", dcrnn_input, (unsigned)n_samples, threads_for(d->n_sensors * n_features, 256), 0,
                  stream, a, err);
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
    return LAUNCH("dcrnn_project", dcrnn_project, (unsigned)a->n_samples,
                  threads_for(a->d.n_sensors * WARP, SAMPLE_THREADS), 0, stream, *a, err);
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
    if (row >= a.n_rows) /* a whole warp leaves, so no thread waits for it */
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
    return LAUNCH("dcrnn_narrow_back", kernel, (unsigned)((n_rows + BACK_ROWS - 1) / BACK_ROWS), BACK_ROWS * WARP, 0,
                  stream, a, err);
}

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
            const float *w = a.w + o * (a.width + 1) + column; /* rows have P + 1 values, so vectors do not fit */
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
    return LAUNCH("dcrnn_top_back", kernel, (unsigned)a->n_samples, threads, 0, stream, *a, err);
}
