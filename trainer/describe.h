/* describe.h - program.json: what the program says about itself and this run. Keys: docs/FORMAT.md. */
#ifndef TRAINER_DESCRIBE_H
#define TRAINER_DESCRIBE_H

#include "trainer/backend.h"
#include "trainer/comm.h"
#include "trainer/input.h"
#include "trainer/options.h"

struct description {
    const struct options *options;
    const struct input *input;
    const struct comm *comm;
    const struct backend *backend;
    const struct dcrnn_config *model;
    const struct graph_supports *supports;
    size_t global_batch, local_batch; /* local: the largest share */
    size_t all_reduce_bytes;          /* per step and rank; 0 on one rank */
};

/** describe_write - write o->out/program.json beside the final name, then rename. Rank 0 only.
 *  errors   DCR_FAIL: cannot be written */
int describe_write(const struct description *d, struct dcr_err *err) DCR_MUST_CHECK;

/** describe_flop_per_step - operations of one step on all ranks together (dcrnn-model.md section 9). */
double describe_flop_per_step(const struct description *d);

#endif
