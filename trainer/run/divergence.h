/* divergence.h - does the loss still make sense? Sees the loss of every step, which all ranks have alike, so that all
 * come to the same verdict in the same step.
 *
 * The best is the smallest mean of DIVERGENCE_STEPS successive losses so far (of fewer at the very start). A loss above
 * `factor` times the best is suspicious and enters no mean; training has diverged when the loss is no number, or when
 * DIVERGENCE_STEPS steps in a row were suspicious: one odd batch is none, weights that left the valley are. */
#ifndef TRAINER_RUN_DIVERGENCE_H
#define TRAINER_RUN_DIVERGENCE_H

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
