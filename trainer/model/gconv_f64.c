/* gconv_f64.c - gconv.c in double precision. */
#define DCR_REAL_F64
#include "trainer/model/gconv.c"
