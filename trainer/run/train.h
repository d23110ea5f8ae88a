/* train.h - the input of a run, and the training loop: epochs of steps, validation, checkpoints, tables. The loop reads
 * like the equation of a step. It uses MPI only through comm.h, kernels through backend.h and NVTX through mark.h. */
#ifndef TRAINER_RUN_TRAIN_H
#define TRAINER_RUN_TRAIN_H

#include "trainer/model/backend.h"
#include "trainer/ranks/comm.h"
#include "trainer/options.h"

/* The data set and the road graph, on every rank: rank 0 reads or generates, the others receive. */
struct input {
    struct dataset data;        /* split and scaled */
    struct graph_csr adjacency; /* of the data's sensors, in their order */
    size_t n_graph_lines_passed_over;
    uint32_t crc; /* CRC-32C of readings, times and weights: equal inputs have equal ones */
};

/** input_load - collective.
 *  in       gives; input_release in any state after {0}
 *  errors   of the readers, on all ranks alike */
int input_load(struct input *in, const struct options *o, struct comm *c, struct dcr_err *err) DCR_MUST_CHECK;
void input_release(struct input *in);

struct train_result {
    int64_t steps, epochs; /* done in all, epochs complete */
    int signal;            /* the signal that stopped the run; 0 = it ran to its end */
    int has_diverged;
    int has_validation;
    struct loss_horizon val_total; /* of the last validation */
    double val_mae[3];             /* at 15, 30, 60 minutes; NaN when not forecast */
    int has_test;                  /* --test: */
    int64_t test_epoch;            /* the one with the best validation of this run */
    double test_mae[3];            /* errors of that epoch */
    double median_step_s;          /* of this rank, without the first steps of the run */
};

/** train_run - train as the options say. Collective.
 *  in, c     borrows
 *  result    overwritten
 *  returns   0 also when a signal ended it; DCR_FAIL for errors that the user must correct (checkpoint, output folder,
 *           sizes) and, with result->has_diverged, when loss or gradient is not a number any more. All ranks return the
 *           same. */
int train_run(const struct options *o, const struct input *in, struct comm *c, struct train_result *result,
              struct dcr_err *err) DCR_MUST_CHECK;

#endif
