/* loops.h - the kernels with which `dccollect calibrate` measures arithmetic: single-precision multiply-adds in
 * registers, written once and compiled for each kind of registers. They depend on no library, so that they can be
 * cross-compiled for other processors. */
#ifndef COLLECT_CALIBRATE_LOOPS_H
#define COLLECT_CALIBRATE_LOOPS_H

#include <stdint.h>

struct loops {
    const char *name;                                  /* "AVX-512" */
    float (*run)(int64_t rounds, float by, float add); /* the result must be used, else the compiler drops the loop */
    double flop_per_round;                             /* a multiply-add is two operations */
};

/** loops_next - iterate over the kernels that this processor can run, the widest first. There is at least one.
 *  k        the previous kernel; NULL = start
 *  returns  NULL after the last */
const struct loops *loops_next(const struct loops *k);
/** fma_run - run the kernel for that many rounds on this thread. */
void fma_run(const struct loops *k, int64_t rounds);

#endif
