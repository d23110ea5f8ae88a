/* rng.c - see rng.h. Constants from the paper; known answers of the authors' Random123 in tests/unit/test_rng.c. */
#include "trainer/model/rng.h"

#include <math.h>

void rng_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3], k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
        uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        c0 = n0;
        c2 = n2;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

static void block(uint64_t seed, uint32_t stream, uint64_t index, uint64_t out[2])
{
    uint32_t counter[4] = {(uint32_t)index, (uint32_t)(index >> 32), stream, 0};
    uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    rng_philox(counter, key, counter);
    out[0] = (uint64_t)counter[1] << 32 | counter[0];
    out[1] = (uint64_t)counter[3] << 32 | counter[2];
}

uint64_t rng_u64(uint64_t seed, uint32_t stream, uint64_t index)
{
    uint64_t b[2];
    block(seed, stream, index, b);
    return b[0];
}

static double unit(uint64_t bits)
{
    return (double)(bits >> 11) * 0x1p-53;
}

double rng_uniform(uint64_t seed, uint32_t stream, uint64_t index)
{
    return unit(rng_u64(seed, stream, index));
}

double rng_normal(uint64_t seed, uint32_t stream, uint64_t index)
{
    uint64_t b[2];
    block(seed, stream, index, b);
    double radius = sqrt(-2 * log(1 - unit(b[0]))); /* 1 - u is never 0 */
    return radius * cos(2 * 3.14159265358979323846 * unit(b[1]));
}

uint64_t rng_below(uint64_t seed, uint32_t stream, uint64_t index, uint64_t n)
{
    return (uint64_t)(((unsigned __int128)rng_u64(seed, stream, index) * n) >> 64);
}
