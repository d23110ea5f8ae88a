/* caveats_cores.c - caveats about shared or held-back cores: more threads than cores, quotas, steal, waiting for a
 * core, and neighbours that use the cores too; cores_busy.c finds who used them. Called by caveats.c; fills
 * run_result.shared. Test: tests/unit/test_cores.c */
#include "render/findings/rules/analyse.h"
#include "render/metrics/cores.h"

#include "render/model/build.h"
#include "render/say/say.h"

#include <string.h>

/* Cores that the ranks of the nodes could use at once: threads, but on no node more than its CPU quota. */
static double cores_wanted(const struct run *a, int threads)
{
    double wanted = 0;
    for (int i = 0; i < a->nodes_len; i++) {
        int ranks = 0;
        for (int k = 0; k < a->ranks_len; k++)
            ranks += a->ranks[k].node == a->nodes[i].node;
        double all = (double)ranks * threads, quota = a->nodes[i].cores_quota;
        quota = quota > 0 ? quota : a->nodes[i].share.cores;
        wanted += quota > 0 && quota < all ? quota : all;
    }
    return wanted;
}

/* Ranks times threads on each kernel against its cores. Nodes that share a kernel share its cores. */
static void check_cores(struct report *rep, int run)
{
    struct run_result *r = &rep->runs[run];
    const struct run *a = r->run;
    int threads = a->program.threads > 0 ? (int)a->program.threads : 1;
    int is_shared = run_is_one_machine(a);
    for (int i = 0; i < a->nodes_len; i++) {
        const struct run_node *n = &a->nodes[i];
        int cores = n->cores_allowed ? n->cores_allowed : n->cores, ranks = 0;
        if (is_shared) {
            ranks = r->n_ranks;
            cores = n->cores_allowed && a->node_kind == NODES_EMULATED ? n->cores_allowed : n->cores;
            int all = cores_of_all(a); /* a launcher may bind the ranks of each stand-in to other cores */
            if (a->node_kind == NODES_EMULATED && all > cores)
                cores = n->cores > 0 && all > n->cores ? n->cores : all;
        } else {
            for (int k = 0; k < a->ranks_len; k++)
                ranks += a->ranks[k].node == n->node;
        }
        if (cores <= 0 || ranks * threads <= cores)
            continue;
        if (a->node_kind != NODES_EMULATED && is_shared && cores_wanted(a, threads) <= cores)
            continue; /* each node's quota leaves room for the others */
        r->shared =
            (struct shared){.kind = SHARED_OVERSUBSCRIBED,
                            .said = PHRASE(CORES_SHARED, slot_things(ranks * threads, threads == 1 ? "rank" : "thread"),
                                           slot_things(cores, "core")),
                            .run_ratio = -1,
                            .cores = (double)cores / threads * (is_shared ? 1 : a->nodes_len)};
        report_add_note(rep, NOTE_CAVEAT, run, NOTE_OVERSUBSCRIBED,
                        is_shared
                            ? PHRASE(RANKS_SHARE, slot_count(ranks), slot_count(threads), slot_count(cores))
                            : PHRASE(RANKS_SHARE_OF_NODE, slot_count(ranks), slot_count(threads), slot_count(cores)),
                        PHRASE(SHARED_UNSURE));
        return;
    }
}

/* Do ranks wait only for their own threads? Other programs and machines that took x cores' worth keep at most x
 * threads more waiting, since each core they leave can run one more thread. They are no limit if x is small on every
 * machine on which a rank waited. Small is at most this share of the threads that waited there, or so little of one
 * core that even a rank that met all of it lost no more time than gain_limits. */
static int is_of_own_threads(const struct report *rep, const struct run *a, double share)
{
    double limit = rep->thresholds.run_delay_limits;
    for (int i = 0; i < a->ranks_len; i++)
        if (a->ranks[i].node < 0 && waiting_for_core(a, &a->ranks[i]) > limit)
            return 0;
    for (int i = 0; i < machines_of(a); i++) {
        struct others o = others_at(a, i);
        double least = 2 * share * rep->thresholds.gain_limits, most = share * o.waiting;
        if (o.delay > limit && (o.cores <= 0 || o.at_most + o.steal * o.cores > (most > least ? most : least)))
            return 0;
    }
    return 1;
}

