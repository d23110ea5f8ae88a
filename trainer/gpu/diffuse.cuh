/* diffuse.cuh - diffusion over the graph inside a block, and its adjoint. A block has one sample and some columns (a
 * multiple of 4). A thread has the same four columns of every rows-per-pass-th sensor throughout. So a value that only
 * one element needs is read back by the thread that wrote it.
 *
 * Rows of an array of terms are n_terms * width apart, term m of a row m * width further, as in gconv.h. With IN_SHARED
 * the last two terms of the recursion stay in shared memory (2 * n_sensors * columns floats): every term is written to
 * device memory once and none is read back. Without, terms are read back from there, for graphs that do not fit; a
 * block sees its own writes after a barrier. */
#ifndef TRAINER_GPU_DIFFUSE_CUH
#define TRAINER_GPU_DIFFUSE_CUH

#include "trainer/gpu/launch.cuh"

/* The position of a block in an array of rows. */
struct place {
    int sample, column;  /* first column of the block */
    int lane, row, step; /* this thread's four columns; its first sensor; distance to its next sensor */
};

static __device__ __forceinline__ place place_of_thread(int columns, int width)
{
    int lanes = columns / 4, chunks = width / columns, block = (int)blockIdx.x, thread = (int)threadIdx.x;
    place p;
    p.sample = block / chunks;
    p.column = block % chunks * columns;
    p.lane = thread % lanes * 4;
    p.row = thread / lanes;
    p.step = (int)blockDim.x / lanes;
    return p;
}

/* The earlier terms from which term k (1 ..) of a support is made: from = a_(k-1), before = a_(k-2). */
struct hop {
    int from, before, to;
};

static __device__ __forceinline__ int start_term(const diffusion &d, int support)
{
    return support > 0 && d.is_published ? d.k_hops - 1 : 0;
}

static __device__ __forceinline__ hop hop_of(const diffusion &d, int support, int k)
{
    int start = start_term(d, support), first = 1 + support * d.k_hops;
    hop h;
    h.to = first + k - 1;
    h.from = k == 1 ? start : h.to - 1;
    h.before = k == 2 ? start : h.to - 2;
    return h;
}

/* sum_j S[row][j] x[j], x(j) giving four columns of sensor j */
template <typename X> static __device__ __forceinline__ float4 gather(const diffusion &d, int support, int row, X x)
{
    const struct edge *e = d.edges[support] + d.row_start[support][row];
    const struct edge *end = d.edges[support] + d.row_start[support][row + 1];
    float4 sum = zero4();
    for (; e < end; e++) {
        struct edge one = *e;
        sum = fma4(one.val, x(one.col), sum);
    }
    return sum;
}

static __device__ __forceinline__ void swap_buffers(float **a, float **b)
{
    float *t = *a;
    *a = *b;
    *b = t;
}

/* Terms 1 .. M-1 from term 0, which this thread has already stored for its own elements, in device memory and, with
 * IN_SHARED, in shared[row * columns + lane].
 *  z  the sample's row 0 at this thread's columns; term m at z[row * M * width + m * width] */
template <bool IN_SHARED, typename Z>
static __device__ void diffuse_terms(const diffusion &d, const place &p, Z *z, int width, int columns, float *shared)
{
    const size_t ld = (size_t)d.n_terms * width;
    float *last = shared, *before = shared + d.n_sensors * columns; /* a_(k-1), a_(k-2): IN_SHARED only */
    for (int s = 0; s < d.n_supports; s++) {
        if (IN_SHARED && s > 0) {
            if (start_term(d, s) == 0) /* the last term of the first support is no longer needed */
                for (int row = p.row; row < d.n_sensors; row += p.step)
                    store4(last + row * columns + p.lane, load4(z + row * ld));
            else
                swap_buffers(&last, &before);
        }
        for (int k = 1; k <= d.k_hops; k++) {
            const hop h = hop_of(d, s, k);
            __syncthreads();
            for (int row = p.row; row < d.n_sensors; row += p.step) {
                float4 y;
                if (IN_SHARED) {
                    const float *from = last + p.lane;
                    float *own = before + row * columns + p.lane;
                    y = gather(d, s, row, [=](int j) { return load4(from + j * columns); });
                    if (k > 1)
                        y = fms4(2, y, load4(own));
                    store4(own, y);
                } else {
                    const Z *from = z + h.from * width;
                    y = gather(d, s, row, [=](int j) { return load4(from + j * ld); });
                    if (k > 1)
                        y = fms4(2, y, load4(z + row * ld + h.before * width));
                }
                store4(z + row * ld + h.to * width, y);
            }
            if (IN_SHARED)
                swap_buffers(&last, &before);
        }
    }
}

