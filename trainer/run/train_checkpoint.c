/* train_checkpoint.c - when a run writes its checkpoint, and which one is left when training diverges.
 *
 * Weights can be spoiled by the very update after which they are saved, and only the next loss shows it. So the
 * checkpoint before stays under a second name until the new one has been seen to be good. */
#include "trainer/run/train_internal.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#define BEFORE ".before"

static void path_before(const struct train *t, char path[sizeof t->checkpoint_path + sizeof BEFORE])
{
    snprintf(path, sizeof t->checkpoint_path + sizeof BEFORE, "%s" BEFORE, t->checkpoint_path);
}

/* A second name for the good checkpoint, which the next one will take the first name from. Where files have one name
 * only it is renamed: there is a moment without a checkpoint.bin, but never one without a good checkpoint. */
static void keep_good_one(struct train *t)
{
    char before[sizeof t->checkpoint_path + sizeof BEFORE];
    if (!t->checkpoint_is_good)
        return;
    path_before(t, before);
    unlink(before);
    if (link(t->checkpoint_path, before) && rename(t->checkpoint_path, before))
        return; /* gone, or the folder is not ours any more: writing will say so */
    t->has_checkpoint_before = 1;
}

void train_checkpoint(struct train *t, struct step_times *times, struct dcr_err *err)
{
    float *const tensors[CHECKPOINT_N_TENSORS] = {t->be->params, t->be->adam_m, t->be->adam_v};
    struct dcr_err what = {0};
    if (t->checkpoint_at == t->at.step && t->checkpoint_at_epoch == t->at.epoch)
        return; /* this very state is on disk */
    if (t->divergence.n_suspicious) {
        if (t->c->rank == 0 && !t->has_left_out_checkpoint)
            fprintf(stderr,
                    "dcrnn-train: note: no checkpoint after step %lld: the loss is more than %g times its best\n",
                    (long long)t->at.step, t->divergence.factor);
        t->has_left_out_checkpoint = 1;
        return;
    }
    t->checkpoint_at = t->at.step;
    t->checkpoint_at_epoch = t->at.epoch;
    if (t->c->rank == 0) {
        struct phase phase = phase_begin(MARK_CHECKPOINT, checkpoint_bytes(t->be->n_params));
        if (t->be->fetch)
            t->be->fetch(t->be);
        t->at.n_updates = t->be->step;
        keep_good_one(t);
        train_note_failure(
            t, checkpoint_write(t->checkpoint_path, t->o->checkpoint_fsync, &t->key, &t->at, tensors, &what), &what,
            err);
        phase_end(phase, times);
    }
    t->checkpoint_is_good = 0;
}

static void forget_one_before(struct train *t)
{
    char before[sizeof t->checkpoint_path + sizeof BEFORE];
    if (!t->has_checkpoint_before)
        return;
    path_before(t, before);
    unlink(before);
    t->has_checkpoint_before = 0;
}

void train_checkpoint_proves_good(struct train *t, struct step_times *times)
{
    t->has_left_out_checkpoint = 0;
    if (t->checkpoint_at < 0 || t->checkpoint_is_good)
        return;
    t->checkpoint_is_good = 1;
    if (t->has_checkpoint_before) {
        /* freeing the blocks of a large file takes milliseconds: part of what checkpoints cost */
        struct phase phase = phase_begin(MARK_CHECKPOINT, 0);
        forget_one_before(t);
        phase_end(phase, times);
    }
}

void train_checkpoint_end(struct train *t)
{
    forget_one_before(t);
}

/* Rank 0. What was spoiled goes, what was good comes back. */
static void restore_good_one(struct train *t)
{
    char before[sizeof t->checkpoint_path + sizeof BEFORE];
    if (t->checkpoint_at < 0 || t->checkpoint_is_good)
        return;
    path_before(t, before);
    if (t->has_checkpoint_before && rename(before, t->checkpoint_path) == 0)
        t->checkpoint_is_good = 1;
    else
        unlink(t->checkpoint_path);
    t->has_checkpoint_before = 0;
}

int train_diverged(struct train *t, double loss, double norm, struct dcr_err *err)
{
    char why[160];
    t->result->has_diverged = 1;
    if (t->c->rank == 0)
        restore_good_one(t);
    if (isfinite(loss) && isfinite(norm))
        snprintf(why, sizeof why, "the loss, now %.4g mph, was above %g times its best, %.4g, for %d steps", loss,
                 t->divergence.factor, t->divergence.best, t->divergence.n_suspicious);
    else
        snprintf(why, sizeof why, "loss %g, gradient norm %g", fabs(loss), fabs(norm));
    return dcr_err_set(err, DCR_FAIL,
                       "training diverged in step %lld (epoch %lld): %s; start again with a lower --lr%s%s",
                       (long long)t->at.step, (long long)t->at.epoch + 1, why,
                       t->checkpoint_is_good ? " or resume the last good checkpoint with one: " : "",
                       t->checkpoint_is_good ? t->checkpoint_path : "");
}
