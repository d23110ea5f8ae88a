/* divergence.c - see divergence.h. */
#include "trainer/run/divergence.h"

#include <math.h>

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
