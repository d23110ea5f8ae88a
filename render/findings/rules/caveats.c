/* caveats.c - what a reader must know before any verdict: where the nodes were, short or cut runs, and everything that
 * is missing; cores in caveats_cores.c, runs that are compared in caveats_series.c. Caveats lower confidence; gaps also
 * change the exit status. */
#include "render/findings/rules/analyse.h"
#include "render/metrics/cores.h"
#include "render/metrics/recorded.h"
#include "render/metrics/rule.h"

#include "render/metrics/device_shares.h"

#include "render/model/build.h"
#include "render/say/format.h"
#include "render/say/say.h"

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

/* Says that emulated nodes are parts of one machine, as the label does, and what follows from it. */
static void say_shares(struct report *rep)
{
    const struct node_share *first = NULL;
    int n_others = 0, n_unlike = 0;
    for (int i = 0; i < rep->n_runs; i++) {
        const struct run *a = rep->runs[i].run;
        if (a->node_kind != NODES_EMULATED &&
            a->node_kind != NODES_SHARES) /* a program on the machine itself, without emulated nodes */
            continue;
        for (int k = 0; k < rep->runs[i].run->nodes_len; k++) {
            const struct node_share *s = &rep->runs[i].run->nodes[k].share;
            first = first ? first : s;
            n_others += k > 0;
            n_unlike += !s->has || !is_same_share(first, s);
        }
        n_unlike += first && first->cores > 0 && quota_of(rep, i) == QUOTA_UNEQUAL; /* whatever was requested */
    }
    rep->node_label = n_unlike ? "emulated nodes: unlike parts of one machine"
                               : report_text(rep, "emulated node%s: %s", n_others ? "s" : "",
                                             share_words(rep, first, n_others ? 2 : 1));
    int has_cores = !n_unlike && first->cores > 0;
    report_add_note(rep, NOTE_CAVEAT, -1, NOTE_EMULATED,
                    n_unlike    ? PHRASE(NODES_UNLIKE)
                    : !n_others ? PHRASE(NODE_IS_PART)
                    : has_cores ? PHRASE(NODES_ALIKE)
                                : PHRASE(NODES_ALIKE_SHARE),
                    has_cores ? PHRASE(PARTS_HOLD) : PHRASE(NONE), PHRASE(PARTS_TIMES));
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
        report_add_note(rep, NOTE_CAVEAT, -1, NOTE_EMULATED,
                        n_shares ? PHRASE(NODES_EMULATED_IN, slot_count(n_emulated)) : PHRASE(NODES_EMULATED),
                        PHRASE(NODES_SHARE_ALL));
    } else if (n_one_kernel && largest) {
        int is_slurm = strcmp(largest->scheduler, "slurm") == 0;
        rep->node_label = report_text(rep, "%s %snodes on one kernel", number_word(most), is_slurm ? "Slurm " : "");
        report_add_note(rep, NOTE_CAVEAT, -1, NOTE_ONE_KERNEL, PHRASE(NODES_ONE_KERNEL), PHRASE(NODES_ONE_MACHINE));
    }
    if (n_shares)
        say_shares(rep);
    if (n_unknown)
        report_add_note(rep, NOTE_GAP, -1, NOTE_NODE_KIND, PHRASE(NODE_KIND_UNKNOWN));
}

/* ---- the run itself ------------------------------------------------------------------------------- */

static int is_rank_here(const struct run *a, int64_t rank)
{
    for (int i = 0; i < a->n_traces; i++)
        if (a->traces[i].rank == rank)
            return 1;
    for (int i = 0; i < a->ranks_len; i++)
        if (a->ranks[i].rank == rank)
            return 1;
    return 0;
}

