/* describe.c - program.json: the program, the model, the input and the options of a run. Keys: docs/FORMAT.md. */
#include "trainer/run/train_internal.h"

#include "lib/base/buf.h"
#include "lib/base/fs.h"
#include "lib/base/text.h"

#include <math.h>
#include <stdio.h>

static void put_text(struct dcr_buf *b, const char *key, const char *text)
{
    dcr_buf_printf(b, "  \"%s\": ", key);
    text_json(b, text);
    dcr_buf_puts(b, ",\n");
}

static void put_number(struct dcr_buf *b, const char *key, double v)
{
    dcr_buf_printf(b, v == floor(v) && fabs(v) < 1e15 ? "  \"%s\": %.0f,\n" : "  \"%s\": %.9g,\n", key, v);
}

static void put_bool(struct dcr_buf *b, const char *key, int v)
{
    dcr_buf_printf(b, "  \"%s\": %s,\n", key, v ? "true" : "false");
}

static int64_t supports_nnz(const struct graph_supports *s)
{
    int64_t nnz = 0;
    for (int i = 0; i < s->n; i++)
        nnz += graph_csr_nnz(&s->support[i]);
    return nnz;
}

/* Operations of one step on all ranks together (dcrnn_count_step). */
static double flop_per_step(const struct train *t)
{
    struct dcrnn_count n = dcrnn_count_step(&t->model, t->supports.n, supports_nnz(&t->supports), (int)t->global_batch);
    return n.dense_flop + n.sparse_flop + n.update_flop + n.projection_flop;
}

/* Weights of the encoders' states. Input of one time step leaves them unused, because no state is before it. */
static double unused_weights(const struct train *t)
{
    const struct dcrnn_config *m = &t->model;
    int n_gates = 3, n_terms = 1 + t->supports.n * m->k_hops;
    return m->n_in > 1 ? 0 : (double)n_gates * n_terms * m->n_units * m->n_units * m->n_layers;
}

/* Bytes of one step, on all ranks together, that pass between caches and memory, if nothing that is used once per pass
 * stays in a cache. With P parameters and R = windows x sensors rows, 4 bytes each:
 * - weights, each micro-batch and rank: read, both packed copies filled and read: 7 P
 * - sums of the gradient, each micro-batch and thread: cleared, added to, read, added to the gradient: 7 P
 * - unused weights: not read from the copies, not added to the sums: 2 P less, and 2 P less for each thread
 * - update, each step and rank: gradient cleared 2 P, scaled 2 P, its norm P, Adam reads 4 P and writes 3 P: 12 P
 * - states: r, u, c, h of every layer and time step, filled and read back: 3 * 4 * units * layers * (T + H) * R
 * - batch: inputs read in both directions, targets once: (2 * 2 T + 2 H) * R
 * Most processors read a line before they fill it. On an Intel Xeon with AVX-512, in bytes that the program wrote:
 * memset 9.2 GB/s, plain stores 8.6 GB/s, stores that bypass the caches 22 GB/s. So clearing counts as filling. Not
 * included: data that a cell uses again while its tile is in the cache (diffusion terms, the graph). A thread without a
 * part of the batch adds nothing, but is counted, as are weights of the reset gate that one input step leaves unused in
 * layers above the first. */
static double traffic_bytes_per_step(const struct train *t)
{
    const struct dcrnn_config *m = &t->model;
    double rows = (double)t->global_batch * m->n_sensors, threads = m->n_threads, params = (double)t->be->n_params;
    double each_part = (7 + 7 * threads) * params - (2 + 2 * threads) * unused_weights(t);
    double parameters = (each_part * t->o->accumulate + 12 * params) * t->c->n_ranks;
    double states = 3.0 * 4 * m->n_units * m->n_layers * (m->n_in + m->n_out) * rows;
    double batch = (2.0 * DATASET_FEATURES * m->n_in + 2.0 * m->n_out) * rows;
    return (parameters + states + batch) * sizeof(float);
}

static void put_model(struct dcr_buf *b, const struct train *t)
{
    static const char *const precisions[] = {
        [BACKEND_FP32] = "float32", [BACKEND_TF32] = "tf32", [BACKEND_BF16] = "bf16"};
    const struct dcrnn_config *m = &t->model;
    char model[256];
    snprintf(model, sizeof model, "DCRNN, %d + %d layers of %d units, K = %d, %s (%s), %d in, %d out", m->n_layers,
             m->n_layers, m->n_units, m->k_hops, graph_filter_name(t->supports.filter),
             dcrnn_recursion_name(m->recursion), m->n_in, m->n_out);
    put_text(b, "model", model);
    put_number(b, "parameters", (double)t->be->n_params);
    put_text(b, "precision", precisions[t->o->precision]);
    put_number(b, "flop_per_step", flop_per_step(t));
    if (!t->be->whole_step) /* a device keeps all diffusion terms for the backward pass, which is not counted yet */
        put_number(b, "traffic_bytes_per_step", traffic_bytes_per_step(t));
    put_number(b, "allreduce_bytes_per_step", (double)train_all_reduce_bytes(t));
}

/* The share of the gradient that can be sent during the backward pass (the decoder's), and the share of the pass that
 * is left by then (the encoder's), with or without overlap. Messages are polled once per time step of the encoder
 * (grad_sync.h). Operations of a backward pass are taken as proportional to those of the forward pass. */
