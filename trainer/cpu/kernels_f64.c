/* kernels_f64.c - kernels.c in double precision. */
#define DCR_REAL_F64
#include "trainer/cpu/kernels.c"
