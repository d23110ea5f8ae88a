/* train_internal.h - the state of a training run, shared by train.c (the loop) and train_setup.c (before and after it).
 */
#ifndef TRAINER_TRAIN_INTERNAL_H
#define TRAINER_TRAIN_INTERNAL_H

#include "trainer/checkpoint.h"
#include "trainer/evaluate.h"
#include "trainer/metrics.h"
#include "trainer/schedule.h"
#include "trainer/train.h"

/* What the ranks add up in every step besides the gradient. */
struct tally {
    double loss_sum; /* sum of |error|, mph */
    double n_valid;
    double n_sigterm, n_sigint; /* ranks that were asked to stop */
    double n_failed;            /* ranks that could not write something */
};

struct train {
    const struct options *o;
    const struct input *in;
    const struct dataset *data;
    struct comm *c;
    struct graph_supports supports;
    struct dcrnn_config model;
    struct backend *be;
    struct schedule_lr lr;

    size_t global_batch, steps_per_epoch;
    size_t first, share; /* this rank's part of a global batch */
    struct batch_room room;
    uint32_t *order; /* (train.count) windows of this epoch */
    uint8_t *coins;  /* (n_out) */

    struct checkpoint_key key;
    struct checkpoint_state at; /* where the run stands */
    char checkpoint_path[4096];
    int64_t checkpoint_at; /* step of the last checkpoint, -1 = none; with the epochs complete then */
    int64_t checkpoint_at_epoch;

    int failed; /* this rank's first failure that the others do not know of yet; its sentence is in err */
    int is_over;

    struct metrics tables;
    struct step_times epoch_times;
    int64_t epoch_start_ns, epoch_samples;
    struct loss_horizon *val; /* (n_out) */
    int is_terminal;
    double *step_s; /* (n_step_s) durations, for the closing line */
    size_t n_step_s, cap_step_s;
    struct train_result *result;
};

/** train_setup - sizes, supports, back end, initial or resumed state. Collective. train_release in any state. */
int train_setup(struct train *t, struct dcr_err *err) DCR_MUST_CHECK;
/** train_open_tables - output folder, tables and program.json. Collective. */
int train_open_tables(struct train *t, struct dcr_err *err) DCR_MUST_CHECK;
void train_release(struct train *t);

/** train_steps_are_over - the limit of --steps is reached. */
static inline int train_steps_are_over(const struct train *t)
{
    return t->o->steps && t->at.step >= t->o->steps;
}

/** train_all_reduce_bytes - what a rank contributes in every step; nothing travels on one rank. */
static inline size_t train_all_reduce_bytes(const struct train *t)
{
    return t->c->n_ranks > 1 ? t->be->n_params * sizeof(float) + sizeof(struct tally) : 0;
}

#endif
