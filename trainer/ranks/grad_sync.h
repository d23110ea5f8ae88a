/* grad_sync.h - sums the gradient over all ranks, in buckets that are sent while the backward pass runs.
 *
 * A step:
 *     grad_sync_begin(r, tally, n);      a new step; then the last micro-batch's backward pass, which calls
 *     grad_sync_ready(r, n_final);       as leading gradients become final: full buckets set out, the tally ahead of
 *                                        the first, others move on
 *     grad_sync_finish(r, &stats);       the rest sets out; waits for all; gradient and tally now hold the sums
 * Every rank makes the same calls with buckets of the same bounds, however its batch looks. Implementation over MPI:
 * trainer/ranks/grad_sync_mpi.c; the CUDA back end reduces on the device (trainer/gpu).
 *
 * Messages move only while this rank polls them: in grad_sync_ready, at most every 0.1 ms, and in grad_sync_finish.
 * docs/performance.md has measurements of what that hides. */
#ifndef TRAINER_RANKS_GRAD_SYNC_H
#define TRAINER_RANKS_GRAD_SYNC_H

#include "trainer/ranks/comm.h"

struct grad_sync_config {
    int is_overlapped;          /* 0: everything is sent in grad_sync_finish */
    size_t bucket_bytes;        /* largest size of a bucket's gradients, as floats; > 0 */
    size_t n_early;             /* leading gradients that are final long before the others; no bucket contains both */
    enum allreduce_dtype dtype; /* NONE: only the tally is sent, and each rank keeps its own gradient */
};

/* Statistics of one step on this rank. unit: ns */
struct grad_sync_stats {
    int64_t exposed_ns;   /* the step's thread only communicated, in grad_sync_finish */
    int64_t in_flight_ns; /* at least one bucket was under way (union), waited for or not, until its end was noticed */
    size_t bytes;         /* handed to collectives by this rank; 0 on one rank */
    int n_buckets;
};

struct grad_sync;

/** grad_sync_open - collective.
 *  c, grads   borrow until grad_sync_close                                                          grads shape: (n)
 *  out        gives; grad_sync_close
 *  errors     DCR_FATAL: no memory */
int grad_sync_open(struct grad_sync **out, struct comm *c, const struct grad_sync_config *config, float *grads,
                   size_t n, struct dcr_err *err) DCR_MUST_CHECK;
/** grad_sync_close - NULL is fine. */
void grad_sync_close(struct grad_sync *r);

/** grad_sync_begin - tally borrows until grad_sync_finish, which sums it over the ranks.           shape: (n_tally) */
void grad_sync_begin(struct grad_sync *r, double *tally, size_t n_tally);
/** grad_sync_ready - the first n_final gradients will not change any more. Fits struct dcrnn_progress; ctx is the
 *  struct grad_sync. Cheap when there is nothing to do. */
void grad_sync_ready(void *ctx, size_t n_final);
/** grad_sync_finish - wait for all sums, which have the same bits on every rank. Overwrites stats. A lost or stuck
 *  collective ends the job on all ranks, see comm.h. */
void grad_sync_finish(struct grad_sync *r, struct grad_sync_stats *stats);

/** grad_sync_bytes - bytes that this rank passes to collectives per step; 0 on one rank. */
size_t grad_sync_bytes(const struct grad_sync *r, size_t n_tally);

/** grad_sync_bounds - cut n gradients into buckets of about equal size; a bucket always ends at n_early <= n.
 *  most     gradients in a bucket, > 0
 *  ends     overwritten: one past the last gradient of each bucket, ascending; NULL = only count     shape: (returns)
 *  returns  number of buckets; 0 when n is 0 */
size_t grad_sync_bounds(size_t n, size_t n_early, size_t most, size_t *ends);

/* bfloat16 in messages between ranks is the upper half of a float, rounded to nearest, ties to even. The functions are
 * public for their tests, and are loops without branches so that the compiler makes vector code. */

/** bf16_pack - out[i] = in[i], rounded. Too large a number becomes infinite, NaN stays NaN.    shapes: (n)
 *  error  2^-8 of the value at most, as long as it is at least 2^-126 */
void bf16_pack(size_t n, const float *in, uint16_t *out);
/** bf16_unpack - out[i] = in[i], exactly.                                                        shapes: (n) */
void bf16_unpack(size_t n, const uint16_t *in, float *out);
/** bf16_add - sum[i] += in[i], added as floats, then rounded as bf16_pack does.                  shapes: (n) */
void bf16_add(size_t n, const uint16_t *in, uint16_t *sum);

#endif
