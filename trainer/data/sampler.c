/* sampler.c - see sampler.h. */
#include "trainer/data/sampler.h"

#include "trainer/model/rng.h"

void sampler_permute(uint64_t seed, uint64_t epoch, uint32_t *windows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        windows[i] = (uint32_t)i;
    for (size_t i = n; i > 1; i--) {
        size_t j = (size_t)rng_below(seed, RNG_SHUFFLE, epoch << 32 | (i - 1), i);
        uint32_t w = windows[i - 1];
        windows[i - 1] = windows[j];
        windows[j] = w;
    }
}

size_t sampler_steps(size_t n, size_t global_batch)
{
    return (n + global_batch - 1) / global_batch;
}

uint32_t sampler_window(const uint32_t *windows, size_t n, size_t k)
{
    return windows[k % n];
}

void sampler_share(size_t n, int rank, int n_ranks, size_t *first, size_t *count)
{
    size_t r = (size_t)rank, ranks = (size_t)n_ranks;
    *first = n * r / ranks;
    *count = n * (r + 1) / ranks - *first;
}

/* Rounding must not lose the last item. */
static size_t bound_at(size_t n, double part, double sum)
{
    return part < sum ? (size_t)((double)n * part / sum) : n;
}

void sampler_share_weighted(size_t n, const double *weights, int rank, int n_ranks, size_t *first, size_t *count)
{
    double sum = 0, before = 0, behind = 0;
    for (int r = 0; r < n_ranks; r++) {
        before = r == rank ? sum : before;
        sum += weights[r];
        behind = r == rank ? sum : behind;
    }
    *first = bound_at(n, before, sum);
    *count = bound_at(n, behind, sum) - *first;
}
