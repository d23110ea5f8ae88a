/* train.c - the loop of train.h: an epoch, the run. train_step.c has a step, train_setup.c the preparation of the loop.
 */
#include "trainer/run/train_internal.h"

#include "trainer/data/loader.h"
#include "trainer/ranks/stop.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- one epoch --------------------------------------------------------------------------------- */

/* Forecast errors over n_windows of a range, evenly spread (0 = all), of all ranks. returns 0 when a signal broke it
 * off, on all ranks alike; then the sums are not valid. */
static int evaluate(struct train *t, struct window_range range, size_t n_windows, struct loss_horizon *sums)
{
    const size_t n = n_windows && n_windows < range.count ? n_windows : range.count, most = (size_t)t->model.max_batch;
    double asked[2] = {0}; /* ranks that were asked to stop, by SIGTERM and by SIGINT */
    size_t first, count;
    sampler_share(n, t->c->rank, t->c->n_ranks, &first, &count);
    struct phase phase = phase_begin(MARK_VALIDATION, count);
    memset(sums, 0, t->data->n_out * sizeof *sums);
    for (size_t done = 0; done < count; done += most) {
        if (stop_signal()) {
            asked[stop_signal() != SIGTERM] = 1;
            break;
        }
        size_t b = count - done < most ? count - done : most;
        for (size_t i = 0; i < b; i++)
            t->eval_windows[i] = (uint32_t)(range.first + (first + done + i) * range.count / n);
        dataset_batch(t->data, t->eval_windows, b, t->eval_x, NULL, t->eval_y);
        t->be->evaluate(t->be, &(struct backend_batch){.n = (int)b, .x = t->eval_x, .raw = t->eval_y}, sums);
    }
    comm_sum_f64(t->c, (double *)sums, t->data->n_out * sizeof *sums / sizeof(double));
    comm_sum_f64(t->c, asked, 2);
    phase_end(phase, &t->epoch_times);
    if (asked[0] + asked[1] > 0)
        t->result->signal = asked[0] > 0 ? SIGTERM : SIGINT;
    return asked[0] + asked[1] == 0;
}

/* All forecast steps together. */
static struct loss_horizon total(const struct loss_horizon *sums, size_t n_out)
{
    struct loss_horizon all = {0};
    for (size_t t = 0; t < n_out; t++) {
        all.abs += sums[t].abs;
        all.square += sums[t].square;
        all.relative += sums[t].relative;
        all.n_valid += sums[t].n_valid;
    }
    return all;
}

static void at_horizons(const struct train *t, const struct loss_horizon *sums, double mae[3])
{
    for (size_t i = 0; i < 3; i++)
        mae[i] = metrics_step[i] <= t->data->n_out ? loss_mae(&sums[metrics_step[i] - 1]) : NAN;
}

static void validate(struct train *t, struct epoch_row *row)
{
    if (!evaluate(t, t->data->val, (size_t)t->o->validation_windows, t->val))
        return;
    row->val_total = total(t->val, t->data->n_out);
    if (row->val_total.n_valid == 0) /* every target is missing */
        return;
    row->has_validation = t->result->has_validation = 1;
    t->result->val_total = row->val_total;
    at_horizons(t, t->val, t->result->val_mae);
    /* the test split is only used if validation has chosen the epoch */
    if (!t->o->test || loss_mae(&row->val_total) >= t->at.best_val_mae || !evaluate(t, t->data->test, 0, t->test) ||
        total(t->test, t->data->n_out).n_valid == 0)
        return;
    row->has_test = t->result->has_test = 1;
    t->result->test_epoch = row->epoch;
    at_horizons(t, t->test, t->result->test_mae);
}

static void say_epoch(const struct train *t, const struct epoch_row *row)
{
    if (t->c->rank)
        return;
    fprintf(stderr, "epoch %lld: training loss %.3f mph", (long long)row->epoch, row->train_loss);
    if (row->has_validation) {
        fprintf(stderr, ", validation MAE %.3f mph", loss_mae(&row->val_total));
        for (size_t i = 0; i < 3; i++)
            if (metrics_step[i] <= t->data->n_out)
                fprintf(stderr, "%s%.3f", i ? " / " : " (15, 30, 60 min: ", t->result->val_mae[i]);
        fprintf(stderr, t->data->n_out >= 3 ? ")" : "");
    }
    fprintf(stderr, ", %.1f s\n", (double)row->epoch_ns * 1e-9);
}

