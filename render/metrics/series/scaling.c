/* scaling.c - runs of one configuration at several node counts: speed-up, efficiency, and where the time went. */
#include "render/metrics/breakdown/pop.h"
#include "render/metrics/calls.h"
#include "render/metrics/recorded.h"
#include "render/metrics/series/differing.h"
#include "render/metrics/series/series.h"
#include "render/metrics/stats.h"

#include "lib/base/fs.h"

#include <stdlib.h>
#include <string.h>

/* ---- which runs belong together ------------------------------------------------------------------ */

int is_bare(const struct run *a)
{
    return a->is_foreign && !a->summary.n_steps && !*a->program.name && !*a->program.model && !a->n_command;
}

static int is_told(const struct run *a)
{
    return *a->program.name || *a->program.model || a->program.parameters > 0 || a->program.global_batch > 0;
}

int is_untold(const struct report *rep, int run)
{
    const struct run *a = rep->runs[run].run;
    struct dcr_buf mine = {0};
    int is = 0;
    if (a->is_complete || a->n_command == 0 || is_told(a))
        return 0;
    command_key(a, &mine);
    for (int i = 0; i < rep->n_runs && !is; i++) {
        struct dcr_buf other = {0};
        if (!is_told(rep->runs[i].run))
            continue;
        command_key(rep->runs[i].run, &other);
        is = strcmp(dcr_buf_text(&mine), dcr_buf_text(&other)) == 0;
        dcr_buf_release(&other);
    }
    dcr_buf_release(&mine);
    return is;
}

/* The run that an untold one repeats: of one command, nodes and ranks, by the hash. -1 = none */
static int twin_of(const struct report *rep, int run)
{
    const char *hash = rep->runs[run].run->config_hash;
    if (!*hash || !is_untold(rep, run))
        return -1;
    for (int i = 0; i < rep->n_runs; i++)
        if (is_told(rep->runs[i].run) && rep->runs[i].n_nodes == rep->runs[run].n_nodes &&
            strcmp(rep->runs[i].run->config_hash, hash) == 0)
            return i;
    return -1;
}

void scaling_key(const struct run_result *r, struct dcr_buf *out)
{
    const struct run_program *p = &r->run->program;
    int per_node = r->n_nodes > 0 ? r->n_ranks / r->n_nodes : r->n_ranks;
    dcr_buf_printf(out, "%s|%s|%lld|%s|%s|%lld|%s|%d|%lld|%s%d|", p->name, p->model, (long long)p->parameters,
                   p->precision, p->backend, (long long)p->n_sensors, p->dataset, p->dataset_is_generated,
                   (long long)p->threads, r->n_ranks > 0 ? "" : "unknown", per_node);
    dcr_buf_printf(out, "%s|", is_bare(r->run) ? r->run->archive : r->run->summary.series);
    command_key(r->run, out);
}

static int same_hash(const struct run_result *a, const struct run_result *b)
{
    const char *x = a->run->config_hash, *y = b->run->config_hash;
    return !*x || !*y || strcmp(x, y) == 0;
}

static enum scaling_kind kind_between(const struct run_result *a, const struct run_result *b)
{
    const struct run_program *p = &a->run->program, *q = &b->run->program;
    if (p->global_batch > 0 && q->global_batch > 0) {
        if (p->global_batch == q->global_batch)
            return SCALING_STRONG;
        return p->global_batch * b->n_nodes == q->global_batch * a->n_nodes ? SCALING_WEAK : SCALING_NONE;
    }
    return p->global_batch <= 0 && q->global_batch <= 0 ? SCALING_UNKNOWN : SCALING_NONE;
}

/* A series while runs are being put into it. */
struct group {
    const char *key;
    int *runs, n;
    enum scaling_kind kind;
};

static int fits(const struct report *rep, const struct group *g, const struct run_result *r, enum scaling_kind *kind)
{
    *kind = g->kind;
    for (int i = 0; i < g->n; i++) {
        const struct run_result *other = &rep->runs[g->runs[i]];
        if (other->n_nodes == r->n_nodes) {
            if (!same_hash(other, r) || other->run->program.global_batch != r->run->program.global_batch)
                return 0;
            continue;
        }
        enum scaling_kind k = kind_between(other, r);
        if (k == SCALING_NONE || (*kind != SCALING_NONE && *kind != k))
            return 0;
        *kind = k;
    }
    return 1;
}

