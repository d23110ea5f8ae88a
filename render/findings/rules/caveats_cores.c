/* caveats_cores.c - caveats about shared or held-back cores: more threads than cores, quotas, steal, waiting for a
 * core, and neighbours that use the cores too; who had them: cores_busy.c. Called by caveats.c; fills
 * run_result.shared. Test: tests/unit/test_cores.c */
#include "render/findings/rules/analyse.h"
#include "render/metrics/cores.h"

#include "render/model/build.h"
#include "render/say/format.h"

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
        r->shared = (struct shared){
            .kind = SHARED_OVERSUBSCRIBED,
            .because = report_text(rep, "%d %s share %d %s", ranks * threads, threads == 1 ? "ranks" : "threads", cores,
                                   cores == 1 ? "core" : "cores"),
            .said = PHRASE(CORES_SHARED, slot_things(ranks * threads, threads == 1 ? "rank" : "thread"),
                           slot_things(cores, "core")),
            .run_ratio = -1,
            .cores = (double)cores / threads * (is_shared ? 1 : a->nodes_len)};
        report_add_note(rep, NOTE_CAVEAT, run, NOTE_OVERSUBSCRIBED,
                        "%d ranks of %d %s share %d %s%s. Waiting for a core looks like waiting for a message, "
                        "so communication, imbalance and scaling verdicts are unreliable.",
                        ranks, threads, threads == 1 ? "thread" : "threads", cores, cores == 1 ? "core" : "cores",
                        is_shared ? "" : " of a node");
        return;
    }
}

/* Other programs and machines that took x cores' worth keep at most x threads more waiting than would anyway: each core
 * that they leave one more thread can use. Did they, on every machine on which a rank waited, take less than this share
 * of the threads that waited there? Or so little of one core that even a rank that met all of it lost no more time than
 * gain_limits: then they are no limit. */
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

/* Loader workers and the like wait for the threads that compute, or these for them. Which of them waited is not
 * recorded, so that the gain told is a bound: where it were those that compute, their phases are longer for it. */
static void say_own_threads(struct report *rep, int run, double delay, const char *of)
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
    const char *whom = is_each_other ? "so they waited for each other" : "so they waited for those or for each other";
    const char *all = report_text(rep, "%d %s of %d %s", ranks, ranks == 1 ? "rank" : "ranks", threads,
                                  threads == 1 ? "thread" : "threads");
    if (workers)
        all = report_text(rep, "%s and %d loader %s%s", all, workers, workers == 1 ? "worker" : "workers",
                          ranks == 1 ? "" : " each");
    const char *how = waited < 1
                          ? report_text(rep, "the threads of a rank, taken together, waited for a core for %s of %s",
                                        fmt_percent(delay).text, of)
                          : report_text(rep, "of the threads of a rank %s waited for a core in the mean of %s",
                                        fmt_number(waited).text, of);
    r->shared.own = report_text(rep, "%s; other programs took %s of the cores, %s: %s%s share %g %s", how,
                                fmt_percent(most_taken(rep, r->run)).text, whom, all,
                                workers ? " and the collector"
                                        : ", their helpers (loader workers, communication) and "
                                          "the collector",
                                o.cores, o.cores > 1 ? "cores" : "core");
    r->shared.is_each_other = is_each_other;
    /* So many that it matters: then any wait in a step may be for a core. */
    if (most > rep->thresholds.gain_limits)
        r->shared = (struct shared){
            .kind = SHARED_OWN_THREADS,
            .because = report_text(rep, "the ranks' own threads wait for cores (%s%s share %g %s)", all,
                                   workers ? "" : ", with their helpers,", o.cores, o.cores > 1 ? "cores" : "core"),
            .said = PHRASE(OWN_THREADS_WAIT),
            .run_ratio = delay,
            .most_ratio = most,
            .own = r->shared.own,
            .is_each_other = is_each_other};
    report_add_note(rep, NOTE_CAVEAT, run, NOTE_OWN_THREADS, "%s. What that costs is in the times of their phases; %s.",
                    r->shared.own,
                    is_ours ? "one more core for each rank, or fewer --loader-workers, would end it"
                            : "one more core for each rank (Slurm: --cpus-per-task), fewer helpers (num_workers of the "
                              "DataLoader) or fewer threads (torch.set_num_threads) would end it");
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

/* A rank that may use fewer cores than its node has and than it had threads ready. Not where the node as a whole is as
 * good as full, and unless it was its own threads (is_own) only where the rank had its cores to itself. */
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

