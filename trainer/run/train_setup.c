/* train_setup.c - the preparation of the loop of train.c: sizes, model, resuming, tables. */
#include "trainer/run/train_internal.h"

#include "lib/base/fs.h"
#include "trainer/data/loader.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHECKPOINT_NAME "checkpoint.bin"
#define STAGED_NAME "windows.bin"

/* Part `rank` of the global batch. */
static void share_of(const struct train *t, int rank, size_t *first, size_t *count)
{
    if (t->o->n_rank_weights)
        sampler_share_weighted(t->global_batch, t->o->rank_weights, rank, t->c->n_ranks, first, count);
    else
        sampler_share(t->global_batch, rank, t->c->n_ranks, first, count);
}

static int share_batch(struct train *t, size_t *largest, struct dcr_err *err)
{
    int n_idle = 0;
    if (t->o->n_rank_weights && t->o->n_rank_weights != t->c->n_ranks)
        return dcr_err_set(err, DCR_FAIL, "--rank-weights has %d share%s for %d rank%s; give one for each",
                           t->o->n_rank_weights, t->o->n_rank_weights == 1 ? "" : "s", t->c->n_ranks,
                           t->c->n_ranks == 1 ? "" : "s");
    for (int r = 0; r < t->c->n_ranks; r++) {
        size_t first, count;
        share_of(t, r, &first, &count);
        n_idle += count == 0;
        *largest = count > *largest ? count : *largest;
    }
    share_of(t, t->c->rank, &t->first, &t->share);
    if (t->c->rank == 0 && n_idle)
        dcr_say("dcrnn-train", "note: a global batch of %zu leaves %d of %d ranks without work; raise --batch%s",
                t->global_batch, n_idle, t->c->n_ranks, t->o->n_rank_weights ? " or change --rank-weights" : "");
    return 0;
}

static int set_sizes(struct train *t, struct dcr_err *err)
{
    const struct options *o = t->o;
    t->global_batch = (size_t)o->batch * (o->is_weak ? (size_t)t->c->n_ranks : 1);
    t->steps_per_epoch = sampler_steps(t->data->train.count, t->global_batch);
    size_t largest = 0;
    int rc = share_batch(t, &largest, err);
    if (rc)
        return rc;
    t->model = dcrnn_config_default();
    t->model.n_sensors = (int)t->data->n_sensors;
    t->model.n_units = o->units;
    t->model.n_layers = o->layers;
    t->model.n_in = o->input_steps;
    t->model.n_out = o->forecast_steps;
    t->model.d_in = DATASET_FEATURES;
    t->model.d_out = 1;
    t->model.k_hops = o->hops;
    t->model.recursion = o->recursion;
    t->model.max_batch = (int)((largest + (size_t)o->accumulate - 1) / (size_t)o->accumulate);
    t->model.n_threads = o->threads;
    t->model.kernels = o->kernels;
    t->order = calloc(t->data->train.count, sizeof *t->order);
    t->coins = calloc(t->data->n_out, sizeof *t->coins);
    t->val = calloc(t->data->n_out, sizeof *t->val);
    t->test = calloc(t->data->n_out, sizeof *t->test);
    size_t n_eval = (size_t)t->model.max_batch, n_row = n_eval * t->data->n_sensors;
    t->eval_windows = calloc(n_eval, sizeof *t->eval_windows);
    t->eval_x = calloc(t->data->n_in * n_row * DATASET_FEATURES, sizeof *t->eval_x);
    t->eval_y = calloc(t->data->n_out * n_row, sizeof *t->eval_y);
    if (!t->order || !t->coins || !t->val || !t->test || !t->eval_windows || !t->eval_x || !t->eval_y)
        return dcr_err_set(err, DCR_FATAL, "out of memory for batches of %zu windows", n_eval);
    return 0;
}

static void set_key(struct train *t)
{
    const struct dcrnn_config *m = &t->model;
    t->key = (struct checkpoint_key){.seed = (int64_t)t->o->seed,
                                     .n_params = (int64_t)t->be->n_params,
                                     .n_sensors = m->n_sensors,
                                     .n_units = m->n_units,
                                     .n_layers = m->n_layers,
                                     .n_in = m->n_in,
                                     .n_out = m->n_out,
                                     .k_hops = m->k_hops,
                                     .recursion = m->recursion,
                                     .filter = t->o->filter,
                                     .global_batch = (int64_t)t->global_batch,
                                     .data_crc = t->in->crc};
    t->at = (struct checkpoint_state){.n_ranks = t->c->n_ranks, .best_val_mae = INFINITY};
    t->checkpoint_at = -1;
    t->divergence.factor = t->o->explode_factor;
}

