/* model.cuh - a model on the device: its memory, layouts and streams. Filled by model.cu; forward.cu and backward.cu
 * enqueue its work; step.cu records and runs it; api.cu shows it to the program.
 *
 * Layouts, for a batch of B: R = B * N rows; everything is laid out for the largest batch, and a smaller one uses the
 * front of it without gaps. Steps s are numbered through: 0 .. T-1 the encoder's, T .. T+H-1 the decoder's. Layer l,
 * step s:
 *
 *     zh[l]  (T+H, R, M, P)  terms of the new state h_l(s): read as input of layer l + 1 at s and as previous state of
 *                            layer l at s + 1, so each state is diffused once. Term 0 is the state itself
 *     zr[l]  (T+H, R, M, P)  terms of r * h
 *     act[l] (T+H, R, 3P)    r, u, c
 *     g[l]   (T+H, R, 3P)    gradients of their pre-activations
 *
 * A row of terms is the row of a matrix with K = M * P columns. So a convolution is one product with the packed
 * weights (M * P, outputs), term outermost. Rows of consecutive steps follow each other, so that a weight gradient
 * is one product over all steps, and so are the products with the encoder's inputs above layer 0. Inputs of few
 * features do not go through products: the gates read their terms and weights directly. h = 0 in step 0: its
 * products are left out. */
#ifndef TRAINER_GPU_MODEL_CUH
#define TRAINER_GPU_MODEL_CUH

#include "trainer/gpu/kernels.cuh"

#include <cublas_v2.h>

/* ---- products: products.cu --------------------------------------------------------------------------------------- */

/* The dense products of a step, on cuBLAS. All matrices are row-major here; leading dimensions are in entries. `Z` is
 * float, or bf16 with fp32 sums. One struct products per stream: it has a separate workspace, so that products of
 * different streams can run at once and a recorded step needs no other memory. */
struct products {
    cublasHandle_t handle;
    int is_bf16;
    cublasComputeType_t compute; /* fp32: true single precision, no tensor cores */
};

/** products_open - workspace borrows.                                                    shape: (workspace_bytes) */
int products_open(struct products *p, enum gpu_precision precision, cudaStream_t stream, void *workspace,
                  size_t workspace_bytes, struct dcr_err *err) DCR_MUST_CHECK;
void products_close(struct products *p);

/* c (rows, n) = a (rows, k) b (k, n), or += when `add`.                                  a, b of Z, c float */
int product_forward(struct products *p, size_t rows, int n, int k, const void *a, int ld_a, const void *b, int ld_b,
                    float *c, int ld_c, int add, struct dcr_err *err) DCR_MUST_CHECK;
/* c (rows, n) = a (rows, k) b^T, b (n, k). */
int product_back(struct products *p, size_t rows, int n, int k, const void *a, int ld_a, const void *b, int ld_b,
                 float *c, int ld_c, struct dcr_err *err) DCR_MUST_CHECK;

/* part i of out (m, n) = a^T b over rows i * each .. : a (rows, m), b (rows, n); ceil(rows / each) parts one after
 * another in out. A sum over many rows has few results. Split into parts it fills the device and keeps its order. */
int product_parts(struct products *p, size_t rows, size_t each, int m, int n, const void *a, int ld_a, const void *b,
                  int ld_b, float *out, struct dcr_err *err) DCR_MUST_CHECK;

/* ---- sums over ranks: nccl.cu ------------------------------------------------------------------------------------ */

/* Sums over the devices of a run's ranks. They are enqueued on a stream, also while the stream is captured into a
 * graph, and are ordered with it like a kernel. gpu_comm_check, which the waiting host calls repeatedly, finds later
 * failures. */
struct gpu_comm;

/** gpu_comm_unique_id - see device.h. */
int gpu_comm_unique_id(unsigned char *id, struct dcr_err *err) DCR_MUST_CHECK;
/** gpu_comm_open - join the other ranks, on the current device. Collective.
 *  largest  entries of the longest gpu_comm_sum_f32, so that any scratch memory is taken here
 *  out      gives; gpu_comm_close */
int gpu_comm_open(struct gpu_comm **out, const struct gpu_ranks *ranks, size_t largest,
                  struct dcr_err *err) DCR_MUST_CHECK;
/** gpu_comm_close - leave; also after a failure (then without waiting for the others). Graphs that hold sums must be
 *  destroyed before: NCCL waits for their end without limit, we wait some seconds. NULL is fine. */
void gpu_comm_close(struct gpu_comm *c);

/** gpu_comm_sum_f32, gpu_comm_sum_f64 - elementwise sum over all ranks, in place, in device memory.     shape: (n) f32
 *  travels as bf16, or not at all, if the ranks agreed on it; the same bits on every rank */
int gpu_comm_sum_f32(struct gpu_comm *c, float *values, size_t n, cudaStream_t stream,
                     struct dcr_err *err) DCR_MUST_CHECK;
int gpu_comm_sum_f64(struct gpu_comm *c, double *values, size_t n, cudaStream_t stream,
                     struct dcr_err *err) DCR_MUST_CHECK;

