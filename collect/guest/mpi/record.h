/* record.h - puts MPI calls into the trace: one span per outermost call of a thread. Called by mpi/call.h. */
#ifndef DCC_MPI_RECORD_H
#define DCC_MPI_RECORD_H

#include "collect/guest/mpi/mpi_abi.h"

/* The ABI of the program's MPI; set once record_enter has returned 1. */
extern const struct mpiabi *record_abi;

/** record_next - the next library's function of that name: another tool's, or MPI's own. Kept in *known.
 *  returns  NULL when there is none */
void *record_next(void **known, const char *name);

/** record_enter - 1 when this call is to be observed: the MPI is known, and the call is not inside another MPI call.
 *  start_ns  a variable of the wrapper: its address distinguishes inner calls from a call after a longjmp */
int record_enter(int64_t *start_ns);
/** record_leave - the observed call is over. */
void record_leave(void);
/** record_call - puts an observed call into the trace. bytes: sent by this rank; comm 0: none; peer below 0: none. */
void record_call(const char *name, int64_t start_ns, int64_t end_ns, uint64_t bytes, mpiabi_handle comm, int peer);
/** record_payload - size of the communicator, and peer in it, in the form of DCT_PAYLOAD_MPI. */
uint64_t record_payload(mpiabi_handle comm, int peer);

/** record_is_in_place - the buffer is MPI_IN_PLACE. */
static inline int record_is_in_place(const void *buffer)
{
    return (uintptr_t)buffer == record_abi->in_place;
}
/** record_status - the program's status or statuses, or own if the program ignores them. */
static inline void *record_status(void *status, void *own)
{
    return (uintptr_t)status == record_abi->status_ignore ? own : status;
}

/* Bytes and sizes, obtained from MPI; only after a call with the same arguments succeeded. */
uint64_t record_bytes(int64_t count, mpiabi_handle type);
int record_size(mpiabi_handle comm);
/** record_peers - number of ranks with a count each; in an inter-communicator, those of the other group. */
int record_peers(mpiabi_handle comm);
uint64_t record_sum(const int *counts, mpiabi_handle type, mpiabi_handle comm);
/** record_sum_types - bytes for counts with a type each. */
uint64_t record_sum_types(const int *counts, const void *types, mpiabi_handle comm);
/** record_own - bytes of this rank's entry. */
uint64_t record_own(const int *counts, mpiabi_handle type, mpiabi_handle comm);

#endif
