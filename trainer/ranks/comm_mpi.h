/* comm_mpi.h - MPI calls that cannot fail silently and waits with a limit; for comm_mpi.c and grad_sync_mpi.c. Only one
 * thread of a process makes MPI calls. */
#ifndef TRAINER_RANKS_COMM_MPI_H
#define TRAINER_RANKS_COMM_MPI_H

#include "trainer/ranks/comm.h"

#include <mpi.h>

/** comm_mpi_fail - prints what failed, with rank and host, and ends all ranks. Prints nothing if all ranks are being
 *  ended already because of another rank's failure.
 *  call  "MPI_Iallreduce of gradients"
 *  code  of MPI */
_Noreturn void comm_mpi_fail(const struct comm *c, const char *call, int code);
#define COMM_CHECK(c, call, name)          \
    do {                                   \
        int code_ = (call);                \
        if (code_ != MPI_SUCCESS)          \
            comm_mpi_fail(c, name, code_); \
    } while (0)

/** comm_mpi_pause - pause between two looks at something that another rank must do first. After a short time of looking
 *  without pause, it offers the core to others.
 *  n_looks  the caller's counter, 0 at first */
void comm_mpi_pause(unsigned *n_looks);
/** comm_mpi_wait - until the request is done, watched by the watchdog. */
void comm_mpi_wait(const struct comm *c, MPI_Request *request, const char *call);

#endif
