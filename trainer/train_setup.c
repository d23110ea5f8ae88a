/* train_setup.c - what surrounds the loop of train.c: sizes, model, resuming, tables. */
#include "trainer/train_internal.h"

#include "trainer/describe.h"
#include "trainer/sampler.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECKPOINT_NAME "checkpoint.bin"

static int set_sizes(struct train *t, struct dcr_err *err)
{
    const struct options *o = t->o;
    t->global_batch = (size_t)o->batch * (o->is_weak ? (size_t)t->c->n_ranks : 1);
    t->steps_per_epoch = sampler_steps(t->data->train.count, t->global_batch);
    sampler_share(t->global_batch, t->c->rank, t->c->n_ranks, &t->first, &t->share);
    size_t largest = (t->global_batch + (size_t)t->c->n_ranks - 1) / (size_t)t->c->n_ranks;
    if (t->c->rank == 0 && t->global_batch < (size_t)t->c->n_ranks)
        fprintf(stderr, "dcrnn-train: a global batch of %zu leaves %zu of %d ranks without work; raise --batch\n",
                t->global_batch, (size_t)t->c->n_ranks - t->global_batch, t->c->n_ranks);
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
    t->model.max_batch = (int)largest;
    t->model.n_threads = o->threads;
    t->lr = schedule_lr_default();
    t->lr.base = o->lr;
    t->lr.n_milestones = o->n_milestones;
    memcpy(t->lr.milestone, o->milestone, sizeof o->milestone);
    t->order = calloc(t->data->train.count, sizeof *t->order);
    t->coins = calloc(t->data->n_out, sizeof *t->coins);
    t->val = calloc(t->data->n_out, sizeof *t->val);
    if (!t->order || !t->coins || !t->val)
        return dcr_err_set(err, DCR_FATAL, "out of memory");
    return batch_room_alloc(&t->room, t->data, largest, err);
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
    if (t->c->rank == 0 && t->at.n_ranks != t->c->n_ranks)
        fprintf(stderr,
                "dcrnn-train: note: the checkpoint was written by %lld ranks, this run has %d: rounding differs\n",
                (long long)t->at.n_ranks, t->c->n_ranks);
    t->at.n_ranks = t->c->n_ranks;
    return 0;
}

int train_setup(struct train *t, struct dcr_err *err)
{
    struct backend_config config;
    int rc = set_sizes(t, err);
    if (!rc)
        rc = graph_supports_build(&t->in->adjacency, t->o->filter, &t->supports, err);
    config = (struct backend_config){
        .model = t->model, .adam = adam_config_default(), .mean = t->data->mean_mph, .std = t->data->std_mph};
    if (!rc)
        rc = backend_cpu_create(&t->be, &config, &t->supports, err);
    rc = comm_first_failure(t->c, rc, err);
    if (rc)
        return rc;
    t->be->init(t->be, t->o->seed);
    set_key(t);
    rc = resume(t, err);
    if (!rc && (t->at.epoch >= t->o->epochs || train_steps_are_over(t)))
        rc = dcr_err_set(err, DCR_FAIL,
                         "'%s' has %lld epochs and %lld steps behind it; allow more with --epochs, --steps",
                         t->o->resume, (long long)t->at.epoch, (long long)t->at.step);
    return rc;
}

int train_open_tables(struct train *t, struct dcr_err *err)
{
    struct description d = {.options = t->o,
                            .input = t->in,
                            .comm = t->c,
                            .backend = t->be,
                            .model = &t->model,
                            .supports = &t->supports,
                            .global_batch = t->global_batch,
                            .local_batch = (size_t)t->model.max_batch,
                            .all_reduce_bytes = train_all_reduce_bytes(t)};
    int rc = 0;
    if (snprintf(t->checkpoint_path, sizeof t->checkpoint_path, "%s/%s", t->o->out, CHECKPOINT_NAME) >=
        (int)sizeof t->checkpoint_path)
        rc = dcr_err_set(err, DCR_FAIL, "the path of --out is too long");
    if (!rc)
        rc = metrics_open(&t->tables, t->o->out, t->c->rank, t->at.epoch, t->at.step, err);
    if (!rc && t->c->rank == 0)
        rc = describe_write(&d, err);
    return comm_first_failure(t->c, rc, err);
}

void train_release(struct train *t)
{
    if (t->be)
        t->be->free(t->be);
    graph_supports_free(&t->supports);
    batch_room_release(&t->room);
    free(t->order);
    free(t->coins);
    free(t->val);
    free(t->step_s);
}