/* The most that other programs took of the cores of a machine whose ranks waited. */
static double most_taken(const struct report *rep, const struct run *a)
{
    double most = 0;
    for (int i = 0; i < machines_of(a); i++) {
        struct others o = others_at(a, i);
        if (o.delay > rep->thresholds.run_delay_limits && o.cores > 0 && o.at_most / o.cores > most)
            most = o.at_most / o.cores;
    }
    return most;
}

int has_exchange_threads(const struct run_result *r)
{
    int n = 0;
    for (int i = 0; i < r->run->ranks_len; i++)
        n += r->run->ranks[i].most_processes == 1;
    int64_t exchange_ns = r->part_ns[PART_TRANSFER] + r->hidden_comm_ns;
    return n > 1 && n == r->run->ranks_len && 20 * exchange_ns > r->step.mean_ns && run_is_torch_on_hosts(r->run);
}

int has_workers(const struct run *a)
{
    int n = 0;
    for (int i = 0; i < a->ranks_len; i++) /* as worker_time() counts them */
        n += a->ranks[i].most_processes > 1 && a->ranks[i].step_pid == a->ranks[i].monitor_pid;
    return a->program.loader_workers > 0 || (n > 0 && run_may_be_torch(a));
}

/* Loader workers and similar threads wait for the threads that compute, or the reverse. It is not recorded which of
 * them waited, so the stated gain is a bound: if the computing threads waited, their phases are longer by that time. */
static void say_own_threads(struct report *rep, int run, double delay)
{
    struct run_result *r = &rep->runs[run];
    const struct run_program *p = &r->run->program;
    struct others o = others_of(r->run);
    int is_ours = strcmp(p->name, "dcrnn-train") == 0, workers = p->loader_workers > 0 ? (int)p->loader_workers : 0;
    int threads = p->threads > 0 ? (int)p->threads : 1, ranks = r->n_ranks;
    double waited = 0, most = 0;
    for (int i = 0; i < r->run->ranks_len; i++) {
        struct ready k = ready_of(r->run, &r->run->ranks[i]);
        waited = k.waiting > waited ? k.waiting : waited;
    }
    for (int i = 0; i < machines_of(r->run); i++) {
        struct others here = others_at(r->run, i);
        double missing = cores_missing(&here);
        most = missing > most ? missing : most;
    }
    /* Another program can keep each rank that it meets waiting as long as it runs. */
    int is_each_other = is_of_own_threads(rep, r->run, 0.25);
    const struct slot taken = slot_percent(most_taken(rep, r->run)), n_ranks = slot_count(ranks);
    const struct slot n_threads = slot_count(threads), cores = slot_count((int64_t)o.cores);
    const struct phrase own[NOTE_PHRASES] = {
        waited >= 1    ? PHRASE(THREADS_WAITING, slot_number(waited))
        : r->has_steps ? PHRASE(THREADS_WAITED, slot_percent(delay))
                       : PHRASE(THREADS_WAITED_IN_RUN, slot_percent(delay)),
        is_each_other ? PHRASE(FOR_EACH_OTHER, taken) : PHRASE(FOR_OTHERS_TOO, taken),
        workers          ? PHRASE(WORKERS_SHARE, n_ranks, n_threads, slot_count(workers), cores)
        : p->threads > 0 ? PHRASE(HELPERS_SHARE, n_ranks, n_threads, cores)
                         : PHRASE(HELPERS_OF_RANKS, n_ranks, cores)};
    /* If others take enough to matter, any wait in a step may be for a core. */
    int is_exchange = has_exchange_threads(r) && are_threads_few(r);
    if (most > rep->thresholds.gain_limits)
        r->shared = (struct shared){.kind = SHARED_OWN_THREADS,
                                    .said = is_exchange ? PHRASE(EXCHANGE_THREADS_WAIT) : PHRASE(OWN_THREADS_WAIT),
                                    .run_ratio = delay,
                                    .most_ratio = most};
    memcpy(r->shared.own, own, sizeof own);
    r->shared.is_each_other = is_each_other;
    if (most > rep->thresholds.loss_matters)
        report_add_note(rep, NOTE_CAVEAT, run, NOTE_OWN_THREADS, own[0], own[1],
                        are_threads_many(r, processor_of(rep, r).own_ready) ? PHRASE(THREADS_FEWER)
                        : !has_workers(r->run)                              ? PHRASE(HELPERS_FEWER)
                        : is_ours                                           ? PHRASE(WORKERS_FEWER)
                                                                            : PHRASE(LOADERS_FEWER));
}