/* "2, 4 to 6 and 9"; "" if the present ranks are unknown. */
static const char *ranks_absent(struct report *rep, const struct run *a, int64_t of, int64_t *n_absent)
{
    enum { NAMED = 4, MANY = 1 << 16 };
    const char *name[NAMED + 1];
    int64_t n_named = 0;
    int n = 0;
    *n_absent = 0;
    for (int i = 0; i < a->n_traces; i++)
        if (a->traces[i].rank < 0)
            return "";
    for (int64_t rank = 0, to; rank < of && of <= MANY; rank = to) {
        to = rank + 1;
        if (is_rank_here(a, rank))
            continue;
        while (to < of && !is_rank_here(a, to))
            to++;
        to = to - rank == 2 ? rank + 1 : to; /* two are listed, three and more are a range */
        *n_absent += to - rank;
        if (n == NAMED)
            continue;
        n_named += to - rank;
        name[n++] = report_text(rep, to - rank > 1 ? "%lld to %lld" : "%lld", (long long)rank, (long long)to - 1);
    }
    if (n_named < *n_absent)
        name[n++] = report_text(rep, "%lld more", (long long)(*n_absent - n_named));
    return *n_absent < of ? say_list(&rep->arena, name, n) : "";
}

/* Traces of some of a job's ranks: time lost to the other ranks shows as their own. */
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
    int64_t n_absent = 0;
    const char *absent = of > here ? ranks_absent(rep, a, of, &n_absent) : "";
    if (of > here)
        report_add_note(rep, NOTE_CAVEAT, run, NOTE_RANKS_MISSING,
                        *absent ? PHRASE(RANKS_ABSENT, slot_name(absent), slot_count(n_absent), slot_count(of))
                                : PHRASE(RANKS_HERE, slot_count(here), slot_count(of)),
                        here == 1 ? PHRASE(RANK_ALONE) : PHRASE(RANKS_ALONE));
}

/* The only trace of a run, if it is of one of many ranks; else NULL. */
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

/* Names every run from i on that may be another rank of run i's job. Two runs of the same rank are no such pair. */
static void add_loose(struct report *rep, int i)
{
    const struct foreign_trace *a = rank_alone(rep->runs[i].run);
    const char **files = dcr_arena_alloc(&rep->arena, (size_t)rep->n_runs * sizeof *files);
    const char **ranks = dcr_arena_alloc(&rep->arena, (size_t)rep->n_runs * sizeof *ranks);
    int n = 0;
    for (int k = i; k < rep->n_runs; k++) {
        const struct foreign_trace *b = rank_alone(rep->runs[k].run);
        int is_new = k == i || is_beside(a, b);
        for (int m = i; m < k && is_new; m++) {
            const struct foreign_trace *c = rank_alone(rep->runs[m].run);
            is_new = !is_beside(a, c) || c->rank != b->rank;
        }
        if (!is_new)
            continue;
        files[n] = report_text(rep, "'%s'", rep->runs[k].run->archive);
        ranks[n++] = report_text(rep, "%lld", (long long)b->rank);
    }
    report_add_note(rep, NOTE_GAP, -1, NOTE_LOOSE_RANKS,
                    PHRASE(RANKS_LOOSE, slot_name(say_list(&rep->arena, files, n)),
                           slot_name(say_list(&rep->arena, ranks, n)), slot_count(a->world_size)),
                    PHRASE(RANKS_TOGETHER));
}

/* Ranks of one run that are given as separate files are read as separate runs. */
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

/* How the run ended before all of it was done. */
static void note_endings(struct report *rep, int run)
{
    const struct run *a = rep->runs[run].run;
    if (!a->is_complete && a->n_endings == 0)
        report_add_note(rep, NOTE_GAP, run, NOTE_INCOMPLETE, PHRASE(INCOMPLETE_UNTOLD));
    for (int i = 0; i < a->n_endings; i++)
        report_add_note(rep, NOTE_GAP, run, NOTE_INCOMPLETE, PHRASE(INCOMPLETE),
                        PHRASE(ENDING, slot_name(a->endings[i].text)));
    caveat_of_end(rep, run);
    int64_t after = a->started_s > 0 && a->ended_s > a->started_s ? (int64_t)((a->ended_s - a->started_s) * 1e9) : 0;
    if (a->is_complete && *a->told_to_end)
        report_add_note(rep, NOTE_CAVEAT, run, NOTE_TOLD_TO_END, PHRASE(TOLD_TO_END, slot_name(a->told_to_end)),
                        after ? PHRASE(TOLD_AFTER, slot_time(after)) : PHRASE(TOLD_AND_ENDED));
}

