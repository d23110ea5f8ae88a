/* call.h - turns each row of the tables in calls.c and wait.c into a wrapper. Both names of each function are
 * interposed: programs call MPI_<name>, and so do MPICH's Fortran libraries; Open MPI's call PMPI_<name>. */
#ifndef DCC_MPI_CALL_H
#define DCC_MPI_CALL_H

#include "collect/guest/guest.h"
#include "collect/guest/mpi/flight.h"
#include "collect/guest/mpi/record.h"

/* Passes commas on as part of one macro argument. */
#define P(...) __VA_ARGS__

typedef mpiabi_handle handle_t;

/* PARAMS and ARGS are in parentheses. PREPARE runs before the call. After a successful call, which sets `start` and
 * `end`, AFTER runs if IS_WORTH, and the call is recorded with BYTES, COMM (0: none) and PEER (-1: none). */
#define CALL(NAME, PARAMS, ARGS, PREPARE, IS_WORTH, BYTES, COMM, PEER, AFTER)                   \
    ENTRANCE(NAME, MPI_##NAME, PARAMS, ARGS, PREPARE, IS_WORTH, P(BYTES), COMM, PEER, P(AFTER)) \
    ENTRANCE(NAME, PMPI_##NAME, PARAMS, ARGS, PREPARE, IS_WORTH, P(BYTES), COMM, PEER, P(AFTER))

#define ENTRANCE(NAME, FUNCTION, PARAMS, ARGS, PREPARE, IS_WORTH, BYTES, COMM, PEER, AFTER) \
    EXPORTED int FUNCTION PARAMS;                                                           \
    int FUNCTION PARAMS                                                                     \
    {                                                                                       \
        static void *known;                                                                 \
        int64_t start;                                                                      \
        int(*next) PARAMS;                                                                  \
        *(void **)&next = record_next(&known, #FUNCTION);                                   \
        if (!next)                                                                          \
            return MPIABI_ERR_OTHER;                                                        \
        if (!record_enter(&start))                                                          \
            return next ARGS;                                                               \
        PREPARE;                                                                            \
        int rc = next ARGS;                                                                 \
        if (rc == MPIABI_SUCCESS && (IS_WORTH)) {                                           \
            int64_t end = dcc_guest_now();                                                  \
            AFTER;                                                                          \
            record_call("MPI_" #NAME, start, end, BYTES, COMM, PEER);                       \
        }                                                                                   \
        record_leave();                                                                     \
        return rc;                                                                          \
    }

#endif
