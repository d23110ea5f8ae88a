/* schedule.c - learning rate, sampling probability, test for divergence. */
#include "trainer/run/schedule.h"

#include "trainer/model/rng.h"

#include <math.h>

double schedule_lr(double base, const int *milestones, int n, int64_t epoch)
{
    const double factor = 0.1, lowest = 2e-6;
    for (int i = 0; i < n && epoch >= milestones[i]; i++)
        base *= factor;
    return base > lowest ? base : lowest;
}

double schedule_truth_probability(int64_t step, double tau)
{
    return tau / (tau + exp((double)step / tau));
}

void schedule_coins(uint64_t seed, int64_t step, double tau, int n_out, uint8_t *coins)
{
    double p = schedule_truth_probability(step, tau);
    for (int t = 0; t < n_out; t++)
        coins[t] = rng_uniform(seed, RNG_COIN, (uint64_t)step * 4096 + (uint64_t)t) < p;
}

static double mean_of_recent(const struct divergence *d)
{
    int n = d->n_seen < DIVERGENCE_STEPS ? d->n_seen : DIVERGENCE_STEPS;
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += d->recent[i];
    return sum / n;
}

enum divergence_verdict divergence_add(struct divergence *d, double loss)
{
    if (!isfinite(loss))
        return DIVERGENCE_CERTAIN;
    if (d->factor > 0 && d->n_seen > 0 && loss > d->factor * d->best)
        return ++d->n_suspicious >= DIVERGENCE_STEPS ? DIVERGENCE_CERTAIN : DIVERGENCE_SUSPECTED;
    d->n_suspicious = 0;
    d->recent[d->n_seen++ % DIVERGENCE_STEPS] = loss;
    if (d->n_seen == 2 * DIVERGENCE_STEPS) /* only matters whether it is full, and the place in it */
        d->n_seen = DIVERGENCE_STEPS;
    double mean = mean_of_recent(d);
    d->best = d->n_seen == 1 || mean < d->best ? mean : d->best;
    return DIVERGENCE_NONE;
}
