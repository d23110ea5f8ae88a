/* dcgru_f64.c - dcgru.c in double precision. */
#define DCR_REAL_F64
#include "trainer/model/dcgru.c"
