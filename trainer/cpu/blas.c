/* blas.c - see blas.h. */
#include "trainer/cpu/blas.h"

#include <cblas.h>

const char *blas_core_name(void)
{
    return openblas_get_corename();
}

void blas_set_threads(int n)
{
    openblas_set_num_threads(n);
}
