/* stepless.c - headline and support of runs whose steps are not known: what else their files say. Called by claims.c.
 */
#include "render/narrate/stepless.h"

#include "render/analyse/analyse.h"
#include "render/analyse/kernel_roofline.h"
#include "render/narrate/actions.h"
#include "render/narrate/claims.h"
#include "render/narrate/devices.h"
#include "render/narrate/failed.h"
#include "render/model/cells.h"
#include "render/say/format.h"
#include "render/narrate/talp_claims.h"

#include <string.h>

/* "all_reduce over 16 ranks" */
static const char *test_name(struct report *rep, const struct run_collective_test *c)
{
    const char *over = c->n_ranks ? report_text(rep, " over %s", fmt_count(c->n_ranks, "rank").text) : "";
    return report_text(rep, "%s%s", *c->collective ? c->collective : "the collective", over);
}

/* All tests of the log. */
static const char *say_nccl_tests(struct report *rep, const struct run *r, const char *file)
{
    enum { SHOWN = 3 };
    const char *text = "";
    int n = 0;
    for (int i = 0; i < r->n_tests; i++) {
        const struct run_collective_test *c = &r->tests[i];
        if (strcmp(c->file, file) != 0 || c->busbw_gb_per_s <= 0 || n++ >= SHOWN)
            continue;
        text = report_text(rep, "%s%s%s%s%s GB/s, with %s", text, n == 1 ? report_text(rep, "In '%s' ", file) : "; ",
                           test_name(rep, c), n == 1 ? " reaches a bus bandwidth of " : " one of ",
                           fmt_number(c->busbw_gb_per_s).text, fmt_bytes(c->busbw_bytes).text);
    }
    return n == 0      ? ""
           : n > SHOWN ? report_text(rep, "%s; %d more tests are below.", text, n - SHOWN)
                       : report_text(rep, "%s.", text);
}

/* Kind, bytes at the peak of all ...; the last row is their sum (render/import/memory_timeline.c). */
static const char *say_memory(struct report *rep, const struct foreign_table *t)
{
    size_t n = table_rows(t), most = 0;
    double all = n ? table_value(t, n - 1, 1) : -1;
    for (size_t i = 0; i + 1 < n; i++)
        most = table_value(t, i, 1) > table_value(t, most, 1) ? i : most;
    return all <= 0 ? ""
                    : report_text(rep, "The framework held %s of memory at most, %s of it %s.", fmt_bytes(all).text,
                                  fmt_percent(table_value(t, most, 1) / all).text, table_cell(t, most, 0));
}

/* Sorted by summed time: the first row, and how much of all rows it is where the table says nanoseconds. */
static const char *say_nsys(struct report *rep, const struct foreign_table *t)
{
    int sum = table_column(t, "Sum, ns") >= 0 ? table_column(t, "Sum, ns") : table_column(t, "Total Time (ns)");
    double all = 0, first = sum >= 0 ? table_value(t, 0, sum) : -1;
    if (first > 0 && first < (double)INT64_MAX && table_column(t, "Range") >= 0)
        return report_text(rep,
                           "NVTX ranges, by summed time: the longest is '%.80s', %s. Its share of all is n/a because "
                           "ranges may hold others.",
                           table_cell(t, 0, 0), fmt_time((int64_t)first).text);
    for (size_t i = 0; sum >= 0 && i < table_rows(t); i++)
        all += table_value(t, i, sum) > 0 ? table_value(t, i, sum) : 0;
    if (first <= 0 || all >= (double)INT64_MAX)
        return report_text(rep, "%s: most is '%.80s'.", t->caption, table_cell(t, 0, 0));
    return report_text(rep, "%s: most is '%.80s', %s, %s of all.", t->caption, table_cell(t, 0, 0),
                       fmt_time((int64_t)first).text, fmt_percent(first / all).text);
}

