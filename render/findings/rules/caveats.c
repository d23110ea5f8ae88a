/* caveats.c - what a reader must know before any verdict: where the nodes were, short or cut runs, and everything that
 * is missing; cores in caveats_cores.c, runs that are compared in caveats_series.c. Caveats lower confidence; gaps also
 * change the exit status. */
#include "render/findings/rules/analyse.h"
#include "render/metrics/cores.h"
#include "render/metrics/recorded.h"
#include "render/metrics/rule.h"

#include "render/metrics/device_shares.h"

#include "lib/fs.h"
#include "render/model/build.h"
#include "render/say/format.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double TRACED_PART_GAP = 0.10; /* of utilisation; docs/metrics.md */

/* ---- where the nodes were ------------------------------------------------------------------------ */

static const char *number_word(int n)
{
    static const char *const words[] = {"no",    "one",   "two",  "three", "four",   "five",  "six",
                                        "seven", "eight", "nine", "ten",   "eleven", "twelve"};
    return n >= 0 && n < (int)(sizeof words / sizeof *words) ? words[n] : "several";
}

static int is_same_share(const struct node_share *a, const struct node_share *b)
{
    return fabs(a->cores - b->cores) <= 0.01 * a->cores && a->link_bit_per_s == b->link_bit_per_s;
}

const char *share_words(struct report *rep, const struct node_share *s, int n_nodes)
{
    const char *each = n_nodes == 1 ? "" : " each", *unit = s->cores > 1 ? "cores" : "core";
    const char *share = s->cores > 0 ? report_text(rep, "%.4g %s", s->cores, unit) : "cores shared";
    if (s->link_bit_per_s)
        return report_text(rep, "%s, %s%s", share, fmt_bit_rate((double)s->link_bit_per_s).text, each);
    return report_text(rep, "%s%s, %s not shaped", share, s->cores > 0 ? each : "", n_nodes == 1 ? "link" : "links");
}

/* Emulated nodes that are parts of one machine: as the label says it, and what follows for the reader. */
static void say_shares(struct report *rep)
{
    const struct node_share *first = NULL;
    int n_others = 0, n_unlike = 0, n_runs = 0;
    for (int i = 0; i < rep->n_runs; i++) {
        const struct run *a = rep->runs[i].run;
        if (a->node_kind != NODES_EMULATED &&
            a->node_kind != NODES_SHARES) /* another program, on this machine itself */
            continue;
        n_runs++;
        for (int k = 0; k < rep->runs[i].run->nodes_len; k++) {
            const struct node_share *s = &rep->runs[i].run->nodes[k].share;
            first = first ? first : s;
            n_others += k > 0;
            n_unlike += !s->has || !is_same_share(first, s);
        }
        n_unlike += first && first->cores > 0 && quota_of(rep, i) == QUOTA_UNEQUAL; /* whatever was asked for */
    }
    rep->node_label = n_unlike ? "emulated nodes: unlike parts of one machine"
                               : report_text(rep, "emulated node%s: %s", n_others ? "s" : "",
                                             share_words(rep, first, n_others ? 2 : 1));
    report_add_note(
        rep, NOTE_CAVEAT, -1, NOTE_EMULATED, "The %s%s of one machine%s. %sbsolute times are not those of real nodes.",
        n_runs < rep->n_runs ? "emulated " : "",
        n_unlike   ? "nodes are unlike parts"
        : n_others ? "nodes are equal parts"
                   : "node is a part",
        n_unlike || first->cores > 0 ? "" : ", whose cores they share",
        n_unlike || !(first->cores > 0) ? "A"
                                        : "Scaling, communication and imbalance hold for this emulated cluster, a");
}

