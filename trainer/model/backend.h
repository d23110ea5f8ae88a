/* backend.h - the table of functions that compute a training step. The training loop only knows this table. The CPU
 * back end is trainer/model/backend_cpu.c, the CUDA back end trainer/gpu/backend_cuda.c with a separate library.
 *
 * One step, as the loop writes it, over one or more micro-batches:
 *
 *  - be->forward(be, &batch): the predictions stay inside
 *
 *  - be->loss(be, &sum, &n_valid): summed over micro-batches and ranks
 *
 *  - be->backward(be, is_first, progress): adds the gradient of the sum of |error|
 *
 *  - all-reduce SUM of be->grads[0 .. n_params), divided by the number of valid targets of all ranks
 *
 *  - norm = be->update(be, lr, clip)
 *
 * A back end on a device does the whole step in one call without returning to the host: be->whole_step. A rank without
 * samples (batch.n = 0) makes the same calls and contributes zeros. */
#ifndef TRAINER_MODEL_BACKEND_H
#define TRAINER_MODEL_BACKEND_H

#include "trainer/mark.h"
#include "trainer/model/adam.h"
#include "trainer/ranks/comm.h"
#include "trainer/model/dcrnn.h"
#include "trainer/model/loss.h"

struct backend_batch {
    int n;                /* B of this rank, 0 .. max_batch */
    const float *x;       /* borrows until the next forward; z-scored inputs          shape: (T, B, N, Din) */
    const float *truth_z; /* borrows; z-scored targets, NULL when evaluating          shape: (H, B, N, Dout) */
    const float *raw;     /* borrows; targets in mph, 0 = missing                     shape: (H, B, N, Dout) */
    const uint8_t *coins; /* borrows; NULL = own predictions only                     shape: (H) */
};

enum backend_precision {
    BACKEND_FP32,
    BACKEND_TF32, /* products round their inputs to 10 mantissa bits */
    BACKEND_BF16, /* products round their inputs to 7; weights, sums and the optimiser stay in fp32 */
};

struct backend_config {
    struct dcrnn_config model;
    struct adam_config adam;
    double mean, std;                 /* of the readings: raw = z * std + mean */
    enum backend_precision precision; /* FP32 only on the CPU */
};

/* One call of be->whole_step: one micro-batch, and with the last one the rest of the step. */
struct backend_step {
    const struct backend_batch *batch;
    int is_first, is_last; /* micro-batch of the step */
    /* with the last micro-batch only: */
    double lr, clip;
    double
        *tally; /* [0] sum of |error|, [1] valid targets: overwritten; the rest: this rank's in, all ranks' sums out */
    size_t n_tally; /* >= 2 */
    /* called when the host sees the device enter a phase: MARK_FORWARD and MARK_BACKWARD. MARK_FORWARD comes again
     * after MARK_H2D if it still waits for its batch when all is enqueued. The last micro-batch has MARK_ALL_REDUCE
     * (several ranks) and MARK_OPTIMIZER too. NULL: no calls */
    void (*enters)(void *ctx, enum mark_range phase);
    /* called once while the device works, when the batch's arrays are free again; NULL: no call. The loop uses it to
     * take the next batch and prefetch it. */
    void (*meanwhile)(void *ctx);
    void *ctx;
    double norm; /* overwritten: norm of the mean gradient before clipping; not finite = nothing was changed */
    /* overwritten, for this call, by phase; measured on the device. MARK_H2D is the part of the batch's copy that the
     * step before did not hide, MARK_ALL_REDUCE the part that the backward pass did not hide */
    int64_t ns[MARK_N_RANGES];
};

struct backend {
    const char *name;     /* "cpu", "cuda" */
    const char *kernels;  /* which kernels compute: "avx512", "avx2" or "openblas/Prescott"; for the run's metadata */
    int ranks_per_device; /* largest number on one device; above 1 they stand for nodes (emulated); 0 = no device */
    size_t n_params;
    /* borrows; host memory on every back end. For a device it is a copy: see fetch and store.     shapes: (n_params) */
    float *params;                      /* the flat parameter block */
    float *grads;                       /* the flat gradient block, valid after backward */
    float *adam_m, *adam_v;             /* Adam's moments, for checkpoints */
    int64_t step;                       /* optimiser updates done; set it when a checkpoint is restored */
    const struct dcrnn_tensor *tensors; /* shape: (n_tensors) */
    int n_tensors;

