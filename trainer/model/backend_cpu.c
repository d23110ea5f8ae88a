/* backend_cpu.c - the CPU back end: dcrnn, loss and adam as the table of backend.h. Single precision. */
#include "trainer/model/backend.h"

#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cpu {
    struct backend be; /* first: a struct backend * is a struct cpu * */
    struct backend_config c;
    struct dcrnn *model;
    int n_batch;      /* of the last forward or evaluate */
    const float *raw; /* its targets */
    float *pred_z;    /* shape: (H, max_batch, N, Dout) */
    float *d_pred;
    char kernels[64];
};

static struct cpu *self(struct backend *be)
{
    return (struct cpu *)be;
}

/* Values of one forecast step, and of a whole batch of n. */
static size_t n_each(const struct cpu *s, int n)
{
    return (size_t)n * (size_t)s->c.model.n_sensors * (size_t)s->c.model.d_out;
}

static size_t n_all(const struct cpu *s, int n)
{
    return n_each(s, n) * (size_t)s->c.model.n_out;
}

static void cpu_init(struct backend *be, uint64_t seed)
{
    dcrnn_init(self(be)->model, seed);
    memset(be->adam_m, 0, be->n_params * sizeof(float));
    memset(be->adam_v, 0, be->n_params * sizeof(float));
    be->step = 0;
}

static void predict(struct cpu *s, const struct backend_batch *b, int keep)
{
    s->n_batch = b->n;
    s->raw = b->raw;
    dcrnn_forward(s->model, b->n, b->x, keep ? b->truth_z : NULL, keep ? b->coins : NULL, keep, s->pred_z);
}

static void cpu_forward(struct backend *be, const struct backend_batch *batch)
{
    predict(self(be), batch, 1);
}

static void cpu_loss(struct backend *be, double *sum_abs, int64_t *n_valid)
{
    struct cpu *s = self(be);
    *sum_abs = loss_sum(s->pred_z, s->raw, n_all(s, s->n_batch), s->c.mean, s->c.std, n_valid);
}

static void cpu_backward(struct backend *be, int is_first, const struct dcrnn_progress *progress)
{
    struct cpu *s = self(be);
    loss_gradient(s->pred_z, s->raw, n_all(s, s->n_batch), s->c.mean, s->c.std, 1, s->d_pred);
    if (is_first)
        memset(be->grads, 0, be->n_params * sizeof(float));
    dcrnn_backward(s->model, s->d_pred, progress);
}

static double cpu_update(struct backend *be, double lr, double clip)
{
    struct cpu *s = self(be);
    double norm = adam_norm(be->grads, be->n_params);
    if (!isfinite(norm))
        return norm;
    be->step++;
    adam_step(&s->c.adam, be->step, lr, adam_clip_factor(norm, clip), be->n_params, be->grads, be->adam_m, be->adam_v,
              be->params);
    return norm;
}

static void cpu_evaluate(struct backend *be, const struct backend_batch *batch, struct loss_horizon *sums)
{
    struct cpu *s = self(be);
    predict(s, batch, 0);
    loss_horizons_add(s->pred_z, s->raw, s->c.model.n_out, n_each(s, s->n_batch), s->c.mean, s->c.std, sums);
}

static const float *cpu_predictions(struct backend *be)
{
    return self(be)->pred_z;
}

static size_t cpu_memory_bytes(const struct backend *be)
{
    const struct cpu *s = (const struct cpu *)be;
    return dcrnn_memory_bytes(s->model) + 2 * be->n_params * sizeof(float) +
           2 * n_all(s, s->c.model.max_batch) * sizeof(float);
}

static void cpu_free(struct backend *be)
{
    struct cpu *s = self(be);
    if (!s)
        return;
    dcrnn_free(s->model);
    free(be->adam_m);
    free(be->adam_v);
    free(s->pred_z);
    free(s->d_pred);
    free(s);
}

/* The portable kernels are only as fast as their OpenBLAS, so the name includes its choice. */
static void name_kernels(struct cpu *s)
{
    const char *name = dcrnn_kernels(s->model);
    if (strcmp(name, "portable") == 0)
        snprintf(s->kernels, sizeof s->kernels, "openblas/%s", openblas_get_corename());
    else
        snprintf(s->kernels, sizeof s->kernels, "%s", name);
}

int backend_cpu_create(struct backend **out, const struct backend_config *c, const struct graph_supports *supports,
                       struct dcr_err *err)
{
    int rc = 0;
    struct cpu *s = calloc(1, sizeof *s);
    if (!s)
        return dcr_err_set(err, DCR_FAIL, "out of memory for the model");
    s->c = *c;
    openblas_set_num_threads(1); /* the model's own workers share the samples */
    rc = dcrnn_create(&s->model, &c->model, supports, err);
    if (rc)
        goto out;
    name_kernels(s);
    struct backend *be = &s->be;
    *be = (struct backend){
        .name = "cpu",
        .kernels = s->kernels,
        .n_params = dcrnn_n_params(s->model),
        .params = dcrnn_params(s->model),
        .grads = dcrnn_grads(s->model),
        .init = cpu_init,
        .forward = cpu_forward,
        .loss = cpu_loss,
        .backward = cpu_backward,
        .update = cpu_update,
        .evaluate = cpu_evaluate,
        .predictions = cpu_predictions,
        .memory_bytes = cpu_memory_bytes,
        .free = cpu_free,
    };
    be->tensors = dcrnn_tensors(s->model, &be->n_tensors);
    be->adam_m = calloc(be->n_params, sizeof(float));
    be->adam_v = calloc(be->n_params, sizeof(float));
    s->pred_z = calloc(n_all(s, c->model.max_batch), sizeof(float));
    s->d_pred = calloc(n_all(s, c->model.max_batch), sizeof(float));
    if (!be->adam_m || !be->adam_v || !s->pred_z || !s->d_pred) {
        rc = dcr_err_set(err, DCR_FAIL, "out of memory for the optimiser of %zu parameters", be->n_params);
        goto out;
    }
    *out = be;
    s = NULL;
out:
    if (s)
        cpu_free(&s->be);
    return rc;
}
