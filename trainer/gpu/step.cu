/* step.cu - a step as one unit of work: brings its batch, records it once into a CUDA graph, launches it, and waits for
 * its phases in turn. Called by api.cu. */
#include "trainer/gpu/model.cuh"

#include "lib/base/mono.h"

#include <cstring>
#include <sched.h>

/* ---- batches ----------------------------------------------------------------------------------------------------- */

static int copy_in(struct gpu *g, float *to, const float *from, size_t n, struct dcr_err *err)
{
    if (!from || n == 0)
        return 0;
    CUDA_TRY(cudaMemcpyAsync(to, from, n * sizeof *to, cudaMemcpyHostToDevice, g->copy), err);
    return 0;
}

/* The last task that used the set is over, because the host waited for it, so nothing reads the set any more. */
static int fill(struct gpu *g, struct batch_set *s, const struct gpu_batch *b, struct dcr_err *err)
{
    const size_t rows = n_rows(g, b->n), n_y = (size_t)g->c.n_out * rows * (size_t)g->c.d_out;
    if (b->n < 0 || b->n > g->c.max_batch)
        return dcr_err_set(err, DCR_FAIL, "a batch of %d samples was given to a model for at most %d", b->n,
                           g->c.max_batch);
    s->is_filled = 0;
    CUDA_TRY(cudaEventRecord(s->begin, g->copy), err);
    TRY(copy_in(g, s->x, b->x, (size_t)g->c.n_in * rows * (size_t)g->c.d_in, err));
    TRY(copy_in(g, s->truth, b->truth_z, n_y, err));
    TRY(copy_in(g, s->raw, b->raw, n_y, err));
    CUDA_TRY(cudaEventRecord(s->end, g->copy), err);
    s->from = *b;
    s->is_filled = 1;
    return 0;
}

static int is_same(const struct gpu_batch *a, const struct gpu_batch *b)
{
    return a->n == b->n && a->x == b->x && a->truth_z == b->truth_z && a->raw == b->raw;
}

int batch_prefetch(struct gpu *g, const struct gpu_batch *b, struct dcr_err *err)
{
    return fill(g, &g->sets[1 - g->set], b, err);
}

int batch_bring(struct gpu *g, const struct gpu_batch *b, struct dcr_err *err)
{
    struct batch_set *s = &g->sets[1 - g->set];
    if (!s->is_filled || !is_same(&s->from, b))
        TRY(fill(g, s, b, err));
    s->is_filled = 0; /* the arrays may have other content next time */
    g->set = 1 - g->set;
    g->n_batch = b->n;
    CUDA_TRY(cudaEventRecord(s->wanted, g->main), err);
    CUDA_TRY(cudaStreamWaitEvent(g->main, s->end, 0), err);
    return 0;
}

/* ---- what a task consists of ------------------------------------------------------------------------------------- */

/* While recording, the mark is a node of the graph, so that every launch takes its time. */
static int mark(struct gpu *g, enum mark_at at, struct dcr_err *err)
{
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    CUDA_TRY(cudaStreamIsCapturing(g->main, &status), err);
    CUDA_TRY(cudaEventRecordWithFlags(g->marks[at], g->main,
                                      status == cudaStreamCaptureStatusNone ? cudaEventRecordDefault
                                                                            : cudaEventRecordExternal),
             err);
    return 0;
}

int enqueue_loss(struct gpu *g, const struct task *t, struct dcr_err *err)
{
    struct loss_args a = {};
    a.n_out = g->c.n_out;
    a.n_each = n_rows(g, g->n_batch) * (size_t)g->c.d_out;
    a.pred_z = g->pred;
    a.raw = g->sets[g->set].raw;
    a.mean = (float)g->c.mean;
    a.std = (float)g->c.std;
    a.d_pred = t->is_training ? g->d_pred : nullptr;
    a.partial = g->loss_partial;
    a.answer = g->answer;
    a.orders = g->orders;
    a.is_first = t->is_first;
    a.is_last = t->is_last;
    a.n_tally = (int)t->n_tally;
    return launch_loss(&a, g->main, err);
}

int enqueue_update(struct gpu *g, int is_scaled, struct dcr_err *err)
{
    struct update_args a = {};
    a.n = g->c.n_params;
    a.orders = g->orders;
    a.answer = g->answer;
    a.params = g->params;
    a.grads = g->grads;
    a.m = g->adam_m;
    a.v = g->adam_v;
    a.beta1 = (float)g->c.beta1;
    a.rest1 = (float)(1 - g->c.beta1);
    a.beta2 = (float)g->c.beta2;
    a.rest2 = (float)(1 - g->c.beta2);
    a.eps = (float)g->c.eps;
    a.is_scaled = is_scaled;
    a.partial = g->norm_partial;
    TRY(launch_update(&a, g->main, err));
    return launch_pack(g->n_packed, g->map, g->params, g->packed, g->packed_bf16, g->main, err);
}

