/* kernels_avx2.c - the kernels for AVX2 with FMA, 6 x 16 register tile: 12 of 16 registers accumulate. */
#include "trainer/cpu/kernels.h"

#ifdef __x86_64__
#include <immintrin.h>

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx2,fma")
#endif

#define VL 8
#define NV 2
#define MR 6
#define PREFETCH_C 1
#define K_BLOCK 320 /* a strip of B is then 20 KB, which with 8 KB of A fits a first cache of 32 KB */
typedef float vec __attribute__((vector_size(32)));
typedef unsigned ivec __attribute__((vector_size(32)));
#define vec_fma(a, b, c) ((vec)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#define vec_set1(x) ((vec)_mm256_set1_ps(x))
#define TILE_CASES TILE_CASE(1) TILE_CASE(2) TILE_CASE(3) TILE_CASE(4) TILE_CASE(5) TILE_CASE(6)
#define KERNELS_TABLE kernels_avx2
#define KERNELS_NAME "avx2"
#include "trainer/cpu/kernels_body.inc"

#ifdef __clang__
#pragma clang attribute pop
#endif
#endif
