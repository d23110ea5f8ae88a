/* loader.h - the batches of this rank, in the order of the epoch, from memory or from a file of windows, made when
 * asked for or ahead of time by workers. The training loop takes one, computes, gives it back.
 *
 * Without workers loader_next does all of the work itself. With workers, threads of their own fill up to n_ahead
 * batches beyond the one that the training loop holds; several share the windows of one batch, so that the first is
 * there soon. Every window has its own place in its batch: who fills it changes no bit. loader_next then only waits,
 * and what it waits is what loading costs the step.
 *
 * Called by train.c. What a batch holds is dataset.h's business, which windows is sampler.h's, how a window comes out
 * of a file is window_store.h's. */
#ifndef TRAINER_DATA_LOADER_H
#define TRAINER_DATA_LOADER_H

#include "trainer/data/dataset.h"
#include "trainer/data/window_store.h"

struct loader_config {
    const struct dataset *data;       /* borrows until loader_close */
    const struct window_store *store; /* borrows until loader_close; NULL: windows come from data, in memory */
    size_t max_windows;               /* of one batch */
    int n_workers;                    /* threads; 0 = none */
    int n_ahead;                      /* batches made before they are asked for; 0 without workers */
    /* memory the back end can copy from while it computes; NULL: malloc's will do */
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
/** loader_close - ends the workers after the window each is at; NULL is fine. */
void loader_close(struct loader *l);

/** loader_start - begin an epoch, or go on in one; batches made ahead for an earlier plan are dropped. */
void loader_start(struct loader *l, const struct loader_plan *plan);
/** loader_next - the next batch of the plan; waits for it.
 *  batch    overwritten; its arrays borrow until the next batch is taken, loader_start or loader_close
 *  errors   DCR_FAIL: a file cannot be read (named), whoever read it; also after the plan's last batch */
int loader_next(struct loader *l, struct loader_batch *batch, struct dcr_err *err) DCR_MUST_CHECK;
/** loader_take_ready - as loader_next where workers have made the next batch already, else nothing: never waits, never
 *  works, leaves failures to loader_next.
 *  returns  1 when `batch` was overwritten and the one before given back */
int loader_take_ready(struct loader *l, struct loader_batch *batch);

#endif
