/* cores_busy.c - what used the cores while the steps ran: how long ranks waited for one, and what other programs took.
 * Called by caveats_cores.c and rules.c. Test: tests/unit/test_cores.c, tests/unit/test_gain.c */
#include "render/metrics/calls.h"
#include "render/metrics/cores.h"
#include "render/metrics/readings.h"

#include <math.h>
#include <string.h>

/* Mean number of threads of a rank that were ready and did not run; -1 not measured. The kernel also counts the time in
 * which a quota stopped them. */
static double ready_threads(const struct run_rank *k)
{
    struct reading_window w = window_of_counted(k);
    if (k->run_delay_ns < 0 || !(k->process_seconds > 0))
        return -1;
    if (readings_cover(k->delays, k->n_delays, w)) {
        int64_t delay = reading_at(k->delays, k->n_delays, w.to).run_delay_ns -
                        reading_at(k->delays, k->n_delays, w.from).run_delay_ns;
        if (delay >= 0)
            return (double)delay / (double)(w.to - w.from);
    }
    return (double)k->run_delay_ns / 1e9 / k->process_seconds;
}

/* Cores' worth of processor time that a rank's processes used in the window; < 0: the readings do not tell. */
static double used_by(const struct run_rank *k, struct reading_window w)
{
    for (int i = 0; i < k->n_delays; i++)
        if (k->delays[i].cpu_ns < 0)
            return -1;
    if (!readings_cover(k->delays, k->n_delays, w))
        return -1;
    return (double)(reading_at(k->delays, k->n_delays, w.to).cpu_ns -
                    reading_at(k->delays, k->n_delays, w.from).cpu_ns) /
           (double)(w.to - w.from);
}

/* For its whole run if the readings do not cover the steps; 0 = not measured. */
static double used_cores(const struct run_rank *k)
{
    double used = used_by(k, window_of_counted(k));
    if (used < 0)
        used = k->cpu_ns >= 0 && k->process_seconds > 0 ? (double)k->cpu_ns / 1e9 / k->process_seconds : 0;
    return used;
}

/* ---- emulated nodes --------------------------------------------------------------------------------------- */

/* Threads of one rank. */
static double threads_of(const struct run *a)
{
    return a->program.threads > 0 ? (double)a->program.threads : 1;
}

/* The node of a rank if a quota sets the node's speed; NULL = it does not. */
static const struct run_node *share_node(const struct run *a, const struct run_rank *k)
{
    for (int i = 0; i < a->nodes_len; i++)
        if (a->nodes[i].node == k->node && a->nodes[i].share.cores > 0)
            return &a->nodes[i];
    return NULL;
}

/* Share of the time in the window, or of the whole run, in which the quota had stopped a node; -1 not measured. */
static double stopped(const struct run_node *n, struct reading_window w)
{
    if (readings_cover(n->busy, n->n_busy, w)) {
        int64_t from = reading_at(n->busy, n->n_busy, w.from).run_delay_ns,
                to = reading_at(n->busy, n->n_busy, w.to).run_delay_ns;
        if (from >= 0 && to >= from)
            return (double)(to - from) / (double)(w.to - w.from);
    }
    return n->throttled_ns >= 0 && n->monitor_seconds > 0 ? (double)n->throttled_ns / 1e9 / n->monitor_seconds : -1;
}

/* Threads on an emulated node that waited for a core although its quota let them run, or whose core other virtual
 * machines had for `stolen` cores' worth of time. This is at most the time that they were ready minus the time that
 * the quota stopped them. It is also at most the time that they were ready beyond what a node of this speed needs
 * for their work. A node that waits within a period and still uses up its quota lost nothing. The collector runs on
 * the share too: it took 0.006 core, with samples every 100 ms. */
