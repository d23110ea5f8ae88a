/* pop.c - the POP multiplicative model (pop-coe.eu), from times outside communication. */
#include "render/analyse/analyse.h"

struct pop pop_of(const int64_t *useful, const int64_t *total, int n, int64_t transfer_ns, int64_t n_steps)
{
    struct pop p = {0};
    double sum_useful = 0, max_useful = 0, sum_total = 0;
    for (int r = 0; r < n; r++) {
        sum_useful += (double)useful[r];
        sum_total += (double)total[r];
        max_useful = (double)useful[r] > max_useful ? (double)useful[r] : max_useful;
    }
    if (n < 1 || n_steps < 1 || sum_total <= 0 || max_useful <= 0)
        return p;
    double t = sum_total / n, mean_useful = sum_useful / n;
    /* Ranks wait for each other, so that their totals agree; where they do not, no rank may be busier than the wall. */
    t = t > max_useful ? t : max_useful;
    p.has_useful = 1;
    p.has = n > 1;
    p.parallel_ratio = mean_useful / t;
    p.load_balance_ratio = mean_useful / max_useful;
    p.communication_ratio = max_useful / t;
    p.transfer_ratio = (t - (double)transfer_ns) / t;
    p.serialization_ratio = p.transfer_ratio > 0 ? p.communication_ratio / p.transfer_ratio : 0;
    p.useful_mean_ns = (int64_t)(mean_useful / (double)n_steps + 0.5);
    p.useful_max_ns = (int64_t)(max_useful / (double)n_steps + 0.5);
    return p;
}
