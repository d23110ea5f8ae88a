/* run.c - see run.h and build.h. Holds and grows; computes nothing. */
#include "render/model/build.h"

#include "render/model/watch.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int run_metric(const char *name)
{
    static const char *const names[] = {
#define X(column, unit) column,
        DCR_METRICS_COLUMNS(X)
#undef X
    };
    for (int i = 0; i < RUN_N_METRICS; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

const char *run_text(struct run *r, const char *text)
{
    return text_clean(&r->arena, text);
}

static const struct run_watch *watcher;

void run_watch(const struct run_watch *w)
{
    watcher = w;
}

const struct run_watch *run_watched_by(void)
{
    return watcher;
}

struct run *run_new(const char *archive_path)
{
    struct run *r = calloc(1, sizeof *r);
    if (!r)
        dcr_die_of_memory();
    const char *slash = strrchr(archive_path, '/');
    r->archive = run_text(r, slash ? slash + 1 : archive_path);
    r->run_id = r->config_hash = r->manifest_sha256 = r->files_sha256 = r->files_unhashed = "";
    r->scheduler = r->job_id = r->collector_version = "";
    r->is_complete = 1;
    struct run_program *p = &r->program;
    p->name = p->version = p->model = p->precision = p->backend = p->blas = p->dataset = p->allreduce_dtype = "";
    p->kernels_best = p->mpi = p->cuda = p->nccl = "";
    p->parameters = p->threads = p->global_batch = p->local_batch = p->n_sensors = -1;
    p->allreduce_bytes_per_step = p->seed = p->accumulate = p->loader_workers = -1;
    p->flop_per_step = p->traffic_bytes_per_step = p->kernels_best_ratio = -1;
    r->git_commit = r->told_to_end = "";
    r->git_changed = -1;
    r->watch = watcher;
    r->watched = watcher ? watcher->begin() : NULL;
    r->summary.source = r->summary.series = "";
    r->summary.slowest_rank = -1;
    p->backward_left_looks = -1;
    p->allreduce_early_ratio = p->backward_left_ratio = -1;
    p->dataset_is_generated = p->strong_scaling = p->allreduce_is_overlapped = -1;
    return r;
}

struct run_rank *run_rank_at(struct run *r, int64_t rank)
{
    if (rank < 0 || rank > RUN_MAX_RANK)
        return NULL;
    for (int i = 0; i < r->ranks_len; i++)
        if (r->ranks[i].rank == rank)
            return &r->ranks[i];
    r->ranks = arena_grow(&r->arena, r->ranks, (size_t)r->ranks_len, &r->ranks_cap, sizeof *r->ranks);
    struct run_rank *k = &r->ranks[r->ranks_len++];
    memset(k, 0, sizeof *k);
    k->rank = (int)rank;
    k->node = k->exit_status = -1;
    k->host = k->cpus_allowed = k->trace_notes = k->ended_in = "";
    k->cycles = k->instructions = k->llc_misses = k->stalled_cycles = k->task_clock_ns = -1;
    k->cpu_ns = k->run_delay_ns = k->peak_rss_bytes = k->involuntary_switches = -1;
    return k;
}

static void number_by_order(struct step_record *steps, size_t n)
{
    for (size_t i = 0; i < n; i++)
        steps[i].step = (int64_t)i;
}

/* Step numbers must ascend. If they restart with every epoch or run backward, the steps are numbered by order.
 * returns  1 if they were */
static int number_steps(struct step_record *steps, size_t n)
{
    size_t i = 1;
    while (i < n && steps[i].step > steps[i - 1].step)
        i++;
    if (i >= n)
        return 0;
    number_by_order(steps, n);
    return 1;
}

struct steps_seen steps_of_all(const struct step_record *kept, size_t n, const struct steps_seen *seen)
{
    struct steps_seen all = *seen;
    if (all.every)
        return all;
    all.n = (int64_t)n;
    for (size_t i = 0; i < n; i++)
        if (__builtin_add_overflow(all.ns, kept[i].step_ns, &all.ns))
            all.ns = INT64_MAX;
    return all;
}

void run_take_steps(struct run_rank *k, const struct reduced *from)
{
    k->is_renumbered = number_steps(from->steps, from->n_steps);
    k->source = STEPS_TRACE;
    k->is_by_hook = from->is_by_hook;
    k->is_last_left_out = from->is_last_left_out;
    k->is_hidden_unknown = from->is_hidden_unknown;
    k->steps = from->steps;
    k->n_steps = from->n_steps;
    k->seen = from->seen;
    k->collectives = from->collectives;
    k->n_collectives = from->n_collectives;
    k->phases = from->phases;
    k->n_phases = from->n_phases;
    k->stretches = from->stretches;
    k->n_stretches = from->n_stretches;
    memcpy(k->outside_ns, from->outside_ns, sizeof k->outside_ns);
    k->validation_ns = from->validation_ns;
    k->wall_ns = from->wall_ns;
}

static void keep_fewer(struct run_rank *k, int64_t every, int is_by_order)
{
    size_t n = 0;
    int64_t apart = every / (k->seen.every ? k->seen.every : 1);
    struct steps_seen all = steps_of_all(k->steps, k->n_steps, &k->seen);
    for (size_t i = 0; i < k->n_steps; i++) {
        if (n && (is_by_order ? (int64_t)i % apart : k->steps[i].step / every == k->steps[n - 1].step / every))
            continue;
        for (int p = 0; p < k->n_phases; p++) {
            k->phases[p].ns[n] = k->phases[p].ns[i];
            if (k->phases[p].gpu_ns)
                k->phases[p].gpu_ns[n] = k->phases[p].gpu_ns[i];
        }
        k->steps[n++] = k->steps[i];
    }
    k->n_steps = n;
    k->seen = (struct steps_seen){.every = every, .n = all.n, .ns = all.ns};
}

/* Ranks with more steps or collectives than others keep fewer of them, but only steps of all ranks can be compared. */
static void keep_the_same(struct run *r, int is_by_order)
{
    int64_t every = 0;
    for (int i = 0; i < r->ranks_len; i++)
        every = r->ranks[i].seen.every > every ? r->ranks[i].seen.every : every;
    for (int i = 0; i < r->ranks_len; i++)
        if (r->ranks[i].n_steps && r->ranks[i].seen.every < every)
            keep_fewer(&r->ranks[i], every, is_by_order);
}

double run_all_steps(const struct run *r, int64_t n)
{
    double all = 0, kept = 0;
    for (int i = 0; i < r->ranks_len; i++) {
        kept += (double)r->ranks[i].n_steps;
        all += (double)steps_of_all(r->ranks[i].steps, r->ranks[i].n_steps, &r->ranks[i].seen).n;
    }
    return kept > 0 ? (double)n * (all / kept) : 0;
}

void run_number_steps(struct run *r)
{
    int is_by_order = 0;
    for (int i = 0; i < r->ranks_len; i++)
        is_by_order |= r->ranks[i].is_renumbered;
    keep_the_same(r, is_by_order);
    for (int i = 0; i < r->ranks_len && is_by_order; i++)
        number_by_order(r->ranks[i].steps, r->ranks[i].n_steps);
}

struct run_node *run_node_at(struct run *r, int64_t node)
{
    if (node < 0 || node > RUN_MAX_NODE)
        return NULL;
    for (int i = 0; i < r->nodes_len; i++)
        if (r->nodes[i].node == node)
            return &r->nodes[i];
    r->nodes = arena_grow(&r->arena, r->nodes, (size_t)r->nodes_len, &r->nodes_cap, sizeof *r->nodes);
    struct run_node *k = &r->nodes[r->nodes_len++];
    memset(k, 0, sizeof *k);
    k->node = (int)node;
    k->gpu_model = k->gpu_driver = k->host = k->boot_id = k->cpu_model = k->kernel = k->clock.reference = "";
    k->throttled_ns = k->nr_throttled = -1;
    return k;
}

double run_node_steal(const struct run_node *n)
{
    return n->steal_percent.n ? n->steal_percent.sum / (double)n->steal_percent.n / 100 : 0;
}

int run_is_one_machine(const struct run *r)
{
    return r->node_kind == NODES_EMULATED || r->node_kind == NODES_ONE_KERNEL || r->node_kind == NODES_SHARES;
}

int run_is_on_one_host(const struct run *r)
{
    for (int i = 0; i < r->nodes_len; i++)
        if (r->nodes[i].share.has)
            return 0;
    return !r->is_foreign && !r->n_traces && (run_is_one_machine(r) || r->nodes_len == 1);
}

int run_machine_of(const struct run *r, int i)
{
    const char *kernel = r->nodes[i].boot_id;
    if (r->node_kind == NODES_EMULATED || (run_is_one_machine(r) && !*kernel))
        return 0;
    for (int k = 0; k < i && *kernel; k++)
        if (strcmp(r->nodes[k].boot_id, kernel) == 0)
            return k;
    return i;
}

void run_put_gap(struct run *r, const struct phrase said[NOTE_PHRASES])
{
    struct run_gap gap;
    keep_phrases(&r->arena, said, gap.said);
    for (int i = 0; i < r->n_gaps; i++)
        if (are_same_phrases(r->gaps[i].said, gap.said))
            return;
    r->gaps = arena_grow(&r->arena, r->gaps, (size_t)r->n_gaps, &r->gaps_cap, sizeof *r->gaps);
    r->gaps[r->n_gaps++] = gap;
}

/* The number of points per bucket doubles when the series is full: neighbours are averaged. */
static void halve_points(struct sampled *s)
{
    int n = s->n_points / 2;
    for (int i = 0; i < n; i++) {
        s->t_s[i] = s->t_s[2 * i];
        s->value[i] = (s->value[2 * i] + s->value[2 * i + 1]) / 2;
    }
    s->n_points = n;
    s->per_point *= 2;
}

void sampled_add(struct run *r, struct sampled *s, double t, double value)
{
    if (!isfinite(t) || !isfinite(value))
        return;
    if (s->n == 0) {
        s->t0 = t;
        s->min = s->max = s->first = value;
        s->per_point = 1;
        s->t_s = dcr_arena_alloc(&r->arena, RUN_MAX_POINTS * sizeof *s->t_s);
        s->value = dcr_arena_alloc(&r->arena, RUN_MAX_POINTS * sizeof *s->value);
    }
    s->n++;
    s->n_zero += value == 0;
    s->sum += value;
    s->last = value;
    s->min = fmin(s->min, value);
    s->max = fmax(s->max, value);
    if (s->in_point == 0) {
        if (s->n_points == RUN_MAX_POINTS)
            halve_points(s);
        s->point_t = t - s->t0;
    }
    s->point_sum += value;
    if (++s->in_point < s->per_point)
        return;
    s->t_s[s->n_points] = s->point_t;
    s->value[s->n_points++] = s->point_sum / (double)s->in_point;
    s->in_point = 0;
    s->point_sum = 0;
}

void run_free(struct run *r)
{
    if (!r)
        return;
    struct dcr_arena arena = r->arena;
    if (r->watched)
        r->watch->free(r->watched);
    dcr_arena_release(&arena);
    free(r);
}

const char *counted_word(enum counted_unit c)
{
    static const char *const words[] = {
#define X(id, word) word,
        COUNTED_UNITS(X)
#undef X
    };
    return words[c];
}

int run_ended_badly(const struct run *a)
{
    for (int i = 0; !a->is_complete && i < a->n_endings; i++)
        if (a->endings[i].kind == ENDING_FAILED || a->endings[i].kind == ENDING_TOLD)
            return 1;
    return 0;
}

int run_has_no_rank(const struct run *a)
{
    for (int i = 0; i < a->n_endings; i++)
        if (a->endings[i].kind == ENDING_NO_RANK)
            return 1;
    return 0;
}

int run_failed(const struct run *a)
{
    return run_ended_badly(a) && *a->collector_version && !a->n_epochs && !a->summary.n_steps && !a->n_traces &&
           !a->is_foreign;
}