static double waiting_on_share(const struct run *a, const struct run_rank *k, const struct run_node *n, double stolen)
{
    const double collector = 0.01; /* cores of the collector, rounded up */
    double ready = 0, used = 0, threads = 0, own = ready_threads(k), off = stopped(n, window_of_counted(k));
    for (int i = 0; i < a->ranks_len; i++) {
        double here = a->ranks[i].node == n->node ? ready_threads(&a->ranks[i]) : -1;
        if (here < 0)
            continue;
        ready += here;
        used += used_cores(&a->ranks[i]);
        threads += threads_of(a);
    }
    /* The kernel counts stolen time neither as used nor as waited for. */
    double left = threads - ready - used, wanted = ready + (left < 0 ? 0 : left < stolen ? left : stolen);
    double lost = wanted + used - (used + collector) / node_speed(a, k), beyond = off >= 0 ? wanted - off : wanted;
    lost = beyond < lost ? beyond : lost;
    return lost > 0 && ready > 0 ? lost * own / ready : 0;
}

/* Mean number of threads of a rank that waited for a core; -1 not measured. */
static double waiting_threads(const struct run *a, const struct run_rank *k)
{
    const struct run_node *n = share_node(a, k);
    double threads = ready_threads(k);
    return n && threads > 0 ? waiting_on_share(a, k, n, 0) : threads;
}

double waiting_for_core(const struct run *a, const struct run_rank *k)
{
    double threads = waiting_threads(a, k);
    return threads < 1 ? threads : 1;
}

double steal_of(const struct run *a)
{
    double most = 0;
    for (int i = 0; i < a->nodes_len; i++) {
        double here = run_node_steal(&a->nodes[i]);
        most = here > most ? here : most;
    }
    return most;
}

double missed_with_steal(const struct run *a, const struct run_rank *k)
{
    const struct run_node *n = share_node(a, k);
    int cores = 0;
    for (int i = 0; i < a->nodes_len; i++) /* each node sees the whole machine, so one that reports it is enough */
        cores = a->nodes[i].cores > cores ? a->nodes[i].cores : cores;
    if (!n || !cores || !(ready_threads(k) > 0))
        return -1;
    return waiting_on_share(a, k, n, steal_of(a) * cores / a->nodes_len);
}

double node_speed(const struct run *a, const struct run_rank *k)
{
    const struct run_node *n = share_node(a, k);
    double threads = 0;
    for (int i = 0; n && i < a->ranks_len; i++)
        if (a->ranks[i].node == n->node)
            threads += threads_of(a);
    return n && n->share.cores < threads ? n->share.cores / threads : 1;
}

double cores_missing(const struct others *o)
{
    double wanted = o->own + o->waiting;
    return wanted > o->cores ? 1 - o->cores / wanted : 0;
}

/* ---- other programs --------------------------------------------------------------------------------------- */

/* Cores' worth of time in which the process that makes the steps ran or waited for a core. It is the first process of
 * the rank, or the second of two, if the first is a shell. all: the time that these ran and waited. < 0: not known. */
static double ready_of_steps(const struct run_rank *k, struct reading_window w, double all)
{
    int is_first = k->step_pid == k->monitor_pid;
    if (k->most_processes == 1)
        return all;
    if (!k->step_pid || !k->monitor_pid || (!is_first && k->most_processes != 2))
        return -1;
    for (int i = 0; i < k->n_delays; i++)
        if (k->delays[i].own_ns < 0)
            return -1;
    double own =
        (double)(reading_at(k->delays, k->n_delays, w.to).own_ns - reading_at(k->delays, k->n_delays, w.from).own_ns) /
        (double)(w.to - w.from);
    own = is_first ? own : all - own;
    return own > 0 ? own : 0;
}

/* A node while its ranks trained: busy cores, and the part that its ranks used. Of the whole run if the readings do not
 * cover the steps. busy < 0: not watched */
struct load {
    double busy, own;
};