static int enqueue_training(struct gpu *g, const struct task *t, struct dcr_err *err)
{
    const int is_reduced = t->is_last && g->c.ranks.n_ranks > 1;
    if (t->is_first)
        CUDA_TRY(cudaMemsetAsync(g->grads, 0, g->c.n_params * sizeof *g->grads, g->main), err);
    TRY(enqueue_forward(g, 1, t->has_truth, err));
    TRY(enqueue_loss(g, t, err));
    TRY(mark(g, AT_FORWARD, err));
    if (is_reduced) { /* the small sums are sent first, while the backward pass begins */
        TRY(model_follow(g->reduce, g->main, g->to_reduce, err));
        TRY(gpu_comm_sum_f64(g->comm, g->answer->tally, t->n_tally, g->reduce, err));
    }
    TRY(enqueue_backward(g, is_reduced, err));
    TRY(mark(g, AT_BACKWARD, err));
    if (is_reduced)
        TRY(model_follow(g->main, g->reduce, g->from_reduce, err));
    TRY(mark(g, AT_REDUCED, err));
    return t->is_last ? enqueue_update(g, 0, err) : 0;
}

static int enqueue_task(struct gpu *g, const struct task *t, struct dcr_err *err)
{
    CUDA_TRY(cudaMemcpyAsync(g->orders, g->orders_host, g->orders_bytes, cudaMemcpyHostToDevice, g->main), err);
    TRY(mark(g, AT_START, err));
    if (t->is_training) {
        TRY(enqueue_training(g, t, err));
    } else {
        TRY(enqueue_forward(g, 0, 0, err));
        TRY(enqueue_loss(g, t, err));
    }
    TRY(mark(g, AT_END, err));
    CUDA_TRY(cudaMemcpyAsync(g->answer_host, g->answer, g->answer_bytes, cudaMemcpyDeviceToHost, g->main), err);
    return 0;
}

/* ---- recording --------------------------------------------------------------------------------------------------- */

/* The same work on the same sizes, with either set of batch arrays. */
static int is_alike(const struct recorded *r, const struct gpu *g, const struct task *t)
{
    return r->last_use > 0 && r->n == g->n_batch && r->is_training == t->is_training && r->is_first == t->is_first &&
           r->is_last == t->is_last && r->has_truth == t->has_truth && r->n_tally == t->n_tally;
}

static int record(struct gpu *g, const struct task *t, cudaGraphExec_t *out, struct dcr_err *err)
{
    cudaGraph_t graph = nullptr;
    CUDA_TRY(cudaStreamBeginCapture(g->main, cudaStreamCaptureModeThreadLocal), err);
    int rc = enqueue_task(g, t, err);
    /* The capture ends after a failure too, because it would remain open. */
    cudaError_t status = cudaStreamEndCapture(g->main, &graph);
    if (!rc)
        rc = CUDA_CHECK(status, err);
    /* Kernels keep the priority of the stream they were recorded on. Otherwise all would have that of g->main. */
    if (!rc)
        rc = CUDA_CHECK(cudaGraphInstantiate(out, graph, cudaGraphInstantiateFlagUseNodePriority), err);
    if (graph)
        (void)cudaGraphDestroy(graph);
    return rc;
}

/* Was it done before? mine: the recording with this set of batch arrays, or NULL. */
static int find(struct gpu *g, const struct task *t, struct recorded **mine)
{
    int is_known = 0;
    *mine = nullptr;
    for (struct recorded &one : g->recorded)
        if (is_alike(&one, g, t)) {
            is_known = 1;
            if (one.set == g->set)
                *mine = &one;
        }
    return is_known;
}

/* Replaces the task that was unused for longest. Steps that end in sums of all ranks are few and stay, so all ranks
 * record them at the same time. */
static int replace_oldest(struct gpu *g, const struct task *t, struct recorded **out, struct dcr_err *err)
{
    struct recorded *r = nullptr;
    for (struct recorded &one : g->recorded)
        if (!(one.is_training && one.is_last && g->c.ranks.n_ranks > 1) && (!r || one.last_use < r->last_use))
            r = &one;
    if (!r)
        return dcr_err_set(err, DCR_FATAL, "too many kinds of steps: raise MAX_RECORDED in model.cuh");
    if (r->exec)
        CUDA_TRY(cudaGraphExecDestroy(r->exec), err);
    *r = {g->n_batch, g->set, t->is_training, t->is_first, t->is_last, t->has_truth, t->n_tally, nullptr, ++g->use};
    *out = r;
    return 0;
}

/* Records with both sets of batch arrays at once. Recording a sum is one NCCL call of all ranks, and the next set
 * differs between ranks with more or fewer batches of evaluation. */
