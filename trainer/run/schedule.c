/* schedule.c - see schedule.h. */
#include "trainer/run/schedule.h"

#include "trainer/model/rng.h"

#include <math.h>

struct schedule_lr schedule_lr_default(void)
{
    return (struct schedule_lr){
        .base = 0.01, .factor = 0.1, .floor = 2e-6, .n_milestones = 4, .milestone = {20, 30, 40, 50}};
}

double schedule_lr_at(const struct schedule_lr *s, int epoch)
{
    double lr = s->base;
    for (int i = 0; i < s->n_milestones && epoch >= s->milestone[i]; i++)
        lr *= s->factor;
    return lr > s->floor ? lr : s->floor;
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

/* ---- divergence ------------------------------------------------------------------------------------ */

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
    if (d->n_seen == 2 * DIVERGENCE_STEPS) /* only whether it is full, and the place in it, matter */
        d->n_seen = DIVERGENCE_STEPS;
    double mean = mean_of_recent(d);
    d->best = d->n_seen == 1 || mean < d->best ? mean : d->best;
    return DIVERGENCE_NONE;
}