static struct load load_of(const struct run *a, const struct run_node *n, int is_shared)
{
    struct reading_window w = {INT64_MAX, INT64_MIN};
    struct load steps = {-1, 0}, all = {-1, 0};
    for (int i = 0; i < a->ranks_len; i++) {
        struct reading_window k = window_of_counted(&a->ranks[i]);
        if (!is_shared && a->ranks[i].node != n->node)
            continue;
        if (k.to > k.from) {
            w.from = k.from < w.from ? k.from : w.from;
            w.to = k.to > w.to ? k.to : w.to;
        }
        all.own += (double)a->ranks[i].cpu_ns / 1e9 / n->monitor_seconds;
    }
    if (n->cpu_percent.n)
        all.busy = n->cpu_percent.sum / (double)n->cpu_percent.n / 100 * n->cores;
    if (w.from >= w.to || !readings_cover(n->busy, n->n_busy, w))
        return all;
    steps.busy = (double)(reading_at(n->busy, n->n_busy, w.to).cpu_ns - reading_at(n->busy, n->n_busy, w.from).cpu_ns) /
                 (double)(w.to - w.from) * n->cores;
    for (int i = 0; i < a->ranks_len; i++) {
        if (!is_shared && a->ranks[i].node != n->node)
            continue;
        double own = used_by(&a->ranks[i], w);
        if (own < 0)
            return all;
        steps.own += own;
    }
    return steps;
}

/* Cores on which the ranks of a node may run. */
static double allowed_on(const struct run *a, const struct run_node *n, int all_cores)
{
    double allowed = n->cores_allowed > 0 ? n->cores_allowed : n->cores;
    if (a->node_kind == NODES_EMULATED && all_cores > allowed)
        allowed = all_cores < n->cores ? all_cores : n->cores;
    return allowed;
}

/* What a node's own monitor saw; cores 0: nothing. */
static struct others seen_on(const struct run *a, const struct run_node *n, int all)
{
    if (n->cpu_percent.n == 0 || n->cores <= 0 || !(n->monitor_seconds > 0))
        return (struct others){0};
    struct load l = load_of(a, n, run_is_one_machine(a));
    double cores = allowed_on(a, n, all), most = l.busy - l.own, here = most - (n->cores - cores);
    return (struct others){.cores = cores,
                           .all_cores = n->cores,
                           .taken = here < 0       ? 0
                                    : here < cores ? here
                                                   : cores,
                           .at_most = most < 0       ? 0
                                      : most < cores ? most
                                                     : cores,
                           .own = l.own,
                           .steal = run_node_steal(n)};
}

int machines_of(const struct run *a)
{
    return run_is_one_machine(a) && a->nodes_len > 1 ? 1 : a->nodes_len;
}

struct others others_at(const struct run *a, int machine)
{
    int is_shared = run_is_one_machine(a), all = is_shared ? cores_of_all(a) : 0;
    struct others sum = {0};
    for (int i = is_shared ? 0 : machine; i < (is_shared ? a->nodes_len : machine + 1); i++) {
        struct others seen = seen_on(a, &a->nodes[i], all);
        if (seen.cores <= 0) /* one collector on a machine is enough to watch it */
            continue;
        seen.taken = seen.taken > sum.taken ? seen.taken : sum.taken;
        seen.at_most = seen.at_most > sum.at_most ? seen.at_most : sum.at_most;
        seen.steal = seen.steal > sum.steal ? seen.steal : sum.steal;
        sum = seen;
    }
    for (int i = 0; i < a->ranks_len; i++) {
        const struct run_rank *k = &a->ranks[i];
        if (!is_shared && k->node != a->nodes[machine].node)
            continue;
        double threads = waiting_threads(a, k), delay = waiting_for_core(a, k);
        sum.cores = k->cpu_ns < 0 ? 0 : sum.cores;
        sum.waiting += threads > 0 ? threads : 0;
        sum.delay = delay > sum.delay ? delay : sum.delay;
    }
    return sum;
}

struct others others_of(const struct run *a)
{
    struct others sum = {0};
    for (int i = 0; i < a->ranks_len; i++)
        if (a->ranks[i].cpu_ns < 0)
            return sum;
    for (int i = 0; i < machines_of(a); i++) {
        struct others o = others_at(a, i);
        if (o.cores <= 0)
            return (struct others){0};
        sum.cores += o.cores;
        sum.all_cores += o.all_cores;
        sum.taken += o.taken;
        sum.at_most += o.at_most;
        sum.own += o.own;
        sum.waiting += o.waiting;
        sum.steal = o.steal > sum.steal ? o.steal : sum.steal;
        sum.delay = o.delay > sum.delay ? o.delay : sum.delay;
    }
    return sum;
}

/* ---- a rank's own cores ------------------------------------------------------------------------------------ */

