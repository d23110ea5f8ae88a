/* comm.h - what the ranks of a run say to each other. The training loop knows these calls and no MPI; another
 * implementation (NCCL, buckets that overlap with the backward pass) fills the same header.
 *
 * All calls are collective and blocking. A failed call prints rank, host and call, and aborts all ranks: nothing can be
 * repaired on one rank alone, and the others would wait for ever. */
#ifndef TRAINER_COMM_H
#define TRAINER_COMM_H

#include "lib/err.h"

#include <stddef.h>
#include <stdint.h>

struct comm {
    int rank, n_ranks;
    char host[64];
};

/** comm_open - join the other ranks; alone when the program was not started by mpirun or srun.
 *  argc, argv  main's own; launcher options are taken out */
void comm_open(struct comm *c, int *argc, char ***argv);
/** comm_close - leave; every rank must. */
void comm_close(struct comm *c);

/** comm_sum_f32, comm_sum_f64 - elementwise sum over all ranks, in place; the same bits on every rank. shape: (n) */
void comm_sum_f32(struct comm *c, float *values, size_t n);
void comm_sum_f64(struct comm *c, double *values, size_t n);
/** comm_broadcast - rank 0's n bytes to all. */
void comm_broadcast(struct comm *c, void *bytes, size_t n);
/** comm_first_failure - did every rank succeed? The sentence of the lowest failing rank reaches all ranks.
 *  rc       this rank's result; err this rank's sentence, replaced when another rank's comes first
 *  returns  0, or the lowest failing rank's result */
int comm_first_failure(struct comm *c, int rc, struct dcr_err *err) DCR_MUST_CHECK;
/** comm_library - "Open MPI v4.1.4, ...": the first line of the library's own version text. borrows. */
const char *comm_library(void);

#endif
