/* blas.h - which matrix-product kernels this machine gets.
 * Debian 12's OpenBLAS does not know every CPU and then falls back to kernels of 2004 (Prescott, SSE3), 4 to 5 times
 * slower. The choice is read from the environment when the library is loaded, so it has to be made before that. */
#ifndef TRAINER_BLAS_H
#define TRAINER_BLAS_H

/** blas_start - call first in main, before MPI_Init. When OpenBLAS was loaded with kernels older than what the CPU
 * offers (asked by CPUID) and the user has not set OPENBLAS_CORETYPE, sets it and executes the program again with the
 * same arguments and environment. Returns otherwise, and also when that fails: then only speed is lost. argv borrows;
 * NULL-terminated */
void blas_start(char **argv);

/** blas_core_name - the kernels OpenBLAS uses: "SkylakeX", "Haswell", "Prescott", ... borrows. */
const char *blas_core_name(void);

/** blas_set_threads - threads of OpenBLAS, >= 1. */
void blas_set_threads(int n);

#endif
