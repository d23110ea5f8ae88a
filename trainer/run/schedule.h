/* schedule.h - what changes while training: the learning rate by epoch, scheduled sampling by step. Pure functions. */
#ifndef TRAINER_RUN_SCHEDULE_H
#define TRAINER_RUN_SCHEDULE_H

#include <stdint.h>

struct schedule_lr {
    double base;       /* 0.01 in the authors' recipe */
    double factor;     /* 0.1, applied once for every milestone reached */
    double floor;      /* 2e-6 */
    int n_milestones;  /* 4 */
    int milestone[16]; /* ascending epochs, counted from 0 as completed epochs: 20, 30, 40, 50 */
};

/** schedule_lr_default - the recipe of the authors' repository for METR-LA (values in the comments above). */
struct schedule_lr schedule_lr_default(void);
/** schedule_lr_at - learning rate while `epoch` epochs are complete (0 in the first epoch). */
double schedule_lr_at(const struct schedule_lr *s, int epoch);

/** schedule_truth_probability - probability that the decoder is fed the true previous target:
 *  tau / (tau + exp(step / tau)).
 *  step     optimiser steps done so far
 *  tau      cl_decay_steps, > 0; 2000 in the authors' configurations
 *  source   Bengio et al. 2015 (inverse sigmoid decay), as in liyaguang/DCRNN */
double schedule_truth_probability(int64_t step, double tau);

/** schedule_coins - one decision per decoder step for the whole batch, the same on every rank.
 *  coins    overwritten; 1 = feed the truth of step t into step t+1, 0 = the prediction   shape: (n_out), n_out <= 4096
 *           the last coin has no effect
 *  source   rng stream RNG_COIN at (seed, step, t) */
void schedule_coins(uint64_t seed, int64_t step, double tau, int n_out, uint8_t *coins);

/* ---- divergence ---- */

#define DIVERGENCE_STEPS 10

enum divergence_verdict { DIVERGENCE_NONE, DIVERGENCE_SUSPECTED, DIVERGENCE_CERTAIN };

struct divergence {
    double factor; /* 0 = only what is no number counts; else > 1. Set it; the rest starts as 0 */
    double best;   /* valid when n_seen > 0 */
    int n_suspicious;
    int n_seen; /* unsuspicious losses */
    double recent[DIVERGENCE_STEPS];
};

/** divergence_add - the loss of the next step. */
enum divergence_verdict divergence_add(struct divergence *d, double loss);

#endif
