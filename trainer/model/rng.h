/* rng.h - counter-based random numbers: a value is a pure function of (seed, stream, index), so that every rank and a
 * resumed run draw the same numbers without keeping any state. Generator: Philox4x32-10 (Salmon, Moraes, Dror, Shaw:
 * "Parallel random numbers: as easy as 1, 2, 3", SC 2011). */
#ifndef TRAINER_MODEL_RNG_H
#define TRAINER_MODEL_RNG_H

#include <stdint.h>

/* Streams in use; one number never serves two purposes. The values define the meaning of a seed: do not renumber. */
enum rng_stream {
    RNG_INIT = 1,     /* parameter initialisation; index = position in the flat block */
    RNG_COIN = 2,     /* scheduled sampling; index = step * 4096 + decoder step */
    RNG_SHUFFLE = 3,  /* order of training windows; index = epoch * 2^32 + position */
    RNG_SIMULATE = 4, /* generated traffic data */
    RNG_TEST = 5,
    RNG_SCENARIO = 6, /* sizes of a scenario; index = number of the draw */
};

/** rng_philox - one block of Philox4x32-10. counter, out: 4 words; key: 2 words. out may be counter. */
void rng_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);
/** rng_u64 - 64 uniform bits. */
uint64_t rng_u64(uint64_t seed, uint32_t stream, uint64_t index);
/** rng_uniform - uniform in [0, 1), 53 bits. */
double rng_uniform(uint64_t seed, uint32_t stream, uint64_t index);
/** rng_normal - standard normal (Box-Muller on two uniforms of the same block). */
double rng_normal(uint64_t seed, uint32_t stream, uint64_t index);
/** rng_below - uniform in 0 .. n-1, n >= 1; bias under n / 2^64. */
uint64_t rng_below(uint64_t seed, uint32_t stream, uint64_t index, uint64_t n);

#endif
