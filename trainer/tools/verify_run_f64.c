/* verify_run_f64.c - verify_run.c in double precision. */
#define DCR_REAL_F64
#include "trainer/tools/verify_run.c"
