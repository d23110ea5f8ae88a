/* kernels_tables.h - the tables themselves, for kernels.c which chooses one. */
#ifndef TRAINER_CPU_KERNELS_TABLES_H
#define TRAINER_CPU_KERNELS_TABLES_H

#include "trainer/cpu/kernels.h"

#define kernels_portable REAL_FN(kernels_portable)
extern const struct kernels kernels_portable;
#ifndef DCR_REAL_F64
extern const struct kernels kernels_avx2, kernels_avx512;
#endif

#endif
