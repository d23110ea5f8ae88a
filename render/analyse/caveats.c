/* caveats.c - what a reader must know before any verdict: where the nodes were, shared or held-back resources, short
 * or cut runs, and everything that is missing. Caveats lower confidence; gaps also change the exit status. */
#include "render/analyse/analyse.h"

#include "render/model/build.h"
#include "render/narrate/format.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *report_text(struct report *rep, const char *fmt, ...)
{
    char text[4096];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return dcr_arena_strdup(&rep->arena, text);
}

void report_add_note(struct report *rep, enum note_kind kind, int run, const char *id, const char *fmt, ...)
{
    char text[2048];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    rep->notes = arena_grow(&rep->arena, rep->notes, (size_t)rep->n_notes, &rep->notes_cap, sizeof *rep->notes);
    rep->notes[rep->n_notes++] = (struct note){kind, run, id, dcr_arena_strdup(&rep->arena, text)};
    rep->n_gaps += kind == NOTE_GAP;
}

/* ---- where the nodes were ------------------------------------------------------------------------ */

static const char *number_word(int n)
{
    static const char *const words[] = {"no",    "one",   "two",  "three", "four",   "five",  "six",
                                        "seven", "eight", "nine", "ten",   "eleven", "twelve"};
    return n >= 0 && n < (int)(sizeof words / sizeof *words) ? words[n] : "several";
}

static void say_nodes(struct report *rep)
{
    int most = 0, n_emulated = 0, n_one_kernel = 0, n_unknown = 0;
    const struct run *largest = NULL;
    for (int i = 0; i < rep->n_runs; i++) {
        const struct run *r = rep->runs[i].run;
        if (rep->runs[i].n_nodes > most) {
            most = rep->runs[i].n_nodes;
            largest = r;
        }
        n_emulated += r->node_kind == NODES_EMULATED;
        n_one_kernel += r->node_kind == NODES_ONE_KERNEL;
        n_unknown += r->node_kind == NODES_UNKNOWN && rep->runs[i].n_nodes > 1;
    }
    rep->node_label = "";
    if (n_emulated) {
        rep->node_label = "emulated nodes: ranks of one host";
        report_add_note(
            rep, NOTE_CAVEAT, -1, "emulated",
            "The nodes are emulated: ranks of one host stand in for them. They share its memory, caches and "
            "cores, and no network lies between them.");
    } else if (n_one_kernel && largest) {
        int is_slurm = strcmp(largest->scheduler, "slurm") == 0;
        rep->node_label = report_text(rep, "%s %snodes on one kernel", number_word(most), is_slurm ? "Slurm " : "");
        report_add_note(rep, NOTE_CAVEAT, -1, "one-kernel",
                        "The nodes are %s: they have one boot id, so they share one machine's cores and memory, and "
                        "the network between them is virtual.",
                        rep->node_label);
    }
    if (n_unknown)
        report_add_note(rep, NOTE_GAP, -1, "node-kind",
                        "Whether the nodes were separate machines is unknown: the archives do not say.");
}