/* The adjoint of the above: with q the gradient of every term, calls result(row, gradient of term 0) for each of this
 * thread's elements. d holds the transposed supports. q is used up. Clenshaw's recurrence, downwards:
 *     b_k = q_k + 2 S^T b_(k+1) - b_(k+2),   gradient of the start = S^T b_1 - b_2 */
template <bool IN_SHARED, typename R>
static __device__ void adjoint_sum(const diffusion &d, const place &p, float *q, int width, int columns, float *shared,
                                   R result)
{
    const size_t ld = (size_t)d.n_terms * width;
    for (int s = d.n_supports - 1; s >= 0; s--) {
        float *last = shared, *before = shared + d.n_sensors * columns; /* b_(k+1), b_(k+2) */
        if (IN_SHARED) {
            __syncthreads(); /* the sums of the other support are done */
            for (int row = p.row; row < d.n_sensors; row += p.step)
                store4(last + row * columns + p.lane, load4(q + row * ld + hop_of(d, s, d.k_hops).to * width));
        }
        for (int k = d.k_hops - 1; k >= 0; k--) { /* b_k; k = 0: the start */
            const int from = hop_of(d, s, k + 1).to, over = from + 1;
            const int to = k > 0 ? from - 1 : start_term(d, s);
            const float factor = k > 0 ? 2 : 1;
            const bool has_before = k + 2 <= d.k_hops, is_last = s == 0 && k == 0;
            __syncthreads();
            for (int row = p.row; row < d.n_sensors; row += p.step) {
                float *own = q + row * ld + to * width;
                float4 y = load4(own), sum;
                if (IN_SHARED) {
                    const float *x = last + p.lane;
                    sum = gather(d, s, row, [=](int j) { return load4(x + j * columns); });
                    if (has_before)
                        y = fma4(-1, load4(before + row * columns + p.lane), y);
                } else {
                    const float *x = q + from * width;
                    sum = gather(d, s, row, [=](int j) { return load4(x + j * ld); });
                    if (has_before)
                        y = fma4(-1, load4(q + row * ld + over * width), y);
                }
                y = fma4(factor, sum, y);
                if (is_last)
                    result(row, y);
                else if (IN_SHARED && k > 0)
                    store4(before + row * columns + p.lane, y);
                else
                    store4(own, y);
            }
            swap_buffers(&last, &before);
        }
    }
}

/* ---- launching a kernel that diffuses ---------------------------------------------------------------------------- */

/* kernel<Z, IN_SHARED> for the storage type and the place of the recursion. */
#define LAUNCH_TILED(kernel, args, t, stream, err)                                            \
    launch_tiled((t)->is_bf16     ? (t)->in_shared ? kernel<bf16, true> : kernel<bf16, false> \
                     : (t)->in_shared ? kernel<float, true>                                   \
                                  : kernel<float, false>,                                     \
                 #kernel, args, t, stream, err)

template <typename A>
static inline int launch_tiled(void (*kernel)(A), const char *name, const A *args, const struct tiling *t,
                               cudaStream_t stream, struct dcr_err *err)
{
    const unsigned n_blocks = (unsigned)t->n_samples * (unsigned)(t->width / t->columns);
    A own = *args;
    own.columns = t->columns;
    TRY(allow_shared(kernel, t->shared_bytes, t->shared_limit, err));
    return LAUNCH(name, kernel, n_blocks, t->threads, t->shared_bytes, stream, own, err);
}

#endif
