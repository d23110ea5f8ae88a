/* phases.c - the named ranges of the steps: what forward, backward, the optimiser and the others take. */
#include "render/analyse/analyse.h"

#include "render/model/build.h"

#include <string.h>

static const struct run_phase *find(const struct run_rank *r, const char *name, enum category category)
{
    for (int i = 0; i < r->n_phases; i++)
        if (r->phases[i].category == category && strcmp(r->phases[i].name, name) == 0)
            return &r->phases[i];
    return NULL;
}

/* Shape (n_steps): ns of one rank; zeros where the rank has no such phase. */
static void take_rank(const struct counted *c, int rank, const struct run_phase *p, int64_t *ns)
{
    for (size_t i = 0; i < c->n_steps; i++)
        ns[i] = p ? p->ns[c->index[i * (size_t)c->n_ranks + (size_t)rank]] : 0;
}

/* room: shape (2)(n_steps) */
static void measure(struct report *rep, const struct counted *c, struct phase_result *out, int64_t *room)
{
    int64_t *sum = room, *ns = room + c->n_steps;
    memset(sum, 0, c->n_steps * sizeof *sum);
    out->ranks = dcr_arena_alloc(&rep->arena, (size_t)c->n_ranks * sizeof *out->ranks);
    for (int r = 0; r < c->n_ranks; r++) {
        take_rank(c, r, find(c->ranks[r], out->name, out->category), ns);
        for (size_t i = 0; i < c->n_steps; i++)
            sum[i] += ns[i];
        out->ranks[r] = spread_of(ns, c->n_steps);
        int64_t mean = out->ranks[r].mean_ns;
        if (r == 0 || mean < out->fastest_ns) {
            out->fastest_ns = mean;
            out->fastest_rank = c->ranks[r]->rank;
        }
        if (r == 0 || mean > out->slowest_ns) {
            out->slowest_ns = mean;
            out->slowest_rank = c->ranks[r]->rank;
        }
    }
    int64_t total = 0;
    for (size_t i = 0; i < c->n_steps; i++) {
        out->n_steps += sum[i] > 0;
        total += sum[i];
        apportion(&sum[i], 1, 1, c->n_ranks, &ns[i]);
    }
    out->spread = spread_of(ns, c->n_steps);
    apportion(&total, 1, 1, (int64_t)c->n_steps * c->n_ranks, &out->spread.mean_ns);
}

void phases_run(struct report *rep, struct run_result *out, const struct counted *c)
{
    size_t cap = 0;
    int64_t *room = dcr_arena_alloc(&rep->arena, 2 * c->n_steps * sizeof *room);
    for (int r = 0; r < c->n_ranks; r++)
        for (int i = 0; i < c->ranks[r]->n_phases; i++) {
            const struct run_phase *p = &c->ranks[r]->phases[i];
            int is_known = 0;
            for (int k = 0; k < r; k++)
                is_known |= find(c->ranks[k], p->name, p->category) != NULL;
            if (is_known)
                continue;
            struct phase_result found = {.name = p->name, .category = p->category};
            measure(rep, c, &found, room);
            if (found.n_steps == 0) /* only in steps that do not count */
                continue;
            size_t n = (size_t)out->n_phases++;
            out->phases = arena_grow(&rep->arena, out->phases, n, &cap, sizeof *out->phases);
            out->phases[n] = found;
        }
}
