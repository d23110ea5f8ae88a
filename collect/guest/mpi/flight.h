/* flight.h - non-blocking MPI operations, found by their request. Each gives one span in flight, from the call that
 * begins it to the call that finds it complete. Called by mpi/calls.c and mpi/wait.c. */
#ifndef DCC_MPI_FLIGHT_H
#define DCC_MPI_FLIGHT_H

#include "collect/guest/mpi/record.h"

enum { FLIGHT_SEND = 0, FLIGHT_RECEIVE = 1, FLIGHT_PERSISTENT = 2 };
/* Maximum number of requests followed at once. */
enum { FLIGHT_MAX = 1 << 14 };

/** flight_begin - an operation got the request that `request` points to. A persistent one begins at flight_start. */
void flight_begin(const void *request, const char *name, int flags, int64_t start_ns, int64_t end_ns, uint64_t bytes,
                  mpiabi_handle comm, int peer);
void flight_start(mpiabi_handle request, int64_t start_ns);
/** flight_complete - a request was found complete. */
void flight_complete(mpiabi_handle request, const void *status, int64_t end_ns);
void flight_forget(mpiabi_handle request);
/** flight_missed - an operation could not be followed. The first time, a note says so. */
void flight_missed(void);

#endif
