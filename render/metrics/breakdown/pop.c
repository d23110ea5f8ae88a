/* pop.c - the POP multiplicative model (pop-coe.eu): ranks, or GPUs where their traces have the steps, as the workers.
 */
#include "render/metrics/breakdown/breakdown_inside.h"
#include "render/metrics/known.h"
#include "render/metrics/breakdown/pop.h"

void pop_ratios(struct pop *p)
{
    if (p->step_ns <= 0 || p->mean_ns <= 0 || p->max_ns <= 0)
        return;
    p->has_useful = 1;
    p->parallel_ratio = p->mean_ns / p->step_ns;
    p->load_balance_ratio = p->mean_ns / p->max_ns;
    p->communication_ratio = p->max_ns / p->step_ns;
    p->transfer_ratio = (p->step_ns - p->transfer_ns) / p->step_ns;
    p->serialization_ratio = p->transfer_ratio > 0 ? p->communication_ratio / p->transfer_ratio : 0;
    p->gpu_communication_ratio = p->is_of_gpus ? p->max_ns / p->busy_max_ns : 0;
    p->orchestration_ratio = p->is_of_gpus ? p->busy_max_ns / p->step_ns : 0;
    if (p->node_max_ns > 0) {
        p->in_nodes_ratio = p->node_max_ns / p->max_ns;
        p->between_nodes_ratio = p->mean_ns / p->node_max_ns;
    }
    p->useful_mean_ns = (int64_t)(p->mean_ns + 0.5);
    p->useful_max_ns = (int64_t)(p->max_ns + 0.5);
}

static double largest(const int64_t *x, int n)
{
    int64_t most = 0;
    for (int r = 0; r < n; r++)
        most = x[r] > most ? x[r] : most;
    return (double)most;
}

struct pop pop_of(const int64_t *useful, const int64_t *busy, const int64_t *total, int n, int64_t transfer_ns,
                  int64_t n_steps)
{
    struct pop p = {.is_of_gpus = busy != NULL};
    double sum_useful = 0, sum_total = 0, steps = (double)n_steps;
    for (int r = 0; r < n; r++) {
        sum_useful += (double)useful[r];
        sum_total += (double)total[r];
    }
    if (n < 1 || n_steps < 1 || sum_total <= 0)
        return p;
    p.mean_ns = sum_useful / n / steps;
    p.max_ns = largest(useful, n) / steps;
    p.busy_max_ns = busy ? largest(busy, n) / steps : 0;
    p.transfer_ns = (double)transfer_ns / steps;
    /* Workers wait for each other, so their totals agree. If they do not, the wall time is at least that of the busiest
     * worker. */
    double wall = sum_total / n / steps, most = busy ? p.busy_max_ns : p.max_ns;
    p.step_ns = wall > most ? wall : most;
    pop_ratios(&p);
    p.has = p.has_useful && (n > 1 || p.is_of_gpus); /* one rank cannot wait; one GPU may wait for its host */
    return p;
}

/* ---- of a run ------------------------------------------------------------------------------------------ */

/* The trace of a rank whose steps are the work of its GPU; NULL when it has none. */
static const struct reduced *gpu_steps_of(const struct run *run, const struct run_rank *k)
{
    for (int i = 0; i < run->n_traces; i++)
        if (run->traces[i].steps.n_gpus && run->traces[i].steps.steps == k->steps)
            return &run->traces[i].steps;
    return NULL;
}

/* Sums of the counted steps of each rank. */
struct gpu_sums {
    int64_t *useful, *busy, *runtime;
    int n_with, n_several, n_silent; /* ranks: with a GPU's steps, of several GPUs, without calls of the runtime */
};

static void add_gpus(struct report *rep, const struct run_result *out, const struct grid *g, struct gpu_sums *x)
{
    size_t n = (size_t)g->n_ranks;
    x->useful = dcr_arena_alloc(&rep->arena, n * sizeof *x->useful);
    x->busy = dcr_arena_alloc(&rep->arena, n * sizeof *x->busy);
    x->runtime = dcr_arena_alloc(&rep->arena, n * sizeof *x->runtime);
    for (int r = 0; r < g->n_ranks; r++) {
        const struct reduced *t = gpu_steps_of(out->run, g->ranks[r]);
        x->n_with += t != NULL;
        x->n_several += t && t->n_gpus > 1;
        x->n_silent += t && !t->has_runtime;
        for (size_t i = (size_t)out->n_warmup; t && i < g->n_steps; i++) {
            const struct step_record *s = grid_at(g, i, r);
            x->useful[r] += s->part_ns[CAT_COMPUTE];
            x->busy[r] += s->part_ns[CAT_COMPUTE] + s->part_ns[CAT_COMM] + s->part_ns[CAT_COPY];
            x->runtime[r] += s->runtime_ns;
        }
    }
}

