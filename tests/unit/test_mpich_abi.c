/* test_mpich_abi.c - compares the MPI interposer's assumptions about MPICH's binary interface with the real mpi.h. */
#if __has_include(<mpi.h>)
#include "tests/unit/mpi_facts.h"
#else
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#endif

#include <stdio.h>

static void mpich_is_as_assumed(void **state)
{
    (void)state;
#ifdef MPICH
    MPI_Status s = {.count_lo = 3, .count_hi_and_cancelled = 5 << 1 | 1};
    facts_hold(&mpiabi_mpich, &s, UINT64_C(5) << 32 | 3);
#else
    print_message("skipped: no MPICH here (libmpich-dev)\n");
    skip();
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(mpich_is_as_assumed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