/* ---- fewer cores than the machine has ---------------------------------------------------------------------- */

static struct others machine_of(const struct run *a, const struct run_rank *k)
{
    for (int i = 0; i < a->nodes_len; i++)
        if (a->nodes[i].node == k->node)
            return others_at(a, machines_of(a) == 1 ? 0 : i);
    return (struct others){0};
}

/* Cores of a rank's node, whether watched or not. */
static int all_cores_of(const struct run *a, const struct run_rank *k)
{
    for (int i = 0; i < a->nodes_len; i++)
        if (a->nodes[i].node == k->node)
            return a->nodes[i].cores;
    return 0;
}

/* May a rank use fewer cores than its node has and than it had threads ready? Not if the node as a whole is nearly
 * full. Unless its own threads waited (is_own), only if the rank had its cores to itself. */
static int is_bound(const struct thresholds *t, const struct run *a, const struct run_rank *k, int is_own)
{
    struct ready p = ready_of(a, k);
    double wanted = p.used + p.waiting;
    if (p.cores <= 0 || p.cores >= all_cores_of(a, k) || 1 - p.cores / wanted <= t->gain_limits ||
        (!is_own && p.used < (1 - t->gain_limits) * p.cores))
        return 0;
    struct others o = machine_of(a, k);
    return o.cores <= 0 || o.own + o.waiting < (1 - t->gain_limits) * o.all_cores;
}

/* A rank that waited although its machine had free cores: it could not use them, or met another program on its own
 * core. */
static int is_kept_from_free_cores(const struct thresholds *t, const struct run *a, const struct run_rank *k)
{
    struct ready p = ready_of(a, k);
    if (waiting_for_core(a, k) <= t->run_delay_limits || p.waiting <= t->gain_limits * (p.used + p.waiting))
        return 0;
    struct others o = machine_of(a, k);
    return o.cores > 0 && o.own + o.waiting < (1 - t->gain_limits) * o.cores;
}

/* A program that does not state its threads, and whose rank had more than one ready. PyTorch starts threads to
 * communicate with other ranks, and processes to load. These processes or threads may have waited, and not the one that
 * makes the steps. */
static int is_of_several(const struct run *a, const struct run_rank *k)
{
    const double one = 1.05; /* one thread, with a margin for the grain of the monitor's times */
    struct ready p = ready_of(a, k);
    return a->program.threads <= 0 && a->program.loader_workers <= 0 &&
           ((k->is_by_hook && (a->ranks_len > 1 || k->most_processes > 1)) || p.used + p.waiting > one);
}

/* The longest wait for a core of a rank that is known to have waited itself; 0 if there is none. */
static double known_delay(const struct run *a)
{
    double most = 0;
    for (int i = 0; i < a->ranks_len; i++) {
        double delay = waiting_for_core(a, &a->ranks[i]);
        most = delay > most && !is_of_several(a, &a->ranks[i]) ? delay : most;
    }
    return most;
}