/* Every run goes into the first group it fits; runs come sorted, so the result does not depend on arguments. */
static int make_groups(struct report *rep, struct group *groups)
{
    int n = 0;
    for (int i = 0; i < rep->n_runs; i++) {
        struct dcr_buf key = {0};
        if (twin_of(rep, i) >= 0)
            continue;
        scaling_key(&rep->runs[i], &key);
        int g = 0;
        enum scaling_kind kind = SCALING_NONE;
        while (g < n &&
               (strcmp(groups[g].key, dcr_buf_text(&key)) != 0 || !fits(rep, &groups[g], &rep->runs[i], &kind)))
            g++;
        if (g == n) {
            groups[n++] = (struct group){.key = dcr_arena_strdup(&rep->arena, dcr_buf_text(&key)),
                                         .runs = dcr_arena_alloc(&rep->arena, (size_t)rep->n_runs * sizeof(int))};
            kind = SCALING_NONE;
        }
        groups[g].runs[groups[g].n++] = i;
        groups[g].kind = kind;
        rep->runs[i].series = g;
        dcr_buf_release(&key);
    }
    for (int i = 0; i < rep->n_runs; i++) {
        int twin = twin_of(rep, i);
        if (twin < 0)
            continue;
        struct group *g = &groups[rep->runs[twin].series];
        int at = g->n++;
        for (; at > 0 && g->runs[at - 1] > i; at--)
            g->runs[at] = g->runs[at - 1];
        g->runs[at] = i;
        rep->runs[i].series = rep->runs[twin].series;
    }
    return n;
}

/* ---- points -------------------------------------------------------------------------------------- */

static size_t steps_of(const struct report *rep, const struct series_point *p)
{
    size_t n = 0;
    for (int i = 0; i < p->n_runs; i++)
        n += (size_t)rep->runs[p->runs[i]].n_counted;
    return n;
}

/* How long the ranks' processes ran, and how much of it in MPI calls: means over ranks and repetitions. */
static void fill_run_times(const struct report *rep, struct series_point *p)
{
    double run = 0, mpi = 0;
    int has_run = p->n_runs > 0, has_mpi = p->n_runs > 0;
    for (int i = 0; i < p->n_runs; i++) {
        const struct run *a = rep->runs[p->runs[i]].run;
        struct mpi_share m = mpi_share(a);
        double whole = whole_run_ns(a);
        has_run &= whole > 0;
        has_mpi &= m.has && !a->has_window;
        run += has_run ? whole / p->n_runs : 0;
        mpi += has_mpi && has_run ? (double)m.ns / a->ranks_len / p->n_runs : 0;
    }
    p->run_ns = has_run ? (int64_t)run : 0;
    p->mpi_ns = has_run && has_mpi ? (int64_t)mpi : -1;
}

