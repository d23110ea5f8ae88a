/* imported.h - the run that an importer filled, and queries for tests. Inside tests/unit. */
#ifndef TESTS_UNIT_IMPORTED_H
#define TESTS_UNIT_IMPORTED_H

#include "render/import/import.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct run *run;

static inline int forget(void **state)
{
    (void)state;
    run_free(run);
    run = NULL;
    return 0;
}

static inline const struct run_device *device(int i)
{
    assert_int_equal(run->n_traces, 1);
    assert_true(i < run->traces[0].n_devices);
    return &run->traces[0].devices[i];
}

#endif
