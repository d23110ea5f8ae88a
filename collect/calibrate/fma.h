/* fma.h - the kernels with which `dccollect calibrate` measures arithmetic: single-precision multiply-adds in
 * registers, written once and compiled for each kind of registers. They depend on no library, so that they can be
 * cross-compiled for other processors. */
#ifndef COLLECT_CALIBRATE_FMA_H
#define COLLECT_CALIBRATE_FMA_H

#include <stdint.h>

struct fma_kernel {
    const char *name;                                  /* "AVX-512" */
    float (*run)(int64_t rounds, float by, float add); /* the result must be used, else the compiler drops the loop */
    double flop_per_round;                             /* a multiply-add is two operations */
};

/** fma_next - iterate over the kernels that this processor can run, the widest first. There is at least one.
 *  k        the previous kernel; NULL = start
 *  returns  NULL after the last */
const struct fma_kernel *fma_next(const struct fma_kernel *k);
/** fma_run - run the kernel for that many rounds on this thread. */
void fma_run(const struct fma_kernel *k, int64_t rounds);

#endif
