/* train.c - the loop of train.h: a step, an epoch, the run. What surrounds it is train_setup.c. */
#include "trainer/train_internal.h"

#include "lib/buf.h"
#include "lib/fs.h"
#include "trainer/mark.h"
#include "trainer/sampler.h"
#include "trainer/stop.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* A phase is a range for whoever watches and a duration for our own tables. */
static int64_t begin(enum mark_range range, uint64_t payload)
{
    mark_push(range, payload);
    return now_ns();
}

static void end(int64_t since_ns, int64_t *sum_ns)
{
    *sum_ns += now_ns() - since_ns;
    mark_pop();
}

/* ---- one step ---------------------------------------------------------------------------------- */

static struct backend_batch load_batch(struct train *t, struct step_times *times)
{
    int64_t since = begin(MARK_DATA_LOAD, t->share);
    double tau = t->o->sampling_decay;
    size_t place = (size_t)t->at.step_in_epoch * t->global_batch + t->first;
    for (size_t i = 0; i < t->share; i++)
        t->room.windows[i] = sampler_window(t->order, t->data->train.count, place + i);
    dataset_batch(t->data, t->room.windows, t->share, t->room.x, t->room.y_z, t->room.y_mph);
    if (tau > 0)
        schedule_coins(t->o->seed, t->at.step, tau, (int)t->data->n_out, t->coins);
    end(since, &times->data_ns);
    return (struct backend_batch){.n = (int)t->share,
                                  .x = t->room.x,
                                  .truth_z = t->room.y_z,
                                  .raw = t->room.y_mph,
                                  .coins = tau > 0 ? t->coins : NULL};
}

static void forward(struct train *t, const struct backend_batch *batch, struct tally *tally, struct step_times *times)
{
    int64_t since = begin(MARK_FORWARD, t->share), n_valid = 0;
    t->be->forward(t->be, batch);
    t->be->loss(t->be, &tally->loss_sum, &n_valid);
    tally->n_valid = (double)n_valid;
    end(since, &times->forward_ns);
}

/* Gradient of the sum of |error|; it is divided by the number of valid targets once all ranks' are known. */
static void backward(struct train *t, struct step_times *times)
{
    int64_t since = begin(MARK_BACKWARD, t->share);
    t->be->backward(t->be, 1.0, NULL);
    end(since, &times->backward_ns);
}

static void all_reduce(struct train *t, struct tally *tally, struct step_times *times)
{
    int64_t since = begin(MARK_ALL_REDUCE, train_all_reduce_bytes(t));
    int signal = stop_signal();
    tally->n_sigterm = signal == SIGTERM;
    tally->n_sigint = signal != 0 && signal != SIGTERM;
    tally->n_failed = t->failed != 0;
    comm_sum_f64(t->c, (double *)tally, sizeof *tally / sizeof(double));
    comm_sum_f32(t->c, t->be->grads, t->be->n_params);
    end(since, &times->all_reduce_ns);
}

/* Mean over all valid targets of the global batch, whatever each rank had of them. */
static void scale_gradient(struct train *t, const struct tally *tally)
{
    float scale = tally->n_valid > 0 ? (float)(1 / tally->n_valid) : 0;
    for (size_t i = 0; i < t->be->n_params; i++)
        t->be->grads[i] *= scale;
}

static double update(struct train *t, const struct tally *tally, struct step_times *times)
{
    int64_t since = begin(MARK_OPTIMIZER, t->be->n_params);
    scale_gradient(t, tally);
    double norm = t->be->update(t->be, schedule_lr_at(&t->lr, (int)t->at.epoch), t->o->clip);
    end(since, &times->optimizer_ns);
    return norm;
}

/* A failure of one rank alone must not take it out of the loop, or the others wait for it: it goes on, and all leave
 * together when the next tally has told them. */
static void note_failure(struct train *t, int rc, const struct dcr_err *what, struct dcr_err *err)
{
    if (!rc || t->failed)
        return;
    t->failed = rc;
    *err = *what;
}

