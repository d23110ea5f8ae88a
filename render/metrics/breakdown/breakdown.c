/* breakdown.c - where the time of a step goes, over all ranks of one run. See breakdown_inside.h. */
#include "render/metrics/breakdown/breakdown_inside.h"
#include "render/metrics/gain.h"
#include "render/metrics/steps.h"
#include "render/metrics/stats.h"

#include "render/say/say.h"

size_t warmup_steps(const int64_t *x, size_t n, double ratio, double share)
{
    enum { TOO_FEW = 4 };
    if (n < TOO_FEW)
        return 0;
    int64_t later = spread_of(x + n / 2, n - n / 2).median_ns;
    size_t most = (size_t)((double)n * share), k = 0;
    while (k < most && (double)x[k] > ratio * (double)later)
        k++;
    return k;
}

/* Finds the warm-up and fills the counted steps. Returns the index of the first counted one. */
static size_t count_steps(struct report *rep, struct run_result *out, const struct grid *g)
{
    const struct thresholds *t = &rep->thresholds;
    int64_t *x = dcr_arena_alloc(&rep->arena, g->n_steps * sizeof *x);
    for (size_t i = 0; i < g->n_steps; i++)
        x[i] = grid_mean_step(g, i);
    size_t first = warmup_steps(x, g->n_steps, t->warmup_ratio, t->warmup_share);
    out->n_warmup = (int64_t)first;
    for (size_t i = 0; i < first; i++)
        out->warmup_ns += x[i];
    out->n_counted = (int64_t)(g->n_steps - first);
    out->step_ns = x + first;
    out->step_number = dcr_arena_alloc(&rep->arena, (size_t)out->n_counted * sizeof *out->step_number);
    for (size_t i = first; i < g->n_steps; i++)
        out->step_number[i - first] = grid_at(g, i, 0)->step;
    const struct phrase why =
        first ? PHRASE(WARMUP_LEFT_OUT, slot_count((int64_t)first), slot_factor(t->warmup_ratio)) : PHRASE(NO_WARMUP);
    out->warmup_because = say_phrase(&rep->arena, &why);
    return first;
}

static struct split split_step(const struct grid *g, size_t step)
{
    struct split s = {.has = 1};
    uint32_t n = grid_at(g, step, 0)->n_collectives;
    int may_have = 0; /* collectives: also those of which only sums or bytes are known */
    for (int r = 0; r < g->n_ranks; r++) {
        const struct step_record *k = grid_at(g, step, r);
        s.has &= k->n_collectives == n;
        may_have |= k->n_collectives > 0 || k->bytes > 0 || k->is_summed;
    }
    s.has &= n > 0;
    if (!s.has || g->n_ranks == 1) { /* a single rank waits for no other, also in calls that are no collectives */
        s.transfer_ns = INT64_MAX;
        for (int r = 0; r < g->n_ranks; r++)
            if (grid_at(g, step, r)->part_ns[CAT_COMM] < s.transfer_ns)
                s.transfer_ns = grid_at(g, step, r)->part_ns[CAT_COMM];
        s.collective_ns = may_have ? s.transfer_ns : 0;
        return s;
    }
    for (uint32_t k = 0; k < n; k++) {
        int64_t shortest = INT64_MAX;
        for (int r = 0; r < g->n_ranks; r++) {
            int64_t d = g->ranks[r]->collectives[grid_at(g, step, r)->first_collective + k].dur_ns;
            shortest = d < shortest ? d : shortest;
        }
        s.collective_ns += shortest;
    }
    int64_t beside = INT64_MAX;
    for (int r = 0; r < g->n_ranks; r++) {
        int64_t d = grid_beside(g, step, r);
        beside = d < beside ? d : beside;
    }
    s.transfer_ns = s.collective_ns + beside;
    return s;
}

