/* checkpoint.h - the whole state of a training run in one file, written so that no crash leaves half a file.
 *
 * Resuming continues with the same bits. Parameters, both Adam moments, the place in the epoch and the sums of the
 * epoch so far are the whole state. Random numbers are functions of seed and step (rng.h). Rank 0 writes and reads;
 * the loop broadcasts. Numbers are in the byte order of the machine; a file of the other order is refused. */
#ifndef TRAINER_RUN_CHECKPOINT_H
#define TRAINER_RUN_CHECKPOINT_H

#include "lib/base/err.h"

#include <stddef.h>
#include <stdint.h>

/* The run that reads must agree with the run that wrote in these fields. X(field, its name in a message, how its values
 * are written) */
#define CHECKPOINT_KEYS(X)                          \
    X(seed, "--seed", number)                       \
    X(n_sensors, "the number of sensors", number)   \
    X(n_units, "--units", number)                   \
    X(n_layers, "--layers", number)                 \
    X(n_in, "--input-steps", number)                \
    X(n_out, "--forecast-steps", number)            \
    X(k_hops, "--hops", number)                     \
    X(recursion, "--recursion", recursion)          \
    X(filter, "--filter", filter)                   \
    X(global_batch, "the global batch", number)     \
    X(n_params, "the number of parameters", number) \
    X(data_crc, "the speeds or the graph", number)
struct checkpoint_key {
#define X(field, text, name) int64_t field;
    CHECKPOINT_KEYS(X)
#undef X
};

/* The position of the run: everything the loop changes apart from the tensors. */
struct checkpoint_state {
    int64_t step;          /* optimiser steps done */
    int64_t epoch;         /* epochs complete, from 0 */
    int64_t step_in_epoch; /* steps done in the epoch under way */
    int64_t n_updates;     /* of Adam */
    int64_t epochs_since_best;
    int64_t n_ranks; /* for information: other ranks give other rounding */
    double best_val_mae;
    double epoch_loss_sum, epoch_n_valid, epoch_norm_sum; /* over the steps done in the epoch */
};

/* The tensors, in file order; each has key.n_params floats. */
enum { CHECKPOINT_PARAMS, CHECKPOINT_ADAM_M, CHECKPOINT_ADAM_V, CHECKPOINT_N_TENSORS };

/** checkpoint_bytes - size of the file. */
size_t checkpoint_bytes(size_t n_params);

/** checkpoint_write - write path + ".partial", fsync, rename, fsync the folder; the caller waits for all of it.
 *  is_synced  0: without both fsync. A crash of the program still leaves the old file or the new one, a crash of the
 *             machine may leave neither
 *  tensors  borrows; CHECKPOINT_N_TENSORS pointers      shape: (n_params) each
 *  errors   DCR_FAIL: disk full, folder gone; path then still holds the checkpoint before */
int checkpoint_write(const char *path, int is_synced, const struct checkpoint_key *key,
                     const struct checkpoint_state *state, float *const tensors[CHECKPOINT_N_TENSORS],
                     struct dcr_err *err) DCR_MUST_CHECK;

/** checkpoint_read - reads and checks everything before it returns any byte.
 *  key      borrows; the run that reads
 *  state, tensors  overwritten on success only
 *  errors   DCR_FAIL: missing, not a checkpoint, another version or byte order, truncated, damaged (CRC-32C), or
 *           written by a run that differs: the sentence names the difference */
int checkpoint_read(const char *path, const struct checkpoint_key *key, struct checkpoint_state *state,
                    float *const tensors[CHECKPOINT_N_TENSORS], struct dcr_err *err) DCR_MUST_CHECK;

#endif
