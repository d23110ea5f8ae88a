/* dcrnn_run_f64.c - dcrnn_run.c in double precision. */
#define DCR_REAL_F64
#include "trainer/model/dcrnn_run.c"