static int record_both(struct gpu *g, const struct task *t, struct dcr_err *err)
{
    int rc = 0;
    for (int i = 0; i < N_SETS; i++) { /* an even number of changes leaves the set in use */
        struct recorded *r = nullptr;
        (void)find(g, t, &r);
        if (!rc && !r)
            rc = replace_oldest(g, t, &r, err);
        if (!rc && !r->exec)
            rc = record(g, t, &r->exec, err);
        g->set = 1 - g->set;
    }
    return rc;
}

/* Launches a recorded task; records a task that was done once; does a new task piece by piece, because libraries choose
 * and load kernels at first use, which must not happen while recording. */
static int launch(struct gpu *g, const struct task *t, struct dcr_err *err)
{
    struct recorded *mine = nullptr;
    const int is_known = find(g, t, &mine);
    if (!mine)
        TRY(replace_oldest(g, t, &mine, err));
    mine->last_use = ++g->use;
    if (!is_known)
        return enqueue_task(g, t, err);
    if (!mine->exec)
        TRY(record_both(g, t, err));
    g->is_training = t->is_training; /* as enqueue_forward does */
    CUDA_TRY(cudaGraphLaunch(mine->exec, g->main), err);
    return 0;
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

/* Interval at which a waiting host asks NCCL for failures and checks the time limit. */
static const int64_t CHECK_EVERY_NS = 1000000;

/* Without this, a stuck device or a lost rank would block the host for ever. */
static int check_wait(struct gpu *g, double waited_s, struct dcr_err *err)
{
    if (g->comm)
        return gpu_comm_check(g->comm, waited_s, err);
    if (g->c.ranks.timeout_s > 0 && waited_s > g->c.ranks.timeout_s)
        return dcr_err_set(
            err, DCR_FATAL,
            "the GPU did not end a step within %g s; raise --comm-timeout, or look at the GPU with nvidia-smi",
            g->c.ranks.timeout_s);
    return 0;
}

/* query: of a stream or an event. */
template <typename Query> static int wait_until(struct gpu *g, Query query, struct dcr_err *err)
{
    const int64_t since = dcr_mono_ns();
    int64_t checked = since;
    for (;;) {
        const cudaError_t waiting = query(); /* the message contains the variable's name */
        if (waiting == cudaSuccess)
            return 0;
        if (waiting != cudaErrorNotReady)
            return CUDA_CHECK(waiting, err);
        (void)cudaGetLastError(); /* "not ready" may be kept as the last error, which the next launch would report */
        if (dcr_mono_ns() - checked > CHECK_EVERY_NS) {
            checked = dcr_mono_ns();
            TRY(check_wait(g, 1e-9 * (double)(checked - since), err));
        }
        sched_yield(); /* a sleep of 20 us ends 50 us late, in every step */
    }
}

int wait_for_main(struct gpu *g, struct dcr_err *err)
{
    return wait_until(
        g, [g] { return cudaStreamQuery(g->main); }, err);
}

static int wait_for(struct gpu *g, cudaEvent_t event, struct dcr_err *err)
{
    return wait_until(
        g, [event] { return cudaEventQuery(event); }, err);
}

static void enter(const struct gpu_step *s, enum mark_range phase)
{
    if (s->enters)
        s->enters(s->ctx, phase);
}

/* The whole step is enqueued, and the host waits for its phases in turn. A graph's launch resets its events, so each
 * wait is for this step. */
static int follow_phases(struct gpu *g, const struct task *t, const struct gpu_step *s, struct dcr_err *err)
{
    TRY(wait_for(g, g->marks[AT_FORWARD], err));
    enter(s, MARK_BACKWARD);
    TRY(wait_for(g, g->marks[AT_BACKWARD], err));
    if (!t->is_last)
        return 0;
    if (g->comm) {
        enter(s, MARK_ALL_REDUCE);
        TRY(wait_for(g, g->marks[AT_REDUCED], err));
    }
    enter(s, MARK_OPTIMIZER);
    return 0;
}

int task_run(struct gpu *g, const struct task *t, const struct gpu_step *s, struct dcr_err *err)
{
    const cudaEvent_t copied = g->sets[g->set].end;
    if (s)
        enter(s, MARK_FORWARD); /* work enqueued first may begin before everything is enqueued */
    TRY(g->c.use_graph ? launch(g, t, err) : enqueue_task(g, t, err));
    if (s) {
        if (cudaEventQuery(copied) != cudaSuccess) {
            (void)cudaGetLastError();
            enter(s, MARK_H2D);
            TRY(wait_for(g, copied, err));
            enter(s, MARK_FORWARD);
        }
        if (s->meanwhile)
            s->meanwhile(s->ctx);
        TRY(follow_phases(g, t, s, err));
    }
    return wait_for_main(g, err);
}

int elapsed_ns(cudaEvent_t from, cudaEvent_t to, int64_t *ns, struct dcr_err *err)
{
    float ms = 0;
    CUDA_TRY(cudaEventElapsedTime(&ms, from, to), err);
    *ns = (int64_t)((double)ms * 1e6);
    return 0;
}
