/* describe.h - program.json: what the program says about itself and this run. Keys: docs/FORMAT.md. */
#ifndef TRAINER_RUN_DESCRIBE_H
#define TRAINER_RUN_DESCRIBE_H

#include "trainer/model/backend.h"
#include "trainer/ranks/comm.h"
#include "trainer/run/input.h"
#include "trainer/options.h"
#include "trainer/tools/probe.h"

struct description {
    const struct options *options;
    const struct input *input;
    const struct comm *comm;
    const struct backend *backend;
    const struct window_store *store; /* NULL: windows come from memory */
    const struct dcrnn_config *model;
    const struct graph_supports *supports;
    size_t global_batch, local_batch; /* local: the largest share */
    size_t all_reduce_bytes;          /* per step and rank; 0 on one rank */
    size_t n_early;                   /* gradients that are final before the backward pass ends: grad_sync.h */
    struct probe probe;
};

/** describe_write - write o->out/program.json beside the final name, then rename. Rank 0 only.
 *  errors   DCR_FAIL: cannot be written */
int describe_write(const struct description *d, struct dcr_err *err) DCR_MUST_CHECK;

/** describe_flop_per_step - operations of one step on all ranks together (dcrnn-model.md section 9). */
double describe_flop_per_step(const struct description *d);

/** describe_traffic_bytes_per_step - bytes of one step, on all ranks together, that pass between caches and memory when
 *  nothing that is used once per pass stays in a cache: with P parameters, R = windows x sensors rows, 4 bytes each
 *      parameters  for every micro-batch of every rank: weights read, both packed copies of them written and read, sums
 *                  of the gradient cleared, added to and read, gradients added to: 11 P (on a device, without copies
 *                  and sums: weights read twice, gradients added to: 4 P); once a step and rank: scaling 2 P, norm P,
 *                  Adam reads 4 P and writes 3 P
 *      states      r, u, c, h of every layer and time step, written and read back: 2 * 4 * units * layers * (T + H) * R
 *      batch       inputs read in both directions, targets once: (2 * 2 T + 2 H) * R
 *  What a cell uses again while its tile is in the cache (diffusion terms, the graph) is not in it. Where parameters or
 *  states fit into a cache, less passes. */
double describe_traffic_bytes_per_step(const struct description *d);

#endif
