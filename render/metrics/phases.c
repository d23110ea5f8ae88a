/* phases.c - the named ranges of the steps: what forward, backward, the optimiser and the others take. */
#include "render/metrics/stats.h"
#include "render/metrics/steps.h"

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
static void take_rank(const struct counted *c, int rank, const int64_t *of, int64_t *ns)
{
    for (size_t i = 0; i < c->n_steps; i++)
        ns[i] = of ? of[c->index[i * (size_t)c->n_ranks + (size_t)rank]] : 0;
}

/* Times on the host, or on the GPUs. all: the sum over steps and ranks. room: shape (2)(n_steps).
 * returns  steps in which some rank had it */
static int64_t measure(struct report *rep, const struct counted *c, const struct phase_result *p, int is_gpu,
                       struct spread *spread, struct spread **ranks, int64_t *all, int64_t *room)
{
    int64_t *sum = room, *ns = room + c->n_steps, total = 0, n_steps = 0;
    memset(sum, 0, c->n_steps * sizeof *sum);
    *ranks = dcr_arena_alloc(&rep->arena, (size_t)c->n_ranks * sizeof **ranks);
    for (int r = 0; r < c->n_ranks; r++) {
        const struct run_phase *of = find(c->ranks[r], p->name, p->category);
        take_rank(c, r, !of ? NULL : is_gpu ? of->gpu_ns : of->ns, ns);
        for (size_t i = 0; i < c->n_steps; i++)
            sum[i] += ns[i];
        (*ranks)[r] = spread_of(ns, c->n_steps);
    }
    for (size_t i = 0; i < c->n_steps; i++) {
        n_steps += sum[i] > 0;
        total += sum[i];
        apportion(&sum[i], 1, 1, c->n_ranks, &ns[i]);
    }
    *spread = spread_of(ns, c->n_steps);
    *all = total;
    apportion(&total, 1, 1, (int64_t)c->n_steps * c->n_ranks, &spread->mean_ns);
    return n_steps;
}

static void compare_ranks(const struct counted *c, struct phase_result *out)
{
    for (int r = 0; r < c->n_ranks; r++) {
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
}

/* Times on the GPUs, if they are known on all ranks that have the phase, because an unknown rank would count as 0. A
 * rank whose GPU got no work from the phase does count as 0. */
static void measure_gpu(struct report *rep, const struct run *run, const struct counted *c, struct phase_result *out,
                        int64_t *room)
{
    int n_untraced = 0, why = REASON_NONE;
    for (int r = 0; r < c->n_ranks; r++) {
        const struct run_phase *p = find(c->ranks[r], out->name, out->category);
        if (!p)
            continue;
        out->is_whole |= p->is_whole;
        out->has_gpu |= p->gpu_ns != NULL;
        n_untraced += !p->gpu_ns && !p->gpu_why;
        if (!p->gpu_ns && p->gpu_why && (!why || p->gpu_why != REASON_NOTHING_LAUNCHED))
            why = p->gpu_why;
    }
    if (n_untraced && why == REASON_NOTHING_LAUNCHED)
        why = REASON_NONE; /* known on some ranks only */
    out->has_gpu = out->has_gpu && !n_untraced && (!why || why == REASON_NOTHING_LAUNCHED);
    if (!out->has_gpu) {
        out->gpu_why = why                  ? (struct reason){.code = (enum reason_code)why}
                       : run->n_traces == 0 ? REASON(NO_GPU_TRACED)
                                            : REASON(RANGES_NOT_JOINED);
        return;
    }
    int64_t all;
    out->n_gpu_steps = measure(rep, c, out, 1, &out->gpu, &out->gpu_ranks, &all, room);
    if (out->n_gpu_steps)
        return;
    out->has_gpu = 0;
    out->gpu_why = REASON(NOTHING_LAUNCHED);
}

int phases_are_whole(const struct run_result *r)
{
    for (int i = 0; i < r->n_phases; i++)
        if (r->phases[i].is_whole)
            return 1;
    return 0;
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
            found.n_steps = measure(rep, c, &found, 0, &found.spread, &found.ranks, &found.total_ns, room);
            if (found.n_steps == 0) /* only in steps that do not count */
                continue;
            compare_ranks(c, &found);
            measure_gpu(rep, out->run, c, &found, room);
            size_t n = (size_t)out->n_phases++;
            out->phases = arena_grow(&rep->arena, out->phases, n, &cap, sizeof *out->phases);
            out->phases[n] = found;
        }
}
