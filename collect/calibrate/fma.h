/* fma.h - the kernels that `dccollect calibrate` measures arithmetic with: single-precision multiply-adds in registers,
 * written once and compiled for each kind of registers. Needs nothing but a compiler, so that it can be compiled for
 * processors that are not at hand. */
#ifndef COLLECT_CALIBRATE_FMA_H
#define COLLECT_CALIBRATE_FMA_H

#include <stdint.h>

struct fma_kernel {
    const char *name;                                  /* "AVX-512" */
    float (*run)(int64_t rounds, float by, float add); /* its result keeps the compiler from leaving it out */
    double flop_per_round;                             /* a multiply-add is two operations */
};

/** fma_next - the kernels that this processor runs, the widest first.
 *  k        the one before; NULL = the first is asked for. There is always one
 *  returns  NULL behind the last */
const struct fma_kernel *fma_next(const struct fma_kernel *k);
/** fma_run - so many rounds on this thread. */
void fma_run(const struct fma_kernel *k, int64_t rounds);

#endif