/* ---- resources ------------------------------------------------------------------------------------ */

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
            0};
    else if (!*r->shared.id && steal > t->steal_limits)
        r->shared = (struct shared){
            "steal", report_text(rep, "other machines took %s of a node's CPU time", fmt_percent(steal).text),
            steal,   "steal_limits",
            0,       0};
    else if (!*r->shared.id && delay > t->run_delay_limits)
        r->shared = (struct shared){"run-delay",
                                    report_text(rep, "a rank waited for a core for %s of %s", fmt_percent(delay).text,
                                                r->has_steps ? "the time of its steps" : "its run"),
                                    delay,
                                    "run_delay_limits",
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

/* Ranks that waited although they had cores enough: something else used the cores, and will when there are too few. */
static void check_neighbours(struct report *rep)
{
    const struct run_result *waited = NULL;
    for (int i = 0; i < rep->n_runs && !waited; i++)
        waited = strcmp(rep->runs[i].shared.id, "run-delay") == 0 ? &rep->runs[i] : NULL;
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

/* ---- the run itself ------------------------------------------------------------------------------- */

/* Traces of some of a job's ranks: what they lost to the others shows as theirs. */
static void check_ranks_here(struct report *rep, int run)
{
    const struct run_result *r = &rep->runs[run];
    const struct run *a = r->run;
    int64_t of = 0;
    int here = 0;
    for (int i = 0; i < a->n_traces; i++) {
        int is_new = 1;
        for (int k = 0; k < i; k++)
            is_new &= a->traces[k].rank != a->traces[i].rank;
        here += is_new;
        of = a->traces[i].world_size > of ? a->traces[i].world_size : of;
    }
    here = a->ranks_len > here ? a->ranks_len : here;
    if (of > here)
        report_add_note(rep, NOTE_CAVEAT, run, "ranks-missing",
                        here == 1
                            ? "%s: traces of %d of the %lld ranks are here; which rank the others waited for, and "
                              "how long, does not show in it."
                            : "%s: traces of %d of the %lld ranks are here; transfer, waiting and which rank comes "
                              "last are computed from these alone.",
                        r->label, here, (long long)of);
}

/* The only trace of a run, as one of many ranks; NULL when it is none. */
static const struct foreign_trace *rank_alone(const struct run *r)
{
    return r->is_foreign && r->n_traces == 1 && r->traces[0].world_size > 1 && r->traces[0].rank >= 0 ? &r->traces[0]
                                                                                                      : NULL;
}

/* Ranks of one run, given as files of their own, are read as runs of their own. */
static void check_loose_ranks(struct report *rep)
{
    for (int i = 0; i < rep->n_runs; i++)
        for (int k = i + 1; k < rep->n_runs; k++) {
            const struct foreign_trace *a = rank_alone(rep->runs[i].run), *b = rank_alone(rep->runs[k].run);
            if (!a || !b || a->world_size != b->world_size || a->rank == b->rank)
                continue;
            report_add_note(rep, NOTE_GAP, -1, "loose-ranks",
                            "'%s' and '%s' are ranks %lld and %lld of %lld and look like one run: put the traces of "
                            "all its ranks into one folder and give that, to have them analysed together.",
                            rep->runs[i].run->archive, rep->runs[k].run->archive, (long long)a->rank,
                            (long long)b->rank, (long long)a->world_size);
            return;
        }
}

static void check_run(struct report *rep, int run)
{
    const struct run_result *r = &rep->runs[run];
    const struct run *a = r->run;
    uint64_t n_dropped = 0, n_bad = 0;
    int n_torn = 0, n_failed = 0;
    for (int i = 0; i < a->ranks_len; i++) {
        n_dropped += a->ranks[i].n_dropped;
        n_bad += a->ranks[i].n_bad_blocks;
        n_torn += a->ranks[i].is_torn;
        n_failed += a->ranks[i].exit_status > 0 || a->ranks[i].signal > 0;
    }
    if (!a->is_complete && a->n_incomplete_because == 0)
        report_add_note(rep, NOTE_GAP, run, "incomplete", "%s: the run is incomplete; the archive does not say why.",
                        r->label);
    for (int i = 0; i < a->n_incomplete_because; i++)
        report_add_note(rep, NOTE_GAP, run, "incomplete", "%s: the run is incomplete: %s%s", r->label,
                        a->incomplete_because[i],
                        a->incomplete_because[i][strlen(a->incomplete_because[i]) - 1] == '.' ? "" : ".");
    if (n_failed && a->is_complete)
        report_add_note(rep, NOTE_CAVEAT, run, "failed", "%s: %s ended with an error.", r->label,
                        fmt_count(n_failed, "rank").text);
    if (n_dropped)
        report_add_note(rep, NOTE_GAP, run, "dropped",
                        "%s: %llu events were dropped while recording, so that some steps may lack phases.", r->label,
                        (unsigned long long)n_dropped);
    if (n_bad || n_torn)
        report_add_note(rep, NOTE_GAP, run, "torn",
                        "%s: %s cut or damaged (%llu blocks unreadable); what came before is used.", r->label,
                        n_torn > 1 ? "traces are" : "a trace is", (unsigned long long)n_bad);
    if (a->has_window)
        report_add_note(rep, NOTE_CAVEAT, run, "window",
                        "%s: a part of the run was recorded, as it was asked for (--steps, --delay, --duration or "
                        "--capture-range); steps are those of that part.",
                        r->label);
    if (r->has_steps && (double)r->n_counted < rep->thresholds.few_steps)
        report_add_note(
            rep, NOTE_CAVEAT, run, "few-steps", "%s: only %s counted; below %.0f the figures are a first impression%s.",
            r->label, fmt_count(r->n_counted, "step").text, rep->thresholds.few_steps,
            (double)(r->step.mean_ns - r->step.median_ns) > rep->thresholds.step_cv * (double)r->step.median_ns
                ? report_text(rep, ", and single slow ones make the mean: %s against a median of %s",
                              fmt_time(r->step.mean_ns).text, fmt_time(r->step.median_ns).text)
                : "");
    if (r->n_partial_steps)
        report_add_note(rep, NOTE_CAVEAT, run, "partial-steps", "%s: %s not seen on all ranks and left out.", r->label,
                        fmt_count(r->n_partial_steps, "step").text);
    for (int i = 0; i < a->ranks_len; i++)
        if (a->ranks[i].n_inconsistent)
            report_add_note(rep, NOTE_GAP, run, "inconsistent",
                            "%s: on rank %d the phases of %llu steps are longer than the step; they were cut to fit.",
                            r->label, a->ranks[i].rank, (unsigned long long)a->ranks[i].n_inconsistent);
    if (strcmp(a->program.allreduce_dtype, "none") == 0 && r->n_ranks > 1)
        report_add_note(
            rep, NOTE_CAVEAT, run, "no-exchange",
            "%s: the ranks exchanged no gradients (--allreduce-dtype none), so that each trained a model of "
            "its own: its times are a measurement, its accuracy means nothing.",
            r->label);
    if (r->n_nodes == 0 && !a->is_foreign)
        report_add_note(rep, NOTE_GAP, run, "nodes-unknown",
                        "%s: the number of nodes is unknown (no metadata, no folder name); pass --nodes N.", r->label);
    for (int i = 0; i < a->n_gaps; i++)
        report_add_note(rep, NOTE_GAP, run, "missing", "%s: %s", r->label, a->gaps[i]);
}

/* The largest sample of a GPU's clock is what it can do here; a mean far below it while the GPU works is throttling, or
 * a GPU that idles and clocks down: both make its times smaller truths. */
static void check_clocks(struct report *rep, int run)
{
    const struct run_result *r = &rep->runs[run];
    double worst = 1;
    int node = 0, gpu = 0;
    for (int i = 0; i < r->run->nodes_len; i++)
        for (int k = 0; k < r->run->nodes[i].n_gpus; k++) {
            const struct run_gpu *g = &r->run->nodes[i].gpus[k];
            double used =
                g->utilization_percent.n ? g->utilization_percent.sum / (double)g->utilization_percent.n / 100 : 0;
            if (g->sm_clock_mhz.n < 2 || !(g->sm_clock_mhz.max > 0) || used < rep->thresholds.gpu_utilization)
                continue;
            double ratio = g->sm_clock_mhz.sum / (double)g->sm_clock_mhz.n / g->sm_clock_mhz.max;
            if (ratio < worst) {
                worst = ratio;
                node = r->run->nodes[i].node;
                gpu = g->gpu_id;
            }
        }
    if (worst < rep->thresholds.clock)
        report_add_note(
            rep, NOTE_CAVEAT, run, "clocks",
            "%s: the SM clock of GPU %d on node %d was %s of its highest in the mean while it was busy: it was "
            "throttled (power, heat), so its times are not those of the GPU at full clock.",
            r->label, gpu, node, fmt_percent(worst).text);
}

/* A few steps of a long job: whether the rest ran alike is not known. */
static void check_cover(struct report *rep, int run)
{
    const struct run_result *r = &rep->runs[run];
    double job = r->run->ended_s - r->run->started_s, steps = (double)r->wall_ns / 1e9;
    if (!r->has_steps || !(r->run->started_s > 0) || !(job > 60) || steps <= 0 ||
        steps >= rep->thresholds.covered * job)
        return;
    report_add_note(rep, NOTE_CAVEAT, run, "little-covered",
                    "%s: the recorded steps cover %s of the job's %s; whether the rest ran alike is not known.",
                    r->label, fmt_percent(steps / job).text, fmt_time((int64_t)(job * 1e9)).text);
}

/* Differences between compared runs that explain differing speed on their own. */
static void check_equal(struct report *rep, const struct series *s)
{
    const struct run *first = rep->runs[s->points[0].runs[0]].run;
    unsigned which = 0;
    for (int i = 0; i < s->n_points; i++)
        for (int k = 0; k < s->points[i].n_runs; k++)
            which |= unlike(&rep->thresholds, first, rep->runs[s->points[i].runs[k]].run);
    const char *what = unlike_names(rep, which);
    if (*what)
        report_add_note(
            rep, NOTE_CAVEAT, -1, "differing",
            "The compared runs are not comparable as they are: they used different %s; part of the difference in speed "
            "may come from that.",
            what);
}

/* Repetitions that disagree: whatever made them differ is in every number made from them. */
static void check_repetitions(struct report *rep, const struct series *s)
{
    for (int i = 0; i < s->n_points; i++) {
        const struct series_point *p = &s->points[i];
        double spread = repetition_spread(rep, p);
        if (spread > rep->thresholds.step_cv)
            report_add_note(rep, NOTE_CAVEAT, -1, "repetitions",
                            "The %d runs on %s differ by %s of their mean step time: they did not run under the same "
                            "conditions, so speed-ups from them are uncertain.",
                            p->n_runs, fmt_count(p->n_nodes, rep->unit).text, fmt_percent(spread).text);
    }
}

/* Runs that broke off are no measurement of the same work as those that did not. */
static void check_left_out(struct report *rep, const struct series *s)
{
    for (int i = 0; i < s->n_points; i++) {
        const struct series_point *p = &s->points[i];
        const char *names = "";
        for (int k = 0; k < p->n_left_out; k++)
            names = report_text(rep, "%s%s'%s'", names, k ? ", " : "", rep->runs[p->left_out[k]].run->archive);
        if (p->n_left_out)
            report_add_note(rep, NOTE_CAVEAT, -1, "left-out",
                            "%s on %s %s incomplete (%s) and left out of means, speed-ups and comparisons; the "
                            "complete %s used.",
                            fmt_count(p->n_left_out, "run").text, fmt_count(p->n_nodes, rep->unit).text,
                            p->n_left_out == 1 ? "is" : "are", names, p->n_runs == 1 ? "one is" : "ones are");
    }
}

/* Is the name one of those in "a, b"? */
static int is_named(const char *names, const char *name, size_t n)
{
    for (; *names; names += strspn(names, ", ")) {
        size_t k = strcspn(names, ",");
        if (k == n && strncmp(names, name, n) == 0)
            return 1;
        names += k;
    }
    return 0;
}

/* Of the first run of the first series against the first of each other. */
static const char *what_differs(struct report *rep)
{
    const char *all = "";
    for (int i = 1; i < rep->n_runs; i++) {
        int is_first = 1;
        for (int k = 0; k < i; k++)
            is_first &= rep->runs[k].series != rep->runs[i].series;
        const char *at = is_first ? differing_keys(rep, &rep->runs[0], &rep->runs[i]) : "";
        for (size_t n; *at; at += n, at += strspn(at, ", ")) {
            n = strcspn(at, ",");
            if (!is_named(all, at, n))
                all = report_text(rep, "%s%s%.*s", all, *all ? ", " : "", (int)n, at);
        }
    }
    return *all ? all : "command";
}

static void check_series(struct report *rep)
{
    int n_with_points = 0;
    for (int i = 0; i < rep->n_series; i++) {
        n_with_points += rep->series[i].n_points > 1;
        check_equal(rep, &rep->series[i]);
        check_repetitions(rep, &rep->series[i]);
        check_left_out(rep, &rep->series[i]);
    }
    if (rep->n_series > 1)
        report_add_note(rep, NOTE_GAP, -1, "mixed",
                        "The archives are of %d different configurations, which are not compared with each other "
                        "(they differ in: %s); each is reported by itself.",
                        rep->n_series, what_differs(rep));
    if (n_with_points == 0 && rep->runs[0].n_nodes > 0)
        report_add_note(rep, NOTE_GAP, -1, "one-node-count",
                        "%s: nothing can be said about scaling; add runs with other node counts.",
                        rep->n_runs == 1 ? "There is one archive only"
                        : rep->runs[0].n_nodes == rep->runs[rep->n_runs - 1].n_nodes
                            ? "The archives are of one node count only"
                            : "No two archives of different node counts are of one configuration");
    for (int i = 0; i < rep->n_series; i++)
        if (rep->series[i].kind == SCALING_UNKNOWN)
            report_add_note(rep, NOTE_GAP, -1, "scaling-unknown",
                            "Whether the scaling is strong or weak is unknown: the archives do not say the global "
                            "batch. Speed-up is from throughput; lost time cannot be split.");
}

/* What decides whether the numbers mean anything comes before what only dims them. */
static int is_grave(const struct note *x)
{
    return strcmp(x->id, "repetitions") == 0 || strcmp(x->id, "left-out") == 0;
}

/* Caveats first, grave ones before others, then gaps; otherwise as they came. */
static void order_notes(struct report *rep)
{
    if (rep->n_notes == 0)
        return;
    struct note *ordered = dcr_arena_alloc(&rep->arena, (size_t)rep->n_notes * sizeof *ordered);
    int n = 0;
    for (int i = 0; i < rep->n_notes; i++)
        if (is_grave(&rep->notes[i]))
            ordered[n++] = rep->notes[i];
    for (int kind = NOTE_CAVEAT; kind <= NOTE_GAP; kind++)
        for (int i = 0; i < rep->n_notes; i++)
            if (rep->notes[i].kind == (enum note_kind)kind && !is_grave(&rep->notes[i]))
                ordered[n++] = rep->notes[i];
    rep->notes = ordered;
    rep->notes_cap = (size_t)rep->n_notes;
}

void caveats(struct report *rep)
{
    say_nodes(rep);
    for (int i = 0; i < rep->n_runs; i++) {
        check_cores(rep, i);
        check_held_back(rep, i);
    }
    check_neighbours(rep);
    for (int i = 0; i < rep->n_runs; i++) {
        check_run(rep, i);
        check_ranks_here(rep, i);
    }
    for (int i = 0; i < rep->n_runs; i++) {
        check_clocks(rep, i);
        check_cover(rep, i);
    }
    check_loose_ranks(rep);
    check_series(rep);
    order_notes(rep);
}
