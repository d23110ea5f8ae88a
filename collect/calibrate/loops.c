/* loops.c - fused multiply-adds in registers, the highest arithmetic rate of a core: they neither read memory nor wait.
 * The chains of operations are independent, and there are more of them than a core has operations in flight.
 * See loops.h. Compiled with -ffp-contract=fast, which turns x * m + a into one instruction where the processor has it.
 */
#include "collect/calibrate/loops.h"

#include <stddef.h>

/* The number of chains is below the number of registers. Arm cores have up to 16 operations in flight. */
#if defined __x86_64__ || defined __i386__
#define IS_X86 1
#define EACH(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#else
#define IS_X86 0
#define EACH(X) \
    X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19)
#endif
#define ONE_MORE(i) +1
enum { CHAINS = 0 EACH(ONE_MORE) };

#define BEGIN(i) vector x##i = one * (float)(i + 1);
#define STEP(i) x##i = x##i * m + a;
#define SUM(i) +x##i
/* The values approach a / (1 - m), so that they neither overflow nor become denormal, which would be slow. */
#define KERNEL(name, bytes, attribute)                                   \
    attribute static float name(int64_t rounds, float by, float add)     \
    {                                                                    \
        typedef float vector __attribute__((vector_size(bytes)));        \
        const vector one = (vector){0} + 1, m = one * by, a = one * add; \
        EACH(BEGIN)                                                      \
        for (int64_t i = 0; i < rounds; i++) {                           \
            EACH(STEP)                                                   \
        }                                                                \
        const vector sum = (vector){0} EACH(SUM);                        \
        return sum[0] + sum[bytes / 4 - 1];                              \
    }

#if IS_X86
KERNEL(run_avx512, 64, __attribute__((target("avx512f"))))
KERNEL(run_avx2, 32, __attribute__((target("avx2,fma"))))
KERNEL(run_avx, 32, __attribute__((target("avx"))))
KERNEL(run_sse2, 16, __attribute__((target("sse2"))))
#else
KERNEL(run_plain, 16, )
#endif

/* The widest first. */
static const struct loops kernels[] = {
#if IS_X86
    {"AVX-512", run_avx512, 2.0 * 16 * CHAINS},
    {"AVX2 with FMA", run_avx2, 2.0 * 8 * CHAINS},
    {"AVX, multiply and add", run_avx, 2.0 * 8 * CHAINS},
    {"SSE2, multiply and add", run_sse2, 2.0 * 4 * CHAINS},
#elif defined __aarch64__
    {"NEON", run_plain, 2.0 * 4 * CHAINS},
#else
    {"plain C", run_plain, 2.0 * 4 * CHAINS},
#endif
};

static int is_here(const struct loops *k)
{
#if IS_X86
    return k->run == run_avx512 ? __builtin_cpu_supports("avx512f")
           : k->run == run_avx2 ? __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")
           : k->run == run_avx  ? __builtin_cpu_supports("avx")
                                : 1;
#else
    return k->run == run_plain;
#endif
}

const struct loops *loops_next(const struct loops *k)
{
    const struct loops *end = kernels + sizeof kernels / sizeof *kernels;
    for (k = k ? k + 1 : kernels; k < end; k++)
        if (is_here(k))
            return k;
    return NULL;
}

/* Volatile, so that the compiler can neither precompute the result nor drop it. */
static _Thread_local volatile float half = 0.5F, result;

void fma_run(const struct loops *k, int64_t rounds)
{
    result = k->run(rounds, half, half);
}
