/* test_mpi_abi.c - compares the MPI interposer's assumptions about Open MPI's binary interface with the real mpi.h. */
#include "tests/unit/mpi_facts.h"

#include <stdio.h>

static void open_mpi_is_as_assumed(void **state)
{
    (void)state;
#ifdef OPEN_MPI
    MPI_Status s = {._ucount = (size_t)5 << 32 | 3};
    facts_hold(&mpiabi_open_mpi, &s, UINT64_C(5) << 32 | 3);
    assert_int_equal(MPI_ERR_OTHER, MPIABI_ERR_OTHER);
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