/* Rank 0 reads, all receive. */
static int resume(struct train *t, struct dcr_err *err)
{
    float *const tensors[CHECKPOINT_N_TENSORS] = {t->be->params, t->be->adam_m, t->be->adam_v};
    int rc = 0;
    if (!t->o->resume)
        return 0;
    if (t->c->rank == 0)
        rc = checkpoint_read(t->o->resume, &t->key, &t->at, tensors, err);
    rc = comm_first_failure(t->c, rc, err);
    if (rc)
        return rc;
    comm_broadcast(t->c, &t->at, sizeof t->at);
    for (int i = 0; i < CHECKPOINT_N_TENSORS; i++)
        comm_broadcast(t->c, tensors[i], t->be->n_params * sizeof(float));
    t->be->step = t->at.n_updates;
    if (t->be->store)
        t->be->store(t->be);
    if (t->c->rank == 0 && t->at.n_ranks != t->c->n_ranks)
        dcr_say("dcrnn-train", "note: the checkpoint was written by %lld rank%s, this run has %d: rounding differs",
                (long long)t->at.n_ranks, t->at.n_ranks == 1 ? "" : "s", t->c->n_ranks);
    t->at.n_ranks = t->c->n_ranks;
    return 0;
}

/* The file of windows, if the options want one. Rank 0 writes it, all ranks open it, and its name is then removed, so
 * that nothing is left behind. Collective. */
static int open_windows(struct train *t, struct dcr_err *err)
{
    char path[4096];
    int rc = 0;
    if (!t->o->stage_windows)
        return 0;
    if (snprintf(path, sizeof path, "%s/" STAGED_NAME, t->o->out) >= (int)sizeof path)
        rc = dcr_err_set(err, DCR_FAIL, "the name '%.200s...' is too long; choose a shorter one", t->o->out);
    else if (t->c->rank == 0 && !(rc = dcr_mkdirs(t->o->out, err)))
        rc = window_store_write(path, t->data, t->o->windows_format, (size_t)t->o->windows_chunk, err);
    rc = comm_first_failure(t->c, rc, err);
    if (rc)
        return rc;
    rc = comm_first_failure(t->c, window_store_open(&t->store, path, t->data, t->o->cold, err), err);
    if (t->c->rank == 0)
        unlink(path);
    return rc;
}

/* Number of leading gradients that are final when the backward pass is through the decoder: all before the encoder's.
 */
static size_t n_decoder(const struct backend *be)
{
    for (int i = 0; i < be->n_tensors; i++)
        if (strncmp(be->tensors[i].name, "enc", 3) == 0)
            return be->tensors[i].offset;
    return be->n_params;
}

/* Opens the ways of batches and gradients. Collective. */
static int open_ways(struct train *t, struct dcr_err *err)
{
    int rc = open_windows(t, err);
    if (rc)
        return rc;
    const struct loader_config load = {.data = t->data,
                                       .store = t->store,
                                       .max_windows = (size_t)t->model.max_batch,
                                       .n_workers = t->o->loader_workers,
                                       .n_ahead = t->o->n_ahead,
                                       .alloc = t->o->pinned != PINNED_NO ? t->be->host_alloc : NULL,
                                       .free = t->o->pinned != PINNED_NO ? t->be->host_free : NULL};
    const struct grad_sync_config sum = {.is_overlapped = !t->o->is_late,
                                         .bucket_bytes = t->o->bucket_bytes,
                                         .n_early = t->n_early,
                                         .dtype = t->o->allreduce_dtype};
    rc = loader_open(&t->loader, &load, err);
    if (!rc && (!t->be->whole_step || t->o->gradient_to)) /* a gradient that is written out is added up on the host */
        rc = grad_sync_open(&t->sync, t->c, &sum, t->be->grads, t->be->n_params, err);
    if (!rc && t->c->rank == 0 && t->c->n_ranks > 1 && t->o->allreduce_dtype == ALLREDUCE_NONE)
        dcr_say("dcrnn-train", "warning: --allreduce-dtype none: no gradient is exchanged, the ranks drift apart "
                               "and what is trained is of no use; for measurements only");
    return comm_first_failure(t->c, rc, err);
}

