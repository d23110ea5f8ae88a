/* train_internal.h - the state of a training run, for train*.c, checkpoint.c and describe.c. */
#ifndef TRAINER_RUN_TRAIN_INTERNAL_H
#define TRAINER_RUN_TRAIN_INTERNAL_H

#include "lib/base/mono.h"
#include "trainer/data/loader.h"
#include "trainer/mark.h"
#include "trainer/ranks/grad_sync.h"
#include "trainer/run/checkpoint.h"
#include "trainer/run/metrics.h"
#include "trainer/run/schedule.h"
#include "trainer/run/train.h"
#include "trainer/tools/probe.h"

/* Values that the ranks add up in every step besides the gradient. */
struct tally {
    double loss_sum; /* sum of |error|, mph */
    double n_valid;
    double n_sigterm, n_sigint; /* ranks that were asked to stop */
    double n_failed;            /* ranks that could not read or write something */
};
#define TALLY_N (sizeof(struct tally) / sizeof(double))

struct train {
    const struct options *o;
    const struct input *in;
    const struct dataset *data;
    struct comm *c;
    struct graph_supports supports;
    struct dcrnn_config model;
    struct backend *be;
    size_t n_early; /* gradients that are final before the backward pass ends: grad_sync.h */

    size_t global_batch, steps_per_epoch;
    size_t first, share;        /* this rank's part of a global batch */
    struct window_store *store; /* NULL: windows come from memory */
    struct loader *loader;
    struct loader_batch ahead; /* taken before the step that needs it, and being copied to the device */
    int has_ahead;
    struct grad_sync *sync; /* NULL when the back end reduces on its device */
    uint32_t *order;        /* (train.count) windows of this epoch */
    uint8_t *coins;         /* (n_out) */

    /* evaluation: room for one batch, and the errors by forecast step */
    uint32_t *eval_windows;          /* (max_batch) */
    float *eval_x, *eval_y;          /* (n_in, max_batch, n_sensors, 2), (n_out, max_batch, n_sensors) */
    struct loss_horizon *val, *test; /* (n_out) */

    struct checkpoint_key key;
    struct checkpoint_state at; /* position of the run */
    char checkpoint_path[4096], checkpoint_before[4096];
    int64_t checkpoint_at; /* step of the last checkpoint, -1 = none; with the epochs complete then */
    int64_t checkpoint_at_epoch;
    /* checkpoint_path is known to be good: a loss computed from its weights was plausible. Until then the checkpoint
     * before it is kept too. */
    int checkpoint_is_good, has_checkpoint_before, has_left_out_checkpoint;
    struct divergence divergence;

    int failed; /* this rank's first failure that the others do not know yet; its sentence is in err */
    int is_over;

    struct metrics tables;
    struct step_times epoch_times;
    int64_t epoch_start_ns, epoch_samples;
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

/** train_describe - write program.json into the output folder: the program, and how much faster the best kernels would
 *  be. Rank 0. */
int train_describe(const struct train *t, const struct probe *probe, struct dcr_err *err) DCR_MUST_CHECK;

/** train_step - the equation of a step. returns non-zero, on all ranks alike, when the loop must be left. */
int train_step(struct train *t, struct dcr_err *err) DCR_MUST_CHECK;
/** train_write_gradient - --gradient-to: the global gradient of the first step before clipping, one `TENSOR VALUE` per
 *  line. The loader has been started. Collective. */
int train_write_gradient(struct train *t, struct dcr_err *err) DCR_MUST_CHECK;

/** train_note_failure - keeps a failure of this rank alone in t->failed and err until all ranks know it.
 *  rc  0: does nothing */
void train_note_failure(struct train *t, int rc, const struct dcr_err *what, struct dcr_err *err);

/** train_checkpoint - write the state, unless it is on disk already or the loss is suspicious (schedule.h). Ranks other
 *  than 0 only remember its step. */
int train_checkpoint(struct train *t, struct step_times *times, struct dcr_err *err) DCR_MUST_CHECK;
/** train_checkpoint_proves_good - call it after a good step from the weights of the last checkpoint, or later ones: it
 *  removes the checkpoint before, in a separate checkpoint range. */
void train_checkpoint_proves_good(struct train *t, struct step_times *times);
/** train_forget_checkpoint_before - remove the checkpoint before the last, also at the end of a run. */
void train_forget_checkpoint_before(struct train *t);
/** train_diverged - the sentence for a run whose loss or gradient has diverged; checkpoint.bin becomes the last good
 *  one, if there was one. returns DCR_FAIL */
int train_diverged(struct train *t, double loss, double norm, struct dcr_err *err);

/* A phase is a range for collectors and a duration for our own tables. */
struct phase {
    enum mark_range range;
    int64_t since_ns;
};
static inline struct phase phase_begin(enum mark_range range, uint64_t payload)
{
    mark_push(range, payload);
    return (struct phase){range, dcr_mono_ns()};
}
static inline void phase_end(struct phase p, struct step_times *sums)
{
    sums->ns[p.range] += dcr_mono_ns() - p.since_ns;
    mark_pop();
}

/** train_steps_are_over - the limit of --steps is reached. */
static inline int train_steps_are_over(const struct train *t)
{
    return t->o->steps && t->at.step >= t->o->steps;
}

static inline double train_lr(const struct train *t)
{
    return schedule_lr(t->o->lr, t->o->milestone, t->o->n_milestones, t->at.epoch);
}

/** train_all_reduce_bytes - bytes that a rank contributes in every step; 0 with one rank. */
static inline size_t train_all_reduce_bytes(const struct train *t)
{
    return t->sync             ? grad_sync_bytes(t->sync, TALLY_N)
           : t->c->n_ranks > 1 ? t->be->n_params * allreduce_dtype_bytes(t->o->allreduce_dtype) + sizeof(struct tally)
                               : 0;
}

#endif
