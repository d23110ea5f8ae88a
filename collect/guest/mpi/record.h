/* record.h - MPI calls into the trace: one span per outermost call of a thread, one span in flight per non-blocking
 * operation. Called by mpi/calls.c and mpi/wait.c. */
#ifndef DCC_MPI_RECORD_H
#define DCC_MPI_RECORD_H

#include "collect/guest/mpi/mpi_abi.h"

/** record_next - the next library's function of that name: another tool's, or MPI's own. Kept in *known.
 *  returns  NULL when there is none */
void *record_next(void **known, const char *name);

/** record_enter - 1 when this call is to be observed: Open MPI, not inside another MPI call. */
int record_enter(int64_t *start_ns);
/** record_leave - after the call; comm NULL = none; peer -1 = none. is_worth 0: only leave. */
void record_leave(const char *name, int64_t start_ns, int is_worth, uint64_t bytes, mpiabi_comm comm, int peer);

/* Bytes and sizes, asked of MPI itself; only after a call with the same arguments succeeded. */
uint64_t record_bytes(uint64_t count, mpiabi_type type);
int record_size(mpiabi_comm comm);
/** record_peers - ranks that a count per rank is given for: of the other group in an inter-communicator. */
int record_peers(mpiabi_comm comm);
uint64_t record_sum(const int *counts, mpiabi_type type, mpiabi_comm comm);
uint64_t record_sum_types(const int *counts, const mpiabi_type *types, mpiabi_comm comm);
/** record_own - the entry of this rank. */
uint64_t record_own(const int *counts, mpiabi_type type, mpiabi_comm comm);

/* Non-blocking operations, by their request. */
enum { RECORD_SEND = 0, RECORD_RECEIVE = 1, RECORD_PERSISTENT = 2 };
/** record_begin - a request was made. Persistent ones begin at record_start. */
void record_begin(mpiabi_request r, const char *name, int flags, int64_t start_ns, uint64_t bytes, mpiabi_comm comm,
                  int peer);
void record_start(mpiabi_request r, int64_t start_ns);
/** record_complete - a request was found complete; status NULL = not known. */
void record_complete(mpiabi_request r, const struct mpiabi_status *status);
void record_forget(mpiabi_request r);

#endif
