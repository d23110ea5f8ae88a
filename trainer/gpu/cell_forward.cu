/* cell_forward.cu - what a cell does between its products, forward: gates and candidate, each followed by the diffusion
 * of its result. Called by forward.cu. Equations: dcgru.h. */
#include "trainer/gpu/tiled.cuh"

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

struct tiling tiling_choose(const struct limits *l, int n_sensors, int n_samples, int width, int is_bf16)
{
    struct tiling t = {};
    t.n_samples = n_samples;
    t.width = width;
    t.is_bf16 = is_bf16;
    t.shared_limit = l->shared_bytes;
    t.columns = width % 32 == 0 ? 32 : width % 16 == 0 ? 16 : 8; /* 32 floats are a cache line, and free of conflicts */
    while (t.columns > 8 && (long)n_samples * (width / t.columns) * 4 < (long)l->n_processors * 3)
        t.columns /= 2;
    for (;; t.columns /= 2) {
        t.shared_bytes = 2 * sizeof(float) * (size_t)n_sensors * (size_t)t.columns;
        t.in_shared = t.shared_bytes <= l->shared_bytes;
        if (t.in_shared || t.columns == 8)
            break;
    }
    if (!t.in_shared) { /* then wide accesses are what counts */
        t.columns = width % 32 == 0 ? 32 : width % 16 == 0 ? 16 : 8;
        t.shared_bytes = 0;
    }
    t.threads = threads_for(n_sensors * (t.columns / 4), CELL_THREADS);
    return t;
}
