/* blas.h - the OpenBLAS that was loaded. It computes the matrix products of the "portable" kernels
 * (trainer/cpu/kernels.h): all of double precision, and single precision on CPUs without AVX2. The AVX2 and AVX-512
 * kernels have products of their own, chosen by CPUID: Debian 12's OpenBLAS falls back to kernels of 2004 (Prescott,
 * SSE3) on CPUs it does not know, and on those it knows it is 5 to 15 % slower at the shapes of a tile, since it copies
 * both factors for every product. */
#ifndef TRAINER_CPU_BLAS_H
#define TRAINER_CPU_BLAS_H

/** blas_core_name - the kernels OpenBLAS uses: "SkylakeX", "Haswell", "Prescott", ... borrows. */
const char *blas_core_name(void);

/** blas_set_threads - threads of OpenBLAS, >= 1. The model's own workers are dcrnn_config.n_threads; where these are
 * more than one, OpenBLAS should have one. */
void blas_set_threads(int n);

#endif
