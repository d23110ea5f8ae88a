/* kernels.cuh - functions that launch the kernels of a DCGRU cell and its surroundings, their types, and the check of
 * every CUDA call. The dense products between them are cuBLAS's (products.cu); forward.cu and backward.cu give the
 * order of the calls.
 *
 * Shapes: R = B * N rows, and row b * N + n is sensor n of sample b. P = units, padded with zeros to a multiple of
 * 8. Padded units stay 0 through forward and backward. There are M diffusion terms. `Z` is the storage type of what
 * products read: float, or bf16 when is_bf16. void * points to such. Launchers return 0 or DCR_FATAL (the launch
 * failed). */
#ifndef TRAINER_GPU_KERNELS_CUH
#define TRAINER_GPU_KERNELS_CUH

#include "trainer/gpu/device.h"

#include <cuda_runtime.h>

/* ---- checks ------------------------------------------------------------------------------------------------------ */

/** cuda_check - 0, or DCR_FATAL with "CUDA: <call> failed in <file>:<line>: <why>". */
static inline int cuda_check(cudaError_t status, const char *call, const char *file, int line, struct dcr_err *err)
{
    if (status == cudaSuccess)
        return 0;
    return dcr_err_set(err, DCR_FATAL, "CUDA: %s failed in %s:%d: %s", call, file, line, cudaGetErrorString(status));
}
#define CUDA_CHECK(call, err) cuda_check(call, #call, __FILE__, __LINE__, err)

/* Leaves the function if the call failed. */
#define CUDA_TRY(call, err)                      \
    do {                                         \
        int cuda_try_rc = CUDA_CHECK(call, err); \
        if (cuda_try_rc)                         \
            return cuda_try_rc;                  \
    } while (0)
#define TRY(call)            \
    do {                     \
        int try_rc = (call); \
        if (try_rc)          \
            return try_rc;   \
    } while (0)

/* ---- types ------------------------------------------------------------------------------------------------------- */

/* The upper half of a float. It is only a storage type: all arithmetic is in float. */
struct bf16 {
    unsigned short bits;
};

struct alignas(8) edge { /* one access reads both */
    int col;
    float val;
};

/* One set of supports on the device: all as they are, or all transposed. */
struct diffusion {
    int n_sensors, n_supports, k_hops, n_terms, is_published;
    const int *row_start[GPU_MAX_SUPPORTS];     /* shape: (n_sensors + 1) */
    const struct edge *edges[GPU_MAX_SUPPORTS]; /* shape: (nnz) */
};

/* How a kernel that diffuses is divided: one block for each sample and group of columns. */
struct tiling {
    int n_samples, width; /* width = P */
    int columns, threads;
    int in_shared;       /* the recursion stays in shared memory */
    size_t shared_bytes; /* of a block */
    size_t shared_limit; /* of any block */
    int is_bf16;
};

/* Threads of a block at most: of a kernel that diffuses; of one whose blocks have a whole sample. */
enum { CELL_THREADS = 512, SAMPLE_THREADS = 1024 };

struct limits {
    int n_processors;    /* of the device */
    size_t shared_bytes; /* a block may have */
};

/** tiling_choose - so many columns that a row's accesses fill cache lines, but enough blocks for all processors. */
struct tiling tiling_choose(const struct limits *l, int n_sensors, int n_samples, int width, int is_bf16);

/* ---- forward: cell.cu ------------------------------------------------------------------------------------ */

/* [r, u] = sigmoid(pre + pre_h + narrow x + b); z = terms of r * h. */
struct gates_args {
    struct diffusion d;
    int width;
    const float *pre;     /* (R, 3P), columns r, u, c: the input's share; NULL = 0 */
    const float *pre_h;   /* (R, 2P), columns r, u: the state's; NULL = 0 */
    const float *bias;    /* (3P) */
    const float *x_terms; /* (R, ld_x): diffused input of few features, term m of feature f at m * F + f */
    int ld_x, n_x;        /* n_x = M * F, 0 = the input is in pre */
    const float *w_x;     /* (n_x, 3P) */
    const float *h;       /* previous state, leading dimension ld_h; NULL = 0: no terms are written */
    size_t ld_h;
    float *act; /* out: (R, 3P), columns r, u */
    void *z;    /* out: (R, M, P) */
    int columns;
};
int launch_gates(const struct gates_args *a, const struct tiling *t, cudaStream_t stream,
                 struct dcr_err *err) DCR_MUST_CHECK;

