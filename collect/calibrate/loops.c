/* loops.c - two loops. Multiply-adds in registers are the highest arithmetic rate of a core: they neither read memory
 * nor wait. Their chains of operations are independent, and there are more of them than a core has operations in
 * flight.
 *
 * The other loop adds in place, because a store to other lines makes most processors read these first. STREAM's triad
 * has such a store, and 8 of the 32 bytes that it moves are not counted. A core moves more bytes with wider registers:
 * 23.5 GB/s with AVX-512, 21.9 with AVX and 19.4 with SSE2 on an Intel Xeon.
 *
 * See loops.h. Compiled with -ffp-contract=fast, which turns x * m + a into one instruction where the processor has it.
 */
#include "collect/calibrate/loops.h"

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
#define LOOPS(registers, bytes, attribute)                                                       \
    attribute static float multiply_add_##registers(int64_t rounds, float by, float add)         \
    {                                                                                            \
        typedef float vector __attribute__((vector_size(bytes)));                                \
        const vector one = (vector){0} + 1, m = one * by, a = one * add;                         \
        EACH(BEGIN)                                                                              \
        for (int64_t i = 0; i < rounds; i++) {                                                   \
            EACH(STEP)                                                                           \
        }                                                                                        \
        const vector sum = (vector){0} EACH(SUM);                                                \
        return sum[0] + sum[bytes / 4 - 1];                                                      \
    }                                                                                            \
    attribute static void add_scaled_##registers(size_t n_lines, double *to, const double *from) \
    {                                                                                            \
        typedef double vector __attribute__((vector_size(bytes)));                               \
        const vector s = (vector){0} + 1e-3;                                                     \
        vector *restrict a = (vector *)__builtin_assume_aligned(to, LINE_BYTES);                 \
        const vector *restrict b = (const vector *)__builtin_assume_aligned(from, LINE_BYTES);   \
        for (size_t i = 0; i < n_lines * (LINE_BYTES / bytes); i++)                              \
            a[i] += s * b[i];                                                                    \
    }

#if IS_X86
LOOPS(avx512, 64, __attribute__((target("avx512f"))))
LOOPS(avx2, 32, __attribute__((target("avx2,fma"))))
LOOPS(avx, 32, __attribute__((target("avx"))))
LOOPS(sse2, 16, __attribute__((target("sse2"))))
#else
LOOPS(plain, 16, )
#endif

#define ROW(name, registers, floats)                                                             \
    {                                                                                            \
        4 * floats, name, multiply_add_##registers, 2.0 * floats *CHAINS, add_scaled_##registers \
    }

/* The widest first. */
static const struct loops loops[] = {
#if IS_X86
    ROW("AVX-512", avx512, 16),
    ROW("AVX2 with FMA", avx2, 8),
    ROW("AVX, multiply and add", avx, 8),
    ROW("SSE2, multiply and add", sse2, 4),
#elif defined __aarch64__
    ROW("NEON", plain, 4),
#else
    ROW("plain C", plain, 4),
#endif
};

static int is_here(const struct loops *l)
{
#if IS_X86
    return l->add_scaled == add_scaled_avx512 ? __builtin_cpu_supports("avx512f")
           : l->add_scaled == add_scaled_avx2 ? __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")
           : l->add_scaled == add_scaled_avx  ? __builtin_cpu_supports("avx")
                                              : 1;
#else
    return l->add_scaled == add_scaled_plain;
#endif
}

const struct loops *loops_next(const struct loops *l)
{
    const struct loops *end = loops + sizeof loops / sizeof *loops;
    for (l = l ? l + 1 : loops; l < end; l++)
        if (is_here(l))
            return l;
    return NULL;
}

/* Volatile, so that the compiler can neither precompute the result nor drop it. */
static _Thread_local volatile float half = 0.5F, result;

void loops_multiply_add(const struct loops *l, int64_t rounds)
{
    result = l->multiply_add(rounds, half, half);
}