/* Step time, parts and throughput over all repetitions, each step counting once. */
static void fill_point(struct report *rep, struct series_point *p)
{
    size_t n = steps_of(rep, p), at = 0;
    int64_t *x = dcr_arena_alloc(&rep->arena, (n + 1) * sizeof *x), sum[N_PARTS] = {0};
    int64_t n_rank_steps = 0;
    double throughput = 0;
    int n_throughput = 0;
    for (int i = 0; i < p->n_runs; i++) {
        const struct run_result *r = &rep->runs[p->runs[i]];
        for (int64_t k = 0; k < r->n_counted; k++) {
            x[at++] = r->step_ns[k];
            for (int part = 0; part < N_PARTS; part++)
                sum[part] += r->step_part_ns[k][part];
        }
        n_rank_steps += r->n_counted * r->n_ranks;
        throughput += r->throughput;
        n_throughput += r->has_throughput;
    }
    fill_run_times(rep, p);
    p->has_throughput = n_throughput == p->n_runs;
    p->throughput = p->has_throughput ? throughput / p->n_runs : 0;
    if (n == 0 || n_rank_steps == 0) /* traces that are no run of ranks have no steps in common */
        return;
    p->step = spread_of(x, n);
    p->step.mean_ns = apportion(sum, N_PARTS, 1, n_rank_steps, p->part_ns);
    if (p->n_runs == 1) {
        p->pop = rep->runs[p->runs[0]].pop;
        return;
    }
    int with_pop = 0;
    struct pop m = {0};
    for (int i = 0; i < p->n_runs; i++) {
        const struct pop *q = &rep->runs[p->runs[i]].pop;
        if (!q->has_useful || (with_pop && q->is_of_gpus != m.is_of_gpus))
            continue;
        with_pop++;
        m.has |= q->has;
        m.is_of_gpus = q->is_of_gpus;
        m.mean_ns += q->mean_ns;
        m.max_ns += q->max_ns;
        m.busy_max_ns += q->busy_max_ns;
        m.transfer_ns += q->transfer_ns;
        m.step_ns += q->step_ns;
        m.node_max_ns += q->node_max_ns;
        m.has_in_nodes = q->has_in_nodes; /* ranks and nodes are the same in all repetitions */
        m.has_between_nodes = q->has_between_nodes;
        m.in_nodes_why = q->in_nodes_why;
        m.between_nodes_why = q->between_nodes_why;
    }
    if (with_pop) {
        m.mean_ns /= with_pop;
        m.max_ns /= with_pop;
        m.busy_max_ns /= with_pop;
        m.transfer_ns /= with_pop;
        m.step_ns /= with_pop;
        m.node_max_ns /= with_pop;
        pop_ratios(&m);
    }
    p->pop = m;
}

static int has_complete(const struct report *rep, const struct group *g, int n_nodes)
{
    for (int i = 0; i < g->n; i++)
        if (rep->runs[g->runs[i]].n_nodes == n_nodes && rep->runs[g->runs[i]].run->is_complete)
            return 1;
    return 0;
}

static void make_points(struct report *rep, struct series *s, const struct group *g)
{
    s->points = dcr_arena_alloc(&rep->arena, (size_t)g->n * sizeof *s->points);
    for (int i = 0; i < g->n; i++) {
        const struct run_result *r = &rep->runs[g->runs[i]];
        struct series_point *p = s->n_points ? &s->points[s->n_points - 1] : NULL;
        if (!p || p->n_nodes != r->n_nodes) {
            p = &s->points[s->n_points++];
            p->n_nodes = r->n_nodes;
            p->n_ranks = r->n_ranks;
            p->runs = dcr_arena_alloc(&rep->arena, (size_t)g->n * sizeof(int));
            p->left_out = dcr_arena_alloc(&rep->arena, (size_t)g->n * sizeof(int));
        }
        if (!r->run->is_complete && has_complete(rep, g, r->n_nodes))
            p->left_out[p->n_left_out++] = g->runs[i];
        else
            p->runs[p->n_runs++] = g->runs[i];
    }
    for (int i = 0; i < s->n_points; i++)
        fill_point(rep, &s->points[i]);
}

int is_left_out(const struct report *rep, int run)
{
    for (int i = 0; i < rep->n_series; i++)
        for (int k = 0; k < rep->series[i].n_points; k++)
            for (int j = 0; j < rep->series[i].points[k].n_left_out; j++)
                if (rep->series[i].points[k].left_out[j] == run)
                    return 1;
    return 0;
}

double repetition_spread(const struct report *rep, const struct series_point *p)
{
    int64_t least = INT64_MAX, most = 0;
    for (int i = 0; i < p->n_runs; i++) {
        int64_t ns = rep->runs[p->runs[i]].step.mean_ns;
        if (ns == 0) /* it ended before its first step */
            continue;
        least = ns < least ? ns : least;
        most = ns > most ? ns : most;
    }
    return p->step.mean_ns > 0 && most > 0 ? (double)(most - least) / (double)p->step.mean_ns : 0;
}

/* ---- against the reference ------------------------------------------------------------------------ */

