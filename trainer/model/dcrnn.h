/* dcrnn.h - the DCRNN as one object: parameters, forward, backward. CPU reference in both precisions (real.h). It is
 * independent of files, ranks, loss and optimiser. The training loop reaches it through backend.h.
 *
 * Arrays are dense, row-major, time outermost, then sample, sensor, feature: x (T, B, N, Din), predictions and targets
 * (H, B, N, Dout). A sample's rows are contiguous, so that all diffusion terms of one sample stay in the L2 cache, and
 * a rank's share of a batch needs no reordering. Source: Li et al. 2018 (arXiv 1707.01926) and the authors' repository
 * liyaguang/DCRNN. */
#ifndef TRAINER_MODEL_DCRNN_H
#define TRAINER_MODEL_DCRNN_H

#include "lib/base/err.h"
#include "trainer/model/graph.h"
#include "trainer/cpu/real.h"

#include <stddef.h>
#include <stdint.h>

#define DCRNN_MAX_LAYERS 8
#define DCRNN_MAX_K 8

/* X(enumerator, name) */
#define DCRNN_RECURSIONS(X)                                                                                           \
    X(DCRNN_PUBLISHED, "published") /* support 2 starts from the last but one term of support 1, as in public code */ \
    X(DCRNN_RESET, "reset")         /* every support starts from the input, as the text of the paper means */
enum dcrnn_recursion {
#define X(id, text) id,
    DCRNN_RECURSIONS(X)
#undef X
};

/** dcrnn_recursion_name - "published" or "reset". */
const char *dcrnn_recursion_name(enum dcrnn_recursion r);
/** dcrnn_recursion_parse - the reverse. returns 0, or DCR_FAIL (sentence lists the names). */
int dcrnn_recursion_parse(const char *text, enum dcrnn_recursion *out, struct dcr_err *err) DCR_MUST_CHECK;

struct dcrnn_config {
    int n_sensors; /* N */
    int n_units;   /* U, hidden units per sensor and layer */
    int n_layers;  /* in the encoder and in the decoder, 1 .. DCRNN_MAX_LAYERS */
    int n_in;      /* T, input steps */
    int n_out;     /* H, forecast steps */
    int d_in;      /* Din, features in */
    int d_out;     /* Dout, features out */
    int k_hops;    /* K, diffusion steps per support, 1 .. DCRNN_MAX_K */
    enum dcrnn_recursion recursion;
    int max_batch;       /* largest B of forward with keep = 1 (decides the memory for activations) and of keep = 0 */
    int n_threads;       /* workers that share the samples of a batch; 1 = only the caller's thread */
    const char *kernels; /* NULL = the best this CPU can run; "avx512", "avx2", "portable": see trainer/cpu/kernels.h */
};

/** dcrnn_config_default - METR-LA as published: 207 sensors, 2 x 64 units, 12 in, 12 out, Din 2, Dout 1, K 2, batch 64,
 *  one thread. */
struct dcrnn_config dcrnn_config_default(void);

/* One tensor in the flat blocks. Names are those of the reference cases: enc0_W_ru, dec1_b_c, proj_W, ... */
struct dcrnn_tensor {
    char name[32];
    int rows, cols; /* a bias has rows = 1 */
    int rank;       /* dimensions to show: 1 for a bias, 2 for a weight */
    size_t offset;  /* index of its first element in the parameter and the gradient block */
};

#define dcrnn REAL_FN(dcrnn)
#define dcrnn_create REAL_FN(dcrnn_create)
#define dcrnn_free REAL_FN(dcrnn_free)
#define dcrnn_n_params REAL_FN(dcrnn_n_params)
#define dcrnn_params REAL_FN(dcrnn_params)
#define dcrnn_grads REAL_FN(dcrnn_grads)
#define dcrnn_tensors REAL_FN(dcrnn_tensors)
#define dcrnn_init REAL_FN(dcrnn_init)
#define dcrnn_forward REAL_FN(dcrnn_forward)
#define dcrnn_backward REAL_FN(dcrnn_backward)
#define dcrnn_memory_bytes REAL_FN(dcrnn_memory_bytes)
#define dcrnn_peek REAL_FN(dcrnn_peek)
#define dcrnn_kernels REAL_FN(dcrnn_kernels)

struct dcrnn;

/** dcrnn_create - allocate a model; parameters and gradients are zero.
 *  c         borrows during the call
 *  supports  borrows during the call; supports->n_sensors must equal c->n_sensors
 *  out       gives; free with dcrnn_free
 *  errors    DCR_FAIL: a size out of range (sentence names it), no memory */
int dcrnn_create(struct dcrnn **out, const struct dcrnn_config *c, const struct graph_supports *supports,
                 struct dcr_err *err) DCR_MUST_CHECK;