static void say_nodes(struct report *rep)
{
    int most = 0, n_emulated = 0, n_one_kernel = 0, n_unknown = 0, n_shares = 0;
    const struct run *largest = NULL;
    for (int i = 0; i < rep->n_runs; i++) {
        const struct run *r = rep->runs[i].run;
        if (rep->runs[i].n_nodes > most) {
            most = rep->runs[i].n_nodes;
            largest = r;
        }
        n_emulated += r->node_kind == NODES_EMULATED;
        n_shares += r->node_kind == NODES_SHARES;
        n_one_kernel += r->node_kind == NODES_ONE_KERNEL;
        n_unknown += r->node_kind == NODES_UNKNOWN && rep->runs[i].n_nodes > 1;
    }
    rep->node_label = "";
    if (n_emulated) {
        rep->node_label = "emulated nodes: ranks of one host";
        report_add_note(
            rep, NOTE_CAVEAT, -1, NOTE_EMULATED,
            "The nodes are emulated: ranks of one host stand in for them. They share its memory, caches and "
            "cores, and no network lies between them.");
    } else if (n_one_kernel && largest) {
        int is_slurm = strcmp(largest->scheduler, "slurm") == 0;
        rep->node_label = report_text(rep, "%s %snodes on one kernel", number_word(most), is_slurm ? "Slurm " : "");
        report_add_note(rep, NOTE_CAVEAT, -1, NOTE_ONE_KERNEL,
                        "The nodes are %s: they have one boot id, so they share one machine's cores and memory, and "
                        "the network between them is virtual.",
                        rep->node_label);
    }
    if (n_shares)
        say_shares(rep);
    if (n_unknown)
        report_add_note(rep, NOTE_GAP, -1, NOTE_NODE_KIND,
                        "Whether the nodes were separate machines is unknown: the archives do not say.");
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
        report_add_note(rep, NOTE_CAVEAT, run, NOTE_RANKS_MISSING,
                        here == 1 ? "traces of %d of the %lld ranks are here; which rank the others waited for, and "
                                    "how long, does not show in it."
                                  : "traces of %d of the %lld ranks are here; transfer, waiting and which rank comes "
                                    "last are computed from these alone.",
                        here, (long long)of);
}

/* The only trace of a run, as one of many ranks; NULL when it is none. */
static const struct foreign_trace *rank_alone(const struct run *r)
{
    return r->is_foreign && r->n_traces == 1 && r->traces[0].world_size > 1 && r->traces[0].rank >= 0 ? &r->traces[0]
                                                                                                      : NULL;
}

static const char *model_of(const struct foreign_trace *t)
{
    return t->n_devices ? t->devices[0].model : "";
}

static int is_beside(const struct foreign_trace *a, const struct foreign_trace *b)
{
    return a && b && a->world_size == b->world_size && strcmp(model_of(a), model_of(b)) == 0;
}

/* Names every run from i on that may be another rank of what run i is a rank of; two of one rank are no such pair. */
static void add_loose(struct report *rep, int i)
{
    const struct foreign_trace *a = rank_alone(rep->runs[i].run), *last = a;
    const char *files = report_text(rep, "'%s'", rep->runs[i].run->archive);
    const char *ranks = report_text(rep, "%lld", (long long)a->rank);
    const char *last_file = "";
    for (int k = i + 1; k < rep->n_runs; k++) {
        const struct foreign_trace *b = rank_alone(rep->runs[k].run);
        int is_new = is_beside(a, b);
        for (int m = i; m < k && is_new; m++) {
            const struct foreign_trace *c = rank_alone(rep->runs[m].run);
            is_new = !is_beside(a, c) || c->rank != b->rank;
        }
        if (!is_new)
            continue;
        if (last != a) {
            files = report_text(rep, "%s, '%s'", files, last_file);
            ranks = report_text(rep, "%s, %lld", ranks, (long long)last->rank);
        }
        last = b;
        last_file = rep->runs[k].run->archive;
    }
    report_add_note(rep, NOTE_GAP, -1, NOTE_LOOSE_RANKS,
                    "%s and '%s' are ranks %s and %lld of %lld and look like one run: put the traces of "
                    "all its ranks into one folder and give that, to have them analysed together.",
                    files, last_file, ranks, (long long)last->rank, (long long)a->world_size);
}

/* Ranks of one run, given as files of their own, are read as runs of their own. */
static void check_loose_ranks(struct report *rep)
{
    for (int i = 0; i < rep->n_runs; i++)
        for (int k = i + 1; k < rep->n_runs; k++) {
            const struct foreign_trace *a = rank_alone(rep->runs[i].run), *b = rank_alone(rep->runs[k].run);
            if (!is_beside(a, b) || a->rank == b->rank)
                continue;
            add_loose(rep, i);
            return;
        }
}

