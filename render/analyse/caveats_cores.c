/* caveats_cores.c - caveats about shared or held-back cores: more threads than cores, quotas, steal, waiting for a
 * core, and neighbours that use the cores too. Called by caveats.c; fills run_result.shared. Test:
 * tests/unit/test_rules.c */
#include "render/analyse/analyse.h"

#include "render/model/build.h"
#include "render/narrate/format.h"

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
    int is_shared = a->node_kind == NODES_EMULATED || a->node_kind == NODES_ONE_KERNEL;
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
        if (a->node_kind == NODES_ONE_KERNEL && cores_wanted(a, threads) <= cores)
            continue; /* each node's quota leaves room for the others */
        r->shared =
            (struct shared){"oversubscribed",
                            report_text(rep, "%d %s share %d %s", ranks * threads, threads == 1 ? "ranks" : "threads",
                                        cores, cores == 1 ? "core" : "cores"),
                            -1,
                            "",
                            (double)cores / threads * (is_shared ? 1 : a->nodes_len),
                            0,
                            0,
                            0,
                            0};
        report_add_note(rep, NOTE_CAVEAT, run, "oversubscribed",
                        "%s: %d ranks of %d %s share %d %s%s. Waiting for a core looks like waiting for a message, "
                        "so communication, imbalance and scaling verdicts are unreliable.",
                        r->label, ranks, threads, threads == 1 ? "thread" : "threads", cores,
                        cores == 1 ? "core" : "cores", is_shared ? "" : " of a node");
        return;
    }
}

/* The counter at a moment, on a straight line between two readings. */
static double delay_at(const struct run_rank *k, int64_t t_ns)
{
    int i = 1;
    while (i < k->n_delays - 1 && k->delays[i].t_ns < t_ns)
        i++;
    const struct run_delay *a = &k->delays[i - 1], *b = &k->delays[i];
    double part = b->t_ns > a->t_ns ? (double)(t_ns - a->t_ns) / (double)(b->t_ns - a->t_ns) : 0;
    part = part < 0 ? 0 : part > 1 ? 1 : part;
    return (double)a->run_delay_ns + part * (double)(b->run_delay_ns - a->run_delay_ns);
}

double waiting_for_core(const struct run_rank *k)
{
    if (k->run_delay_ns < 0 || !(k->process_seconds > 0))
        return -1;
    if (k->n_steps && k->n_delays > 1) { /* start-up and the end are no training */
        const struct step_record *last = &k->steps[k->n_steps - 1];
        int64_t from = k->steps[0].start_ns, to = last->start_ns + last->step_ns;
        int is_covered = from >= k->delays[0].t_ns && to <= k->delays[k->n_delays - 1].t_ns + (to - from) / 4;
        double delay = is_covered ? delay_at(k, to) - delay_at(k, from) : -1;
        if (is_covered && to > from && delay >= 0)
            return delay < (double)(to - from) ? delay / (double)(to - from) : 1;
    }
    double ratio = (double)k->run_delay_ns / 1e9 / k->process_seconds;
    return ratio < 1 ? ratio : 1;
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
        double ratio = waiting_for_core(&r->run->ranks[i]);
        delay = ratio > delay ? ratio : delay;
    }
    throttled = throttled < 1 ? throttled : 1;
    if (throttled > t->throttled_limits) /* the strongest reason: it names the quota, not the neighbours */
        r->shared = (struct shared){
            "throttled",
            report_text(rep, "a CPU quota held a node back for %s of the run", fmt_percent(throttled).text),
            throttled,
            "throttled_limits",
            r->shared.cores,
            0,
            0,
            0,
            0};
    else if (!*r->shared.id && steal > t->steal_limits)
        r->shared = (struct shared){
            "steal", report_text(rep, "other machines took %s of a node's CPU time", fmt_percent(steal).text),
            steal,   "steal_limits",
            0,       0,
            0,       0,
            0};
    else if (!*r->shared.id && delay > t->run_delay_limits)
        r->shared = (struct shared){"run-delay",
                                    report_text(rep, "a rank waited for a core for %s of %s", fmt_percent(delay).text,
                                                r->has_steps ? "the time of its steps" : "its run"),
                                    delay,
                                    "run_delay_limits",
                                    0,
                                    0,
                                    0,
                                    0,
                                    0};
    if (throttled > t->throttled_limits)
        report_add_note(rep, NOTE_CAVEAT, run, "throttled",
                        "%s: a CPU quota (cgroup) held a node back for %s of the run. That time shows as slow compute "
                        "or late ranks; do not blame the network for it.",
                        r->label, fmt_percent(throttled).text);
    if (steal > t->steal_limits)
        report_add_note(rep, NOTE_CAVEAT, run, "steal",
                        "%s: other machines took %s of a node's CPU time (steal). Times vary with their load.",
                        r->label, fmt_percent(steal).text);
    if (delay > t->run_delay_limits && throttled <= t->throttled_limits) /* under a quota it is the same time again */
        report_add_note(rep, NOTE_CAVEAT, run, "run-delay", "%s: a rank was ready to run but had no core for %s of %s.",
                        r->label, fmt_percent(delay).text, r->has_steps ? "the time of its steps" : "its run");
}

