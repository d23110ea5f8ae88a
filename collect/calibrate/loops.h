/* loops.h - the loops with which `dccollect calibrate` measures arithmetic and memory, written once and compiled for
 * each kind of registers. They depend on no library, so that they can be cross-compiled for other processors. */
#ifndef COLLECT_CALIBRATE_LOOPS_H
#define COLLECT_CALIBRATE_LOOPS_H

#include <stddef.h>
#include <stdint.h>

enum { LINE_BYTES = 64 };

/* Arrays are of doubles, a whole number of lines, and begin at one. */
struct loops {
    int register_bytes;
    const char *name;                                           /* "AVX-512" */
    float (*multiply_add)(int64_t rounds, float by, float add); /* single precision, in registers. The result must be
                                                                 * used, else the compiler drops the loop */
    double flop_per_round;                                      /* a multiply-add is two operations */
    void (*add_scaled)(size_t n_lines, double *a, const double *b); /* a = a + s b */
};

/** loops_next - iterate over the loops that this processor can run, those with the widest registers first. There is at
 *  least one.
 *  l        the previous ones; NULL = start
 *  returns  NULL after the last */
const struct loops *loops_next(const struct loops *l);
/** loops_multiply_add - that many rounds on this thread. */
void loops_multiply_add(const struct loops *l, int64_t rounds);

#endif