/* c = tanh(pre + narrow x + b), h' = u h + (1 - u) c; z = terms of h'. Fields as above. */
struct state_args {
    struct diffusion d;
    int width;
    const float *pre, *bias, *x_terms;
    int ld_x, n_x;
    const float *w_x, *h;
    size_t ld_h;
    float *act;   /* in: u; out: c */
    float *h_new; /* out: (R, P); NULL = term 0 of z is the only copy */
    void *z;
    int wants_terms; /* 0: only term 0 of z */
    int columns;
};
int launch_state(const struct state_args *a, const struct tiling *t, cudaStream_t stream,
                 struct dcr_err *err) DCR_MUST_CHECK;

/* ---- backward: cell.cu ---------------------------------------------------------------------------------- */

/* Makes from dz (the gradient of the terms of r * h) and dh = d h' the gradients of both gates, and the gradient
 * that reaches h through them. The latter is dh' u + d(r h) r and replaces dh. */
struct gates_back_args {
    struct diffusion d; /* transposed */
    int width;
    float *dz;      /* (R, M, P), used up; NULL when h is */
    const float *h; /* NULL = 0: dh stays */
    size_t ld_h;
    const float *act;
    float *dh; /* (R, P) */
    void *g;   /* out: (R, 3P), columns r, u */
    int columns;
};
int launch_gates_back(const struct gates_back_args *a, const struct tiling *t, cudaStream_t stream,
                      struct dcr_err *err) DCR_MUST_CHECK;

/* dh = base + more + adjoint terms of dz; with act, also the candidate's gradient g_c = dh (1 - u) (1 - c^2). */
struct state_back_args {
    struct diffusion d; /* transposed */
    int width;
    float *dz;                /* (R, M, P), used up; NULL = 0 */
    const float *base, *more; /* (R, P); NULL = 0; may be dh */
    float *dh;                /* out: (R, P) */
    const float *act;         /* (R, 3P) of the cell whose state dh belongs to; NULL = g is not wanted */
    void *g;                  /* out: (R, 3P), columns c */
    int columns;
};
int launch_state_back(const struct state_back_args *a, const struct tiling *t, cudaStream_t stream,
                      struct dcr_err *err) DCR_MUST_CHECK;

/* ---- inputs and outputs of few features: cell.cu ----------------------------------------------------------------- */

/* Terms of the encoder's input of all steps.                    x: (samples, N, F); z: (samples * N, ld), ld >= M * F
 */
int launch_input(const struct diffusion *d, int n_samples, int n_features, const float *x, float *z, int ld,
                 cudaStream_t stream, struct dcr_err *err) DCR_MUST_CHECK;

/* y = h W + b, and the decoder's next input with its terms: the truth or y, as the coin decides. */
struct project_args {
    struct diffusion d;
    int n_samples, width, n_out; /* n_out = Dout */
    const float *h;              /* leading dimension ld_h */
    size_t ld_h;
    const float *w;      /* (Dout, P + 1): last column is the bias */
    float *y;            /* out: (R, Dout) */
    const float *truth;  /* (R, Dout); NULL = never fed */
    const uint8_t *coin; /* one, on the device */
    float *z;            /* out: (R, ld_z): terms of the next input; NULL after the last step */
    int ld_z;
};
int launch_project(const struct project_args *a, cudaStream_t stream, struct dcr_err *err) DCR_MUST_CHECK;

/* Gradient of the terms of a cell's narrow input: dz = g W_x^T.          g: (R, 3P) of Z, w_x: (n_x, 3P), dz: (R, ld)
 */
int launch_narrow_back(int n_rows, int width, int n_x, const void *g, int is_bf16, const float *w_x, float *dz, int ld,
                       cudaStream_t stream, struct dcr_err *err) DCR_MUST_CHECK;

/* Through the projection of one forecast step: dy += (1 - coin) adjoint terms of dz, dh = base + dy W^T, g_c. */
struct top_back_args {
    struct diffusion d; /* transposed */
    int n_samples, width, n_out;
    float *dz; /* (R, ld_z) of the next step's input, used up; NULL after the last step */
    int ld_z;
    const uint8_t *coin;
    float *dy;         /* (R, Dout) in: d loss / d y; out: with what the next steps add */
    const float *w;    /* (Dout, P + 1) */
    const float *base; /* (R, P); NULL = 0 */
    float *dh;         /* out: (R, P) */
    const float *act;
    void *g;
    int is_bf16;
};
int launch_top_back(const struct top_back_args *a, cudaStream_t stream, struct dcr_err *err) DCR_MUST_CHECK;