/* What a trace of a host does not state, and what is assumed instead. */
static void note_assumed(struct report *rep, int run)
{
    const struct run *a = rep->runs[run].run;
    const char *by_optimizer = NULL, *cut = NULL;
    int n_by_optimizer = 0, n_cut = 0, n_named = 0, n_by_hook = 0, n_left_out = 0;
    for (int i = 0; i < a->ranks_len; i++) {
        n_by_hook += a->ranks[i].is_by_hook;
        n_left_out += a->ranks[i].is_last_left_out;
    }
    for (int i = 0; i < a->n_traces; i++) {
        const struct foreign_trace *t = &a->traces[i];
        by_optimizer = t->is_by_optimizer ? t->file : by_optimizer;
        cut = t->is_last_step_cut ? t->file : cut;
        n_by_optimizer += t->is_by_optimizer;
        n_cut += t->is_last_step_cut;
        n_named += t->is_rank_by_name && t->rank >= 0;
    }
    if (n_named > 1 && rep->runs[run].has_steps)
        report_add_note(rep, NOTE_CAVEAT, run, NOTE_RANKS_ASSUMED, PHRASE(RANKS_BY_NAME, slot_count(n_named)),
                        PHRASE(RUN_BY_STEPS));
    if (n_by_optimizer)
        report_add_note(rep, NOTE_CAVEAT, run, NOTE_STEPS_ASSUMED,
                        n_by_optimizer == 1 ? PHRASE(STEPS_BY_OPTIMIZER, slot_name(by_optimizer))
                                            : PHRASE(STEPS_BY_OPTIMIZERS, slot_count(n_by_optimizer)),
                        PHRASE(STEPS_UNMARKED), PHRASE(STEPS_FROM_FIRST_END));
    if (n_left_out && !n_by_hook)
        report_add_note(rep, NOTE_CAVEAT, run, NOTE_CUT_STEP, PHRASE(LAST_STEP_UNTOLD));
    if (n_by_hook)
        report_add_note(rep, NOTE_CAVEAT, run, NOTE_STEPS_ASSUMED, PHRASE(STEPS_BY_HOOK), PHRASE(STEPS_UNMARKED),
                        n_left_out ? PHRASE(LAST_STEP_UNTOLD) : PHRASE(NONE));
    if (n_cut)
        report_add_note(rep, NOTE_CAVEAT, run, NOTE_CUT_STEP,
                        n_cut == 1 ? PHRASE(STEP_CUT, slot_name(cut)) : PHRASE(STEPS_CUT, slot_count(n_cut)),
                        PHRASE(STEP_CUT_RULE_OF_HOST));
}

