/* multiply_add.c - single-precision operations per second of one core in registers, written in assembler: independent
 * of the compiler and of `dccollect calibrate`. Prints GFLOP/s, the best of short pieces by processor time, or "none"
 * on processors for which there is no loop here. */
#include <stdint.h>
#include <stdio.h>
#include <time.h>

enum { CHAINS = 10, PIECES = 100 };

/* The registers are zeroed, because their values do not matter. */
#if defined __x86_64__
#define LOOP(register_name)                                                                                           \
    __asm__ volatile("vzeroall\n"                                                                                     \
                     "1:\n"                                                                                           \
                     ".irp chain,0,1,2,3,4,5,6,7,8,9\n"                                                               \
                     "vfmadd231ps %%" register_name "10, %%" register_name "11, %%" register_name "\\chain\n"         \
                     ".endr\n"                                                                                        \
                     "dec %0\n"                                                                                       \
                     "jnz 1b\n"                                                                                       \
                     "vzeroupper\n"                                                                                   \
                     : "+r"(rounds)                                                                                   \
                     :                                                                                                \
                     : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", \
                       "xmm11", "xmm12", "xmm13", "xmm14", "xmm15")

static int lanes(void)
{
    int has_fma = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    return __builtin_cpu_supports("avx512f") ? 16 : has_fma ? 8 : 0;
}

static void run(int64_t rounds, int n_lanes)
{
    if (n_lanes == 16)
        LOOP("zmm");
    else
        LOOP("ymm");
}
#elif defined __aarch64__
static int lanes(void)
{
    return 4;
}

static void run(int64_t rounds, int n_lanes)
{
    (void)n_lanes;
    __asm__ volatile("movi v30.4s, #0\n"
                     "1:\n"
                     ".irp chain,0,1,2,3,4,5,6,7,8,9\n"
                     "fmla v\\chain\\().4s, v30.4s, v30.4s\n"
                     ".endr\n"
                     "subs %0, %0, #1\n"
                     "b.ne 1b\n"
                     : "+r"(rounds)
                     :
                     : "cc", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v30");
}
#else
static int lanes(void)
{
    return 0;
}

static void run(int64_t rounds, int n_lanes)
{
    (void)rounds;
    (void)n_lanes;
}
#endif

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(void)
{
    const int64_t rounds = 1 << 19;
    int n_lanes = lanes();
    double best = 0;
    for (int i = 0; n_lanes && i < PIECES; i++) {
        double began = now();
        run(rounds, n_lanes);
        double rate = 2e-9 * n_lanes * CHAINS * (double)rounds / (now() - began);
        best = rate > best ? rate : best;
    }
    if (n_lanes)
        printf("%.1f\n", best);
    else
        puts("none");
    return 0;
}