    /** init - parameters from a seed (dcrnn_init), moments and step zero. */
    void (*init)(struct backend *be, uint64_t seed);
    /** forward - predictions of a training batch, keeping what backward needs. */
    void (*forward)(struct backend *be, const struct backend_batch *batch);
    /** loss - of the last forward or evaluate: this rank's sum of |error| in mph and its number of valid targets. */
    void (*loss)(struct backend *be, double *sum_abs, int64_t *n_valid);
    /** backward - adds d(sum of |error| in mph)/d params of the last forward to grads; is_first: zeroes grads before.
     *  progress as in dcrnn.h, may be NULL. */
    void (*backward)(struct backend *be, int is_first, const struct dcrnn_progress *progress);
    /** update - clip grads to L2 norm `clip` (<= 0: off) and take one Adam step; ++step. returns the norm before
     *  clipping. If it is not finite, nothing changes, not even step. */
    double (*update)(struct backend *be, double lr, double clip);
    /** evaluate - forward without keeping anything, own predictions only; adds the errors to sums.  shape: (H) */
    void (*evaluate)(struct backend *be, const struct backend_batch *batch, struct loss_horizon *sums);
    /** predictions - of the last forward or evaluate, z-scored. borrows until the next one; used by the tests of a back
     *  end.                                                                      shape: (H, B, N, Dout) */
    const float *(*predictions)(struct backend *be);
    /** whole_step - forward, loss, backward, all-reduce, update in one. NULL if the loop calls them one by one.
     *  errors  DCR_FAIL: the device or the communication failed; the run cannot go on */
    int (*whole_step)(struct backend *be, struct backend_step *s, struct dcr_err *err);
    /** fetch, store - bring params, grads and moments to the host block, or back to the device. NULL if the host block
     *  is the only one. */
    void (*fetch)(struct backend *be);
    void (*store)(struct backend *be);
    /** host_alloc, host_free - memory for batches that the device can copy from while it computes (page-locked).
     *  NULL: any memory will do. */
    void *(*host_alloc)(size_t bytes);
    void (*host_free)(void *p);
    /** prefetch - start copying a batch to the device, while it may still compute on another. The next whole_step,
     *  forward or evaluate must then get the same arrays, unchanged. NULL: nothing to copy. */
    void (*prefetch)(struct backend *be, const struct backend_batch *batch);
    /** memory_bytes - allocated by this back end on its device. */
    size_t (*memory_bytes)(const struct backend *be);
    void (*free)(struct backend *be);
};

/** backend_cpu_create - the CPU back end.
 *  supports  borrows during the call
 *  out       gives; free with out->free(out)
 *  errors    DCR_FAIL: sizes out of range, no memory */
int backend_cpu_create(struct backend **out, const struct backend_config *c, const struct graph_supports *supports,
                       struct dcr_err *err) DCR_MUST_CHECK;

struct backend_cuda_options {
    int device;          /* -1: the ranks of a host take its devices in turn */
    int use_graph;       /* a step is one CUDA graph, else hundreds of launches */
    int all_reduce_bf16; /* gradients are sent as bf16 */
    int all_reduce_none; /* gradients are not sent: see enum allreduce_dtype */
    int is_overlapped;   /* 1: gradients are sent as they become final; 0: after the backward pass */
    int may_share;       /* several ranks may use one device and stand for nodes: see gpu/share.h */
    size_t bucket_bytes; /* largest size of one all-reduce; 0 = no limit */
    double timeout_s;    /* a collective that takes longer ends the run; 0 = no limit */
};

/** backend_cuda_create - the CUDA back end. Collective over the ranks of comm: they find each other by NCCL.
 *  supports  borrows during the call
 *  comm      borrows until out->free
 *  out       gives; free with out->free(out)
 *  errors    DCR_FAIL, one sentence: built without CUDA, no library, driver or device, a device older than compute
 *            capability 7.5, not enough device memory, sizes out of range. All ranks return the same. A device that
 *            fails later ends the program: it cannot be repaired, and other ranks would wait */
int backend_cuda_create(struct backend **out, const struct backend_config *c, const struct graph_supports *supports,
                        const struct backend_cuda_options *o, struct comm *comm, struct dcr_err *err) DCR_MUST_CHECK;

#endif