/* It is unknown whether the waiting threads make the steps, so this is only watched and changes no verdict. */
static void say_several(struct report *rep, int run)
{
    struct run_result *r = &rep->runs[run];
    const struct run_rank *most = &r->run->ranks[0];
    for (int i = 1; i < r->run->ranks_len; i++)
        if (ready_of(r->run, &r->run->ranks[i]).waiting > ready_of(r->run, most).waiting)
            most = &r->run->ranks[i];
    struct ready k = ready_of(r->run, most);
    r->shared.own[0] = PHRASE(SOME_WAITED, slot_count(most->rank), slot_number(k.ran), slot_number(k.waiting));
    r->shared.own[1] = PHRASE(SOME_UNTOLD);
    r->shared.is_of_several = 1;
    report_add_note(rep, NOTE_CAVEAT, run, NOTE_RUN_DELAY, r->shared.own[0], r->shared.own[1], PHRASE(SOME_LONGER));
}

static void say_waits(struct report *rep, int run, double delay)
{
    struct run_result *r = &rep->runs[run];
    const struct thresholds *t = &rep->thresholds;
    const struct run_rank *bound = NULL;
    double most = 0;
    /* Emulated nodes whose shares fit on the machine have cores for all that they may run. */
    int is_own = !has_shares(r->run) && is_of_own_threads(rep, r->run, 0.5), is_kept = 0;
    for (int i = 0; i < r->run->ranks_len; i++) {
        const struct run_rank *k = &r->run->ranks[i];
        struct ready p = ready_of(r->run, k);
        is_kept |= is_own && is_kept_from_free_cores(t, r->run, k);
        if (waiting_for_core(r->run, k) > t->run_delay_limits && is_bound(t, r->run, k, is_own) &&
            1 - p.cores / (p.used + p.waiting) > most) {
            bound = k;
            most = 1 - p.cores / (p.used + p.waiting);
        }
    }
    if (!bound && is_own && !is_kept) {
        say_own_threads(rep, run, delay);
        return;
    }
    double known = known_delay(r->run);
    if (!bound && known <= t->run_delay_limits) {
        say_several(rep, run);
        return;
    }
    delay = bound ? delay : known;
    r->shared = (struct shared){.kind = bound ? SHARED_BOUND : SHARED_RUN_DELAY,
                                .said = r->has_steps ? PHRASE(CORE_AWAITED, slot_percent(delay))
                                                     : PHRASE(CORE_AWAITED_IN_RUN, slot_percent(delay)),
                                .run_ratio = delay,
                                .most_ratio = most};
    if (!bound)
        return;
    struct ready p = ready_of(r->run, bound);
    const struct slot rank = slot_count(bound->rank), cores = slot_count(p.cores);
    const struct slot ready = slot_number(p.used + p.waiting);
    r->shared.said = PHRASE(RANK_BOUND, rank, cores, ready);
    report_add_note(rep, NOTE_CAVEAT, run, NOTE_BOUND, r->shared.said,
                    PHRASE(NODE_HAS_CORES, slot_count(all_cores_of(r->run, bound))), PHRASE(CORES_DOUBT));
}