static void put_overlap(struct dcr_buf *b, const struct train *t)
{
    struct dcrnn_config encoder = t->model;
    encoder.n_out = 0;
    int64_t nnz = supports_nnz(&t->supports);
    double all = dcrnn_count_step(&t->model, t->supports.n, nnz, 1).forward_flop;
    double left = dcrnn_count_step(&encoder, t->supports.n, nnz, 1).forward_flop;
    put_bool(b, "allreduce_is_overlapped", !t->o->is_late);
    put_number(b, "allreduce_early_ratio", (double)t->n_early / (double)t->be->n_params);
    put_number(b, "backward_left_ratio", left / all);
    put_number(b, "backward_left_looks", t->model.n_in);
}

static void put_data(struct dcr_buf *b, const struct train *t)
{
    const struct dataset *s = &t->in->data;
    put_text(b, "dataset", s->description);
    put_bool(b, "dataset_is_generated", s->is_generated);
    put_number(b, "n_sensors", (double)s->n_sensors);
    put_number(b, "n_edges", (double)graph_csr_nnz(&t->in->adjacency));
    put_number(b, "n_rows", (double)s->n_rows);
    put_number(b, "n_training_windows", (double)s->train.count);
    put_number(b, "n_validation_windows", (double)s->val.count);
    put_number(b, "time_gaps", (double)s->n_gaps);
}

static void put_loading(struct dcr_buf *b, const struct train *t)
{
    const struct options *o = t->o;
    put_text(b, "windows_from", t->store ? window_format_name(window_store_format(t->store)) : "memory");
    if (t->store) {
        put_text(b, "windows_read_by", window_store_way(t->store));
        put_number(b, "windows_chunk_rows", (double)window_store_chunk_rows(t->store));
    }
    put_number(b, "loader_workers", o->loader_workers);
    put_number(b, "prefetch", o->loader_workers ? o->n_ahead : 0);
    if (o->is_cuda)
        put_bool(b, "pinned_buffers", o->pinned != PINNED_NO);
    if (o->checkpoint_steps || o->checkpoint_epochs)
        put_bool(b, "checkpoint_fsync", o->checkpoint_fsync);
}

static void put_scenario(struct dcr_buf *b, const struct options_scenario *s)
{
    if (!s->name)
        return;
    put_text(b, "scenario", s->name);
    put_text(b, "knob", s->choice.is_off ? "off" : "on");
    dcr_buf_printf(b, "  \"scenario_seed\": %llu,\n", (unsigned long long)s->choice.seed);
}

/* Left out if all are equal. */
static void put_weights(struct dcr_buf *b, const struct options *o)
{
    for (int i = 0; i < o->n_rank_weights; i++)
        dcr_buf_printf(b, "%s%.9g", i ? ", " : "  \"rank_weights\": [", o->rank_weights[i]);
    if (o->n_rank_weights)
        dcr_buf_puts(b, "],\n");
}

int train_describe(const struct train *t, const struct probe *probe, struct dcr_err *err)
{
    const struct options *o = t->o;
    struct dcr_buf b = {0};
    char path[4096];
    int rc;
    dcr_buf_puts(&b, "{\n");
    put_text(&b, "name", "dcrnn-train");
    put_text(&b, "version", DCR_VERSION);
    put_model(&b, t);
    put_data(&b, t);
    put_loading(&b, t);
    put_scenario(&b, &o->scenario);
    put_text(&b, "backend", t->be->name);
    put_text(&b, "blas", t->be->kernels);
    if (*probe->best) {
        put_text(&b, "kernels_best", probe->best);
        dcr_buf_printf(&b, "  \"kernels_best_ratio\": %.4g,\n", probe->ratio);
    }
    if (t->be->ranks_per_device)
        put_number(&b, "ranks_per_gpu", t->be->ranks_per_device);
    if (t->be->ranks_per_device > 1)
        put_text(&b, "emulated", "ranks share a GPU and stand for nodes: times say nothing about a cluster");
    if (o->is_cuda)
        put_bool(&b, "cuda_graph", o->use_cuda_graph);
    put_text(&b, "mpi", comm_library());
    put_text(&b, "marks", mark_way());
    put_number(&b, "threads", o->threads);
    put_number(&b, "n_ranks", t->c->n_ranks);
    put_number(&b, "global_batch", (double)t->global_batch);
    put_number(&b, "local_batch", (double)t->model.max_batch);
    put_number(&b, "accumulate", o->accumulate);
    put_bool(&b, "strong_scaling", !o->is_weak);
    put_text(&b, "allreduce_dtype", allreduce_dtype_name(o->allreduce_dtype));
    put_overlap(&b, t);
    put_number(&b, "allreduce_bucket_bytes", (double)o->bucket_bytes);
    put_weights(&b, o);
    put_number(&b, "learning_rate", o->lr);
    put_number(&b, "memory_bytes", (double)t->be->memory_bytes(t->be));
    /* seeds are 63 bits: a double would round them */
    dcr_buf_printf(&b, "  \"data_seed\": %llu,\n  \"seed\": %llu,\n  \"options\": ", (unsigned long long)o->data_seed,
                   (unsigned long long)o->seed);
    options_json(o, &b);
    dcr_buf_puts(&b, "\n}\n");
    if (b.failed)
        rc = dcr_err_set(err, DCR_FATAL, "out of memory");
    else if (snprintf(path, sizeof path, "%s/program.json", o->out) >= (int)sizeof path)
        rc = dcr_err_set(err, DCR_FAIL, "the name '%.200s...' is too long; choose a shorter one", o->out);
    else
        rc = dcr_write_file(path, b.data, b.len, err);
    dcr_buf_release(&b);
    return rc;
}
