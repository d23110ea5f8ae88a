/* registers.h - the arithmetic rate of one thread: multiply-adds whose numbers stay in registers. For benches. */
#ifndef TESTS_BENCH_REGISTERS_H
#define TESTS_BENCH_REGISTERS_H

#include <math.h>
#include <string.h>
#include <time.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

/** thread_cpu_s - processor time of the calling thread, without the idle threads that OpenBLAS starts. unit: s */
static inline double thread_cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#ifdef __x86_64__
static volatile float register_sums; /* so that the compiler cannot leave the sums out */

/* GFLOP/s of multiply-adds, in about 40 ms. There are so many registers that no operation waits for an earlier one. All
 * loops over them are unrolled, because an indexed array would be in memory. */
__attribute__((target("avx512f"))) static inline double rate_avx512(void)
{
    enum { TURNS = 8000000, SUMS = 28 };
    __m512 sum[SUMS], a = _mm512_set1_ps(0.999f), b = _mm512_set1_ps(0.001f);
#pragma GCC unroll 32
    for (int i = 0; i < SUMS; i++)
        sum[i] = _mm512_set1_ps((float)i);
    double t = thread_cpu_s();
    for (int turn = 0; turn < TURNS; turn++) {
#pragma GCC unroll 32
        for (int i = 0; i < SUMS; i++)
            sum[i] = _mm512_fmadd_ps(sum[i], a, b);
    }
    t = thread_cpu_s() - t;
#pragma GCC unroll 32
    for (int i = 0; i < SUMS; i++)
        register_sums += sum[i][0];
    return 2e-9 * 16 * SUMS * TURNS / t;
}

__attribute__((target("avx2,fma"))) static inline double rate_avx2(void)
{
    enum { TURNS = 16000000, SUMS = 12 };
    __m256 sum[SUMS], a = _mm256_set1_ps(0.999f), b = _mm256_set1_ps(0.001f);
#pragma GCC unroll 32
    for (int i = 0; i < SUMS; i++)
        sum[i] = _mm256_set1_ps((float)i);
    double t = thread_cpu_s();
    for (int turn = 0; turn < TURNS; turn++) {
#pragma GCC unroll 32
        for (int i = 0; i < SUMS; i++)
            sum[i] = _mm256_fmadd_ps(sum[i], a, b);
    }
    t = thread_cpu_s() - t;
#pragma GCC unroll 32
    for (int i = 0; i < SUMS; i++)
        register_sums += sum[i][0];
    return 2e-9 * 8 * SUMS * TURNS / t;
}
#endif

/** register_rate - GFLOP/s of this thread with the instructions of these kernels ("avx512", "avx2"); NaN for the
 * portable ones, which have no separate products. */
static inline double register_rate(const char *kernels)
{
#ifdef __x86_64__
    if (strcmp(kernels, "avx512") == 0)
        return rate_avx512();
    if (strcmp(kernels, "avx2") == 0)
        return rate_avx2();
#endif
    (void)kernels;
    return NAN;
}

#endif