static void add_step(struct sums *s, struct run_result *out, const struct grid *g, size_t step, size_t row,
                     struct arrival *a)
{
    struct split split = split_step(g, step);
    int64_t *sum = out->step_part_ns[row];
    for (int r = 0; r < g->n_ranks; r++) {
        const struct step_record *k = grid_at(g, step, r);
        int64_t part[N_PARTS];
        step_parts(k, split.transfer_ns, part);
        for (int p = 0; p < N_PARTS; p++) {
            sum[p] += part[p];
            s->rank_part[r][p] += part[p];
        }
        s->collective_ns += split.collective_ns < part[PART_TRANSFER] ? split.collective_ns : part[PART_TRANSFER];
        s->rank_total[r] += k->step_ns;
        s->rank_hidden[r] += k->hidden_comm_ns;
        s->bytes += (double)k->bytes;
        s->n_bytes_steps += k->bytes > 0;
        s->n_collectives += k->n_collectives;
        s->has_samples &= k->samples >= 0;
        s->samples += k->samples;
    }
    const struct sums before = *s;
    breakdown_waits(s, g, step, split, sum, a);
    breakdown_step_gains(s, &before, g, sum, out->step_gain_ns[row]);
    for (int c = 0; c < N_CATEGORIES; c++)
        out->step_cause_ns[row][c] = s->cause[c] - before.cause[c];
}

static void fill_ranks(struct report *rep, struct run_result *out, const struct grid *g, const struct sums *s,
                       size_t first)
{
    out->n_rank_results = g->n_ranks;
    out->ranks = dcr_arena_alloc(&rep->arena, (size_t)g->n_ranks * sizeof *out->ranks);
    int64_t *x = dcr_arena_alloc(&rep->arena, (size_t)out->n_counted * sizeof *x);
    int64_t slowest = 0, fastest = INT64_MAX;
    for (int r = 0; r < g->n_ranks; r++) {
        struct rank_result *k = &out->ranks[r];
        k->rank = g->ranks[r]->rank;
        k->node = g->ranks[r]->node;
        for (int64_t i = 0; i < out->n_counted; i++)
            x[i] = grid_at(g, first + (size_t)i, r)->step_ns;
        k->step = spread_of(x, (size_t)out->n_counted);
        k->step.mean_ns = apportion(s->rank_part[r], N_PARTS, 1, out->n_counted, k->part_ns);
        k->hidden_comm_ns = s->rank_hidden[r] / out->n_counted;
        k->is_hidden_unknown = g->ranks[r]->is_hidden_unknown;
        out->is_hidden_unknown |= k->is_hidden_unknown;
        k->n_last = s->n_last[r];
        k->caused_wait_ns = s->rank_caused[r] / out->n_counted;
        slowest = s->rank_total[r] > slowest ? s->rank_total[r] : slowest;
        fastest = s->rank_total[r] < fastest ? s->rank_total[r] : fastest;
    }
    out->straggler_x = g->n_ranks > 1 ? (double)slowest / (double)fastest : 0;
}

static enum steps_source source_of(const struct grid *g)
{
    int n_trace = 0;
    for (int r = 0; r < g->n_ranks; r++)
        n_trace += g->ranks[r]->source == STEPS_TRACE;
    return n_trace == g->n_ranks ? STEPS_OF_TRACES : n_trace == 0 ? STEPS_OF_CSV : STEPS_OF_BOTH;
}

