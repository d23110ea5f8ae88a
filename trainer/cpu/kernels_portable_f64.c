/* kernels_portable_f64.c - kernels_portable.c in double precision. */
#define DCR_REAL_F64
#include "trainer/cpu/kernels_portable.c"
