/* schedule.h - values that change during training: the learning rate by epoch, scheduled sampling by step, and the test
 * for divergence. All ranks have the same inputs, so all get the same answer in the same step. */
#ifndef TRAINER_RUN_SCHEDULE_H
#define TRAINER_RUN_SCHEDULE_H

#include <stdint.h>

/** schedule_lr - learning rate while `epoch` epochs are complete (0 in the first one): `base`, cut to a tenth at every
 *  milestone reached, and never below 2e-6. The authors' recipe for METR-LA is 0.01 with milestones 20, 30, 40, 50.
 *  milestones  borrows; ascending                                              shape: (n) */
double schedule_lr(double base, const int *milestones, int n, int64_t epoch);

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

/* The best is the smallest mean of DIVERGENCE_STEPS successive losses so far (of fewer at the very start). A loss above
 * `factor` times the best is suspicious and enters no mean. Training has diverged when the loss is not a number, or
 * when DIVERGENCE_STEPS steps in a row were suspicious. One bad batch is not divergence, but a run of them is. */
#define DIVERGENCE_STEPS 10

enum divergence_verdict { DIVERGENCE_NONE, DIVERGENCE_SUSPECTED, DIVERGENCE_CERTAIN };

struct divergence {
    double factor; /* 0 = only a loss that is not a number counts; else > 1. The caller sets it; the rest starts as 0 */
    double best;   /* valid when n_seen > 0 */
    int n_suspicious;
    int n_seen; /* unsuspicious losses */
    double recent[DIVERGENCE_STEPS];
};

/** divergence_add - the loss of the next step. */
enum divergence_verdict divergence_add(struct divergence *d, double loss);

#endif