static void fill_steps(struct report *rep, struct run_result *out, const struct grid *g)
{
    size_t first = count_steps(rep, out, g), n = (size_t)g->n_ranks;
    struct sums s = {.has_samples = 1};
    s.rank_part = dcr_arena_alloc(&rep->arena, n * sizeof *s.rank_part);
    s.rank_total = dcr_arena_alloc(&rep->arena, n * sizeof *s.rank_total);
    s.rank_hidden = dcr_arena_alloc(&rep->arena, n * sizeof *s.rank_hidden);
    s.rank_caused = dcr_arena_alloc(&rep->arena, n * sizeof *s.rank_caused);
    s.rank_unnamed = dcr_arena_alloc(&rep->arena, n * sizeof *s.rank_unnamed);
    s.n_last = dcr_arena_alloc(&rep->arena, n * sizeof *s.n_last);
    s.alone = dcr_arena_alloc(&rep->arena, n * sizeof *s.alone);
    s.alone_others = rep->thresholds.alone_others;
    out->step_part_ns = dcr_arena_alloc(&rep->arena, (size_t)out->n_counted * sizeof *out->step_part_ns);
    out->step_gain_ns = dcr_arena_alloc(&rep->arena, (size_t)out->n_counted * sizeof *out->step_gain_ns);
    out->step_cause_ns = dcr_arena_alloc(&rep->arena, (size_t)out->n_counted * sizeof *out->step_cause_ns);
    struct arrival *a = dcr_arena_alloc(&rep->arena, n * sizeof *a);
    for (size_t i = first; i < g->n_steps; i++)
        add_step(&s, out, g, i, i - first, a);

    int64_t sum[N_PARTS] = {0}, hidden = 0;
    for (int r = 0; r < g->n_ranks; r++) {
        for (int p = 0; p < N_PARTS; p++)
            sum[p] += s.rank_part[r][p];
        hidden += s.rank_hidden[r];
    }
    out->step = spread_of(out->step_ns, (size_t)out->n_counted);
    out->step.mean_ns = apportion(sum, N_PARTS, 1, out->n_counted * g->n_ranks, out->part_ns);
    out->comm_ns = out->part_ns[PART_TRANSFER] + out->part_ns[PART_WAIT];
    apportion(&s.collective_ns, 1, 1, out->n_counted * g->n_ranks, &out->collective_ns);
    out->hidden_comm_ns = hidden / (out->n_counted * g->n_ranks);
    for (int c = 0; c < N_CLASSES; c++) {
        out->gain_ns[c] = s.gain[c] / out->n_counted;
        if (out->gain_ns[c] > out->step.mean_ns)
            out->gain_ns[c] = out->step.mean_ns;
    }
    out->n_matched = g->n_ranks > 1 ? s.n_matched : 0;
    fill_ranks(rep, out, g, &s, first);
    breakdown_skew(out, g, first);
    struct counted counted = {g->n_ranks, g->ranks, g->index + first * n, (size_t)out->n_counted};
    phases_run(rep, out, &counted);
    work_run(out, &counted);
    breakdown_straggler(rep, out, &s);
    breakdown_alone(rep, out, &s);
    breakdown_causes(out, &s);
    breakdown_own_ranges(out, g, &s);
    breakdown_cap_gains(out, &s);
    breakdown_intervals(out);
    breakdown_outside(out, g);
    breakdown_bandwidth(out, &s);
    breakdown_throughput(out, &s);
    breakdown_pop(rep, out, g, &s);
}

/* If only a summary was kept: its step time, without phases. */
static void fill_summary(struct run_result *out)
{
    const struct run_summary *m = &out->run->summary;
    if (m->n_steps == 0)
        return;
    out->step = (struct spread){.n = m->n_steps,
                                .mean_ns = m->mean_ns,
                                .median_ns = m->p50_ns > 0 ? m->p50_ns : m->mean_ns,
                                .p95_ns = m->p95_ns > 0 ? m->p95_ns : m->mean_ns,
                                .cv_ratio = m->stdev_ns > 0 ? (double)m->stdev_ns / (double)m->mean_ns : 0};
    out->straggler_x = m->straggler_ratio;
}

void breakdown_run(struct report *rep, struct run_result *out)
{
    struct grid g = {0};
    grid_make(rep, out, &g);
    out->warmup_because = "";
    int m = run_metric("train_loss");
    for (size_t i = 0; i < out->run->n_epochs; i++)
        out->has_accuracy |= out->run->epochs[i].value[m] == out->run->epochs[i].value[m];
    if (g.n_steps == 0) {
        out->steps_why = why_no_steps(rep, out->run, g.n_ranks);
        fill_summary(out);
        struct sums none = {0};
        breakdown_throughput(out, &none);
        return;
    }
    out->has_steps = 1;
    out->steps_source = out->run->is_foreign ? STEPS_OF_OTHER_TOOL : source_of(&g);
    out->n_ranks = g.n_ranks;
    fill_steps(rep, out, &g);
}
