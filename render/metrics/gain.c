/* gain.c - the time of a step without a cause. It is replayed on the critical path over ranks. Where ranks shared
 * cores, it is computed from their work. breakdown.c calls it while it passes over the steps, and rules.c once it is
 * known whether cores were shared. */
#include "render/metrics/cores.h"
#include "render/metrics/gain.h"
#include "render/metrics/stats.h"
#include "render/metrics/steps.h"

#include <stdlib.h>
#include <string.h>

/* A rank's loading if every rank had the same number of samples. A rank that loads longer because it has more samples
 * is uneven. A rank that loads the same number more slowly is not. A rank that gets more samples loads longer, but not
 * longer than the mean, because part of loading may belong to the batch. mean_samples <= 0: not known of every rank */
static double loading_when_even(double ns, double mean_ns, int64_t samples, double mean_samples)
{
    double even = mean_samples > 0 ? ns * (mean_samples / (double)samples) : ns;
    double most = ns > mean_ns ? ns : mean_ns;
    return even < most ? even : most;
}

int64_t replay_gain(const struct arrival *a, int n_ranks, struct removal what)
{
    int64_t mean[N_CATEGORIES] = {0}, before = 0, after = 0, shortest = INT64_MAX;
    double samples = 0;
    for (int r = 0; r < n_ranks; r++)
        samples = a[r].samples > 0 && samples >= 0 ? samples + (double)a[r].samples : -1;
    for (int c = 0; c < N_CATEGORIES; c++) {
        for (int r = 0; r < n_ranks; r++)
            mean[c] += a[r].part_ns[c];
        mean[c] /= n_ranks;
    }
    for (int r = 0; r < n_ranks; r++) {
        int64_t with = a[r].outside_ns, without = a[r].outside_ns;
        for (int c = 0; c < N_CATEGORIES; c++) {
            int is_levelled = what.is_imbalance && (c == CAT_COMPUTE || c == CAT_COPY || c == CAT_OTHER);
            int64_t ns = is_levelled ? mean[c] : a[r].part_ns[c];
            if (what.is_imbalance && c == CAT_DATA)
                ns = (int64_t)loading_when_even((double)ns, (double)mean[c], a[r].samples, samples / n_ranks);
            with += a[r].part_ns[c];
            without += c == what.category ? 0 : ns;
        }
        before = with > before ? with : before;
        after = without > after ? without : after;
        shortest = a[r].dur_ns < shortest ? a[r].dur_ns : shortest;
    }
    int64_t gain = before - after + (what.is_transfer ? shortest : 0);
    return gain > 0 ? gain : 0;
}

/* ---- work without the effect of neighbours --------------------------------------------------------- */

static const struct step_record *record(const struct counted *c, size_t step, int r)
{
    return &c->ranks[r]->steps[c->index[step * (size_t)c->n_ranks + (size_t)r]];
}

/* Work is the shortest time seen, because a neighbour can only add to it. File writes keep their mean, because only
 * some steps have them, and waiting for a disk needs no core. */
void work_run(struct run_result *out, const struct counted *c)
{
    for (int r = 0; r < c->n_ranks; r++)
        for (int k = 0; k < N_CATEGORIES; k++) {
            int64_t sum = 0, shortest = INT64_MAX;
            for (size_t i = 0; i < c->n_steps; i++) {
                int64_t ns = record(c, i, r)->part_ns[k];
                sum += ns;
                shortest = ns < shortest ? ns : shortest;
            }
            out->ranks[r].work_ns[k] = k == CAT_COMM ? 0 : k == CAT_IO ? sum / (int64_t)c->n_steps : shortest;
        }
    for (int r = 0; r < c->n_ranks; r++) {
        int64_t *samples = &out->ranks[r].samples;
        for (size_t i = 0; i < c->n_steps && *samples >= 0; i++)
            *samples = record(c, i, r)->samples < 0 ? -1 : *samples + record(c, i, r)->samples;
    }
    out->work_transfer_ns = INT64_MAX;
    for (size_t i = 0; i < c->n_steps; i++) {
        int64_t ns = out->step_part_ns[i][PART_TRANSFER] / c->n_ranks;
        out->work_transfer_ns = ns < out->work_transfer_ns ? ns : out->work_transfer_ns;
    }
}