/** gpu_comm_check - has anything failed in the meantime? Called while the host waits for a step.
 *  waited_s  since the step was launched; beyond ranks.timeout_s the collective counts as stuck
 *  errors    DCR_FATAL: names rank and host; running sums were aborted, and only gpu_comm_close may follow */
int gpu_comm_check(struct gpu_comm *c, double waited_s, struct dcr_err *err) DCR_MUST_CHECK;

/* ---- the model --------------------------------------------------------------------------------------------------- */

enum { N_SETS = 2, MAX_BLOCKS = 128, MAX_RECORDED = 12 };

/* Offsets of a cell in the packed weights; see products.cu. The bias follows x. */
struct packed_cell {
    size_t x;  /* (M * P or M * F, 3P), columns r, u, c */
    size_t b;  /* (3P) */
    size_t ru; /* (M * P, 2P): of h */
    size_t c;  /* (M * P, P): of r * h */
};

/* Batch arrays, twice: one set is computed with while the other is filled. */
struct batch_set {
    float *x, *truth, *raw;
    struct gpu_batch from; /* the batch that was copied, with the host's pointers */
    int is_filled;
    cudaEvent_t begin, end; /* of the copy */
    cudaEvent_t wanted;     /* when the step had nothing else to do but wait for the copy */
};

/* Marks between the phases of a step, in order of time. */
enum mark_at { AT_START, AT_FORWARD, AT_BACKWARD, AT_REDUCED, AT_END, N_MARKS };

/* A task that was done, and its recording, which is valid only for this task. */
struct recorded {
    int n, set, is_training, is_first, is_last, has_truth;
    size_t n_tally;
    cudaGraphExec_t exec; /* NULL = done once, not yet recorded */
    uint64_t last_use;    /* 0 = unused */
};

struct gpu {
    struct gpu_config c; /* host pointers in it are not valid after create */
    struct limits limits;
    int width, n_terms, n_steps; /* P, M, T + H */
    int n_x[2], ld_x[2];         /* [0] encoder, [1] decoder: narrow terms and their leading dimension */
    struct diffusion forward, back;

    cudaStream_t main, side, copy, reduce;
    struct products on_main, on_side;
    cudaEvent_t h_product[GPU_MAX_LAYERS], state[GPU_MAX_LAYERS]; /* hand-overs between main and side */
    cudaEvent_t to_side, from_side, to_reduce, from_reduce;
    cudaEvent_t marks[N_MARKS];
    struct gpu_comm *comm;

    void *blocks[MAX_BLOCKS];
    int n_blocks;
    size_t bytes; /* sum of all allocations */

    float *params, *grads, *adam_m, *adam_v;
    size_t n_packed, proj; /* proj: offset of (Dout, P + 1) */
    struct packed_cell at[2][GPU_MAX_LAYERS];
    int *map; /* (n_packed): index of a parameter, -1 = padding */
    float *packed;
    bf16 *packed_bf16; /* NULL unless products are in bf16 */

    struct batch_set sets[N_SETS];
    struct orders *orders, *orders_host; /* the coins follow */
    struct answer *answer, *answer_host;
    size_t orders_bytes, answer_bytes;

    float *x_terms[2];            /* (T, R, ld), (H, R, ld) */
    float *pre;                   /* (T, R, 3P); the decoder uses the first */
    float *pre_h[GPU_MAX_LAYERS]; /* (R, 2P) */
    float *act[GPU_MAX_LAYERS];
    void *zh[GPU_MAX_LAYERS], *zr[GPU_MAX_LAYERS], *g[GPU_MAX_LAYERS];
    float *h32[GPU_MAX_LAYERS];          /* (T+H, R, P): the states, when zh is bf16; else NULL */
    float *dz_r, *dz_h, *dz_x, *dz_feed; /* (R, M, P), the same, (T, R, M, P), (R, ld_x[1]) */
    float *dx;                           /* (T, R, P): gradient of the encoder's states as inputs of the layer above */
    float *dh[GPU_MAX_LAYERS];           /* (R, P) */
    float *pred, *d_pred;                /* (H, R, Dout) */
    float *partial;                      /* parts of weight gradients */
    double *loss_partial, *norm_partial;

    int n_batch, is_training; /* of the last forward */
    int set;                  /* set that it used */
    size_t n_sent;            /* gradients handed to the other ranks so far */
    struct recorded recorded[MAX_RECORDED];
    uint64_t use;
};

static inline int is_bf16(const struct gpu *g)
{
    return g->c.precision == GPU_BF16;
}

static inline size_t n_rows(const struct gpu *g, int n_batch)
{
    return (size_t)n_batch * (size_t)g->c.n_sensors;
}

/* Entry `at` of an array of storage type. */
static inline void *z_at(const struct gpu *g, void *base, size_t at)
{
    return (char *)base + at * (is_bf16(g) ? sizeof(bf16) : sizeof(float));
}

