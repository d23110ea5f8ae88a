/* train_step.c - one step of train.h, and the gradient of one. The loop around it is train.c. */
#include "trainer/run/train_internal.h"

#include "lib/base/buf.h"
#include "lib/base/fs.h"
#include "trainer/ranks/stop.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>

/* A rank with a failure must not leave the loop alone, because the others would wait for it. It goes on, and all leave
 * together after the next tally has told them. */
void train_note_failure(struct train *t, int rc, const struct dcr_err *what, struct dcr_err *err)
{
    if (!rc || t->failed)
        return;
    t->failed = rc;
    *err = *what;
    if (t->c->n_ranks > 1)
        dcr_err_while(err, "rank %d on %s", t->c->rank, t->c->host);
}

static struct backend_batch as_batch(const struct train *t, const struct loader_batch *b)
{
    return (struct backend_batch){.n = (int)b->n,
                                  .x = b->x,
                                  .truth_z = b->y_z,
                                  .raw = b->y_mph,
                                  .coins = t->o->sampling_decay > 0 ? t->coins : NULL};
}

/* The next micro-batch; an empty one if loading fails. */
static struct backend_batch load_batch(struct train *t, struct step_times *times, struct dcr_err *err)
{
    struct loader_batch b = {0};
    struct dcr_err what = {0};
    struct phase phase = phase_begin(MARK_DATA_LOAD, t->share);
    int rc = t->failed;
    if (!rc && t->has_ahead)
        b = t->ahead;
    else if (!rc)
        rc = loader_next(t->loader, &b, &what);
    t->has_ahead = 0;
    train_note_failure(t, rc, &what, err);
    if (rc)
        b = (struct loader_batch){0};
    phase_end(phase, times);
    return as_batch(t, &b);
}

static void forward(struct train *t, const struct backend_batch *batch, struct tally *tally, struct step_times *times)
{
    struct phase phase = phase_begin(MARK_FORWARD, (uint64_t)batch->n);
    int64_t n_valid = 0;
    double sum = 0;
    t->be->forward(t->be, batch);
    t->be->loss(t->be, &sum, &n_valid);
    tally->loss_sum += sum;
    tally->n_valid += (double)n_valid;
    phase_end(phase, times);
}

/* The values of this rank in this step's tally. */
static void fill_tally(const struct train *t, struct tally *tally)
{
    int signal = stop_signal();
    tally->n_sigterm = signal == SIGTERM;
    tally->n_sigint = signal != 0 && signal != SIGTERM;
    tally->n_failed = t->failed != 0;
}

/* Gradient of the sum of |error|; it is divided by the number of valid targets once those of all ranks are known.
 * Gradients of the last micro-batch are sent to the other ranks as they become final. */
static void backward(struct train *t, const struct backend_batch *batch, int micro, struct step_times *times)
{
    const struct dcrnn_progress send = {grad_sync_ready, t->sync};
    struct phase phase = phase_begin(MARK_BACKWARD, (uint64_t)batch->n);
    t->be->backward(t->be, micro == 0, micro == t->o->accumulate - 1 ? &send : NULL);
    phase_end(phase, times);
}

static void all_reduce(struct train *t, struct step_times *times)
{
    struct grad_sync_stats stats;
    struct phase phase = phase_begin(MARK_ALL_REDUCE, train_all_reduce_bytes(t));
    grad_sync_finish(t->sync, &stats);
    phase_end(phase, times);
    times->ns[MARK_ALL_REDUCE_BUCKET] += stats.in_flight_ns;
}

/* Mean over all valid targets of the global batch, however they are spread over the ranks. */
static void scale_gradient(struct train *t, const struct tally *tally)
{
    float scale = tally->n_valid > 0 ? (float)(1 / tally->n_valid) : 0;
    for (size_t i = 0; i < t->be->n_params; i++)
        t->be->grads[i] *= scale;
}

/* Sum of the gradient over all micro-batches and ranks, in be->grads. */
static void sum_gradient(struct train *t, struct tally *tally, struct step_times *times, struct dcr_err *err)
{
    for (int micro = 0; micro < t->o->accumulate; micro++) {
        struct backend_batch batch = load_batch(t, times, err);
        forward(t, &batch, tally, times);
        if (micro == t->o->accumulate - 1) {
            fill_tally(t, tally);
            grad_sync_begin(t->sync, (double *)tally, TALLY_N);
        }
        backward(t, &batch, micro, times);
    }
    all_reduce(t, times);
}