static int compare_double(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

double shared_time(double *work, int n, double cores)
{
    double now = 0, done = 0;
    if (n > 1)
        qsort(work, (size_t)n, sizeof *work, compare_double);
    for (int i = 0; i < n; i++) {
        double running = n - i, rate = cores < running ? cores / running : 1;
        now += (work[i] - done) / rate;
        done = work[i];
    }
    return now;
}

/* The time of a step from the ranks' work: processor sharing, then the transfer.
 *  kept  the part of the removed category that remains
 *  work  room for one number a rank */
static double step_of_work(const struct run_result *r, struct removal what, double kept, double cores, double *work)
{
    int n = r->n_rank_results;
    double samples = 0;
    for (int i = 0; i < n; i++)
        samples = r->ranks[i].samples > 0 && samples >= 0 ? samples + (double)r->ranks[i].samples : -1;
    for (int i = 0; i < n; i++) {
        work[i] = 0;
        for (int c = 0; c < N_CATEGORIES; c++) {
            double mean = 0;
            int is_levelled = what.is_imbalance && (c == CAT_COMPUTE || c == CAT_COPY || c == CAT_OTHER);
            for (int k = 0; what.is_imbalance && k < n; k++)
                mean += (double)r->ranks[k].work_ns[c] / n;
            double ns = is_levelled ? mean : (double)r->ranks[i].work_ns[c];
            if (what.is_imbalance && c == CAT_DATA)
                ns = loading_when_even(ns, mean, r->ranks[i].samples, samples / n);
            work[i] += (c == what.category ? kept : 1) * ns;
        }
    }
    return shared_time(work, n, cores) + (what.is_transfer ? 0 : (double)r->work_transfer_ns);
}

/* Number of cores for the ranks' work. A rank that waits for something else than a core leaves its core to others, so
 * work with a tenth of processor time has ten times as many cores. */
static double cores_for(const struct run_result *r)
{
    double cores = r->shared.cores > 0 ? r->shared.cores : r->n_rank_results, least = 0.01;
    if (r->processor.is_waiting)
        cores /= r->processor.of_work > least ? r->processor.of_work : least;
    return cores;
}

double others_ratio(const struct run_result *r)
{
    const double most = 0.95; /* the ranks did run */
    double ratio = r->shared.machine_cores > 0 ? r->shared.others_cores / r->shared.machine_cores : 0;
    return ratio < most ? ratio : most;
}

/* The shortest times contain neighbours that run all the time. Only the monitors show them. */
static int is_too_many(const struct report *rep, const struct run_result *r)
{
    double threads = (double)r->n_rank_results * (double)(r->run->program.threads > 0 ? r->run->program.threads : 1);
    return others_ratio(r) > rep->thresholds.loss_matters && r->shared.others_cores + threads > r->shared.machine_cores;
}

double saved_when_shared(struct report *rep, const struct run_result *r, double ratio)
{
    static const struct removal nothing = {-1, 0, 0}, compute = {CAT_COMPUTE, 0, 0};
    int n = r->n_rank_results;
    double *work = dcr_arena_alloc(&rep->arena, (size_t)(n + 1) * sizeof *work);
    double cores = cores_for(r), before = step_of_work(r, nothing, 1, cores, work);
    double after = step_of_work(r, compute, ratio, cores, work);
    return before > 0 && after < before ? 1 - after / before : 0;
}

void bound_work(struct run_result *r)
{
    const double never_idle = 0.9;
    for (int i = 0; i < r->n_rank_results; i++) {
        struct rank_result *k = &r->ranks[i];
        const struct run_rank *of = NULL;
        for (int j = 0; j < r->run->ranks_len; j++)
            if (r->run->ranks[j].rank == k->rank)
                of = &r->run->ranks[j];
        struct ready ready = of ? ready_of(r->run, of) : (struct ready){0};
        double used_ns = ready.used * (double)r->step.mean_ns, work = 0;
        if (ready.used <= 0 || ready.used + ready.waiting < never_idle)
            continue;
        for (int c = 0; c < N_CATEGORIES; c++)
            work += c == CAT_IO ? 0 : (double)k->work_ns[c];
        r->shared.is_by_processor |= work > used_ns;
        for (int c = 0; c < N_CATEGORIES && work > used_ns; c++)
            k->work_ns[c] = c == CAT_IO ? k->work_ns[c] : (int64_t)((double)k->work_ns[c] * used_ns / work);
    }
}

static int64_t at_most(int64_t ns, int64_t bound)
{
    return ns < bound ? ns : bound;
}

void gain_when_shared(struct report *rep, struct run_result *r)
{
    static const struct {
        enum cause_class cls;
        struct removal what;
        int part; /* of the step, all that a rank by itself can save; -1: of several ranks only */
    } causes[] = {{CLASS_COMMUNICATION, {-1, 0, 1}, -1},     {CLASS_IMBALANCE, {-1, 1, 0}, -1},
                  {CLASS_DATA, {CAT_DATA, 0, 0}, PART_DATA}, {CLASS_IO, {CAT_IO, 0, 0}, PART_IO},
                  {CLASS_COPY, {CAT_COPY, 0, 0}, PART_COPY}, {CLASS_OVERHEAD, {CAT_OTHER, 0, 0}, PART_OTHER}};
    static const struct removal nothing = {-1, 0, 0};
    int n = r->n_rank_results;
    double *work = dcr_arena_alloc(&rep->arena, (size_t)(n + 1) * sizeof *work);
    double cores = cores_for(r);
    double before = step_of_work(r, nothing, 1, cores, work), step = (double)r->step.mean_ns;
    if (before <= 0)
        return;
    /* Ranks that a quota holds back alike take no turns: the replay of their steps is right. */
    for (size_t i = 0; i < sizeof causes / sizeof *causes && is_doubtful(r); i++) {
        double after = step_of_work(r, causes[i].what, 0, cores, work);
        double saved = after < before ? 1 - after / before : 0;
        if (causes[i].cls == CLASS_DATA && r->loading.is_waiting)
            continue; /* loading that waits keeps no core from others: the replay of the steps is right */
        if (causes[i].cls == CLASS_IMBALANCE && uneven_rank(rep, r) < 0)
            saved = 0;
        int part = n == 1 ? causes[i].part : -1;
        r->gain_ns[causes[i].cls] = at_most((int64_t)(step * saved), part < 0 ? INT64_MAX : r->part_ns[part]);
        for (int64_t k = 0; k < r->n_counted; k++)
            r->step_gain_ns[k][causes[i].cls] =
                at_most((int64_t)((double)r->step_ns[k] * saved), part < 0 ? INT64_MAX : r->step_part_ns[k][part]);
    }
    double alone = step_of_work(r, nothing, 1, n, work), own = alone, matters = rep->thresholds.loss_matters * step;
    r->shared.alone_ns = (int64_t)alone;
    /* Cores of their own do not drive other programs away: what those took, they go on taking. Where that leaves
     * nothing to gain they are the reason, as where the advice is to measure without them: then all of it goes. */
    if (r->shared.kind == SHARED_OVERSUBSCRIBED && !r->shared.has_neighbours)
        own = alone / (1 - others_ratio(r));
    int is_crowded = r->shared.kind == SHARED_OVERSUBSCRIBED && !r->shared.has_neighbours && is_too_many(rep, r);
    if (step - own <= matters && (step - alone > matters || is_crowded)) {
        own = alone;
        shared_with_others(rep, r);
    }
    double saved = own < step ? step - own : 0, most = r->shared.most_ratio * step, waited = 0;
    for (int i = 0; i < r->run->ranks_len && r->shared.kind == SHARED_RUN_DELAY; i++)
        waited += ready_of(r->run, &r->run->ranks[i]).waiting;
    if (r->shared.kind == SHARED_RUN_DELAY && saved > waited * step) /* no more than all of the waiting goes */
        saved = waited * step;
    r->shared.is_most = most > 0 && saved > most;
    r->gain_ns[CLASS_SHARED] = (int64_t)(r->shared.is_most ? most : saved);
}

enum gain_basis gain_basis_of(const struct run_result *r, enum cause_class c)
{
    int is_bound =
        c == CLASS_HOST || (c == CLASS_SHARED && r->shared.is_most) || (c == CLASS_DATA && r->loading.is_waiting);
    return is_bound ? GAIN_BOUND : GAIN_ESTIMATE;
}

/* Gives `ns` of waiting to categories in proportion to weights (no weight: overhead). */
static void give(struct run_result *r, const int64_t weight[N_CATEGORIES], int64_t ns)
{
    int64_t sum = 0, part[N_CATEGORIES] = {0};
    for (int c = 0; c < N_CATEGORIES; c++)
        sum += weight[c];
    if (sum > 0)
        apportion(weight, N_CATEGORIES, ns, sum, part);
    else
        part[CAT_OTHER] = ns;
    for (int c = 0; c < N_CATEGORIES; c++)
        r->wait_cause_ns[c] += part[c];
}

int uneven_rank(const struct report *rep, const struct run_result *r)
{
    int n = r->n_rank_results, late = -1;
    int64_t all = 0, most = 0, of_late = 0; /* work of all ranks, of the busiest rank, of the one that comes last */
    for (int i = 0; i < n; i++) {
        int64_t work = 0;
        for (int c = 0; c < N_CATEGORIES; c++)
            work += r->ranks[i].work_ns[c];
        all += work;
        most = work > most ? work : most;
        if (r->straggler.has && r->straggler.rank == r->ranks[i].rank) {
            late = i;
            of_late = work;
        }
    }
    int is_uneven = n > 1 && (double)all / n < rep->thresholds.uneven_work * (double)most;
    return is_uneven && of_late == most ? late : -1;
}

void waiting_when_shared(const struct report *rep, struct run_result *r)
{
    int n = r->n_rank_results, slowest = uneven_rank(rep, r);
    int64_t mean[N_CATEGORIES] = {0}, excess[N_CATEGORIES] = {0}, wait = r->part_ns[PART_WAIT], uneven = 0;
    for (int c = 0; c < N_CATEGORIES; c++) {
        for (int i = 0; i < n; i++)
            mean[c] += r->ranks[i].work_ns[c];
        int64_t more = slowest >= 0 ? r->ranks[slowest].work_ns[c] - mean[c] / n : 0;
        excess[c] = more > 0 ? more : 0;
        uneven += excess[c];
    }
    uneven = uneven < wait ? uneven : wait;
    memset(r->wait_cause_ns, 0, sizeof r->wait_cause_ns);
    r->late_range.name = NULL; /* its share was of the waiting as divided before */
    give(r, excess, uneven);
    r->uneven_wait_ns =
        slowest < 0 ? 0 : r->wait_cause_ns[CAT_COMPUTE] + r->wait_cause_ns[CAT_COPY] + r->wait_cause_ns[CAT_OTHER];
    give(r, mean, wait - uneven);
}
