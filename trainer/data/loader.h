/* loader.h - which windows a step sees, which rank gets them, and the batches made from them. Windows come from memory
 * or from a file, batches when asked for or ahead of time by workers.
 *
 * Without workers loader_next does all of the work itself. With workers, separate threads fill up to n_ahead batches
 * beyond the one that the training loop holds; several share the windows of one batch, so that the first is there soon.
 * The result does not depend on which worker fills a place. loader_next then only waits, and this wait is the loading
 * cost of the step. */
#ifndef TRAINER_DATA_LOADER_H
#define TRAINER_DATA_LOADER_H

#include "trainer/data/dataset.h"
#include "trainer/data/window_store.h"

/* ---- order and shares: pure functions, every rank computes the same answer --------------------------------------- */

/** sampler_permute - the order of the n training windows in one epoch; windows overwritten.   shape: (n)
 *  source   Fisher-Yates with rng stream RNG_SHUFFLE at (seed, epoch) */
void sampler_permute(uint64_t seed, uint64_t epoch, uint32_t *windows, size_t n);

/** sampler_steps - steps per epoch: n windows in batches, the last one filled up. */
size_t sampler_steps(size_t n, size_t global_batch);

/** sampler_window - window of place k of the epoch. Places past the end wrap around, so that the last batch is full and
 *  no window is in it twice. (The published loaders fill up with copies of one window, which would then make half of
 *  that batch's gradient.) */
uint32_t sampler_window(const uint32_t *windows, size_t n, size_t k);

/** sampler_share - a rank's part of n items: contiguous, sizes differ by at most one, no part is left out.
 *  first, count  overwritten; count may be 0 when there are more ranks than items */
void sampler_share(size_t n, int rank, int n_ranks, size_t *first, size_t *count);

/** sampler_share_weighted - a rank's part of n items, in proportion to `weights`: contiguous, none left out; rank r's
 *  ends at floor(n * (weights[0] + ... + weights[r]) / sum), so that a size differs from its exact share by less than
 *  one. Equal weights give sampler_share's parts.
 *  weights  borrows; >= 0, not all 0                                  shape: (n_ranks) */
void sampler_share_weighted(size_t n, const double *weights, int rank, int n_ranks, size_t *first, size_t *count);

/* ---- batches ----------------------------------------------------------------------------------------------------- */

struct loader_config {
    const struct dataset *data;       /* borrows until loader_close */
    const struct window_store *store; /* borrows until loader_close; NULL: windows come from data, in memory */
    size_t max_windows;               /* of one batch */
    int n_workers;                    /* threads; 0 = none */
    int n_ahead;                      /* batches made before they are asked for; 0 without workers */
    /* memory the back end can copy from while it computes; NULL: use malloc */
    void *(*alloc)(size_t bytes);
    void (*free)(void *p);
};

/* Which batches: of every step from first_step on, this rank's part of the global batch in n_micro pieces. */
struct loader_plan {
    const uint32_t *order; /* borrows until the next loader_start or loader_close; windows of the epoch    shape: (n) */
    size_t n;
    size_t global_batch, first, share; /* this rank: places first .. first + share - 1 of each global batch */
    int n_micro;
    size_t first_step, n_steps; /* steps first_step .. n_steps - 1 of the epoch */
};

struct loader_batch {
    size_t n;                 /* windows; may be 0 */
    const float *x;           /* z-scored inputs             shape: (T, n, N, 2) */
    const float *y_z, *y_mph; /* targets, z-scored and raw   shape: (H, n, N) */
};

struct loader;

/** loader_open - out gives; loader_close. errors DCR_FATAL no memory, DCR_FAIL no thread to be had */
int loader_open(struct loader **out, const struct loader_config *c, struct dcr_err *err) DCR_MUST_CHECK;
/** loader_close - ends the workers after their current windows; NULL is fine. */
void loader_close(struct loader *l);

/** loader_start - begin or continue an epoch; batches made ahead for an earlier plan are dropped. */
void loader_start(struct loader *l, const struct loader_plan *plan);
/** loader_next - the next batch of the plan; waits for it.
 *  batch    overwritten; its arrays borrow until the next batch is taken, loader_start or loader_close
 *  errors   DCR_FAIL: a file cannot be read (named), by any thread; also after the plan's last batch */
int loader_next(struct loader *l, struct loader_batch *batch, struct dcr_err *err) DCR_MUST_CHECK;
/** loader_take_ready - as loader_next if workers have made the next batch already, else nothing. It never waits or
 *  works, and leaves failures to loader_next.
 *  returns  1 when `batch` was overwritten and the one before given back */
int loader_take_ready(struct loader *l, struct loader_batch *batch);

#endif
