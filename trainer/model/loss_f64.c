/* loss_f64.c - loss.c in double precision. */
#define DCR_REAL_F64
#include "trainer/model/loss.c"
