/* breakdown_grid.c - the steps that all ranks have, and one of them in parts. See breakdown_inside.h. */
#include "render/metrics/breakdown/breakdown_inside.h"
#include "render/metrics/stats.h"

void grid_make(struct report *rep, struct run_result *out, struct grid *g)
{
    const struct run *run = out->run;
    g->ranks = dcr_arena_alloc(&rep->arena, (size_t)(run->ranks_len + 1) * sizeof(*g->ranks));
    size_t most = 0;
    for (int i = 0; i < run->ranks_len; i++)
        if (run->ranks[i].n_steps) {
            g->ranks[g->n_ranks++] = &run->ranks[i];
            if (run->ranks[i].n_steps > most)
                most = run->ranks[i].n_steps;
        }
    if (g->n_ranks == 0)
        return;
    size_t n = (size_t)g->n_ranks;
    g->index = dcr_arena_alloc(&rep->arena, g->ranks[0]->n_steps * n * sizeof *g->index);
    size_t *cursor = dcr_arena_alloc(&rep->arena, n * sizeof *cursor);
    for (size_t i = 0; i < g->ranks[0]->n_steps; i++) {
        int64_t number = g->ranks[0]->steps[i].step;
        int is_common = 1;
        for (size_t r = 0; r < n; r++) {
            const struct run_rank *k = g->ranks[r];
            while (cursor[r] < k->n_steps && k->steps[cursor[r]].step < number)
                cursor[r]++;
            is_common &= cursor[r] < k->n_steps && k->steps[cursor[r]].step == number;
            g->index[g->n_steps * n + r] = (uint32_t)cursor[r];
        }
        g->n_steps += (size_t)is_common;
    }
    out->n_steps = (int64_t)g->n_steps;
    out->n_partial_steps = (int64_t)(most - g->n_steps);
}

int64_t grid_mean_step(const struct grid *g, size_t step)
{
    int64_t sum = 0, mean;
    for (int r = 0; r < g->n_ranks; r++)
        sum += grid_at(g, step, r)->step_ns;
    apportion(&sum, 1, 1, g->n_ranks, &mean);
    return mean;
}

int64_t grid_beside(const struct grid *g, size_t step, int r)
{
    const struct step_record *s = grid_at(g, step, r);
    int64_t beside = s->part_ns[CAT_COMM];
    for (uint32_t k = 0; k < s->n_collectives; k++)
        beside -= g->ranks[r]->collectives[s->first_collective + k].dur_ns;
    return beside > 0 ? beside : 0;
}

void step_parts(const struct step_record *s, int64_t transfer_ns, int64_t part[N_PARTS])
{
    int64_t comm = s->part_ns[CAT_COMM];
    part[PART_COMPUTE] = s->part_ns[CAT_COMPUTE];
    part[PART_TRANSFER] = transfer_ns < comm ? transfer_ns : comm;
    part[PART_WAIT] = comm - part[PART_TRANSFER];
    part[PART_DATA] = s->part_ns[CAT_DATA];
    part[PART_IO] = s->part_ns[CAT_IO];
    part[PART_COPY] = s->part_ns[CAT_COPY];
    part[PART_OTHER] = s->part_ns[CAT_OTHER];
}