static struct backend_config config_of(const struct train *t)
{
    return (struct backend_config){.model = t->model,
                                   .adam = adam_config_default(),
                                   .mean = t->data->mean_mph,
                                   .std = t->data->std_mph,
                                   .precision = t->o->precision};
}

/* Collective: the ranks of devices find each other here. */
static int open_backend(struct train *t, struct dcr_err *err)
{
    const struct options *o = t->o;
    const struct backend_config config = config_of(t);
    const struct backend_cuda_options cuda = {.device = -1,
                                              .use_graph = o->use_cuda_graph,
                                              .all_reduce_bf16 = o->allreduce_dtype == ALLREDUCE_BF16,
                                              .all_reduce_none = o->allreduce_dtype == ALLREDUCE_NONE,
                                              .is_overlapped = !o->is_late,
                                              .may_share = o->may_share_gpu,
                                              .bucket_bytes = o->bucket_bytes,
                                              .timeout_s = o->comm_timeout};
    return o->is_cuda ? backend_cuda_create(&t->be, &config, &t->supports, &cuda, t->c, err)
                      : backend_cpu_create(&t->be, &config, &t->supports, err);
}

int train_setup(struct train *t, struct dcr_err *err)
{
    int rc = set_sizes(t, err);
    if (!rc)
        rc = graph_supports_build(&t->in->adjacency, t->o->filter, &t->supports, err);
    rc = comm_first_failure(t->c, rc, err);
    if (!rc)
        rc = open_backend(t, err);
    rc = comm_first_failure(t->c, rc, err);
    if (rc)
        return rc;
    t->n_early = n_decoder(t->be);
    rc = open_ways(t, err);
    if (rc)
        return rc;
    t->be->init(t->be, t->o->seed);
    set_key(t);
    rc = resume(t, err);
    if (!rc && (t->at.epoch >= t->o->epochs || train_steps_are_over(t)))
        rc = dcr_err_set(err, DCR_FAIL,
                         "'%s' has %lld epoch%s and %lld step%s already; allow more with --epochs, --steps",
                         t->o->resume, (long long)t->at.epoch, t->at.epoch == 1 ? "" : "s", (long long)t->at.step,
                         t->at.step == 1 ? "" : "s");
    return rc;
}

static int is_same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

int train_open_tables(struct train *t, struct dcr_err *err)
{
    struct probe probe = {0};
    int rc = comm_first_failure(t->c, t->c->rank == 0 ? metrics_lock(t->o->out, err) : 0, err);
    if (rc)
        return rc;
    const int most = sizeof t->checkpoint_path;
    if (snprintf(t->checkpoint_path, (size_t)most, "%s/" CHECKPOINT_NAME, t->o->out) >= most ||
        snprintf(t->checkpoint_before, (size_t)most, "%s/" CHECKPOINT_NAME ".before", t->o->out) >= most)
        rc = dcr_err_set(err, DCR_FAIL, "the name '%.200s...' is too long; choose a shorter one", t->o->out);
    t->checkpoint_is_good = t->o->resume && is_same_file(t->o->resume, t->checkpoint_path);
    if (!rc)
        rc = metrics_open(&t->tables, t->o->out, t->c->rank, t->at.epoch, t->at.step, err);
    const struct backend_config config = config_of(t);
    if (!rc && t->c->rank == 0 && !t->o->is_cuda)
        rc = probe_kernels(&probe, &config, &t->supports, err);
    if (!rc && t->c->rank == 0)
        rc = train_describe(t, &probe, err);
    return comm_first_failure(t->c, rc, err);
}

void train_release(struct train *t)
{
    grad_sync_close(t->sync);
    loader_close(t->loader); /* its memory may belong to the back end */
    window_store_close(t->store);
    if (t->be)
        t->be->free(t->be);
    graph_supports_free(&t->supports);
    free(t->order);
    free(t->coins);
    free(t->val);
    free(t->test);
    free(t->eval_windows);
    free(t->eval_x);
    free(t->eval_y);
    free(t->step_s);
}