/* Changes of the state by a complete epoch. */
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
    struct epoch_row row = {.epoch = at->epoch + 1, .val = t->val, .test = t->test, .n_out = t->data->n_out};
    struct dcr_err what = {0};
    int is_complete = (size_t)at->step_in_epoch == t->steps_per_epoch, is_last = train_steps_are_over(t);
    row.train_loss = at->epoch_n_valid > 0 ? at->epoch_loss_sum / at->epoch_n_valid : 0;
    row.learning_rate = train_lr(t);
    row.grad_norm = at->step_in_epoch ? at->epoch_norm_sum / (double)at->step_in_epoch : 0;

    is_last = is_last || (is_complete && at->epoch + 1 >= t->o->epochs);
    int is_due = t->o->validate_every && (at->epoch + 1) % t->o->validate_every == 0;
    if (!t->result->signal && (is_due || is_last))
        validate(t, &row);
    /* an epoch with an interrupted validation counts as unfinished, so a resumed run validates it */
    is_complete = is_complete && !t->result->signal;
    if (is_complete)
        complete_epoch(at, &row);
    t->is_over = is_last || t->result->signal || (t->o->patience && at->epochs_since_best >= t->o->patience);
    int is_checkpoint_due = is_complete && t->o->checkpoint_epochs && at->epoch % t->o->checkpoint_epochs == 0;
    if (is_checkpoint_due || (t->is_over && (t->o->checkpoint_steps || t->o->checkpoint_epochs)))
        train_note_failure(t, train_checkpoint(t, &t->epoch_times, &what), &what, err);

    row.epoch_ns = dcr_mono_ns() - t->epoch_start_ns;
    row.times = t->epoch_times;
    row.n_samples = t->epoch_samples;
    train_note_failure(t, metrics_add_epoch(&t->tables, &row, &what), &what, err);
    say_epoch(t, &row);
}

static void start_epoch(struct train *t)
{
    sampler_permute(t->o->seed, (uint64_t)t->at.epoch, t->order, t->data->train.count);
    const struct loader_plan plan = {.order = t->order,
                                     .n = t->data->train.count,
                                     .global_batch = t->global_batch,
                                     .first = t->first,
                                     .share = t->share,
                                     .n_micro = t->o->accumulate,
                                     .first_step = (size_t)t->at.step_in_epoch,
                                     .n_steps = t->steps_per_epoch};
    t->has_ahead = 0;
    loader_start(t->loader, &plan);
}

/* The last steps were suspicious, but too few to be sure, and validation confirms it. */
static int ends_diverged(const struct train *t)
{
    const struct divergence *d = &t->divergence;
    return d->n_suspicious > 0 && t->result->has_validation &&
           !(loss_mae(&t->result->val_total) <= d->factor * d->best);
}

static int train_epoch(struct train *t, struct dcr_err *err)
{
    int rc = 0;
    mark_push(MARK_EPOCH, (uint64_t)t->at.epoch + 1);
    t->epoch_start_ns = dcr_mono_ns();
    t->epoch_times = (struct step_times){0};
    t->epoch_samples = 0;
    start_epoch(t);
    while (!rc && !t->result->signal && !train_steps_are_over(t) && (size_t)t->at.step_in_epoch < t->steps_per_epoch)
        rc = train_step(t, err);
    if (!rc)
        end_epoch(t, err);
    if (!rc && t->is_over && ends_diverged(t))
        rc = train_diverged(t, loss_mae(&t->result->val_total), 0, err);
    mark_pop();
    return comm_first_failure(t->c, t->failed ? t->failed : rc < 0 ? rc : 0, err);
}

/* ---- the run ------------------------------------------------------------------------------------ */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The first steps use fresh memory, so a fifth of the steps, at most 5, is left out. */
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
        start_epoch(&t);
        rc = train_write_gradient(&t, err);
        goto out;
    }
    if (!rc)
        rc = train_open_tables(&t, err);
    while (!rc && !t.is_over)
        rc = train_epoch(&t, err);
    int rc_close = metrics_close(&t.tables, rc ? NULL : err);
    rc = rc ? rc : comm_first_failure(c, rc_close, err);
    train_forget_checkpoint_before(&t);
    result->steps = t.at.step;
    result->epochs = t.at.epoch;
    result->median_step_s = median_step_s(&t);
out:
    train_release(&t);
    return rc;
}