/* A rank that waited though its machine had cores left: it could not use them, or met a neighbour on its own. */
static int is_kept_from_free_cores(const struct thresholds *t, const struct run *a, const struct run_rank *k)
{
    struct ready p = ready_of(a, k);
    if (waiting_for_core(a, k) <= t->run_delay_limits || p.waiting <= t->gain_limits * (p.used + p.waiting))
        return 0;
    struct others o = machine_of(a, k);
    return o.cores > 0 && o.own + o.waiting < (1 - t->gain_limits) * o.cores;
}

/* A program that does not say its threads, and whose rank had more ready than one: its forked processes, loader workers
 * or other threads may have waited, and the one that makes the steps not at all. */
static int is_of_several(const struct run *a, const struct run_rank *k)
{
    const double one = 1.05; /* and the grain of the monitor's times */
    struct ready p = ready_of(a, k);
    return a->program.threads <= 0 && a->program.loader_workers <= 0 && p.used + p.waiting > one;
}

/* The longest wait for a core of a rank that is known to have waited itself; 0 none. */
static double known_delay(const struct run *a)
{
    double most = 0;
    for (int i = 0; i < a->ranks_len; i++) {
        double delay = waiting_for_core(a, &a->ranks[i]);
        most = delay > most && !is_of_several(a, &a->ranks[i]) ? delay : most;
    }
    return most;
}

/* Not known to be those that make the steps: watched, and no verdict is changed by it. */
static void say_several(struct report *rep, int run, const char *of)
{
    struct run_result *r = &rep->runs[run];
    const struct run_rank *most = &r->run->ranks[0];
    for (int i = 1; i < r->run->ranks_len; i++)
        if (ready_of(r->run, &r->run->ranks[i]).waiting > ready_of(r->run, most).waiting)
            most = &r->run->ranks[i];
    r->shared.own = report_text(rep,
                                "of the processes and threads of rank %d, taken together, %s waited for a core in the "
                                "mean of %s, and %s ran; whether the one that makes the steps waited is not recorded",
                                most->rank, fmt_number(ready_of(r->run, most).waiting).text, of,
                                fmt_number(ready_of(r->run, most).used).text);
    r->shared.is_of_several = 1;
    report_add_note(rep, NOTE_CAVEAT, run, NOTE_RUN_DELAY, "%s. If it did, its phases are longer for it.",
                    r->shared.own);
}

static void say_waits(struct report *rep, int run, double delay, const char *of)
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
        say_own_threads(rep, run, delay, of);
        return;
    }
    double known = known_delay(r->run);
    if (!bound && known <= t->run_delay_limits) {
        say_several(rep, run, of);
        return;
    }
    delay = bound ? delay : known;
    r->shared = (struct shared){
        .kind = bound ? SHARED_BOUND : SHARED_RUN_DELAY,
        .because = report_text(rep, "a rank waited for a core for %s of %s", fmt_percent(delay).text, of),
        .said =
            r->has_steps ? PHRASE(CORE_AWAITED, slot_percent(delay)) : PHRASE(CORE_AWAITED_IN_RUN, slot_percent(delay)),
        .run_ratio = delay,
        .most_ratio = most};
    if (!bound)
        return;
    struct ready p = ready_of(r->run, bound);
    r->shared.said = PHRASE(RANK_BOUND, slot_count(bound->rank), slot_count(p.cores), slot_number(p.used + p.waiting));
    r->shared.because =
        report_text(rep, "rank %d is bound to fewer cores than it has threads (%d %s, %s threads ready in the mean)",
                    bound->rank, p.cores, p.cores == 1 ? "core" : "cores", fmt_number(p.used + p.waiting).text);
    report_add_note(rep, NOTE_CAVEAT, run, NOTE_BOUND,
                    "%s, while its node has %d. Waiting for a core looks like compute, or like waiting for a "
                    "message.",
                    r->shared.because, all_cores_of(r->run, bound));
}