static void write_checkpoint(struct train *t, int64_t *sum_ns, struct dcr_err *err)
{
    float *const tensors[CHECKPOINT_N_TENSORS] = {t->be->params, t->be->adam_m, t->be->adam_v};
    struct dcr_err what = {0};
    if (t->checkpoint_at == t->at.step && t->checkpoint_at_epoch == t->at.epoch)
        return; /* this very state is on disk */
    t->checkpoint_at = t->at.step;
    t->checkpoint_at_epoch = t->at.epoch;
    if (t->c->rank)
        return;
    int64_t since = begin(MARK_CHECKPOINT, checkpoint_bytes(t->be->n_params));
    t->at.n_updates = t->be->step;
    note_failure(t, checkpoint_write(t->checkpoint_path, &t->key, &t->at, tensors, &what), &what, err);
    end(since, sum_ns);
}

static void progress(const struct train *t, const struct step_row *row)
{
    if (t->c->rank || !t->is_terminal || (t->at.step_in_epoch % t->o->progress_steps != 0))
        return;
    fprintf(stderr, "epoch %lld step %lld/%zu loss %.3f mph, %.3f s per step\n", (long long)row->epoch,
            (long long)t->at.step_in_epoch, t->steps_per_epoch, row->loss, (double)row->times.total_ns * 1e-9);
}

static void keep_duration(struct train *t, int64_t ns)
{
    if (t->n_step_s == t->cap_step_s) {
        size_t cap = t->cap_step_s ? 2 * t->cap_step_s : 256;
        double *grown = realloc(t->step_s, cap * sizeof *grown);
        if (!grown)
            return; /* only the closing line would know more */
        t->step_s = grown;
        t->cap_step_s = cap;
    }
    t->step_s[t->n_step_s++] = (double)ns * 1e-9;
}

static void add_times(struct step_times *sum, const struct step_times *one)
{
    sum->total_ns += one->total_ns;
    sum->data_ns += one->data_ns;
    sum->forward_ns += one->forward_ns;
    sum->backward_ns += one->backward_ns;
    sum->all_reduce_ns += one->all_reduce_ns;
    sum->optimizer_ns += one->optimizer_ns;
    sum->checkpoint_ns += one->checkpoint_ns;
}

static int diverged(struct train *t, double loss, double norm, struct dcr_err *err)
{
    t->result->has_diverged = 1;
    return dcr_err_set(
        err, DCR_FAIL,
        "training diverged in step %lld (epoch %lld): loss %g, gradient norm %g; start again with a lower "
        "--lr%s%s",
        (long long)t->at.step, (long long)t->at.epoch + 1, fabs(loss), fabs(norm),
        t->checkpoint_at >= 0 ? " or resume the last checkpoint with one: " : "",
        t->checkpoint_at >= 0 ? t->checkpoint_path : "");
}

/* The equation of a step. Returns non-zero, on all ranks alike, when the loop must be left. */
static int train_step(struct train *t, struct dcr_err *err)
{
    struct tally tally = {0};
    struct step_row row = {.epoch = t->at.epoch + 1, .step = t->at.step, .rank = t->c->rank, .samples = t->share};
    struct step_times *times = &row.times;
    struct dcr_err what = {0};
    int rc = 0;

    times->start_ns = begin(MARK_STEP, (uint64_t)t->at.step);
    struct backend_batch batch = load_batch(t, times);
    forward(t, &batch, &tally, times);
    backward(t, times);
    all_reduce(t, &tally, times);
    double norm = update(t, &tally, times);

    row.loss = tally.n_valid > 0 ? tally.loss_sum / tally.n_valid : 0;
    if (!isfinite(row.loss) || !isfinite(norm)) {
        rc = diverged(t, row.loss, norm, err);
    } else {
        t->at.step++;
        t->at.step_in_epoch++;
        t->at.epoch_loss_sum += tally.loss_sum;
        t->at.epoch_n_valid += tally.n_valid;
        t->at.epoch_norm_sum += norm;
        if (t->o->checkpoint_steps && t->at.step % t->o->checkpoint_steps == 0)
            write_checkpoint(t, &times->checkpoint_ns, err);
    }
    end(times->start_ns, &times->total_ns);

    t->result->signal = tally.n_sigterm > 0 ? SIGTERM : tally.n_sigint > 0 ? SIGINT : 0;
    row.all_reduce_bytes = train_all_reduce_bytes(t);
    add_times(&t->epoch_times, times);
    t->epoch_samples += (int64_t)t->global_batch;
    keep_duration(t, times->total_ns);
    note_failure(t, metrics_add_step(&t->tables, &row, &what), &what, err);
    progress(t, &row);
    return rc ? rc : tally.n_failed > 0;
}