static void check_run(struct report *rep, int run)
{
    const struct run_result *r = &rep->runs[run];
    const struct run *a = r->run;
    uint64_t n_dropped_gpu = 0, n_bad = 0;
    int n_torn = 0, n_failed = 0;
    for (int i = 0; i < a->ranks_len; i++) {
        n_dropped_gpu += a->ranks[i].n_dropped_gpu;
        n_bad += a->ranks[i].n_bad_blocks;
        n_torn += a->ranks[i].is_torn;
        n_failed += a->ranks[i].exit_status > 0 || a->ranks[i].signal > 0;
    }
    if (!a->is_complete && a->n_endings == 0)
        report_add_note(rep, NOTE_GAP, run, NOTE_INCOMPLETE, "the run is incomplete; the archive does not say why.");
    for (int i = 0; i < a->n_endings; i++)
        report_add_note(rep, NOTE_GAP, run, NOTE_INCOMPLETE, "the run is incomplete: %s%s", a->endings[i].text,
                        dcr_ends_with(a->endings[i].text, ".") ? "" : ".");
    caveat_of_end(rep, run);
    if (a->is_complete && *a->told_to_end) {
        char after[48] = "";
        if (a->started_s > 0 && a->ended_s > a->started_s)
            snprintf(after, sizeof after, ", after %.0f s", a->ended_s - a->started_s);
        report_add_note(rep, NOTE_CAVEAT, run, NOTE_TOLD_TO_END,
                        "the program was told to end (%s) and ended by itself with status 0%s: the run may be "
                        "shorter than was asked for.",
                        a->told_to_end, after);
    }
    if (n_failed && a->is_complete)
        report_add_note(rep, NOTE_CAVEAT, run, NOTE_FAILED, "%s ended with an error.",
                        fmt_count(n_failed, "rank").text);
    if (recorded_part(a).n_lost)
        report_add_note(rep, NOTE_GAP, run, NOTE_DROPPED,
                        "%s The time in calls of MPI and on files is not known without the lost events.",
                        lost_sentence(rep, r));
    if (n_dropped_gpu)
        report_add_note(rep, NOTE_GAP, run, NOTE_DROPPED, "%llu activities of GPUs were lost while recording.",
                        (unsigned long long)n_dropped_gpu);
    if (n_bad || n_torn)
        report_add_note(rep, NOTE_GAP, run, NOTE_TORN,
                        "%s cut or damaged (%llu blocks unreadable); what came before is used.",
                        n_torn > 1 ? "traces are" : "a trace is", (unsigned long long)n_bad);
    if (a->has_window)
        report_add_note(rep, NOTE_CAVEAT, run, NOTE_WINDOW,
                        "a part of the run was recorded, as it was asked for (--steps, --delay, --duration or "
                        "--capture-range); steps and calls are those of that part. %s",
                        recorded_sentence(rep, a));
    if (r->has_steps && (double)r->n_counted < rep->thresholds.few_steps)
        report_add_note(
            rep, NOTE_CAVEAT, run, NOTE_FEW_STEPS, "only %s counted; below %.0f the figures are a first impression%s.",
            fmt_count(r->n_counted, "step").text, rep->thresholds.few_steps,
            (double)(r->step.mean_ns - r->step.median_ns) > rep->thresholds.step_cv * (double)r->step.median_ns
                ? report_text(rep, ", and single slow ones make the mean: %s against a median of %s",
                              fmt_time(r->step.mean_ns).text, fmt_time(r->step.median_ns).text)
                : "");
    for (int i = 0; i < a->n_traces; i++)
        for (int k = 0; k < a->traces[i].n_devices; k++)
            if (a->traces[i].devices[k].is_last_step_cut)
                report_add_note(
                    rep, NOTE_CAVEAT, run, NOTE_CUT_STEP,
                    "the last step in '%s' launched under 80 %% of the operations of the one before of its kind: "
                    "it is "
                    "taken as cut by the end of the recording (the TensorBoard plugin's rule) and left out.",
                    a->traces[i].file);
    if (r->n_partial_steps)
        report_add_note(rep, NOTE_CAVEAT, run, NOTE_PARTIAL_STEPS, "%s not seen on all ranks and left out.",
                        fmt_count(r->n_partial_steps, "step").text);
    for (int i = 0; i < a->ranks_len; i++)
        if (a->ranks[i].source == STEPS_TRACE && a->ranks[i].n_step_processes > 1)
            report_add_note(rep, NOTE_CAVEAT, run, NOTE_STEP_PROCESSES,
                            "%d processes of rank %d named steps; these are the %zu of process %lld, which spent "
                            "most time in them, without the %lld of the others.",
                            a->ranks[i].n_step_processes, a->ranks[i].rank, a->ranks[i].n_steps,
                            (long long)a->ranks[i].step_pid, (long long)a->ranks[i].n_steps_of_others);
    for (int i = 0; i < a->ranks_len; i++)
        if (a->ranks[i].is_renumbered)
            report_add_note(rep, NOTE_CAVEAT, run, NOTE_STEP_NUMBERS,
                            "the step numbers of rank %d do not ascend. %s are counted in order of time.",
                            a->ranks[i].rank, a->ranks_len > 1 ? "The steps of all ranks" : "Its steps");
    for (int i = 0; i < a->ranks_len; i++)
        if (a->ranks[i].n_inconsistent)
            report_add_note(rep, NOTE_GAP, run, NOTE_INCONSISTENT,
                            "on rank %d the phases of %llu steps are longer than the step; they were cut to fit.",
                            a->ranks[i].rank, (unsigned long long)a->ranks[i].n_inconsistent);
    if (strcmp(a->program.allreduce_dtype, "none") == 0 && r->n_ranks > 1)
        report_add_note(rep, NOTE_CAVEAT, run, NOTE_NO_EXCHANGE,
                        "the ranks exchanged no gradients (--allreduce-dtype none), so that each trained a model of "
                        "its own: its times are a measurement, its accuracy means nothing.");
    if (r->n_nodes == 0 && !a->is_foreign)
        report_add_note(rep, NOTE_GAP, run, NOTE_NODES_UNKNOWN,
                        "the number of nodes is unknown (no metadata, no folder name); pass --nodes N.");
    for (int i = 0; i < a->n_gaps; i++)
        report_add_note(rep, NOTE_GAP, run, NOTE_MISSING, "%s", a->gaps[i]);
}

