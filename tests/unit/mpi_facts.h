/* mpi_facts.h - compares the MPI interposer's assumptions about a binary interface with its mpi.h. */
#ifndef TESTS_MPI_FACTS_H
#define TESTS_MPI_FACTS_H

#include "collect/guest/mpi/mpi_abi.h"

#include <mpi.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static inline void facts_hold(const struct mpiabi *abi, MPI_Status *received, uint64_t bytes)
{
    MPI_Request requests[2];
    MPI_Datatype types[2] = {MPI_INT, MPI_DOUBLE};
    assert_int_equal(sizeof(MPI_Comm), abi->handle_bytes);
    assert_int_equal(sizeof(MPI_Datatype), abi->handle_bytes);
    assert_int_equal(sizeof(MPI_Request), abi->handle_bytes);
    assert_int_equal(sizeof(MPI_Op), abi->handle_bytes);
    assert_int_equal(sizeof(MPI_Message), abi->handle_bytes);
    assert_int_equal(sizeof(MPI_Status), abi->status_bytes);
    assert_in_range(sizeof(MPI_Status), 1, sizeof(mpiabi_status_room));
    assert_int_equal(offsetof(MPI_Status, MPI_SOURCE), abi->source_at);
    assert_int_equal((uintptr_t)MPI_IN_PLACE, abi->in_place);
    assert_int_equal((uintptr_t)MPI_STATUS_IGNORE, abi->status_ignore);
    assert_int_equal((uintptr_t)MPI_STATUSES_IGNORE, abi->status_ignore);
    assert_int_equal(MPI_SUCCESS, MPIABI_SUCCESS);
    assert_int_equal(MPI_PROC_NULL, abi->proc_null);
    /* Roots, peers and indices below 0 mean none. */
    assert_true(MPI_ROOT < 0 && MPI_ANY_SOURCE < 0 && MPI_UNDEFINED < 0);
    received->MPI_SOURCE = 7;
    assert_int_equal(mpiabi_source(abi, received), 7);
    assert_int_equal(mpiabi_received(abi, received), bytes);
    memset(requests, 0, sizeof requests);
    memcpy(&requests[1], &types[1], sizeof types[1]);
    assert_true(mpiabi_handle_at(abi, requests, 0) == 0);
    assert_memory_equal((uintptr_t[]){mpiabi_handle_at(abi, types, 1)}, &types[1],
                        sizeof types[1]); /* little end first */
    assert_true(mpiabi_status_at(abi, received, 1) == (const void *)(received + 1));
}

#endif
