/* adam_f64.c - adam.c in double precision. */
#define DCR_REAL_F64
#include "trainer/model/adam.c"
