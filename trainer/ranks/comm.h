/* comm.h - communication between the ranks of a run. The training loop uses these calls and no MPI. grad_sync.h sums
 * the gradients while the backward pass runs.
 *
 * All calls are collective and return when they are done. A rank that waits offers its core to others. A call that
 * fails, or that waits for a missing rank longer than comm_open's patience, prints one sentence with rank, host and
 * call and aborts all ranks. One rank alone cannot repair anything, and the others would wait without end.
 * Implementation: trainer/ranks/comm_mpi.c. */
#ifndef TRAINER_RANKS_COMM_H
#define TRAINER_RANKS_COMM_H

#include "lib/base/err.h"

#include <stddef.h>
#include <stdint.h>

struct comm {
    int rank, n_ranks;
    char host[64];
};

/* The form in which gradients are sent. X(enumerator, name, bytes of each gradient, what it is) */
#define ALLREDUCE_DTYPES(X)                                                              \
    X(ALLREDUCE_FP32, "fp32", 4, "32-bit floats")                                        \
    X(ALLREDUCE_BF16, "bf16", 2, "bfloat16: 8 significant bits, added in 32-bit floats") \
    X(ALLREDUCE_NONE, "none", 0, "nothing: the ranks drift apart; for measurements only")
enum allreduce_dtype {
#define X(id, name, bytes, text) id,
    ALLREDUCE_DTYPES(X)
#undef X
};
/** allreduce_dtype_name - "fp32", "bf16", "none". */
const char *allreduce_dtype_name(enum allreduce_dtype t);
/** allreduce_dtype_bytes - of one gradient on its way. */
size_t allreduce_dtype_bytes(enum allreduce_dtype t);

/** comm_open - join the other ranks; alone when the program was not started by mpirun or srun.
 *  argc, argv  main's own; launcher options are taken out
 *  patience_s  how long any call may wait for other ranks; 0 = without limit. Joining itself may take a minute at
 *           least. */
void comm_open(struct comm *c, int *argc, char ***argv, double patience_s);
/** comm_close - leave; every rank must. */
void comm_close(struct comm *c);

/** comm_sum_f64 - elementwise sum over all ranks, in place; the same bits on every rank. shape: (n) */
void comm_sum_f64(struct comm *c, double *values, size_t n);
/** comm_broadcast - rank 0's n bytes to all. */
void comm_broadcast(struct comm *c, void *bytes, size_t n);
/** comm_first_failure - did every rank succeed? The sentence of the lowest failing rank reaches all ranks.
 *  rc       this rank's result; err this rank's sentence, replaced when another rank's comes first
 *  returns  0, or the lowest failing rank's result */
int comm_first_failure(struct comm *c, int rc, struct dcr_err *err) DCR_MUST_CHECK;
/** comm_abort - for a rank that cannot go on while the others wait for it outside of MPI (its device failed): prints
 *  the reason, with rank and host, and ends all ranks. Those that fail for the same reason stay silent. Alone: returns.
 *  sentence  may begin with "rank R on HOST" already */
void comm_abort(const struct comm *c, const char *sentence);
/** comm_library - "Open MPI v4.1.4, ...": the first line of the library's own version text. borrows. */
const char *comm_library(void);

#endif