/* ---- one epoch --------------------------------------------------------------------------------- */

static void validate(struct train *t, struct epoch_row *row)
{
    size_t n = evaluate_count(t->data->val, (size_t)t->o->validation_windows, t->c);
    int64_t since = begin(MARK_VALIDATION, n);
    int is_whole = evaluate_model(t->be, t->data, t->data->val, (size_t)t->o->validation_windows, &t->room, t->c,
                                  stop_signal, t->val);
    end(since, &row->validation_ns);
    if (!is_whole) { /* some rank was asked to stop: all must know by what */
        double asked[2] = {stop_signal() == SIGTERM, stop_signal() == SIGINT};
        comm_sum_f64(t->c, asked, 2);
        t->result->signal = asked[0] > 0 ? SIGTERM : SIGINT;
        return;
    }
    row->has_validation = t->result->has_validation = 1;
    row->val_total = t->result->val_total = evaluate_total(t->val, t->data->n_out);
    for (size_t i = 0, step[] = {3, 6, 12}; i < 3; i++)
        t->result->val_mae[i] = step[i] <= t->data->n_out ? loss_mae(&t->val[step[i] - 1]) : NAN;
}

static void say_epoch(const struct train *t, const struct epoch_row *row)
{
    if (t->c->rank)
        return;
    fprintf(stderr, "epoch %lld: training loss %.3f mph", (long long)row->epoch, row->train_loss);
    if (row->has_validation) {
        fprintf(stderr, ", validation MAE %.3f mph", loss_mae(&row->val_total));
        for (size_t i = 0, step[] = {3, 6, 12}; i < 3; i++)
            if (step[i] <= t->data->n_out)
                fprintf(stderr, "%s%.3f", i ? " / " : " (15, 30, 60 min: ", t->result->val_mae[i]);
        fprintf(stderr, t->data->n_out >= 3 ? ")" : "");
    }
    fprintf(stderr, ", %.1f s\n", (double)row->epoch_ns * 1e-9);
}

/* What a complete epoch changes in the state. */
static void complete_epoch(struct checkpoint_state *at, const struct epoch_row *row)
{
    at->epoch++;
    at->step_in_epoch = 0;
    at->epoch_loss_sum = at->epoch_n_valid = at->epoch_norm_sum = 0;
    if (!row->has_validation)
        return;
    double mae = loss_mae(&row->val_total);
    at->epochs_since_best = mae < at->best_val_mae ? 0 : at->epochs_since_best + 1;
    at->best_val_mae = mae < at->best_val_mae ? mae : at->best_val_mae;
}