/* The kernel that took most time, where the roofline tells what it is bound by. */
static const char *say_kernels(struct report *rep, const struct run *r, const struct foreign_table *t)
{
    static const char *const words[] = {
        [BOUND_COMPUTE] = "is compute-bound: its operations run",
        [BOUND_MEMORY] = "is memory-bound: it moves bytes",
        [BOUND_LATENCY] = "is bound by neither operations nor memory: it moves bytes",
    };
    const struct run_kernel_counts *k = NULL;
    for (int i = 0; i < r->n_kernels && !k; i++)
        k = strcmp(r->kernels[i].file, t->file) == 0 ? &r->kernels[i] : NULL;
    if (!k)
        return "";
    struct kernel_roofline x = kernel_roofline_of(k, &rep->thresholds);
    if (x.bound == BOUND_UNKNOWN)
        return "";
    return report_text(rep,
                       "By its counters in '%s' kernel '%.80s', which takes most of the profiled time, %s at %s "
                       "of the peak (%s operations a byte).",
                       t->file, k->kernel, words[x.bound],
                       fmt_percent(x.bound == BOUND_COMPUTE ? x.flop_ratio : x.bytes_ratio).text,
                       fmt_number(x.intensity).text);
}

/* All monitored GPUs, each sample once. */
static const char *say_monitors(struct report *rep, const struct run *r)
{
    double sum = 0;
    int64_t n = 0;
    int n_gpus = 0;
    for (int i = 0; i < r->nodes_len; i++)
        for (int k = 0; k < r->nodes[i].n_gpus; k++) {
            const struct sampled *u = &r->nodes[i].gpus[k].utilization_percent;
            sum += u->sum / 100;
            n += (int64_t)u->n;
            n_gpus += u->n > 0;
        }
    if (!n)
        return "";
    double mean = sum / (double)n;
    return report_text(rep, "By its monitor GPU utilisation was %s in the mean of %s of %s%s.", fmt_percent(mean).text,
                       fmt_count(n, "sample").text, fmt_count(n_gpus, "GPU").text,
                       mean < rep->thresholds.gpu_utilization
                           ? report_text(rep, ", below %s", fmt_percent(rep->thresholds.gpu_utilization).text)
                           : "");
}

/* Mean over GPUs of the parts that tell most, behind the utilisation where that was sampled too. */
static const char *say_activity(struct report *rep, const struct run *r, const struct foreign_table *t)
{
    static const char *const parts[] = {"multiprocessors active", "tensor cores active", "memory active"};
    const char *text = say_monitors(rep, r), *list = "";
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        double sum = 0;
        int n = 0;
        for (size_t i = 0; i < table_rows(t); i++)
            if (strcmp(table_cell(t, i, 1), parts[k]) == 0) {
                sum += table_value(t, i, 3);
                n++;
            }
        if (n)
            list = report_text(rep, "%s%s%s %s", list, *list ? ", " : "", parts[k], fmt_percent(sum / n / 100).text);
    }
    return !*list ? text
                  : report_text(rep, "%s%sOf the time sampled by DCGM, mean over its GPUs: %s.", text, *text ? " " : "",
                                list);
}

static const char *say_table(struct report *rep, const struct run *r, const struct foreign_table *t)
{
    if (t->kind == FOREIGN_NCCL_TESTS)
        return say_nccl_tests(rep, r, t->file);
    if (t->kind == FOREIGN_MEMORY_TIMELINE)
        return say_memory(rep, t);
    if (t->kind == FOREIGN_DCGM)
        return say_activity(rep, r, t);
    const char *ended = t->kind == FOREIGN_SACCT ? accounting_ended(rep, t) : "";
    if (*ended)
        return ended;
    const char *kernels = t->kind == FOREIGN_NCU ? say_kernels(rep, r, t) : "";
    if (*kernels)
        return kernels;
    if (foreign_is_nsys(t->kind) && table_rows(t))
        return say_nsys(rep, t);
    return table_rows(t) ? report_text(rep, "'%s' is shown as it is: %s.", t->file, t->caption) : "";
}

/* A trace of counters, which a profiler records in place of the operations; "" it is none. */
static const char *say_counters(struct report *rep, const struct foreign_trace *t)
{
    const struct range_counters *c = t->counters;
    double flop = 0;
    if (!c || t->n_devices)
        return "";
    for (int i = 0; i < c->n_kernels; i++)
        flop += c->kernels[i].sum;
    return report_text(
        rep, "The trace '%s' holds the counters of %s on a GPU%s and no kernel, copy or memset with its time.", t->file,
        fmt_count(c->n_ranges, "range").text,
        c->has_flop
            ? report_text(rep, " (%s floating-point operations, without those of tensor cores)", fmt_number(flop).text)
            : "");
}

/* The first thing that files without steps say; "" nothing. support: what else that table says, unchanged if nothing.
 */
