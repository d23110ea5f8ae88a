/* bf16.c - see bf16.h. */
#include "trainer/ranks/bf16.h"

#include <string.h>

/* gcc makes vector code of loops of unknown length from here on only. */
#if defined __GNUC__ && !defined __clang__
#pragma GCC optimize("O3")
#endif

static inline float widen(uint16_t v)
{
    uint32_t bits = (uint32_t)v << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* Half a unit in the last place is added, less one when the place before is even; what carries, carries. */
static inline uint16_t narrow(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    uint32_t nan = bits >> 16 | 0x40; /* rounding could make an infinity of it */
    return (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? nan : rounded);
}

void bf16_pack(size_t n, const float *restrict in, uint16_t *restrict out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = narrow(in[i]);
}

void bf16_unpack(size_t n, const uint16_t *restrict in, float *restrict out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = widen(in[i]);
}

void bf16_add(size_t n, const uint16_t *restrict in, uint16_t *restrict sum)
{
    for (size_t i = 0; i < n; i++)
        sum[i] = narrow(widen(sum[i]) + widen(in[i]));
}