/* Why the work of the GPUs in the steps gives no efficiency of the run; REASON_NONE when it may. */
static struct reason why_no_gpus(const struct run_result *out, const struct grid *g, const struct gpu_sums *x)
{
    if (x->n_with < g->n_ranks)
        return REASON(STEPS_NOT_OF_GPUS, slot_count(g->n_ranks - x->n_with), slot_count(g->n_ranks));
    if (g->n_ranks < 2 && (is_one_of_many(out) || out->run->traces->world_size > 1))
        return REASON(ONE_OF_MANY_GPUS);
    if (x->n_several)
        return REASON(STEPS_OF_ONE_GPU);
    return REASON(NONE);
}

/* Host side: time of the hosts outside calls of the GPU's runtime. Traces of GPUs hold no MPI calls. */
static void host_of_gpus(struct run_result *out, const struct grid *g, const struct sums *s, const struct gpu_sums *x)
{
    double total = 0, runtime = 0;
    out->pop_host_why = x->n_with == 0                          ? REASON(HOSTS_WITHOUT_GPUS)
                        : x->n_with < g->n_ranks || x->n_silent ? REASON(NO_RUNTIME_CALLS)
                                                                : REASON(NONE);
    if (out->pop_host_why.code)
        return;
    for (int r = 0; r < g->n_ranks; r++) {
        total += (double)s->rank_total[r];
        runtime += (double)x->runtime[r];
    }
    double of = (double)g->n_ranks * (double)out->n_counted;
    out->pop_host = (struct pop_host){.has = total > 0,
                                      .offload_ratio = total > 0 ? (total - runtime) / total : 0,
                                      .runtime_mean_ns = (int64_t)(runtime / of + 0.5)};
}

/* Why ranks give no efficiency. Without communication, useful time cannot be told from waiting. For one rank of many,
 * transfer cannot be told from waiting. */
static struct reason why_no_ranks(const struct run_result *out, const struct grid *g)
{
    if (is_one_of_many(out))
        return REASON(ONE_OF_MANY_RANKS);
    return g->n_ranks < 2 ? REASON(ONE_RANK) : REASON(WAITING_IN_WORK);
}

/* Useful time of each rank. If there is none, out->pop_why says why. */
static const int64_t *useful_of_ranks(struct report *rep, struct run_result *out, const struct grid *g,
                                      const struct sums *s)
{
    out->pop_why = why_no_ranks(out, g);
    if ((g->n_ranks > 1 && out->comm_ns == 0) || is_one_of_many(out))
        return NULL;
    int64_t *useful = dcr_arena_alloc(&rep->arena, (size_t)g->n_ranks * sizeof *useful);
    for (int r = 0; r < g->n_ranks; r++)
        useful[r] = s->rank_total[r] - s->rank_part[r][PART_TRANSFER] - s->rank_part[r][PART_WAIT];
    return useful;
}

void breakdown_pop(struct report *rep, struct run_result *out, const struct grid *g, const struct sums *s)
{
    struct gpu_sums x = {0};
    const int64_t *useful = NULL;
    int64_t transfer = 0;
    int *node = dcr_arena_alloc(&rep->arena, (size_t)g->n_ranks * sizeof *node);
    for (int r = 0; r < g->n_ranks; r++) {
        transfer += s->rank_part[r][PART_TRANSFER];
        node[r] = g->ranks[r]->node;
    }
    add_gpus(rep, out, g, &x);
    host_of_gpus(out, g, s, &x);
    out->pop.is_of_gpus = x.n_with > 0;
    if (!x.n_with) {
        useful = useful_of_ranks(rep, out, g, s);
    } else if ((out->pop_why = why_no_gpus(out, g, &x)).code == REASON_NONE) {
        out->pop_why = REASON(GPUS_IDLE_IN_STEPS);
        useful = x.useful;
    }
    if (!useful)
        return;
    out->pop =
        pop_of(useful, x.n_with ? x.busy : NULL, s->rank_total, g->n_ranks, transfer / g->n_ranks, out->n_counted);
    pop_nodes(&out->pop, useful, node, g->n_ranks);
}