/* What a GPU can do is the clock that it says, where the monitor asked, else its largest sample; a mean far below it
 * while the GPU works is throttling, or a GPU that idles and clocks down: both make its times smaller truths. */
static void check_clocks(struct report *rep, int run)
{
    const struct run_result *r = &rep->runs[run];
    double worst = 1;
    int node = 0, gpu = 0, is_told = 0;
    for (int i = 0; i < r->run->nodes_len; i++)
        for (int k = 0; k < r->run->nodes[i].n_gpus; k++) {
            const struct run_gpu *g = &r->run->nodes[i].gpus[k];
            double used =
                g->utilization_percent.n ? g->utilization_percent.sum / (double)g->utilization_percent.n / 100 : 0;
            if (g->sm_clock_mhz.n < 2 || !(g->sm_clock_mhz.max > 0) || used < rep->thresholds.gpu_utilization)
                continue;
            int has_max = g->sm_clock_max_mhz.n > 0 && g->sm_clock_max_mhz.max >= g->sm_clock_mhz.max;
            double highest = has_max ? g->sm_clock_max_mhz.max : g->sm_clock_mhz.max;
            double ratio = g->sm_clock_mhz.sum / (double)g->sm_clock_mhz.n / highest;
            if (ratio < worst) {
                worst = ratio;
                node = r->run->nodes[i].node;
                gpu = g->gpu_id;
                is_told = has_max;
            }
        }
    if (worst < rep->thresholds.clock)
        report_add_note(rep, NOTE_CAVEAT, run, NOTE_CLOCKS,
                        "the SM clock of GPU %d on node %d was %s of %s in the mean while it was busy: it was "
                        "throttled (%s), so its times are not those of the GPU at full clock.",
                        gpu, node, fmt_percent(worst).text, is_told ? "what it can run at" : "its highest",
                        is_told ? "power, heat, or a lower clock set" : "power, heat");
}