static const char *evidence_headline(struct report *rep, const struct run *r, const char **support)
{
    const char *text = talp_headline(rep, r, support);
    for (int i = 0; i < r->n_traces && !*text; i++)
        text = say_counters(rep, &r->traces[i]);
    for (int i = 0; i < r->n_tables && !*text; i++)
        text = say_table(rep, r, &r->tables[i]);
    if (!*text && !*r->collector_version)
        text = say_monitors(rep, r);
    if (!*text && r->n_traces)
        text = report_text(rep, "The trace '%s' holds no kernel, copy or memset of a GPU.", r->traces[0].file);
    return text;
}

static void say_mpi(struct report *rep, struct run_result *r)
{
    struct mpi_share m = mpi_share(r->run);
    if (!m.has)
        return;
    double largest = (double)m.largest->sum.ns;
    r->support = report_text(rep,
                             "%s%sThe ranks spent %s of %s in MPI calls but MPI_Init and "
                             "MPI_Finalize (%s of %s, summed over the ranks), %s in %s.",
                             r->support, *r->support ? " " : "", fmt_percent(m.ratio).text,
                             r->run->has_window ? recorded_noun(r->run) : "the time that their processes were watched",
                             fmt_time(m.ns).text, fmt_time(m.wall_ns).text,
                             (int64_t)m.largest->sum.ns == m.ns
                                 ? "all of it"
                                 : report_text(rep, "%s of it", fmt_percent(largest / (double)m.ns).text),
                             m.largest->name);
}

static int64_t mpi_of(const struct run *a, int rank)
{
    for (int i = 0; i < a->ranks_len; i++)
        if (a->ranks[i].rank == rank)
            return a->ranks[i].mpi_ns;
    return 0;
}

/* "0.40 s", "3.90 to 4.10 s". */
static const char *time_range(struct report *rep, int64_t least, int64_t most)
{
    return fmt_is_same(fmt_time(least), fmt_time(most))
               ? report_text(rep, "%s", fmt_time(most).text)
               : report_text(rep, "%s to %s", fmt_time(least).text, fmt_time(most).text);
}

/* The one rank that is not late, where there is but one. */
static int the_other(const struct run *a, const struct mpi_late *l)
{
    for (int i = 0; i < a->ranks_len; i++) {
        int is_late = 0;
        for (int k = 0; k < l->n; k++)
            is_late |= l->ranks[k] == a->ranks[i].rank;
        if (!is_late)
            return a->ranks[i].rank;
    }
    return -1;
}

/* A claim about a run without steps. */
static struct claim *add_claim(struct report *rep, struct run_result *r, enum cause_class cls, const char *anchor)
{
    struct claim *c = claim_add(rep);
    c->run = (int)(r - rep->runs);
    c->cls = cls;
    c->id = report_text(rep, "%s.%s", r->slug, class_key(cls));
    c->confidence = confidence_without_steps(rep, r, &c->confidence_because);
    claim_grounds(rep, c, r, cls);
    c->gain_why = REASON(GAIN_WITHOUT_STEPS);
    c->evidence = report_text(rep, "runs/%s/index.html#%s", r->slug, anchor);
    c->action = action_for(rep, r, cls);
    c->is_measuring = cls == CLASS_SHARED && is_advice_to_measure(r);
    r->claims[r->n_claims++] = rep->n_claims - 1;
    return c;
}

/* "the other ranks wait for rank 1 in MPI: ..." */
static const char *late_clause(struct report *rep, const struct run_result *r, const struct mpi_late *l, int64_t wall)
{
    const char *names = "";
    for (int i = 0; i < l->n; i++)
        names = report_text(rep, "%s%s%d", names, i == 0 ? "" : i + 1 == l->n ? " and " : ", ", l->ranks[i]);
    int other = r->run->ranks_len - l->n == 1 ? the_other(r->run, l) : -1;
    const char *others = other < 0 ? "the others" : report_text(rep, "rank %d", other);
    return report_text(
        rep, "%s for rank%s %s in MPI: %s spent %s in its calls, %s %s, of %s that a rank was %s",
        other < 0 ? "the other ranks wait" : report_text(rep, "%s waits", others), l->n == 1 ? "" : "s", names,
        l->n > 1    ? "these"
        : other < 0 ? "it"
                    : report_text(rep, "rank %s", names),
        time_range(rep, l->least_ns, l->most_ns), others, time_range(rep, l->others_least_ns, l->others_most_ns),
        fmt_time(wall).text, r->run->has_window ? "recorded" : "watched");
}

