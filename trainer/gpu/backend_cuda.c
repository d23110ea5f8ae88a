/* backend_cuda.c - the calls of backend.h for a CUDA device: the host half, part of every build. The parameters' table
 * and initial bits are the CPU's; the rest is handed to the device library (device.h). */
#include "trainer/gpu/backend_cuda.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct cuda *self(struct backend *be)
{
    return (struct cuda *)be;
}

/* A device that fails in the middle of a run: no call can go on, and the other ranks would wait for this one. */
static void must(struct cuda *s, int rc, const struct dcr_err *err)
{
    if (!rc)
        return;
    comm_abort(s->comm, err->text);
    fprintf(stderr, "dcrnn-train: rank %d on %s: %s\n", s->comm->rank, s->comm->host, err->text);
    fflush(NULL);
    _exit(DCR_EXIT_INPUT);
}

static struct gpu_batch as_gpu(const struct backend_batch *b)
{
    return (struct gpu_batch){.n = b->n, .x = b->x, .truth_z = b->truth_z, .raw = b->raw, .coins = b->coins};
}

/* ---- the calls of backend.h -------------------------------------------------------------------------------------- */

static void cuda_fetch(struct backend *be)
{
    struct cuda *s = self(be);
    float *const blocks[GPU_N_BLOCKS] = {be->params, be->grads, be->adam_m, be->adam_v};
    struct dcr_err err = {0};
    for (int i = 0; i < GPU_N_BLOCKS; i++)
        must(s, s->api->get(s->gpu, (enum gpu_block)i, blocks[i], &err), &err);
}

static void cuda_store(struct backend *be)
{
    struct cuda *s = self(be);
    const float *const blocks[GPU_N_BLOCKS] = {be->params, be->grads, be->adam_m, be->adam_v};
    struct dcr_err err = {0};
    for (int i = 0; i < GPU_N_BLOCKS; i++)
        must(s, s->api->put(s->gpu, (enum gpu_block)i, blocks[i], &err), &err);
}

static void cuda_init(struct backend *be, uint64_t seed)
{
    dcrnn_init(self(be)->model, seed);
    memset(be->grads, 0, be->n_params * sizeof(float));
    memset(be->adam_m, 0, be->n_params * sizeof(float));
    memset(be->adam_v, 0, be->n_params * sizeof(float));
    be->step = 0;
    cuda_store(be);
}

static void cuda_forward(struct backend *be, const struct backend_batch *batch)
{
    struct cuda *s = self(be);
    struct gpu_batch b = as_gpu(batch);
    struct dcr_err err = {0};
    must(s, s->api->forward(s->gpu, &b, 1, &err), &err);
}

static void read_sums(struct cuda *s)
{
    struct dcr_err err = {0};
    must(s, s->api->loss(s->gpu, s->sums, &err), &err);
}

static void cuda_loss(struct backend *be, double *sum_abs, int64_t *n_valid)
{
    struct cuda *s = self(be);
    double sum = 0, count = 0;
    read_sums(s);
    for (int t = 0; t < s->n_out; t++) {
        sum += s->sums[4 * t];
        count += s->sums[4 * t + 3];
    }
    *sum_abs = sum;
    if (n_valid)
        *n_valid = (int64_t)count;
}

/* The gradient comes to the host, where the loop reduces and scales it when it does the step itself. */
static void cuda_backward(struct backend *be, int is_first, const struct dcrnn_progress *progress)
{
    struct cuda *s = self(be);
    struct dcr_err err = {0};
    must(s, s->api->backward(s->gpu, is_first, &err), &err);
    must(s, s->api->get(s->gpu, GPU_GRADS, be->grads, &err), &err);
    if (progress)
        progress->call(progress->ctx, be->n_params);
}

static double cuda_update(struct backend *be, double lr, double clip)
{
    struct cuda *s = self(be);
    struct dcr_err err = {0};
    double norm = NAN;
    must(s, s->api->put(s->gpu, GPU_GRADS, be->grads, &err), &err);
    must(s, s->api->update(s->gpu, be->step + 1, lr, clip, &norm, &err), &err);
    if (isfinite(norm)) {
        be->step++;
        must(s, s->api->get(s->gpu, GPU_PARAMS, be->params, &err), &err);
    }
    return norm;
}

static void cuda_evaluate(struct backend *be, const struct backend_batch *batch, struct loss_horizon *sums)
{
    struct cuda *s = self(be);
    struct gpu_batch b = as_gpu(batch);
    struct dcr_err err = {0};
    must(s, s->api->forward(s->gpu, &b, 0, &err), &err);
    read_sums(s);
    for (int t = 0; t < s->n_out; t++) {
        sums[t].abs += s->sums[4 * t];
        sums[t].square += s->sums[4 * t + 1];
        sums[t].relative += s->sums[4 * t + 2];
        sums[t].n_valid += s->sums[4 * t + 3];
    }
}

static const float *cuda_predictions(struct backend *be)
{
    struct cuda *s = self(be);
    struct dcr_err err = {0};
    must(s, s->api->predictions(s->gpu, s->pred_z, &err), &err);
    return s->pred_z;
}

static int cuda_whole_step(struct backend *be, struct backend_step *b, struct dcr_err *err)
{
    struct cuda *s = self(be);
    struct gpu_step g = {.batch = as_gpu(b->batch),
                         .is_first = b->is_first,
                         .is_last = b->is_last,
                         .step = be->step + 1,
                         .lr = b->lr,
                         .clip = b->clip,
                         .tally = b->tally,
                         .n_tally = b->n_tally,
                         .enters = b->enters,
                         .meanwhile = b->meanwhile,
                         .ctx = b->ctx};
    int rc = s->api->step(s->gpu, &g, err);
    if (rc)
        return rc;
    memcpy(b->ns, g.ns, sizeof b->ns);
    if (b->is_last) {
        b->norm = g.norm;
        be->step += g.is_updated != 0;
    }
    return 0;
}

static void cuda_prefetch(struct backend *be, const struct backend_batch *batch)
{
    struct cuda *s = self(be);
    struct gpu_batch b = as_gpu(batch);
    struct dcr_err err = {0};
    must(s, s->api->prefetch(s->gpu, &b, &err), &err);
}

static size_t cuda_memory_bytes(const struct backend *be)
{
    const struct cuda *s = (const struct cuda *)be;
    return s->api->memory_bytes(s->gpu);
}

static void cuda_free(struct backend *be)
{
    struct cuda *s = self(be);
    if (!s)
        return;
    if (s->gpu)
        s->api->destroy(s->gpu);
    dcrnn_free(s->model);
    free(be->adam_m);
    free(be->adam_v);
    free(s->pred_z);
    free(s->sums);
    free(s);
}

const struct backend cuda_calls = {.name = "cuda",
                                   .init = cuda_init,
                                   .forward = cuda_forward,
                                   .loss = cuda_loss,
                                   .backward = cuda_backward,
                                   .update = cuda_update,
                                   .evaluate = cuda_evaluate,
                                   .predictions = cuda_predictions,
                                   .whole_step = cuda_whole_step,
                                   .fetch = cuda_fetch,
                                   .store = cuda_store,
                                   .prefetch = cuda_prefetch,
                                   .memory_bytes = cuda_memory_bytes,
                                   .free = cuda_free};
