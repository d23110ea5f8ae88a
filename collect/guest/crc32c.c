/* crc32c.c - see crc32c.h. */
#include "collect/guest/crc32c.h"

#include <string.h>

static uint32_t crc_bitwise(uint32_t crc, const unsigned char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        crc ^= p[i];
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (0x82f63b78u & (0u - (crc & 1u)));
    }
    return crc;
}

#if defined(__x86_64__)
#include <immintrin.h>

static uint64_t word_at(const unsigned char *p)
{
    uint64_t word;
    memcpy(&word, p, 8);
    return word;
}

__attribute__((target("sse4.2"))) static uint32_t crc_sse42(uint32_t crc, const unsigned char *p, size_t n)
{
    uint64_t c = crc;
    for (; n >= 8; n -= 8, p += 8) {
        c = __builtin_ia32_crc32di(c, word_at(p));
    }
    crc = (uint32_t)c;
    for (; n; n--, p++)
        crc = __builtin_ia32_crc32qi(crc, *p);
    return crc;
}

/* The instruction takes three cycles and may begin anew in each: three parts at a time. What the first two come to is
 * moved to the end of the third by a multiplication, x^(8 (bytes behind it) - 33) mod P being the factor. */
#define PART 1024
#define BEHIND_TWO 0xa51b6135u
#define BEHIND_ONE 0x170076fau

__attribute__((target("sse4.2,pclmul"))) static uint64_t moved(uint64_t crc, uint32_t factor)
{
    return (uint64_t)_mm_cvtsi128_si64(
        _mm_clmulepi64_si128(_mm_cvtsi64_si128((long long)crc), _mm_cvtsi32_si128((int)factor), 0));
}

__attribute__((target("sse4.2,pclmul"))) static uint32_t crc_in_threes(uint32_t crc, const unsigned char *p, size_t n)
{
    uint64_t a = crc;
    for (; n >= 3 * PART; n -= 3 * PART, p += 3 * PART) {
        uint64_t b = 0, c = 0;
        for (size_t i = 0; i < PART - 8; i += 8) {
            a = __builtin_ia32_crc32di(a, word_at(p + i));
            b = __builtin_ia32_crc32di(b, word_at(p + PART + i));
            c = __builtin_ia32_crc32di(c, word_at(p + 2 * PART + i));
        }
        a = __builtin_ia32_crc32di(a, word_at(p + PART - 8));
        b = __builtin_ia32_crc32di(b, word_at(p + 2 * PART - 8));
        a = __builtin_ia32_crc32di(c, word_at(p + 3 * PART - 8) ^ moved(a, BEHIND_TWO) ^ moved(b, BEHIND_ONE));
    }
    return crc_sse42((uint32_t)a, p, n);
}
#endif

uint32_t dcc_crc32c(uint32_t crc, const void *bytes, size_t n)
{
    crc = ~crc;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("sse4.2"))
        return ~(__builtin_cpu_supports("pclmul") ? crc_in_threes(crc, bytes, n) : crc_sse42(crc, bytes, n));
#endif
    return ~crc_bitwise(crc, bytes, n);
}