/* Are at least two readings within the steps? A straight line from start-up on would tell nothing about them. */
static int is_read_within(const struct run_rank *k, struct reading_window w)
{
    int n = 0;
    for (int i = 0; i < k->n_delays; i++)
        n += k->delays[i].t_ns >= w.from && k->delays[i].t_ns <= w.to;
    return n > 1;
}

static int has_gpus(const struct run *a)
{
    int n = a->n_traces + (strcmp(a->program.backend, "cuda") == 0);
    for (int i = 0; i < a->nodes_len; i++)
        n += a->nodes[i].n_gpus;
    return n > 0;
}

/* A node that its quota had stopped was ready, and would have worked. -1 not measured within the steps */
static double waiting_in_steps(const struct run *a, const struct run_rank *k)
{
    const struct run_node *n = share_node(a, k);
    double waiting = ready_threads(k), off = n ? stopped(n, window_of_counted(k)) : -1;
    return is_read_within(k, window_of_counted(k)) ? (waiting >= 0 && off > waiting ? off : waiting) : -1;
}

/* Cores' worth of time in which the processes of a rank ran or waited for a core; < 0: not measured within the steps.
 */
static double ready_in_steps(const struct run *a, const struct run_rank *k)
{
    double used = used_by(k, window_of_counted(k)), waiting = waiting_in_steps(a, k);
    return used < 0 || waiting < 0 ? -1 : used + waiting;
}

int is_held_back(const struct run_result *r)
{
    return r->shared.kind == SHARED_THROTTLED || r->shared.kind == SHARED_STEAL;
}

struct processor processor_of(const struct report *rep, const struct run_result *r)
{
    struct processor p = {.of_work = -1};
    int64_t least_comm = INT64_MAX, step = r->step.mean_ns;
    if (!r->has_steps || step <= 0 || has_gpus(r->run) || is_held_back(r) || r->n_rank_results != r->run->ranks_len)
        return p;
    for (int i = 0; i < r->n_rank_results; i++) {
        const struct run_rank *k = &r->run->ranks[i];
        double used = used_by(k, window_of_counted(k)), ready = ready_in_steps(r->run, k);
        if (k->rank != r->ranks[i].rank || ready < 0)
            return (struct processor){.of_work = -1};
        double own = ready_of_steps(k, window_of_counted(k), ready);
        p.is_of_several |= own < 0 && k->most_processes > 1;
        const int64_t *part = r->ranks[i].part_ns;
        int64_t comm = part[PART_TRANSFER] + part[PART_WAIT];
        int64_t work = part[PART_COMPUTE] + part[PART_COPY] + part[PART_OTHER];
        p.used_cores += used / r->n_rank_results;
        p.own_ready = own < 0 || p.own_ready < 0 ? -1 : p.own_ready + own / r->n_rank_results;
        if (comm < least_comm && work > 0) {
            least_comm = comm;
            p.rank = k->rank;
            p.of_work = (own < 0 ? ready : own) * (double)step / (double)work;
        }
    }
    p.has = p.of_work >= 0;
    p.is_waiting = p.has && p.of_work < rep->thresholds.processor_used;
    return p;
}

/* Threads of dcrnn-train's loader, or processes beside the rank's own. */
static int has_loaders(const struct run *a)
{
    for (int i = 0; i < a->n_command; i++)
        if (strncmp(a->command[i], "--loader", 8) == 0)
            return 1;
    for (int i = 0; i < a->ranks_len; i++)
        if (a->ranks[i].most_processes > 1)
            return 1;
    return 0;
}

enum { MAX_WORKERS = 64 };

/* Cores that a mean worker process of a rank's loader used or waited for, and those of the process that makes the
 * steps. each < 0: not known, or there are none. */
struct worker_time {
    double each, of_steps;
};

static struct worker_time worker_time(const struct run_rank *k, double ready)
{
    double of_steps = ready_of_steps(k, window_of_counted(k), ready);
    if (k->most_processes < 2 || k->step_pid != k->monitor_pid || of_steps < 0)
        return (struct worker_time){-1, 0};
    double left = ready - of_steps;
    return (struct worker_time){(left > 0 ? left : 0) / (k->most_processes - 1), of_steps};
}

