/* grad_sync_ranks.c - compares sums of gradients over the ranks of an mpirun with sums of all ranks' numbers, which
 * every rank can draw. Rank 0 prints the faults; exit status 0 or 1.
 *   mpirun -n RANKS grad_sync_ranks DTYPE BUCKET_BYTES OVERLAP(0|1) */
#include "trainer/ranks/grad_sync.h"

#include "trainer/model/rng.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 10007, N_EARLY = 4801, N_TALLY = 5, STEPS = 6 };

static float drawn(int step, int rank, int i)
{
    return (float)rng_uniform((uint64_t)step, RNG_SHUFFLE, (uint64_t)rank << 32 | (uint64_t)i) - 0.5f;
}

/* Ranks report in different ways: many small pieces, two large ones, all at once, only the end. */
static void backward(struct grad_sync *r, int way)
{
    if (way == 0)
        for (size_t done = 0; done < N; done += 97)
            grad_sync_ready(r, done < N_EARLY ? 0 : N_EARLY);
    if (way == 1)
        grad_sync_ready(r, N_EARLY);
    if (way < 3)
        grad_sync_ready(r, N);
}

/* Largest error of the sums, in units of the largest sum. */
static double worst(const struct comm *c, int step, const float *grads)
{
    double error = 0, largest = 0;
    for (int i = 0; i < N; i++) {
        double sum = 0;
        for (int k = 0; k < c->n_ranks; k++)
            sum += drawn(step, k, i);
        error = fmax(error, fabs(sum - (double)grads[i]));
        largest = fmax(largest, fabs(sum));
    }
    return error / largest;
}

int main(int argc, char **argv)
{
    static float grads[N], first[N];
    struct comm c;
    struct dcr_err err = {0};
    struct grad_sync *r = NULL;
    struct grad_sync_config config = {.n_early = N_EARLY};
    if (argc != 4)
        return 2;
    while (strcmp(argv[1], allreduce_dtype_name(config.dtype)))
        config.dtype++;
    config.bucket_bytes = strtoul(argv[2], NULL, 10);
    config.is_overlapped = strtol(argv[3], NULL, 10) != 0;
    double limit = config.dtype == ALLREDUCE_FP32 ? 1e-6 : 0.02, error = 0, bad = 0;
    comm_open(&c, &argc, &argv, 20);
    if (comm_first_failure(&c, grad_sync_open(&r, &c, &config, grads, N, &err), &err))
        return 2;
    for (int step = 0; step < STEPS; step++) {
        double tally[N_TALLY] = {c.rank, 1, step, 0, 0.5};
        struct grad_sync_stats stats;
        for (int i = 0; i < N; i++)
            grads[i] = drawn(step, c.rank, i);
        grad_sync_begin(r, tally, N_TALLY);
        backward(r, (c.rank + step) % 4);
        grad_sync_finish(r, &stats);
        bad += tally[0] != c.n_ranks * (c.n_ranks - 1) / 2.0 || tally[1] != c.n_ranks || tally[4] != c.n_ranks / 2.0;
        bad += stats.exposed_ns < 0 || stats.in_flight_ns < 0 || stats.bytes != grad_sync_bytes(r, N_TALLY);
        if (config.dtype == ALLREDUCE_NONE) {
            for (int i = 0; i < N; i++)
                bad += grads[i] != drawn(step, c.rank, i);
            bad += stats.n_buckets != 0 || stats.in_flight_ns != 0;
            continue;
        }
        error = fmax(error, worst(&c, step, grads));
        memcpy(first, grads, sizeof first);
        comm_broadcast(&c, first, sizeof first);
        bad += memcmp(first, grads, sizeof first) != 0;
    }
    bad += !(error <= limit);
    comm_sum_f64(&c, &bad, 1);
    if (c.rank == 0)
        printf("%s, %s bytes: error %.1e, %.0f bad\n", argv[1], argv[2], error, bad);
    grad_sync_close(r);
    comm_close(&c);
    return bad > 0;
}
