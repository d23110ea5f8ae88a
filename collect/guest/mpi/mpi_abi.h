/* mpi_abi.h - what the interposer must know of Open MPI's binary interface (1.10 to 5), in our own words, so that it is
 * built without MPI and serves whatever Open MPI the program has. Handles are pointers. That the program's MPI is an
 * Open MPI is asked at run time; tests/unit/test_mpi_abi.c holds the rest against the real mpi.h. */
#ifndef DCC_MPI_ABI_H
#define DCC_MPI_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef void *mpiabi_comm, *mpiabi_type, *mpiabi_op, *mpiabi_request, *mpiabi_message;

struct mpiabi_status {
    int source, tag, error;
    int cancelled;
    size_t bytes; /* received */
};

#define MPIABI_IN_PLACE ((void *)1)
enum { MPIABI_SUCCESS = 0, MPIABI_ERR_OTHER = 16, MPIABI_PROC_NULL = -2, MPIABI_UNDEFINED = -32766 };

#endif
