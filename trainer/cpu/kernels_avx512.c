/* kernels_avx512.c - the kernels for AVX-512 (F, DQ, BW, VL), 14 x 32 register tile: 28 of 32 registers accumulate. */
#include "trainer/cpu/kernels.h"

#ifdef __x86_64__
#include <immintrin.h>

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,fma"))), apply_to = function)
#else
#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl,fma")
#endif

#define VL 16
#define NV 2
#define MR 14
#define PREFETCH_C 0 /* 1 % slower on a Zen 4 */
#define K_BLOCK 224  /* a strip of B is then 28 KB, inside the L1 cache of every such CPU */
typedef float vec __attribute__((vector_size(64)));
typedef unsigned ivec __attribute__((vector_size(64)));
#define vec_fma(a, b, c) ((vec)_mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c)))
#define vec_set1(x) ((vec)_mm512_set1_ps(x))
/* clang-format off */
#define TILE_CASES                                                                          \
    TILE_CASE(1) TILE_CASE(2) TILE_CASE(3) TILE_CASE(4) TILE_CASE(5) TILE_CASE(6) TILE_CASE(7) \
    TILE_CASE(8) TILE_CASE(9) TILE_CASE(10) TILE_CASE(11) TILE_CASE(12) TILE_CASE(13) TILE_CASE(14)
/* clang-format on */
#define KERNELS_TABLE kernels_avx512
#define KERNELS_NAME "avx512"
#include "trainer/cpu/kernels_body.inc"

#ifdef __clang__
#pragma clang attribute pop
#endif
#endif
