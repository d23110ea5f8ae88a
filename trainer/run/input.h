/* input.h - the data set and the road graph of a run, on every rank: rank 0 reads or generates, the others receive. */
#ifndef TRAINER_RUN_INPUT_H
#define TRAINER_RUN_INPUT_H

#include "trainer/ranks/comm.h"
#include "trainer/data/dataset.h"
#include "trainer/model/graph.h"
#include "trainer/options.h"

struct input {
    struct dataset data;        /* split and scaled */
    struct graph_csr adjacency; /* of the data's sensors, in their order */
    size_t n_graph_lines_passed_over;
    uint32_t crc; /* CRC-32C of readings, times and weights: the same input has the same */
};

/** input_load - collective.
 *  in       gives; input_release in any state after {0}
 *  errors   of the readers, on all ranks alike */
int input_load(struct input *in, const struct options *o, struct comm *c, struct dcr_err *err) DCR_MUST_CHECK;
void input_release(struct input *in);

#endif
