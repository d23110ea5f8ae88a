/* evaluate.h - forecast errors of the model over a range of windows. */
#ifndef TRAINER_RUN_EVALUATE_H
#define TRAINER_RUN_EVALUATE_H

#include "trainer/model/backend.h"
#include "trainer/ranks/comm.h"
#include "trainer/data/dataset.h"

/* Room for one batch of one rank. */
struct batch_room {
    size_t max_windows;
    uint32_t *windows; /* (max_windows) */
    float *x, *y_z, *y_mph;
};
/** batch_room_alloc - for up to max_windows windows of d; batch_room_release in any state after {0}. */
int batch_room_alloc(struct batch_room *r, const struct dataset *d, size_t max_windows,
                     struct dcr_err *err) DCR_MUST_CHECK;
void batch_room_release(struct batch_room *r);

/** evaluate_count - windows of this rank when n_windows (0 = all) of the range are evaluated. */
size_t evaluate_count(struct window_range range, size_t n_windows, const struct comm *c);

/** evaluate_model - error sums per forecast step over all ranks. Collective.
 *  range      windows; n_windows of them, evenly spread (0 = all)
 *  stop       asked between batches; non-zero ends this rank's part early
 *  sums       overwritten with the sums of all ranks                  shape: (d->n_out)
 *  returns    1 when no rank was stopped, else 0 (sums are then of no use) */
int evaluate_model(struct backend *be, const struct dataset *d, struct window_range range, size_t n_windows,
                   struct batch_room *room, struct comm *c, int (*stop)(void), struct loss_horizon *sums);

/** evaluate_total - all forecast steps together. */
struct loss_horizon evaluate_total(const struct loss_horizon *sums, size_t n_out);

#endif