/* Time of a mean step in which loading waited for its workers, because the process that makes the steps did not run.
 * A lower bound: all that this process ran beside its compute is taken for loading. */
static double waits_for_workers(const struct run_result *r, int64_t ns, double of_steps)
{
    int64_t work = has_gpus(r->run) ? 0 : r->part_ns[PART_COMPUTE] + r->part_ns[PART_COPY] + r->part_ns[PART_OTHER];
    double beside = of_steps * (double)r->step.mean_ns - (double)work;
    return (double)ns - (beside > 0 ? beside : 0);
}

struct loading loading_of(const struct report *rep, const struct run_result *r, int64_t ns, int may_have_workers)
{
    struct loading l = {0};
    const struct thresholds *t = &rep->thresholds;
    double ready = 0, of_steps = 0, each = 0, workers = 0;
    if (!r->has_steps || ns <= 0 || r->n_rank_results != r->run->ranks_len || is_held_back(r))
        return l;
    for (int i = 0; i < r->n_rank_results; i++) {
        const struct run_rank *k = &r->run->ranks[i];
        double here = ready_in_steps(r->run, k);
        if (k->rank != r->ranks[i].rank || here < 0)
            return l;
        struct worker_time w = worker_time(k, here);
        ready += here / r->n_rank_results;
        of_steps += w.of_steps / r->n_rank_results;
        each = w.each < 0 || each < 0 ? -1 : fmax(each, w.each);
        workers += w.each * (k->most_processes - 1) / r->n_rank_results;
    }
    l.used_ratio = ready * (double)r->step.mean_ns / (double)ns;
    l.is_waiting = l.used_ratio < t->processor_used;
    if (l.is_waiting || !may_have_workers || each < 0 ||
        waits_for_workers(r, ns, of_steps) <= t->data_limits * (double)r->step.mean_ns)
        return l;
    if (each < t->processor_used)
        return (struct loading){.is_waiting = 1, .is_of_workers = 1, .used_ratio = each};
    l.workers_cores = workers;
    return l;
}

int64_t workers_to_hide(const struct run_result *r, int64_t ns, int64_t saved_ns)
{
    int64_t left = r->step.mean_ns - saved_ns;
    /* If loading is much longer than the rest of a step, the rest is too short to derive a number of workers. */
    int is_known = r->loading.is_waiting && !has_loaders(r->run) && left > 0 && ns / left < MAX_WORKERS;
    return is_known ? (ns + left - 1) / left : 0;
}

/* Of the whole run, since nothing marks its steps. */
static double used_outside_of_mpi(const struct report *rep, const struct run_result *r)
{
    const struct mpi_late l = mpi_late(&rep->thresholds, r->run);
    if (!l.has || l.n != 1 || has_gpus(r->run) || is_held_back(r))
        return 0;
    for (int i = 0; i < r->run->ranks_len; i++) {
        const struct run_rank *k = &r->run->ranks[i];
        double left = k->process_seconds * 1e9 - (double)l.most_ns;
        if (k->rank == l.ranks[0] && k->cpu_ns >= 0 && k->run_delay_ns >= 0 && left > 0)
            return (double)(k->cpu_ns + k->run_delay_ns) / left;
    }
    return 0;
}

static int is_compute_awaited(const struct run_result *r)
{
    for (int c = 0; c < N_CATEGORIES; c++)
        if (r->wait_cause_ns[c] > r->wait_cause_ns[CAT_COMPUTE])
            return 0;
    return 1;
}

double late_used(const struct report *rep, const struct run_result *r)
{
    const struct processor *p = &r->processor;
    int is_known = p->has && r->straggler.has && r->straggler.rank == p->rank && is_compute_awaited(r);
    double used = !r->has_steps ? used_outside_of_mpi(rep, r) : is_known ? p->of_work : 0;
    return used < rep->thresholds.processor_used ? used : 0;
}

struct ready ready_of(const struct run *a, const struct run_rank *k)
{
    double waiting = waiting_threads(a, k);
    double ran = used_cores(k);
    return (struct ready){
        .ran = ran, .used = ran / node_speed(a, k), .waiting = waiting > 0 ? waiting : 0, .cores = cores_of_rank(k)};
}