/* ---- sums: reduce.cu --------------------------------------------------------------------------------------------- */

/* out[c][j][o] = sum over the rows of chunk c of narrow[row][j] * wide[row][o]; row n_narrow of the sums belongs to an
 * input of ones when has_ones, column n_wide likewise when wide_has_ones. */
struct outer_args {
    size_t n_rows;
    int n_chunks;
    const float *narrow; /* (rows, ld_narrow) */
    int ld_narrow, n_narrow, has_ones;
    const void *wide; /* (rows, ld_wide) of Z */
    int ld_wide, n_wide, wide_has_ones, is_bf16;
    float *out; /* (n_chunks, n_narrow + has_ones, n_wide + wide_has_ones) */
};
int launch_outer(const struct outer_args *a, cudaStream_t stream, struct dcr_err *err) DCR_MUST_CHECK;

/* grads[map[i]] += sum_c partial[c * stride + i], in chunk order; map[i] < 0 is padding. */
int launch_gather(size_t n, int n_chunks, size_t stride, const float *partial, const int *map, float *grads,
                  cudaStream_t stream, struct dcr_err *err) DCR_MUST_CHECK;

/* ---- loss and update: reduce.cu ---------------------------------------------------------------------------------- */

enum { GPU_MAX_TALLY = 16, LOSS_BLOCKS = 32 };

/* The host's orders for one call; page-locked on the host. The coins follow. */
struct orders {
    double tally[GPU_MAX_TALLY]; /* [2..]: this rank's */
    float clip, rate, root;      /* lr / (1 - beta1^step), 1 / sqrt(1 - beta2^step) */
};

/* The device's answer. */
struct answer {
    double tally[GPU_MAX_TALLY];
    double norm;
    double is_updated;
    double horizons[1][4]; /* (n_out, 4) in truth */
};

/* d_pred = std * sign(error) where the target is valid; per-step sums of |e|, e^2, |e| / target and the count. */
struct loss_args {
    int n_out;
    size_t n_each; /* R * Dout */
    const float *pred_z, *raw;
    float mean, std;
    float *d_pred;               /* NULL = not wanted */
    double *partial;             /* (n_out, LOSS_BLOCKS, 4) */
    struct answer *answer;       /* horizons: overwritten; tally[0..1]: accumulated, after a reset with is_first */
    const struct orders *orders; /* tally[2 .. n_tally - 1] are copied with is_last */
    int is_first, is_last, n_tally;
    int n_blocks; /* set by launch_loss */
};
int launch_loss(const struct loss_args *a, cudaStream_t stream, struct dcr_err *err) DCR_MUST_CHECK;

struct update_args {
    size_t n;
    const struct orders *orders;
    struct answer *answer; /* tally[1]: valid targets of all ranks; norm, is_updated: out */
    float *params, *grads, *m, *v;
    float beta1, rest1, beta2, rest2, eps; /* rest = 1 - beta, rounded once */
    int is_scaled;                         /* grads are of the mean already: not divided by tally[1] */
    double *partial;                       /* (NORM_BLOCKS) */
    int n_blocks;                          /* set by launch_update */
};
enum { NORM_BLOCKS = 128 };
int launch_update(const struct update_args *a, cudaStream_t stream, struct dcr_err *err) DCR_MUST_CHECK;

/* packed[i] = params[map[i]], 0 where map[i] < 0; packed_bf16 too when it is not NULL. */
int launch_pack(size_t n, const int *map, const float *params, float *packed, bf16 *packed_bf16, cudaStream_t stream,
                struct dcr_err *err) DCR_MUST_CHECK;

/* Gradients to and from the 16 bits in which they travel between ranks. */
int launch_to_wire(size_t n, float *values, bf16 *wire, cudaStream_t stream, struct dcr_err *err) DCR_MUST_CHECK;
int launch_from_wire(size_t n, bf16 *wire, float *values, cudaStream_t stream, struct dcr_err *err) DCR_MUST_CHECK;

#endif