static void late_number(struct report *rep, struct claim *c, const struct run_result *r, int rank)
{
    claim_number(rep, c, report_text(rep, "runs.%s.mpi_ranks.%d.time_ns", r->slug, rank), "ns",
                 (double)mpi_of(r->run, rank));
}

/* Waiting ranks spend time in MPI, late ranks do not. This is known without any named step. */
static void add_late_claim(struct report *rep, struct run_result *r, const struct mpi_late *l, int64_t wall)
{
    int other = r->run->ranks_len - l->n == 1 ? the_other(r->run, l) : -1;
    struct claim *c = add_claim(rep, r, CLASS_IMBALANCE, "mpi");
    c->sentence = report_text(rep, "%s %s.", at_nodes(rep, r->n_nodes), late_clause(rep, r, l, wall));
    c->support = report_text(rep, "That is %s of waiting, %s of the time of %s.", fmt_time(l->waited_ns).text,
                             fmt_percent((double)l->waited_ns / (double)wall).text,
                             other < 0 ? "each of the others" : report_text(rep, "rank %d", other));
    c->threshold_ratio = rep->thresholds.straggler_wait;
    c->threshold_name = "straggler_wait";
    for (int i = 0; i < l->n; i++)
        late_number(rep, c, r, l->ranks[i]);
}

/* "43 % of the run is in calls on files (writing 92.0 ms, other calls 298 ms), most of it in 'big'" */
static const char *files_clause(struct report *rep, const struct run *a, const struct file_time *f)
{
    static const char *const kinds[DCT_N_IO] = {"reading", "writing", "other calls such as fsync and open"};
    const char *by_kind = "", *where = "";
    for (int k = 0; k < DCT_N_IO; k++)
        if (f->kind_ns[k] > 0)
            by_kind =
                report_text(rep, "%s%s%s %s", by_kind, *by_kind ? ", " : "", kinds[k], fmt_time(f->kind_ns[k]).text);
    if (f->largest && 2 * f->largest_ns > f->ns) {
        const char *base = strrchr(f->largest->name, '/');
        where = report_text(rep, ", most of it in '%s'", base && base[1] ? base + 1 : f->largest->name);
    }
    if (!*where && f->n_in_folder > 1 && 2 * f->folder_ns > f->ns)
        where = report_text(rep, ", most of it in %d files of '%.*s'", f->n_in_folder, f->folder_len, f->folder);
    return report_text(rep, "%s of %s is in calls on files (%s)%s", fmt_percent(f->ratio).text, recorded_noun(a),
                       by_kind, where);
}

static void add_files_claim(struct report *rep, struct run_result *r, const struct file_time *f)
{
    struct claim *c = add_claim(rep, r, CLASS_IO, "io");
    c->sentence = report_text(rep, "%s %s.", at_nodes(rep, r->n_nodes), files_clause(rep, r->run, f));
    c->support = report_text(
        rep,
        "The calls on files take %s of the %s that the processes of the ranks were %s, summed over them; calls "
        "of several threads or processes of a rank at once count each.",
        fmt_time(f->ns).text, fmt_time(f->wall_ns).text, r->run->has_window ? "recorded" : "watched");
    c->threshold_ratio = rep->thresholds.io_limits;
    c->threshold_name = "io_limits";
    claim_number(rep, c, report_text(rep, "runs.%s.files_share.ratio", r->slug), "ratio", f->ratio);
    claim_number(rep, c, report_text(rep, "runs.%s.files_share.time_ns", r->slug), "ns", (double)f->ns);
}

/* Ranks that wait for a core are late, so waiting in MPI then proves no other cause (as in runs with steps). */
static void add_shared_claim(struct report *rep, struct run_result *r, const struct mpi_late *l, int64_t wall,
                             const struct file_time *f)
{
    static const char doubt[] = "as far as shared cores let one see,";
    struct claim *c = add_claim(rep, r, CLASS_SHARED, "monitors");
    const char *late = l ? late_clause(rep, r, l, wall) : "";
    const char *behind = f   ? report_text(rep, "; behind that, %s", files_clause(rep, r->run, f))
                         : l ? report_text(rep, "; %s %s", doubt, late)
                             : "";
    c->sentence = report_text(rep, "%s %s%s.", at_nodes(rep, r->n_nodes), r->shared.because, behind);
    c->support = report_text(rep, "%s%s%s",
                             is_doubtful(r) ? "Every other verdict on this run is unreliable: waiting for a core looks "
                                              "like work, or like waiting for a message."
                                            : "The quota is equal on all nodes and at all node counts, so what they "
                                              "are to each other holds.",
                             f && l ? report_text(rep, " A%s ", doubt + 1) : "", f && l ? late : "");
    if (f && l)
        c->support = report_text(rep, "%s.", c->support);
    shared_numbers(rep, c, r);
    for (int i = 0; l && i < l->n; i++)
        late_number(rep, c, r, l->ranks[i]);
}

