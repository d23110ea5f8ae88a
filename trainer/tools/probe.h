/* probe.h - time of the run's own batches with the best kernels of this processor, measured before training. A ceiling
 * from products of large matrices does not apply to small ones. */
#ifndef TRAINER_TOOLS_PROBE_H
#define TRAINER_TOOLS_PROBE_H

#include "trainer/model/backend.h"

struct probe {
    char best[64]; /* kernels: "avx512"; "" = not measured, because the run has the best already */
    double ratio;  /* time of a micro-batch (forward, loss, backward, update) with them / with those of the run */
};

/** probe_kernels - times one micro-batch of max_batch windows of made-up readings with both, in turns, for a second or
 *  less; the shortest of each counts, since neighbours only add time.
 *  config    of the run's back end on the CPU; config->model.kernels NULL: nothing is measured
 *  supports  borrows
 *  errors    DCR_FAIL: no memory for a second model */
int probe_kernels(struct probe *out, const struct backend_config *config, const struct graph_supports *supports,
                  struct dcr_err *err) DCR_MUST_CHECK;

#endif
