/* test_mpi_abi.c - what the MPI interposer assumes of Open MPI's binary interface, against the real mpi.h. */
#include "collect/guest/mpi/mpi_abi.h"

#include <mpi.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

static void open_mpi_is_as_assumed(void **state)
{
    (void)state;
#ifdef OPEN_MPI
    assert_int_equal(sizeof(MPI_Comm), sizeof(mpiabi_comm));
    assert_int_equal(sizeof(MPI_Datatype), sizeof(mpiabi_type));
    assert_int_equal(sizeof(MPI_Request), sizeof(mpiabi_request));
    assert_int_equal(sizeof(MPI_Op), sizeof(mpiabi_op));
    assert_int_equal(sizeof(MPI_Message), sizeof(mpiabi_message));
    assert_int_equal(sizeof(MPI_Status), sizeof(struct mpiabi_status));
    assert_int_equal(offsetof(MPI_Status, MPI_SOURCE), offsetof(struct mpiabi_status, source));
    assert_int_equal(offsetof(MPI_Status, MPI_TAG), offsetof(struct mpiabi_status, tag));
    assert_int_equal(offsetof(MPI_Status, MPI_ERROR), offsetof(struct mpiabi_status, error));
    assert_int_equal(offsetof(MPI_Status, _ucount), offsetof(struct mpiabi_status, bytes));
    assert_true(MPI_IN_PLACE == MPIABI_IN_PLACE);
    assert_true(MPI_STATUS_IGNORE == NULL);
    assert_true(MPI_STATUSES_IGNORE == NULL);
    assert_int_equal(MPI_SUCCESS, MPIABI_SUCCESS);
    assert_int_equal(MPI_ERR_OTHER, MPIABI_ERR_OTHER);
    assert_int_equal(MPI_UNDEFINED, MPIABI_UNDEFINED);
    /* Roots and peers below 0 are none; -2 beside the root of an inter-communicator. */
    assert_int_equal(MPI_PROC_NULL, MPIABI_PROC_NULL);
    assert_true(MPI_ROOT < 0 && MPI_ANY_SOURCE < 0);
#else
    print_message("skipped: built with another MPI\n");
    skip();
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(open_mpi_is_as_assumed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