/* Validation, checkpoint and table row after the steps of an epoch, all of them or as many as were allowed. */
static void end_epoch(struct train *t, struct dcr_err *err)
{
    struct checkpoint_state *at = &t->at;
    struct epoch_row row = {.epoch = at->epoch + 1, .val = t->val, .n_out = t->data->n_out};
    struct dcr_err what = {0};
    int is_complete = (size_t)at->step_in_epoch == t->steps_per_epoch, is_last = train_steps_are_over(t);
    row.train_loss = at->epoch_n_valid > 0 ? at->epoch_loss_sum / at->epoch_n_valid : 0;
    row.learning_rate = schedule_lr_at(&t->lr, (int)at->epoch);
    row.grad_norm = at->step_in_epoch ? at->epoch_norm_sum / (double)at->step_in_epoch : 0;

    is_last = is_last || (is_complete && at->epoch + 1 >= t->o->epochs);
    int is_due = t->o->validate_every && (at->epoch + 1) % t->o->validate_every == 0;
    if (!t->result->signal && (is_due || is_last))
        validate(t, &row);
    /* an epoch whose validation was broken off counts as unfinished: a resumed run validates it */
    is_complete = is_complete && !t->result->signal;
    if (is_complete)
        complete_epoch(at, &row);
    t->is_over = is_last || t->result->signal || (t->o->patience && at->epochs_since_best >= t->o->patience);
    int is_checkpoint_due = is_complete && t->o->checkpoint_epochs && at->epoch % t->o->checkpoint_epochs == 0;
    if (is_checkpoint_due || (t->is_over && (t->o->checkpoint_steps || t->o->checkpoint_epochs)))
        write_checkpoint(t, &t->epoch_times.checkpoint_ns, err);

    row.epoch_ns = now_ns() - t->epoch_start_ns;
    row.times = t->epoch_times;
    row.n_samples = t->epoch_samples;
    note_failure(t, metrics_add_epoch(&t->tables, &row, &what), &what, err);
    say_epoch(t, &row);
}

static int train_epoch(struct train *t, struct dcr_err *err)
{
    int rc = 0;
    mark_push(MARK_EPOCH, (uint64_t)t->at.epoch + 1);
    t->epoch_start_ns = now_ns();
    t->epoch_times = (struct step_times){0};
    t->epoch_samples = 0;
    sampler_permute(t->o->seed, (uint64_t)t->at.epoch, t->order, t->data->train.count);
    while (!rc && !t->result->signal && !train_steps_are_over(t) && (size_t)t->at.step_in_epoch < t->steps_per_epoch)
        rc = train_step(t, err);
    if (!rc)
        end_epoch(t, err);
    mark_pop();
    return comm_first_failure(t->c, t->failed ? t->failed : rc < 0 ? rc : 0, err);
}

/* ---- the run ------------------------------------------------------------------------------------ */

/* --gradient-to: the global gradient of the first step before clipping, one `TENSOR VALUE` per line. */
static int write_gradient(struct train *t, struct dcr_err *err)
{
    struct tally tally = {0};
    struct step_times times = {0};
    sampler_permute(t->o->seed, (uint64_t)t->at.epoch, t->order, t->data->train.count);
    struct backend_batch batch = load_batch(t, &times);
    forward(t, &batch, &tally, &times);
    backward(t, &times);
    all_reduce(t, &tally, &times);
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

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The first steps touch fresh memory: a fifth of them, at most 5, is left out. */
static double median_step_s(struct train *t)
{
    size_t skip = t->n_step_s / 5 < 5 ? t->n_step_s / 5 : 5, n = t->n_step_s - skip;
    if (!n)
        return NAN;
    qsort(t->step_s + skip, n, sizeof *t->step_s, by_value);
    return t->step_s[skip + n / 2];
}

int train_run(const struct options *o, const struct input *in, struct comm *c, struct train_result *result,
              struct dcr_err *err)
{
    struct train t = {.o = o, .in = in, .data = &in->data, .c = c, .result = result, .is_terminal = isatty(2)};
    *result = (struct train_result){0};
    int rc = train_setup(&t, err);
    if (!rc && o->gradient_to) {
        rc = write_gradient(&t, err);
        goto out;
    }
    if (!rc)
        rc = train_open_tables(&t, err);
    while (!rc && !t.is_over)
        rc = train_epoch(&t, err);
    int rc_close = metrics_close(&t.tables, rc ? NULL : err);
    rc = rc ? rc : rc_close;
    result->steps = t.at.step;
    result->epochs = t.at.epoch;
    result->median_step_s = median_step_s(&t);
out:
    train_release(&t);
    return rc;
}