static double update(struct train *t, const struct tally *tally, struct step_times *times)
{
    struct phase phase = phase_begin(MARK_OPTIMIZER, t->be->n_params);
    scale_gradient(t, tally);
    double norm = t->be->update(t->be, train_lr(t), t->o->clip);
    phase_end(phase, times);
    return norm;
}

static void add_phases(struct step_times *sum, const int64_t ns[MARK_N_RANGES])
{
    for (int i = 0; i < MARK_N_RANGES; i++)
        sum->ns[i] += ns[i];
}

/* Ranges of a step that the device does alone. */
struct on_device {
    struct train *t;
    uint64_t n_windows;
    int is_in_phase;
};

static void enters(void *ctx, enum mark_range phase)
{
    struct on_device *d = ctx;
    /* values per window and sensor: two features of x, then y_z and y_mph */
    const uint64_t n_read = 2 * d->t->data->n_in + 2 * d->t->data->n_out;
    const uint64_t payload = phase == MARK_H2D          ? d->n_windows * n_read * d->t->data->n_sensors * sizeof(float)
                             : phase == MARK_ALL_REDUCE ? train_all_reduce_bytes(d->t)
                             : phase == MARK_OPTIMIZER  ? d->t->be->n_params
                                                        : d->n_windows;
    if (d->is_in_phase)
        mark_pop();
    d->is_in_phase = 1;
    mark_push(phase, payload);
}

/* Starts copying the next batch while the device computes, if a worker has it ready. Without workers every batch is
 * loaded when it is needed. */
static void prefetch(void *ctx)
{
    struct train *t = ((struct on_device *)ctx)->t;
    if (t->failed || !loader_take_ready(t->loader, &t->ahead))
        return;
    const struct backend_batch batch = as_batch(t, &t->ahead);
    t->has_ahead = 1;
    t->be->prefetch(t->be, &batch);
}

/* One step on a device, which does the whole step. */
static int step_on_device(struct train *t, struct tally *tally, double *norm, struct step_times *times,
                          struct dcr_err *err)
{
    int rc = 0;
    for (int micro = 0; !rc && micro < t->o->accumulate; micro++) {
        struct backend_batch batch = load_batch(t, times, err);
        struct on_device d = {.t = t, .n_windows = (uint64_t)batch.n};
        struct backend_step s = {.batch = &batch,
                                 .is_first = micro == 0,
                                 .is_last = micro == t->o->accumulate - 1,
                                 .lr = train_lr(t),
                                 .clip = t->o->clip,
                                 .tally = (double *)tally,
                                 .n_tally = TALLY_N,
                                 .enters = enters,
                                 .meanwhile = t->be->prefetch ? prefetch : NULL,
                                 .ctx = &d};
        fill_tally(t, tally);
        rc = t->be->whole_step(t->be, &s, err);
        if (d.is_in_phase)
            mark_pop();
        *norm = s.norm;
        add_phases(times, s.ns);
    }
    return rc;
}

static void progress(const struct train *t, const struct step_row *row)
{
    if (t->c->rank || !t->is_terminal || (t->at.step_in_epoch % t->o->progress_steps != 0))
        return;
    fprintf(stderr, "epoch %lld step %lld/%zu loss %.3f mph, %.3f s per step\n", (long long)row->epoch,
            (long long)t->at.step_in_epoch, t->steps_per_epoch, row->loss, (double)row->times.ns[MARK_STEP] * 1e-9);
}

static void keep_duration(struct train *t, int64_t ns)
{
    if (t->n_step_s == t->cap_step_s) {
        size_t cap = t->cap_step_s ? 2 * t->cap_step_s : 256;
        double *grown = realloc(t->step_s, cap * sizeof *grown);
        if (!grown)
            return; /* only the closing line would differ */
        t->step_s = grown;
        t->cap_step_s = cap;
    }
    t->step_s[t->n_step_s++] = (double)ns * 1e-9;
}

