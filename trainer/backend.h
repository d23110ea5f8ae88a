/* backend.h - where a training step is computed. The training loop knows this table and nothing below it; the CPU back
 * end is trainer/cpu/backend_cpu.c, a CUDA back end fills the same table.
 *
 * One step, as the loop writes it:
 *     be->forward(be, &batch);                 predictions stay inside
 *     be->loss(be, &sum, &n_valid);            then all-reduce n_valid (and sum, for the log)
 *     be->backward(be, 1.0 / n_valid_global, progress);
 *     all-reduce SUM of be->grads[0 .. n_params)
 *     norm = be->update(be, lr, clip);
 * A rank without samples (batch.n = 0) makes the same calls and contributes zeros. */
#ifndef TRAINER_BACKEND_H
#define TRAINER_BACKEND_H

#include "trainer/adam.h"
#include "trainer/dcrnn.h"
#include "trainer/loss.h"

struct backend_batch {
    int n;                /* B of this rank, 0 .. max_batch */
    const float *x;       /* borrows until the next forward; z-scored inputs          shape: (T, B, N, Din) */
    const float *truth_z; /* borrows; z-scored targets, NULL when evaluating          shape: (H, B, N, Dout) */
    const float *raw;     /* borrows; targets in mph, 0 = missing                     shape: (H, B, N, Dout) */
    const uint8_t *coins; /* borrows; NULL = own predictions only                     shape: (H) */
};

struct backend_config {
    struct dcrnn_config model;
    struct adam_config adam;
    double mean, std; /* of the readings: raw = z * std + mean */
};

struct backend {
    const char *name;    /* "cpu" */
    const char *kernels; /* which kernels compute: "avx512", "avx2" or "openblas/Prescott"; for the run's metadata */
    size_t n_params;
    float *params; /* borrows; the flat parameter block (host memory on every back end)      shape: (n_params) */
    float *grads;  /* borrows; the flat gradient block, valid after backward                  shape: (n_params) */
    float *adam_m; /* borrows; Adam's moments, for checkpoints                                shape: (n_params) */
    float *adam_v;
    int64_t step;                       /* optimiser updates done; set it when a checkpoint is restored */
    const struct dcrnn_tensor *tensors; /* shape: (n_tensors) */
    int n_tensors;

    /** init - parameters from a seed (dcrnn_init), moments and step zero. */
    void (*init)(struct backend *be, uint64_t seed);
    /** forward - predictions of a training batch, keeping what backward needs. */
    void (*forward)(struct backend *be, const struct backend_batch *batch);
    /** loss - of the last forward or evaluate: this rank's sum of |error| in mph and its number of valid targets. */
    void (*loss)(struct backend *be, double *sum_abs, int64_t *n_valid);
    /** backward - overwrites grads with d(scale * sum of |error|)/d params of the last forward. scale is 1 / (valid
     *  targets of the global batch), 0 when there are none. progress as in dcrnn.h, may be NULL. */
    void (*backward)(struct backend *be, double scale, const struct dcrnn_progress *progress);
    /** update - clip grads to L2 norm `clip` (<= 0: off) and take one Adam step; ++step.
     *  returns the norm before clipping. When it is not finite nothing is changed, step included. */
    double (*update)(struct backend *be, double lr, double clip);
    /** evaluate - forward without keeping anything, own predictions only; adds the errors to sums.  shape: (H) */
    void (*evaluate)(struct backend *be, const struct backend_batch *batch, struct loss_horizon *sums);
    /** predictions - of the last forward or evaluate, z-scored. borrows until the next one.  shape: (H, B, N, Dout) */
    const float *(*predictions)(struct backend *be);
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

#endif