/* Ranks that waited although they had cores enough: something else used the cores, and will when there are too few.
 * Where nobody says how many threads a rank had, it may have been those. */
static void check_neighbours(struct report *rep)
{
    const struct run_result *waited = NULL;
    for (int i = 0; i < rep->n_runs && !waited; i++)
        waited = strcmp(rep->runs[i].shared.id, "run-delay") == 0 && rep->runs[i].run->program.threads > 0
                     ? &rep->runs[i]
                     : NULL;
    for (int i = 0; waited && i < rep->n_runs; i++)
        if (strcmp(rep->runs[i].shared.id, "oversubscribed") == 0) {
            report_add_note(rep, NOTE_CAVEAT, i, "neighbours",
                            "%s: something else used the cores too: %s waited for a core though there were enough. "
                            "Fewer ranks alone do not mend that; measure while nothing else runs.",
                            rep->runs[i].label, waited->label);
            rep->runs[i].shared.because =
                report_text(rep, "%s, which something else uses too", rep->runs[i].shared.because);
            rep->runs[i].shared.has_neighbours = 1;
        }
}

/* Cores of a node on which ranks may run, and how many cores were busy there. 0: not watched */
struct watched {
    double cores, busy, elsewhere; /* elsewhere: cores on which no rank may run */
    double seconds;
};

static struct watched watched_node(const struct run *a, const struct run_node *n, int all_cores)
{
    const struct sampled *c = &n->cpu_percent;
    if (c->n == 0 || n->cores <= 0 || !(n->monitor_seconds > 0))
        return (struct watched){0};
    double allowed = n->cores_allowed > 0 ? n->cores_allowed : n->cores;
    if (a->node_kind == NODES_EMULATED && all_cores > allowed)
        allowed = all_cores < n->cores ? all_cores : n->cores;
    return (struct watched){allowed, c->sum / (double)c->n / 100 * n->cores, n->cores - allowed, n->monitor_seconds};
}

/* What the nodes' CPU monitors have as busy, less what the ranks' processes used: other programs. Those may have run on
 * cores that the ranks may not use; only what does not fit there is taken to have been on theirs. Stand-ins for nodes
 * all watch one machine: the busiest reading counts, against all ranks. */
static void measure_others(struct run_result *r)
{
    const struct run *a = r->run;
    int is_shared = a->node_kind == NODES_EMULATED || a->node_kind == NODES_ONE_KERNEL, all = cores_of_all(a);
    struct watched sum = {0};
    double own_s = 0, others = 0;
    for (int k = 0; k < a->ranks_len; k++) {
        if (a->ranks[k].cpu_ns < 0)
            return;
        own_s += (double)a->ranks[k].cpu_ns / 1e9;
    }
    for (int i = 0; i < a->nodes_len; i++) {
        struct watched w = watched_node(a, &a->nodes[i], all);
        double own = own_s;
        if (!(w.cores > 0))
            return;
        for (int k = 0; k < a->ranks_len && !is_shared; k++)
            own -= a->ranks[k].node == a->nodes[i].node ? 0 : (double)a->ranks[k].cpu_ns / 1e9;
        double here = w.busy - own / w.seconds - w.elsewhere;
        here = here < 0 ? 0 : here < w.cores ? here : w.cores;
        sum.cores = is_shared ? w.cores : sum.cores + w.cores;
        others = !is_shared ? others + here : here > others ? here : others;
    }
    r->shared.machine_cores = sum.cores;
    r->shared.others_cores = others;
}

void caveats_of_cores(struct report *rep)
{
    for (int i = 0; i < rep->n_runs; i++) {
        check_cores(rep, i);
        check_held_back(rep, i);
        if (*rep->runs[i].shared.id)
            measure_others(&rep->runs[i]);
    }
    check_neighbours(rep);
}