/* All ranks come to the same verdict, because it follows from sums that are equal on all of them. */
static int has_diverged(struct train *t, const struct tally *tally, double norm, struct step_times *times)
{
    int is_common = t->o->allreduce_dtype != ALLREDUCE_NONE; /* the norm */
    if (is_common && !isfinite(norm))
        return 1;
    if (tally->n_valid == 0)
        return 0;
    enum divergence_verdict v = divergence_add(&t->divergence, tally->loss_sum / tally->n_valid);
    if (v == DIVERGENCE_NONE)
        train_checkpoint_proves_good(t, times);
    return v == DIVERGENCE_CERTAIN;
}

int train_step(struct train *t, struct dcr_err *err)
{
    struct tally tally = {0};
    struct step_row row = {.epoch = t->at.epoch + 1,
                           .step = t->at.step,
                           .rank = t->c->rank,
                           .samples = t->share,
                           .has_device = t->be->whole_step != NULL,
                           .has_in_flight = t->sync != NULL};
    struct step_times *times = &row.times;
    struct dcr_err what = {0};
    int rc = 0;

    struct phase phase = phase_begin(MARK_STEP, (uint64_t)t->at.step);
    times->start_ns = phase.since_ns;
    if (t->o->sampling_decay > 0)
        schedule_coins(t->o->seed, t->at.step, t->o->sampling_decay, (int)t->data->n_out, t->coins);
    double norm = 0;
    if (t->be->whole_step) {
        rc = step_on_device(t, &tally, &norm, times, err);
        if (rc) /* the other devices wait for this one, as long as --comm-timeout */
            comm_abort(t->c, err->text);
    } else {
        sum_gradient(t, &tally, times, err);
        norm = update(t, &tally, times);
    }
    row.loss = tally.n_valid > 0 ? tally.loss_sum / tally.n_valid : 0;
    if (rc) {
        t->failed = rc;
    } else if (tally.n_failed == 0 && has_diverged(t, &tally, norm, times)) {
        rc = train_diverged(t, row.loss, norm, err);
    } else if (tally.n_failed == 0) {
        t->at.step++;
        t->at.step_in_epoch++;
        t->at.epoch_loss_sum += tally.loss_sum;
        t->at.epoch_n_valid += tally.n_valid;
        t->at.epoch_norm_sum += norm;
        if (t->o->checkpoint_steps && t->at.step % t->o->checkpoint_steps == 0)
            train_note_failure(t, train_checkpoint(t, times, &what), &what, err);
    }
    phase_end(phase, times);

    t->result->signal = tally.n_sigterm > 0 ? SIGTERM : tally.n_sigint > 0 ? SIGINT : 0;
    row.all_reduce_bytes = train_all_reduce_bytes(t);
    add_phases(&t->epoch_times, times->ns);
    t->epoch_samples += (int64_t)t->global_batch;
    keep_duration(t, times->ns[MARK_STEP]);
    train_note_failure(t, metrics_add_step(&t->tables, &row, &what), &what, err);
    progress(t, &row);
    return rc ? rc : tally.n_failed > 0;
}

int train_write_gradient(struct train *t, struct dcr_err *err)
{
    struct tally tally = {0};
    struct step_times times = {0};
    if (t->o->sampling_decay > 0)
        schedule_coins(t->o->seed, t->at.step, t->o->sampling_decay, (int)t->data->n_out, t->coins);
    sum_gradient(t, &tally, &times, err);
    if (t->failed || tally.n_failed > 0)
        return comm_first_failure(t->c, t->failed, err);
    scale_gradient(t, &tally);
    struct dcr_buf text = {0};
    int rc = 0;
    for (int k = 0; k < t->be->n_tensors && t->c->rank == 0; k++) {
        const struct dcrnn_tensor *w = &t->be->tensors[k];
        for (size_t i = 0; i < (size_t)w->rows * (size_t)w->cols; i++)
            dcr_buf_printf(&text, "%s %.9g\n", w->name, (double)t->be->grads[w->offset + i]);
    }
    if (text.failed)
        rc = dcr_err_set(err, DCR_FATAL, "out of memory writing '%s'", t->o->gradient_to);
    else if (t->c->rank == 0)
        rc = dcr_write_file(t->o->gradient_to, text.data, text.len, err);
    dcr_buf_release(&text);
    return comm_first_failure(t->c, rc, err);
}