static void check_held_back(struct report *rep, int run)
{
    struct run_result *r = &rep->runs[run];
    const struct thresholds *t = &rep->thresholds;
    double throttled = 0, steal = steal_of(r->run), delay = 0;
    int is_missed = !has_shares(r->run);
    for (int i = 0; i < r->run->nodes_len; i++) {
        const struct run_node *n = &r->run->nodes[i];
        if (n->throttled_ns > 0 && n->monitor_seconds > 0 &&
            (double)n->throttled_ns / 1e9 / n->monitor_seconds > throttled)
            throttled = (double)n->throttled_ns / 1e9 / n->monitor_seconds;
    }
    for (int i = 0; i < r->run->ranks_len; i++) {
        double ratio = waiting_for_core(r->run, &r->run->ranks[i]);
        delay = ratio > delay ? ratio : delay;
        /* Time that the node missed because ranks waited for a core is not charged to steal. */
        double missed = missed_with_steal(r->run, &r->run->ranks[i]), beside = ratio > t->run_delay_limits ? ratio : 0;
        is_missed |= missed < 0 || missed - beside > t->run_delay_limits;
    }
    steal = is_missed ? steal : 0; /* emulated nodes that got their shares in spite of steal lost nothing by it */
    enum quota quota = quota_of(rep, run);
    throttled = quota == QUOTA_OF_NODES ? 0 : throttled < 1 ? throttled : 1; /* the nodes' speed, not a cause */
    if (throttled > t->throttled_limits) /* the strongest reason: it names the quota, not the neighbours */
        r->shared = (struct shared){.kind = SHARED_THROTTLED,
                                    .said = PHRASE(QUOTA_HOLDS, slot_percent(throttled)),
                                    .run_ratio = throttled,
                                    .is_equal = quota == QUOTA_EQUAL && !r->shared.kind,
                                    .cores = r->shared.cores};
    else if (!r->shared.kind && steal > t->steal_limits)
        r->shared =
            (struct shared){.kind = SHARED_STEAL, .said = PHRASE(CPU_STOLEN, slot_percent(steal)), .run_ratio = steal};
    else if (!r->shared.kind && delay > t->run_delay_limits)
        say_waits(rep, run, delay);
    if (throttled > t->throttled_limits)
        report_add_note(rep, NOTE_CAVEAT, run, NOTE_THROTTLED, PHRASE(QUOTA_HOLDS, slot_percent(throttled)),
                        r->shared.is_equal ? PHRASE(CORES_EQUAL_QUOTA) : PHRASE(QUOTA_LOOKS));
    if (steal > t->steal_limits)
        report_add_note(rep, NOTE_CAVEAT, run, NOTE_STEAL, PHRASE(CPU_STOLEN, slot_percent(steal)),
                        PHRASE(STEAL_VARIES));
    if (delay > t->run_delay_limits && throttled <= t->throttled_limits && /* else it is the same time again */
        !r->shared.own[0].id && r->shared.kind != SHARED_BOUND)
        report_add_note(rep, NOTE_CAVEAT, run, NOTE_RUN_DELAY,
                        r->has_steps ? PHRASE(CORE_AWAITED, slot_percent(delay))
                                     : PHRASE(CORE_AWAITED_IN_RUN, slot_percent(delay)));
}

/* Ranks waited although they had enough cores: something else used the cores, and will do so when they are few. If the
 * number of threads of a rank is unknown, they may have been its own threads. */
static void check_neighbours(struct report *rep)
{
    const struct run_result *waited = NULL;
    for (int i = 0; i < rep->n_runs && !waited; i++)
        waited = rep->runs[i].shared.kind == SHARED_RUN_DELAY && rep->runs[i].run->program.threads > 0 ? &rep->runs[i]
                                                                                                       : NULL;
    for (int i = 0; waited && i < rep->n_runs; i++)
        if (rep->runs[i].shared.kind == SHARED_OVERSUBSCRIBED) {
            report_add_note(rep, NOTE_CAVEAT, i, NOTE_NEIGHBOURS, PHRASE(NEIGHBOURS),
                            PHRASE(NEIGHBOURS_SEEN, slot_name(waited->label)), PHRASE(NEIGHBOURS_LEAVE));
            shared_with_others(rep, &rep->runs[i]);
        }
}

void caveats_of_cores(struct report *rep)
{
    for (int i = 0; i < rep->n_runs; i++) {
        /* No share of a run that failed before its first step is judged. */
        if (rep->runs[i].has_steps || !run_failed(rep->runs[i].run)) {
            check_cores(rep, i);
            check_held_back(rep, i);
        }
        double awaited = others_of(rep->runs[i].run).delay;
        rep->runs[i].shared.awaited_ratio = awaited > 0 ? awaited : 0;
        rep->runs[i].shared.because = say_phrase(&rep->arena, &rep->runs[i].shared.said);
        if (rep->runs[i].shared.kind) {
            struct others o = others_of(rep->runs[i].run);
            rep->runs[i].shared.machine_cores = o.cores;
            rep->runs[i].shared.others_cores = o.taken;
        }
    }
    check_neighbours(rep);
}
