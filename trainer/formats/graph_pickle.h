/* graph_pickle.h - the road graph as DCRNN publishes it: adj_mx.pkl, a Python pickle of [sensor ids, index of each id,
 * matrix of weights]. Read without running anything of it: pickle.h. Called by graph_read.c. */
#ifndef TRAINER_FORMATS_GRAPH_PICKLE_H
#define TRAINER_FORMATS_GRAPH_PICKLE_H

#include "trainer/formats/graph_pairs.h"

int graph_pickle(struct graph_pairs *p, struct dcr_err *err) DCR_MUST_CHECK;

#endif
