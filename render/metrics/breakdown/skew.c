/* skew.c - how far apart the ranks of a run came to their collectives. See breakdown_inside.h. */
#include "render/metrics/breakdown/breakdown_inside.h"
#include "render/metrics/known.h"

#include "render/metrics/stats.h"

#include <stdlib.h>

/* Ranks leave a collective together, so a shorter stay means a later arrival. The longest minus the shortest stay is
 * the time between the first and the last arrival, without a common clock. */
void breakdown_skew(struct run_result *out, const struct grid *g, size_t first)
{
    size_t n = 0, n_all = 0;
    for (size_t step = first; step < g->n_steps; step++) {
        n += grid_at(g, step, 0)->n_collectives;
        for (int r = 0; r < g->n_ranks; r++)
            n_all += grid_at(g, step, r)->n_collectives;
    }
    out->skew_why = is_one_of_many(out) ? REASON(ONE_OF_MANY_RANKS)
                    : g->n_ranks < 2    ? REASON(ONE_RANK)
                    : n_all             ? REASON(NO_COMMON_COLLECTIVES)
                                        : REASON(NO_COLLECTIVES);
    int64_t *x = g->n_ranks > 1 && n ? calloc(n, sizeof *x) : NULL;
    n = 0;
    for (size_t step = first; x && step < g->n_steps; step++) {
        uint32_t n_here = grid_at(g, step, 0)->n_collectives;
        int is_alike = 1;
        for (int r = 1; r < g->n_ranks; r++)
            is_alike &= grid_at(g, step, r)->n_collectives == n_here;
        for (uint32_t k = 0; k < n_here && is_alike; k++) {
            int64_t least = INT64_MAX, most = 0;
            for (int r = 0; r < g->n_ranks; r++) {
                int64_t d = g->ranks[r]->collectives[grid_at(g, step, r)->first_collective + k].dur_ns;
                least = d < least ? d : least;
                most = d > most ? d : most;
            }
            x[n++] = most - least;
        }
    }
    if (n) {
        out->skew = spread_of(x, n);
        out->skew_why = REASON(NONE);
    }
    free(x);
}
