/* dcrnn_f64.c - dcrnn.c in double precision. */
#define DCR_REAL_F64
#include "trainer/model/dcrnn.c"
