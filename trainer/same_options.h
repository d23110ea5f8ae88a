/* same_options.h - were all ranks started alike? What differs between them would show late and badly: messages that do
 * not fit, or a training that is none. Called by main.c before anything else is done together. */
#ifndef TRAINER_SAME_OPTIONS_H
#define TRAINER_SAME_OPTIONS_H

#include "trainer/ranks/comm.h"
#include "trainer/options.h"

/** same_options - compares what must be equal with rank 0's: the model, the training, the ranks, what is done together
 *  when. Places of files, threads, kernels and loading are each rank's own. Collective.
 *  returns  0; else DCR_FAIL on all ranks, with the sentence of the first that differs: rank, host and option */
int same_options(const struct options *o, struct comm *c, struct dcr_err *err) DCR_MUST_CHECK;

#endif