/* Which of the monitored GPUs was traced is not known: outside the range of them all it was none as it was traced. */
static void check_traced_part(struct report *rep, int run)
{
    const struct run *a = rep->runs[run].run;
    double traced = traced_utilization(a), least = INFINITY, most = -INFINITY;
    for (int i = 0; i < a->nodes_len; i++)
        for (int k = 0; k < a->nodes[i].n_gpus; k++) {
            double seen = rule_mean(&a->nodes[i].gpus[k].utilization_percent) / 100;
            least = seen < least ? seen : least;
            most = seen > most ? seen : most;
        }
    if (isnan(traced) || least > most || (traced <= most + TRACED_PART_GAP && traced >= least - TRACED_PART_GAP))
        return;
    report_add_note(rep, NOTE_CAVEAT, run, NOTE_TRACED_PART,
                    "GPU utilisation is %s in the traced steps and %s by the monitor over all of its time: the "
                    "traced part is not what the GPU did most of that time.",
                    fmt_percent(traced).text,
                    least < most ? report_text(rep, "%s to %s", fmt_percent(least).text, fmt_percent(most).text)
                                 : fmt_percent(most).text);
}

int has_bad_clock(const struct report *rep, const struct run_result *r)
{
    for (int i = 0; i < rep->n_notes; i++)
        if (rep->notes[i].id == NOTE_CLOCKS && rep->notes[i].run >= 0 && &rep->runs[rep->notes[i].run] == r)
            return 1;
    return 0;
}

/* A few steps of a long job: whether the rest ran alike is not known. */
static void check_cover(struct report *rep, int run)
{
    const struct run_result *r = &rep->runs[run];
    double job = r->run->ended_s - r->run->started_s, steps = (double)r->wall_ns / 1e9;
    if (!r->has_steps || !(r->run->started_s > 0) || !(job > 60) || steps <= 0 ||
        steps >= rep->thresholds.covered * job)
        return;
    report_add_note(rep, NOTE_CAVEAT, run, NOTE_LITTLE_COVERED,
                    "the recorded steps cover %s of the job's %s; whether the rest ran alike is not known.",
                    fmt_percent(steps / job).text, fmt_time((int64_t)(job * 1e9)).text);
}

/* What decides whether the numbers mean anything comes before what only dims them. */
static int is_grave(const struct note *x)
{
    return x->id == NOTE_REPETITIONS || x->id == NOTE_LEFT_OUT || x->id == NOTE_RANKS_MISSING;
}

/* Caveats first, grave ones before others, copies behind them, then gaps; otherwise as they came. */
static void order_notes(struct report *rep)
{
    if (rep->n_notes == 0)
        return;
    struct note *ordered = dcr_arena_alloc(&rep->arena, (size_t)rep->n_notes * sizeof *ordered);
    int n = 0;
    for (int i = 0; i < rep->n_notes; i++)
        if (is_grave(&rep->notes[i]))
            ordered[n++] = rep->notes[i];
    for (int rank = 0; rank < 3; rank++)
        for (int i = 0; i < rep->n_notes; i++) {
            const struct note *x = &rep->notes[i];
            int own = x->kind == NOTE_GAP ? 2 : x->id == NOTE_COPY;
            if (own == rank && !is_grave(x))
                ordered[n++] = *x;
        }
    rep->notes = ordered;
    rep->notes_cap = (size_t)rep->n_notes;
}

void caveats(struct report *rep)
{
    say_nodes(rep);
    caveats_of_cores(rep);
    for (int i = 0; i < rep->n_runs; i++) {
        check_run(rep, i);
        check_ranks_here(rep, i);
    }
    for (int i = 0; i < rep->n_runs; i++) {
        check_clocks(rep, i);
        check_traced_part(rep, i);
        check_cover(rep, i);
    }
    check_loose_ranks(rep);
    caveats_of_series(rep);
    order_notes(rep);
}