/** dcrnn_free - NULL is fine. */
void dcrnn_free(struct dcrnn *m);

/** dcrnn_n_params - entries of the flat blocks. METR-LA with the defaults: 372353. */
size_t dcrnn_n_params(const struct dcrnn *m);
/** dcrnn_params, dcrnn_grads - the flat blocks, borrows until dcrnn_free. Order: projection, decoder layers from the
 * top one down, encoder layers from the top one down: a leading part of the gradient block is final before the rest.
 *  Parameters may be written between calls.                                         shape: (n_params) */
real *dcrnn_params(struct dcrnn *m);
real *dcrnn_grads(struct dcrnn *m);
/** dcrnn_tensors - table of the tensors, ascending offset, without gaps. borrows until dcrnn_free.
 *  n  overwritten: number of tensors */
const struct dcrnn_tensor *dcrnn_tensors(const struct dcrnn *m, int *n);

/** dcrnn_init - W_ru, W_c Xavier-normal (variance 2 / (rows + cols)), b_ru = 1, b_c = 0; proj_W, proj_b uniform
 *  within 1 / sqrt(U).
 *  The same seed gives the same bits whatever the rank, thread count or kernels. */
void dcrnn_init(struct dcrnn *m, uint64_t seed);

/** dcrnn_forward - predictions of one batch.
 *  n_batch  B, 0 .. max_batch; 0 does nothing
 *  x        borrows; when keep = 1 until dcrnn_backward returns                     shape: (T, B, N, Din)
 *  truth_z  borrows; true z-scored targets, NULL = the decoder always sees its own predictions
 *                                                                                   shape: (H, B, N, Dout)
 *  coins    borrows during the call; 1 = step t+1 is fed truth_z[t]; NULL = all 0   shape: (H)
 *  keep     1 keeps what dcrnn_backward needs
 *  pred_z   overwritten                                                             shape: (H, B, N, Dout)
 *  cost     dcrnn_count_step; deterministic: same bits for the same inputs, kernels and thread count */
void dcrnn_forward(struct dcrnn *m, int n_batch, const real *x, const real *truth_z, const uint8_t *coins, int keep,
                   real *pred_z);

/* Called on the caller's own thread during dcrnn_backward, once after each piece of work of some milliseconds, and once
 * each time more gradients are final. The n_final leading entries of dcrnn_grads will not change any more. */
struct dcrnn_progress {
    void (*call)(void *ctx, size_t n_final);
    void *ctx;
};

/** dcrnn_backward - gradients of the last dcrnn_forward with keep = 1.
 *  d_pred   borrows; d objective / d pred_z (see loss_gradient)                     shape: (H, B, N, Dout)
 *  grads    dcrnn_grads(m) is accumulated into: zero it first, or add several micro-batches
 *  progress may be NULL. The decoder's part of the block is final before the encoder's is started. With n_batch = 0 it
 *           is called once, everything final
 *  source   order of evaluation: dcrnn_run.c, head of the file. Test: finite differences in tests/unit/test_dcrnn.c */
void dcrnn_backward(struct dcrnn *m, const real *d_pred, const struct dcrnn_progress *progress);

/** dcrnn_kernels - name of the kernels in use: "avx512", "avx2" or "portable". borrows, static. */
const char *dcrnn_kernels(const struct dcrnn *m);
/** dcrnn_memory_bytes - bytes this model allocated. */
size_t dcrnn_memory_bytes(const struct dcrnn *m);

/* The parts that a test may look at after dcrnn_forward with keep = 1. */
enum dcrnn_peek_what { DCRNN_PEEK_R, DCRNN_PEEK_U, DCRNN_PEEK_C, DCRNN_PEEK_H };
/** dcrnn_peek - gate, candidate or new state of one cell at one step, copied to out.
 *  is_decoder, layer, t  which cell                                   out shape: (B, N, U) */
void dcrnn_peek(const struct dcrnn *m, enum dcrnn_peek_what what, int is_decoder, int layer, int t, real *out);

/* Operations and bytes of one training step, counted before any saving by order of evaluation: a multiply-add is 2
 * operations, diffusion is with sparse supports. */
struct dcrnn_count {
    double dense_flop, sparse_flop, update_flop, projection_flop; /* forward and backward of one batch */
    double forward_flop;                                          /* the forward part of their sum */
    double params_bytes;                                          /* one float32 all-reduce of all gradients */
};
/** dcrnn_count_step - METR-LA defaults with 1722 non-zeros and B = 64: 371.80 GFLOP, 1 489 412 bytes.
 *  nnz      stored entries of all supports together */
struct dcrnn_count dcrnn_count_step(const struct dcrnn_config *c, int n_supports, int64_t nnz, int n_batch);

#endif
