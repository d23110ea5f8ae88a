/* sampler.h - which windows a step sees and which rank gets them. Pure functions: every rank computes the same answer.
 */
#ifndef TRAINER_DATA_SAMPLER_H
#define TRAINER_DATA_SAMPLER_H

#include <stddef.h>
#include <stdint.h>

/** sampler_permute - the order of the n training windows in one epoch; windows overwritten.   shape: (n)
 *  source   Fisher-Yates with rng stream RNG_SHUFFLE at (seed, epoch) */
void sampler_permute(uint64_t seed, uint64_t epoch, uint32_t *windows, size_t n);

/** sampler_steps - steps per epoch: n windows in batches, the last one filled up. */
size_t sampler_steps(size_t n, size_t global_batch);

/** sampler_window - window of place k of the epoch; places behind the end begin its order anew, so that the last batch
 * is full and no window is in it twice. (The published loaders fill up with copies of one window and shuffle those too;
 *  all copies in one batch would make that window half of its gradient.) */
uint32_t sampler_window(const uint32_t *windows, size_t n, size_t k);

/** sampler_share - a rank's part of n items: contiguous, sizes differ by at most one, no part is left out.
 *  first, count  overwritten; count may be 0 when there are more ranks than items */
void sampler_share(size_t n, int rank, int n_ranks, size_t *first, size_t *count);

/** sampler_share_weighted - a rank's part of n items when parts are to be as `weights`: contiguous, none left out; rank
 *  r's ends at floor(n * (weights[0] + ... + weights[r]) / sum), so that a size differs from its exact share by less
 *  than one. Equal weights give sampler_share's parts.
 *  weights  borrows; >= 0, not all 0                                  shape: (n_ranks) */
void sampler_share_weighted(size_t n, const double *weights, int rank, int n_ranks, size_t *first, size_t *count);

#endif