static void check_held_back(struct report *rep, int run)
{
    struct run_result *r = &rep->runs[run];
    const struct thresholds *t = &rep->thresholds;
    double throttled = 0, steal = 0, delay = 0;
    for (int i = 0; i < r->run->nodes_len; i++) {
        const struct run_node *n = &r->run->nodes[i];
        if (n->throttled_ns > 0 && n->monitor_seconds > 0 &&
            (double)n->throttled_ns / 1e9 / n->monitor_seconds > throttled)
            throttled = (double)n->throttled_ns / 1e9 / n->monitor_seconds;
        if (n->steal_percent.n && n->steal_percent.sum / (double)n->steal_percent.n / 100 > steal)
            steal = n->steal_percent.sum / (double)n->steal_percent.n / 100;
    }
    for (int i = 0; i < r->run->ranks_len; i++) {
        double ratio = waiting_for_core(r->run, &r->run->ranks[i]);
        delay = ratio > delay ? ratio : delay;
    }
    enum quota quota = quota_of(rep, run);
    throttled = quota == QUOTA_OF_NODES ? 0 : throttled < 1 ? throttled : 1; /* the speed of the nodes, and no cause */
    const char *of = r->has_steps ? "the time of its steps" : "its run";
    if (throttled > t->throttled_limits) /* the strongest reason: it names the quota, not the neighbours */
        r->shared = (struct shared){
            .kind = SHARED_THROTTLED,
            .because = report_text(rep, "a CPU quota held a node back for %s of the run", fmt_percent(throttled).text),
            .said = PHRASE(QUOTA_HOLDS, slot_percent(throttled)),
            .run_ratio = throttled,
            .is_equal = quota == QUOTA_EQUAL && !r->shared.kind,
            .cores = r->shared.cores};
    else if (!r->shared.kind && steal > t->steal_limits)
        r->shared = (struct shared){
            .kind = SHARED_STEAL,
            .because = report_text(rep, "other machines took %s of a node's CPU time", fmt_percent(steal).text),
            .said = PHRASE(CPU_STOLEN, slot_percent(steal)),
            .run_ratio = steal};
    else if (!r->shared.kind && delay > t->run_delay_limits)
        say_waits(rep, run, delay, of);
    if (throttled > t->throttled_limits)
        report_add_note(rep, NOTE_CAVEAT, run, NOTE_THROTTLED,
                        "a CPU quota (cgroup) held a node back for %s of the run. That time shows as slow compute "
                        "or late ranks; do not blame the network for it.%s",
                        fmt_percent(throttled).text,
                        r->shared.is_equal ? " It is equal on all nodes and at all node counts, so what they are to "
                                             "each other holds."
                                           : "");
    if (steal > t->steal_limits)
        report_add_note(rep, NOTE_CAVEAT, run, NOTE_STEAL,
                        "other machines took %s of a node's CPU time (steal). Times vary with their load.",
                        fmt_percent(steal).text);
    if (delay > t->run_delay_limits && throttled <= t->throttled_limits && /* under a quota it is the same time again */
        !r->shared.own && r->shared.kind != SHARED_BOUND)
        report_add_note(rep, NOTE_CAVEAT, run, NOTE_RUN_DELAY, "a rank was ready to run but had no core for %s of %s.",
                        fmt_percent(delay).text, of);
}

/* Ranks that waited although they had cores enough: something else used the cores, and will when there are too few.
 * Where nobody says how many threads a rank had, it may have been those. */
static void check_neighbours(struct report *rep)
{
    const struct run_result *waited = NULL;
    for (int i = 0; i < rep->n_runs && !waited; i++)
        waited = rep->runs[i].shared.kind == SHARED_RUN_DELAY && rep->runs[i].run->program.threads > 0 ? &rep->runs[i]
                                                                                                       : NULL;
    for (int i = 0; waited && i < rep->n_runs; i++)
        if (rep->runs[i].shared.kind == SHARED_OVERSUBSCRIBED) {
            report_add_note(rep, NOTE_CAVEAT, i, NOTE_NEIGHBOURS,
                            "something else used the cores too: %s waited for a core though there were enough. "
                            "Fewer ranks alone do not mend that; measure while nothing else runs.",
                            waited->label);
            rep->runs[i].shared.because =
                report_text(rep, "%s, which something else uses too", rep->runs[i].shared.because);
            rep->runs[i].shared.said.id = PHRASE_CORES_SHARED_WITH_OTHERS;
            rep->runs[i].shared.has_neighbours = 1;
        }
}

void caveats_of_cores(struct report *rep)
{
    for (int i = 0; i < rep->n_runs; i++) {
        check_cores(rep, i);
        check_held_back(rep, i);
        if (rep->runs[i].shared.kind) {
            struct others o = others_of(rep->runs[i].run);
            rep->runs[i].shared.machine_cores = o.cores;
            rep->runs[i].shared.others_cores = o.taken;
        }
    }
    check_neighbours(rep);
}