static void fill_speedups(struct series *s)
{
    const struct series_point *ref = &s->points[0];
    for (int i = 0; i < s->n_points; i++) {
        struct series_point *p = &s->points[i];
        double n = ref->n_nodes > 0 && p->n_nodes > 0 ? (double)p->n_nodes / ref->n_nodes : 0;
        if (n <= 0)
            continue;
        if (p->has_throughput && ref->has_throughput)
            p->speedup = p->throughput / ref->throughput;
        else if (p->step.mean_ns && ref->step.mean_ns && s->kind == SCALING_STRONG)
            p->speedup = (double)ref->step.mean_ns / (double)p->step.mean_ns;
        p->efficiency = p->speedup / n;
        if (s->kind == SCALING_UNKNOWN) /* it is unknown how much work a step was, compared with one of the reference */
            continue;
        double work = s->kind == SCALING_WEAK ? n : 1;
        if (p->part_ns[PART_COMPUTE] > 0)
            p->compute_speedup = work * (double)ref->part_ns[PART_COMPUTE] / (double)p->part_ns[PART_COMPUTE];
        if (p->pop.has_useful && ref->pop.has_useful && p->pop.is_of_gpus == ref->pop.is_of_gpus &&
            p->pop.useful_mean_ns > 0) {
            double here = p->pop.mean_ns * p->n_ranks;
            double there = ref->pop.mean_ns * ref->n_ranks;
            p->pop.has_scaling = 1;
            p->pop.computation_scaling_ratio = work * there / here;
            p->pop.global_ratio = p->pop.parallel_ratio * p->pop.computation_scaling_ratio; /* one rank: 1 x it */
        }
    }
}

/* Why whole runs cannot be compared. REASON_NONE: they can, if each did the same work. Equal commands count as equal
 * work. */
static struct reason why_no_run_times(const struct report *rep, const struct series *s)
{
    const struct reason none = REASON(SPEEDUP_WITHOUT_RATES, slot_name(counted_word(rep->unit)));
    const struct run *first = run_of_point(rep, &s->points[0])->run;
    if ((s->kind != SCALING_STRONG && s->kind != SCALING_UNKNOWN) || first->n_command == 0)
        return none;
    for (int i = 0; i < s->n_points; i++) {
        const struct series_point *p = &s->points[i];
        if (point_step(rep, p)->n || p->has_throughput || !p->run_ns || p->n_nodes <= 0)
            return none;
        for (int k = 0; k < p->n_runs && s->kind == SCALING_UNKNOWN; k++)
            if (has_other_batch(first, rep->runs[p->runs[k]].run))
                return REASON(SPEEDUP_OTHER_BATCH);
        if (p->run_ns < LEAST_RUN_NS)
            return REASON(SPEEDUP_SHORT_RUNS);
    }
    return REASON(NONE);
}

/* Without steps, the times of whole runs are compared. Equal commands are taken as equal work. */
static void fill_speedups_of_runs(const struct report *rep, struct series *s)
{
    const struct series_point *ref = &s->points[0];
    if (s->n_points < 2 || why_no_run_times(rep, s).code)
        return;
    s->is_of_runs = 1;
    if (s->kind == SCALING_UNKNOWN)
        s->kind_said = PHRASE(KIND_EQUAL_COMMANDS);
    s->kind = SCALING_STRONG;
    for (int i = 0; i < s->n_points; i++) {
        struct series_point *p = &s->points[i];
        p->speedup = (double)ref->run_ns / (double)p->run_ns;
        p->efficiency = p->speedup * ref->n_nodes / p->n_nodes;
    }
}

static void say_no_speedup(const struct report *rep, struct series *s)
{
    int has_steps = s->kind == SCALING_UNKNOWN;
    for (int i = 0; i < s->n_points; i++)
        has_steps &= s->points[i].step.mean_ns > 0;
    if (s->n_points < 2 || s->points[s->n_points - 1].speedup > 0)
        s->speedup_why = REASON(NONE);
    else
        s->speedup_why = has_steps ? REASON(SPEEDUP_WITHOUT_SAMPLES) : why_no_run_times(rep, s);
}