/* Terms of step s in zh[l] or zr[l]; gradients and activations of step s; the same in all layers. */
static inline void *terms_at(const struct gpu *g, void *base, int s)
{
    return z_at(g, base, (size_t)s * n_rows(g, g->n_batch) * (size_t)(g->n_terms * g->width));
}

static inline void *g_at(const struct gpu *g, int l, int s)
{
    return z_at(g, g->g[l], (size_t)s * n_rows(g, g->n_batch) * 3 * (size_t)g->width);
}

static inline float *act_at(const struct gpu *g, int l, int s)
{
    return g->act[l] + (size_t)s * n_rows(g, g->n_batch) * 3 * (size_t)g->width;
}

/* The new state of step s and its leading dimension. */
static inline float *h_at(const struct gpu *g, int l, int s)
{
    return is_bf16(g) ? g->h32[l] + (size_t)s * n_rows(g, g->n_batch) * (size_t)g->width
                      : (float *)terms_at(g, g->zh[l], s);
}

static inline size_t h_ld(const struct gpu *g)
{
    return is_bf16(g) ? (size_t)g->width : (size_t)(g->n_terms * g->width);
}

/* Packed weights in the type that products read. */
static inline const void *weights_at(const struct gpu *g, size_t at)
{
    return is_bf16(g) ? (const void *)(g->packed_bf16 + at) : (const void *)(g->packed + at);
}

static inline const uint8_t *coins_of(const struct gpu *g)
{
    return (const uint8_t *)(g->orders + 1);
}

/** model_create, model_join, model_destroy - model.cu. As create, join and destroy of device.h. */
int model_create(struct gpu **out, const struct gpu_config *c, struct dcr_err *err) DCR_MUST_CHECK;
int model_join(struct gpu *g, struct dcr_err *err) DCR_MUST_CHECK;
void model_destroy(struct gpu *g);
/** model_parts - rows of a part of a sum over `rows`, so that parts of an (m, n) result fill the device. */
size_t model_parts(const struct gpu *g, size_t rows, int m, int n);

/** packed_place, packed_fill_map - products.cu. Offsets of the packed weights, and their size; then, with memory there,
 *  g->map: which parameter each of them is. */
void packed_place(struct gpu *g);
int packed_fill_map(struct gpu *g, struct dcr_err *err) DCR_MUST_CHECK;

/** enqueue_forward - predictions of the batch in g->sets[g->set], its size in g->n_batch; forward.cu. */
int enqueue_forward(struct gpu *g, int is_training, int has_truth, struct dcr_err *err) DCR_MUST_CHECK;
/** enqueue_backward - adds to the gradients; with `is_reduced` hands them to the other ranks; backward.cu. */
int enqueue_backward(struct gpu *g, int is_reduced, struct dcr_err *err) DCR_MUST_CHECK;

/** model_follow - `to` continues after all work enqueued on `from` so far. */
static inline int model_follow(cudaStream_t to, cudaStream_t from, cudaEvent_t event, struct dcr_err *err)
{
    CUDA_TRY(cudaEventRecord(event, from), err);
    CUDA_TRY(cudaStreamWaitEvent(to, event, 0), err);
    return 0;
}

/* ---- a step, recorded once into a CUDA graph, then launched: step.cu --------------------------------------------- */

/** batch_bring - puts the batch into one of the sets, copying it unless it was prefetched; g->set and g->n_batch tell
 *  which. The main stream waits for the copy, the host does not.
 *  errors   DCR_FATAL; DCR_FAIL a batch larger than max_batch */
int batch_bring(struct gpu *g, const struct gpu_batch *b, struct dcr_err *err) DCR_MUST_CHECK;
/** batch_prefetch - start copying a batch into the set that is not in use. */
int batch_prefetch(struct gpu *g, const struct gpu_batch *b, struct dcr_err *err) DCR_MUST_CHECK;

/* The work on the batch that batch_bring brought. */
struct task {
    int is_training; /* 0: forward and errors only */
    int has_truth, is_first, is_last;
    size_t n_tally;
};
/** task_run - launch it and wait; reports its phases through s (NULL: no reports). The answer is then in
 *  g->answer_host. */
int task_run(struct gpu *g, const struct task *t, const struct gpu_step *s, struct dcr_err *err) DCR_MUST_CHECK;

/** wait_for_main - the host waits for the main stream, watching the other ranks and the time. */
int wait_for_main(struct gpu *g, struct dcr_err *err) DCR_MUST_CHECK;
/** elapsed_ns - time between two marks of the last task, or of the copy of its batch. */
int elapsed_ns(cudaEvent_t from, cudaEvent_t to, int64_t *ns, struct dcr_err *err) DCR_MUST_CHECK;

/** enqueue_loss, enqueue_update - parts of a task, for callers that do them separately. */
int enqueue_loss(struct gpu *g, const struct task *t, struct dcr_err *err) DCR_MUST_CHECK;
int enqueue_update(struct gpu *g, int is_scaled, struct dcr_err *err) DCR_MUST_CHECK;

#endif
