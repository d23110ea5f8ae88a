/* metrics.h - the tables a run writes into its output folder: metrics.csv (rank 0, a row per epoch) and
 * steps-rank<r>.csv (every rank, a row per step). Columns: lib/archive/format.h. Each row is written when it is
 * complete, so that a killed run keeps its rows. */
#ifndef TRAINER_RUN_METRICS_H
#define TRAINER_RUN_METRICS_H

#include "lib/base/err.h"
#include "trainer/mark.h"
#include "trainer/model/loss.h"

#include <stdint.h>
#include <stdio.h>

/* Errors are reported at 15, 30 and 60 minutes: these forecast steps. */
static const size_t metrics_step[3] = {3, 6, 12};

/* Durations of one step, or their sums over an epoch. */
struct step_times {
    int64_t start_ns;          /* of a step: CLOCK_MONOTONIC */
    int64_t ns[MARK_N_RANGES]; /* by phase. MARK_ALL_REDUCE_BUCKET: at least one was under way, waited for or not */
};

struct step_row {
    int64_t epoch, step;
    int rank;
    struct step_times times;
    int has_device, has_in_flight;
    size_t samples, all_reduce_bytes;
    double loss; /* of the global batch */
};

struct epoch_row {
    int64_t epoch; /* from 1 */
    double train_loss;
    int has_validation;
    struct loss_horizon val_total;
    const struct loss_horizon *val; /* (n_out) */
    int has_test;
    const struct loss_horizon *test; /* (n_out) */
    size_t n_out;
    int64_t epoch_ns;
    int64_t n_samples;               /* of all ranks, in the steps done since the epoch began or was resumed */
    struct step_times times;         /* sums on rank 0 */
    double learning_rate, grad_norm; /* norm: mean over the steps */
};

struct metrics {
    FILE *epochs; /* NULL on other ranks */
    FILE *steps;
    char epochs_path[4096], steps_path[4096];
};

/** metrics_lock - reserves the folder for this process until it ends, because two runs would write into the same
 * tables. Rank 0, before any rank opens its tables. errors DCR_FAIL: another run has it */
int metrics_lock(const char *dir, struct dcr_err *err) DCR_MUST_CHECK;
/** metrics_open - create the folder's tables, or continue them.
 *  epoch, step  of a resumed run, 0 for a new one: rows that the resumed run will write again (epochs after `epoch`
 *               complete ones, steps from `step` on) are removed from existing tables; a new run starts new tables
 *  m            gives; metrics_close in any state after {0}
 *  errors       DCR_FAIL: folder or file cannot be written */
int metrics_open(struct metrics *m, const char *dir, int rank, int64_t epoch, int64_t step,
                 struct dcr_err *err) DCR_MUST_CHECK;
/** metrics_add_step, metrics_add_epoch - write one row. errors DCR_FAIL: disk full, with the file's name. */
int metrics_add_step(struct metrics *m, const struct step_row *row, struct dcr_err *err) DCR_MUST_CHECK;
int metrics_add_epoch(struct metrics *m, const struct epoch_row *row, struct dcr_err *err) DCR_MUST_CHECK;
/** metrics_close - errors DCR_FAIL: the last bytes could not be written. */
int metrics_close(struct metrics *m, struct dcr_err *err) DCR_MUST_CHECK;

#endif