/* Notes on steps that are few, cut, or recorded in a way that a reader must know. */
static void note_steps(struct report *rep, int run)
{
    const struct run_result *r = &rep->runs[run];
    const struct run *a = r->run;
    const double few = rep->thresholds.few_steps;
    const char *cut = NULL;
    int n_cut = 0;
    int is_skewed = (double)(r->step.mean_ns - r->step.median_ns) > rep->thresholds.step_cv * (double)r->step.median_ns;
    if (r->has_steps && (double)r->n_counted < few)
        report_add_note(rep, NOTE_CAVEAT, run, NOTE_FEW_STEPS, PHRASE(STEPS_FEW, slot_count(r->n_counted)),
                        PHRASE(STEPS_NEEDED, slot_count((int64_t)ceil(few))),
                        is_skewed ? PHRASE(STEPS_SLOW, slot_time(r->step.mean_ns), slot_time(r->step.median_ns))
                                  : PHRASE(NONE));
    for (int i = 0; i < a->n_traces; i++)
        for (int k = 0; k < a->traces[i].n_devices; k++)
            if (a->traces[i].devices[k].is_last_step_cut) {
                cut = a->traces[i].file;
                n_cut++;
            }
    if (n_cut)
        report_add_note(rep, NOTE_CAVEAT, run, NOTE_CUT_STEP,
                        n_cut == 1 ? PHRASE(STEP_CUT, slot_name(cut)) : PHRASE(STEPS_CUT, slot_count(n_cut)),
                        PHRASE(STEP_CUT_RULE));
    note_assumed(rep, run);
    if (r->n_partial_steps)
        report_add_note(rep, NOTE_CAVEAT, run, NOTE_PARTIAL_STEPS,
                        PHRASE(STEPS_PARTIAL, slot_count(r->n_partial_steps)));
    for (int i = 0; i < a->ranks_len; i++) {
        const struct run_rank *k = &a->ranks[i];
        if (k->source == STEPS_TRACE && k->n_step_processes > 1)
            report_add_note(rep, NOTE_CAVEAT, run, NOTE_STEP_PROCESSES,
                            PHRASE(STEP_PROCESSES, slot_count(k->n_step_processes), slot_count(k->rank)),
                            PHRASE(STEPS_OF_PROCESS, slot_count(steps_of_all(k->steps, k->n_steps, &k->seen).n),
                                   slot_count(k->step_pid)),
                            PHRASE(STEPS_OF_OTHERS, slot_count(k->n_steps_of_others)));
        if (k->is_renumbered)
            report_add_note(rep, NOTE_CAVEAT, run, NOTE_STEP_NUMBERS, PHRASE(STEP_NUMBERS, slot_count(k->rank)),
                            PHRASE(STEPS_BY_TIME));
        if (k->n_inconsistent)
            report_add_note(rep, NOTE_GAP, run, NOTE_INCONSISTENT,
                            PHRASE(PHASES_TOO_LONG, slot_count(k->rank), slot_count((int64_t)k->n_inconsistent)),
                            PHRASE(PHASES_CUT));
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
    note_endings(rep, run);
    if (n_failed && a->is_complete)
        report_add_note(rep, NOTE_CAVEAT, run, NOTE_FAILED, PHRASE(RANKS_FAILED, slot_count(n_failed)));
    if (lost_events(a).id)
        report_add_note(rep, NOTE_GAP, run, NOTE_DROPPED, lost_events(a), steps_of_lost(r),
                        recorded_part(a).n_ranks_lost_sums ? PHRASE(CALLS_UNKNOWN) : PHRASE(CALLS_KNOWN));
    if (r->is_hidden_unknown)
        report_add_note(rep, NOTE_GAP, run, NOTE_DROPPED, PHRASE(HIDDEN_UNKNOWN));
    if (n_dropped_gpu)
        report_add_note(rep, NOTE_GAP, run, NOTE_DROPPED, PHRASE(GPU_EVENTS_LOST, slot_count((int64_t)n_dropped_gpu)));
    if (n_bad || n_torn)
        report_add_note(rep, NOTE_GAP, run, NOTE_TORN, PHRASE(TRACES_TORN, slot_count(n_torn > 1 ? n_torn : 1)),
                        n_bad ? PHRASE(TORN_BLOCKS, slot_count((int64_t)n_bad)) : PHRASE(NONE), PHRASE(TORN_USED));
    if (a->has_window) {
        struct window_said said = window_said(a);
        report_add_note(rep, NOTE_CAVEAT, run, NOTE_WINDOW, PHRASE(WINDOW), said.length, said.between);
    }
    note_steps(rep, run);
    if (strcmp(a->program.allreduce_dtype, "none") == 0 && r->n_ranks > 1)
        report_add_note(rep, NOTE_CAVEAT, run, NOTE_NO_EXCHANGE, PHRASE(NO_EXCHANGE), PHRASE(NO_EXCHANGE_MEANS));
    if (r->n_nodes == 0 && !a->is_foreign)
        report_add_note(rep, NOTE_GAP, run, NOTE_NODES_UNKNOWN, PHRASE(NODES_NOT_KNOWN), PHRASE(PASS_NODES));
    for (int i = 0; i < a->n_gaps; i++)
        report_put_note(rep, NOTE_GAP, run, NOTE_MISSING, a->gaps[i].said);
}

/* A GPU's full clock is the one it reports, if the monitor asked for it, else its largest sample. A mean far below it
 * while the GPU works means throttling, or a GPU that idles and clocks down. Either makes its times less certain. */
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
        report_add_note(rep, NOTE_CAVEAT, run, NOTE_CLOCKS, PHRASE(GPU_THROTTLED, slot_count(gpu), slot_count(node)),
                        is_told ? PHRASE(CLOCK_OF_MAX, slot_percent(worst))
                                : PHRASE(CLOCK_OF_HIGHEST, slot_percent(worst)),
                        is_told ? PHRASE(CLOCK_WHY_MAX) : PHRASE(CLOCK_WHY));
}