static void find_kind(const struct report *rep, struct series *s)
{
    const struct run_program *p = &run_of_point(rep, &s->points[0])->run->program;
    const struct run_program *q = &run_of_point(rep, &s->points[s->n_points - 1])->run->program;
    const struct slot unit = slot_name(counted_word(rep->unit));
    const struct phrase why[] = {[SCALING_NONE] = PHRASE(KIND_ONE_COUNT),
                                 [SCALING_STRONG] = PHRASE(KIND_STRONG, slot_count(p->global_batch), unit),
                                 [SCALING_WEAK] =
                                     PHRASE(KIND_WEAK, unit, slot_count(p->global_batch), slot_count(q->global_batch)),
                                 [SCALING_UNKNOWN] = PHRASE(KIND_UNKNOWN)};
    s->kind_said = why[s->kind];
}

const struct series_point *fastest_point(const struct series *s)
{
    const struct series_point *best = &s->points[0];
    for (int i = 0; i < s->n_points; i++) {
        if (!s->points[i].has_throughput)
            return NULL;
        best = s->points[i].throughput > best->throughput ? &s->points[i] : best;
    }
    return best;
}

const struct spread *point_step(const struct report *rep, const struct series_point *p)
{
    return !p->step.n && p->n_runs == 1 ? &rep->runs[p->runs[0]].step : &p->step;
}

static const char *label_of(struct report *rep, const struct run_result *r, enum scaling_kind kind)
{
    const struct run_program *p = &r->run->program;
    struct dcr_buf b = {0};
    const char *name = *p->model ? p->model : *p->name ? p->name : program_of(r->run);
    name = *name ? name : is_bare(r->run) ? r->run->archive : "unnamed program";
    dcr_buf_add(&b, name, strcspn(name, ",;"));
    if (p->n_sensors > 0)
        dcr_buf_printf(&b, ", %lld sensors", (long long)p->n_sensors);
    if (p->global_batch > 0 && kind != SCALING_WEAK)
        dcr_buf_printf(&b, ", global batch %lld", (long long)p->global_batch);
    if (p->local_batch > 0 && kind == SCALING_WEAK)
        dcr_buf_printf(&b, ", batch %lld per rank", (long long)p->local_batch);
    if (*p->precision)
        dcr_buf_printf(&b, ", %s", p->precision);
    /* If the steps of a rank are lost, the archive still shows that the rank existed. */
    int n_ranks = run_has_no_rank(r->run) ? 0 : r->run->n_ranks > r->n_ranks ? r->run->n_ranks : r->n_ranks;
    if (r->n_nodes > 0 && n_ranks > 0 && n_ranks % r->n_nodes == 0 && rep->unit == COUNTS_NODES)
        dcr_buf_printf(&b, ", %d %s per node", n_ranks / r->n_nodes, n_ranks == r->n_nodes ? "rank" : "ranks");
    const char *label = dcr_arena_strdup(&rep->arena, dcr_buf_text(&b));
    dcr_buf_release(&b);
    return label;
}

void scaling(struct report *rep)
{
    struct group *groups = dcr_arena_alloc(&rep->arena, (size_t)(rep->n_runs + 1) * sizeof *groups);
    rep->n_series = make_groups(rep, groups);
    rep->series = dcr_arena_alloc(&rep->arena, (size_t)(rep->n_series + 1) * sizeof *rep->series);
    for (int i = 0; i < rep->n_series; i++) {
        struct series *s = &rep->series[i];
        s->limit_claim = -1;
        s->headline = s->support = s->scaling_text = s->beyond_text = s->not_judged_text = "";
        make_points(rep, s, &groups[i]);
        s->told = s->n_points - 1;
        s->kind = s->n_points > 1 ? groups[i].kind : SCALING_NONE;
        find_kind(rep, s);
        s->label = label_of(rep, &rep->runs[groups[i].runs[0]], s->kind);
        fill_speedups(s);
        fill_speedups_of_runs(rep, s);
        pop_counters(rep, s);
        say_no_speedup(rep, s);
        speedup_intervals(rep, s);
        losses(rep, s);
        series_phases(rep, s);
        series_by_name(rep, s);
    }
}