/* What a program that was watched shows without any named step: the larger share of the run first, behind ranks that
 * had no cores of their own. */
static void add_claims(struct report *rep, struct run_result *r)
{
    struct mpi_late l = mpi_late(&rep->thresholds, r->run);
    struct file_time f = file_time(r->run);
    int64_t wall = r->run->ranks_len ? recorded_part(r->run).ns / r->run->ranks_len : 0;
    int has_late = l.has && mpi_share(r->run).has, has_files = f.has && f.ratio > rep->thresholds.io_limits;
    int is_late_first = has_late && (double)l.waited_ns >= f.ratio * (double)wall;
    if (r->shared.kind)
        add_shared_claim(rep, r, has_late ? &l : NULL, wall, has_files ? &f : NULL);
    else if (has_late && is_late_first)
        add_late_claim(rep, r, &l, wall);
    if (has_files)
        add_files_claim(rep, r, &f);
    if (has_late && !is_late_first && !r->shared.kind)
        add_late_claim(rep, r, &l, wall);
    if (!r->n_claims)
        return;
    const struct claim *first = &rep->claims[r->claims[0]];
    const struct claim *second = r->n_claims > 1 ? &rep->claims[r->claims[1]] : NULL;
    const char *more = !second ? "" : first->cls == CLASS_SHARED ? second->support : second->sentence;
    r->headline = first->sentence;
    r->is_headline_placed = 1;
    r->support = report_text(rep, "%s%s%s Where the time of a step goes is unknown: no steps were recorded.",
                             first->support, *more ? " " : "", more);
}

void say_without_steps(struct report *rep, struct run_result *r)
{
    const char *evidence = "", *failed = failed_headline(rep, r), *lost = lost_words(rep, r->run);
    int is_lost_first = 0;
    if (*failed) { /* what was recorded up to there shows how it failed, not what limits it */
        r->headline = failed;
        return;
    }
    r->headline = device_headline(rep, r->run);
    if (!r->headline && !r->step.n)
        evidence = evidence_headline(rep, r->run, &r->support);
    if (!r->headline && !r->step.n && !*evidence)
        evidence = epochs_headline(rep, r->run);
    if (*evidence)
        r->headline = evidence;
    else if (!r->headline && *lost) {
        is_lost_first = 1;
        r->headline = report_text(rep, "What limits the run%s%s is unknown: %s.", r->n_nodes ? " at " : "",
                                  r->n_nodes ? nodes_text(rep, r->n_nodes) : "", lost);
    } else if (!r->headline)
        r->headline = report_text(rep, "Where the time of a step goes%s%s is unknown: no %s were recorded.",
                                  r->n_nodes ? " at " : "", r->n_nodes ? nodes_text(rep, r->n_nodes) : "",
                                  r->step.n ? "phases of a step" : "steps");
    if (r->has_throughput)
        r->support = report_text(rep, "%s%sBy %s%s it processed %s samples per second.", r->support,
                                 *r->support ? " " : "", r->run->summary.n_steps ? "the " : "",
                                 throughput_source_words(r), fmt_number(r->throughput).text);
    if (!r->run->is_foreign && !r->run->n_traces)
        add_claims(rep, r);
    say_mpi(rep, r);
    if (*lost && (!is_lost_first || r->n_claims))
        r->headline = report_text(rep, "%s %s", r->headline, lost_sentence(rep, r));
    if (*lost)
        r->support = report_text(rep, "%s%sThe time in calls of MPI and on files is not known without the lost events.",
                                 r->support, *r->support ? " " : "");
    else if (r->run->has_window)
        r->support = report_text(rep, "%s%s%s", r->support, *r->support ? " " : "", recorded_sentence(rep, r->run));
}