/* It is unknown which of the monitored GPUs was traced. A utilisation outside the range of all of them fits none. */
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
    report_add_note(rep, NOTE_CAVEAT, run, NOTE_TRACED_PART, PHRASE(TRACED_PART, slot_percent(traced)),
                    least < most ? PHRASE(SEEN_FROM_TO, slot_percent(least), slot_percent(most))
                                 : PHRASE(SEEN_BY_MONITOR, slot_percent(most)),
                    PHRASE(TRACED_UNLIKE));
}

int has_bad_clock(const struct report *rep, const struct run_result *r)
{
    for (int i = 0; i < rep->n_notes; i++)
        if (rep->notes[i].id == NOTE_CLOCKS && rep->notes[i].run >= 0 && &rep->runs[rep->notes[i].run] == r)
            return 1;
    return 0;
}

/* A trace of a few steps of a long job: the rest may have run differently. */
static void check_cover(struct report *rep, int run)
{
    const struct run_result *r = &rep->runs[run];
    double job = r->run->ended_s - r->run->started_s, steps = (double)r->wall_ns / 1e9;
    if (!r->has_steps || !(r->run->started_s > 0) || !(job > 60) || steps <= 0 ||
        steps >= rep->thresholds.covered * job)
        return;
    report_add_note(rep, NOTE_CAVEAT, run, NOTE_LITTLE_COVERED,
                    PHRASE(STEPS_COVER, slot_percent(steps / job), slot_time((int64_t)(job * 1e9))),
                    PHRASE(REST_MAY_DIFFER));
}

/* Start-up that costs more than the steps that count, as of loader workers that import a framework: no figure has it.
 */
static void check_warmup(struct report *rep, int run)
{
    const int64_t least_ns = INT64_C(10000000000);
    const struct run_result *r = &rep->runs[run];
    int64_t counted_ns = 0;
    for (int64_t i = 0; i < r->n_counted; i++)
        counted_ns += r->step_ns[i];
    if (!r->has_steps || r->warmup_ns < least_ns || r->warmup_ns < counted_ns)
        return;
    report_add_note(rep, NOTE_CAVEAT, run, NOTE_LONG_WARMUP,
                    PHRASE(WARMUP_LONG, slot_count(r->n_warmup), slot_time(r->warmup_ns),
                           slot_percent((double)r->warmup_ns / (double)(r->warmup_ns + counted_ns))),
                    PHRASE(WARMUP_IN_NO_FIGURE));
}

/* Notes that decide whether the numbers are valid come before notes that only limit them. */
static int is_grave(const struct note *x)
{
    return x->id == NOTE_REPETITIONS || x->id == NOTE_LEFT_OUT || x->id == NOTE_RANKS_MISSING;
}

/* Caveats first, grave ones before others, then copies, then gaps; otherwise in the order in which they came. */
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
        check_warmup(rep, i);
    }
    check_loose_ranks(rep);
    caveats_of_series(rep);
    order_notes(rep);
}
