/* stepless_evidence.c - findings from files of other tools that hold no steps: reports, tables, monitors. The first
 * file that shows something gives the finding and the advice. Called by stepless.c and stepless_action.c.
 * Test: tests/unit/test_devices_told.c, tests/integration/render_foreign.sh */
#include "render/findings/rules/analyse.h"
#include "render/findings/stepless.h"

#include "render/metrics/rule.h"
#include "render/metrics/kernel_roofline.h"
#include "render/model/cells.h"
#include "render/findings/talp_claims.h"

#include <string.h>

/* ---- logs of nccl-tests ---------------------------------------------------------------------------- */

/* The smallest size from which on every message gets `share` of the best rate of the log; 0 = there is none. */
static double bytes_from(const struct run_collective_test *c, double share)
{
    double best = 0, from = 0;
    for (int i = 0; i < c->n_points; i++) {
        double rate = (double)c->points[i].bytes / (double)c->points[i].median_ns;
        best = rate > best ? rate : best;
    }
    for (int i = c->n_points; i-- > 0;) {
        if ((double)c->points[i].bytes / (double)c->points[i].median_ns < share * best)
            break;
        from = (double)c->points[i].bytes;
    }
    return from;
}

static struct phrase bandwidth(const struct run_collective_test *c)
{
    struct slot name = slot_name(*c->collective ? c->collective : "collective"), ranks = slot_count(c->n_ranks),
                rate = slot_number(c->busbw_gb_per_s), best = slot_bytes(c->busbw_bytes);
    double from = bytes_from(c, 0.9);
    if (!c->n_ranks || c->n_points < 3)
        return PHRASE(BUS_REACHES, name, rate, best);
    if (!(from > 0) || from >= (double)c->points[c->n_points - 1].bytes)
        return PHRASE(BUS_GROWS, name, ranks, rate, best);
    return PHRASE(BUS_SATURATES, name, ranks, rate, slot_bytes(from));
}

static int tell_nccl_tests(const struct run *r, const char *file, struct said *out)
{
    const struct run_collective_test *first = NULL, *second = NULL;
    int n = 0;
    for (int i = 0; i < r->n_tests; i++) {
        const struct run_collective_test *c = &r->tests[i];
        if (strcmp(c->file, file) != 0 || c->busbw_gb_per_s <= 0)
            continue;
        n++;
        second = first && !second ? c : second;
        first = first ? first : c;
    }
    if (!first)
        return 0;
    *out = (struct said){.headline = bandwidth(first)};
    if (first->n_points >= 3) {
        said_add(out, PHRASE(BUS_HALF, slot_bytes(bytes_from(first, 0.5))));
        said_add(out, PHRASE(BUS_LATENCY, slot_bytes((double)first->points[0].bytes),
                             slot_time(first->points[0].median_ns)));
    }
    if (second)
        said_add(out, bandwidth(second));
    if (n > 2)
        said_add(out, PHRASE(MORE_TESTS, slot_count(n - 2)));
    return 1;
}

/* ---- tables of other tools ------------------------------------------------------------------------- */

/* Kind, bytes at the peak of all ...; the last row is their sum (render/import/memory_timeline.c). */
static int tell_memory(const struct foreign_table *t, struct said *out)
{
    size_t n = table_rows(t), most = 0;
    double all = n ? table_value(t, n - 1, 1) : -1;
    for (size_t i = 0; i + 1 < n; i++)
        most = table_value(t, i, 1) > table_value(t, most, 1) ? i : most;
    if (all <= 0)
        return 0;
    *out =
        (struct said){.headline = PHRASE(FRAMEWORK_MEMORY, slot_bytes(all), slot_percent(table_value(t, most, 1) / all),
                                         slot_name(table_cell(t, most, 0)))};
    return 1;
}

/* The row with most summed time, and its share of all rows if the table has nanoseconds. */
static int tell_nsys(struct report *rep, const struct foreign_table *t, struct said *out)
{
    static const char *const sums[] = {"Sum, ns", "Total Time (ns)", "Total Proj Time (ns)"};
    static const char *const others[] = {"NVTX Range", "KAvg (ns)", "Total Message Volume (bytes)"};
    int sum = -1;
    size_t most = 0;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) /* kernels under several ranges, means, bytes */
        if (table_column(t, others[i]) >= 0)
            return 0;
    if (!table_rows(t))
        return 0;
    for (size_t i = 0; i < sizeof sums / sizeof *sums && sum < 0; i++)
        sum = table_column(t, sums[i]);
    for (size_t i = 1; sum >= 0 && i < table_rows(t); i++)
        most = table_value(t, i, sum) > table_value(t, most, sum) ? i : most;
    double all = 0, first = sum >= 0 ? table_value(t, most, sum) : -1;
    struct slot name = slot_name(report_text(rep, "%.80s", table_cell(t, most, 0)));
    *out = (struct said){0};
    if (first > 0 && first < (double)INT64_MAX && table_column(t, "Range") >= 0) {
        out->headline = PHRASE(RANGES_LONGEST, name, slot_time((int64_t)first));
        said_add(out, PHRASE(RANGES_NEST));
        return 1;
    }
    for (size_t i = 0; sum >= 0 && i < table_rows(t); i++)
        all += table_value(t, i, sum) > 0 ? table_value(t, i, sum) : 0;
    out->headline = first <= 0 || all >= (double)INT64_MAX
                        ? PHRASE(MOST_TIME_NAMED, name)
                        : PHRASE(MOST_TIME, name, slot_time((int64_t)first), slot_percent(first / all));
    said_add(out, PHRASE(FROM_TABLE, slot_name(t->caption)));
    return 1;
}

/* The kernel that took most time, if the roofline tells what bounds it. */
static int tell_kernels(struct report *rep, const struct run *r, const struct foreign_table *t, struct said *out,
                        struct stepless_advice *todo)
{
    static const struct {
        enum phrase_id said;
        enum advice advice;
    } of[] = {
        [BOUND_COMPUTE] = {PHRASE_KERNEL_COMPUTE_BOUND, ADVICE_KERNEL_FASTER_MATH},
        [BOUND_MEMORY] = {PHRASE_KERNEL_MEMORY_BOUND, ADVICE_KERNEL_FEWER_BYTES},
        [BOUND_LATENCY] = {PHRASE_KERNEL_UNBOUND, ADVICE_KERNEL_MORE_PARALLEL},
    };
    const struct run_kernel_counts *k = NULL;
    for (int i = 0; i < r->n_kernels && !k; i++)
        k = strcmp(r->kernels[i].file, t->file) == 0 ? &r->kernels[i] : NULL;
    if (!k)
        return 0;
    struct kernel_roofline x = kernel_roofline_of(k, &rep->thresholds);
    if (x.bound == BOUND_UNKNOWN)
        return 0;
    *out = (struct said){.headline = {.id = of[x.bound].said,
                                      .slot = {slot_name(report_text(rep, "%.80s", k->kernel)),
                                               slot_percent(x.bound == BOUND_COMPUTE ? x.flop_ratio : x.bytes_ratio)}}};
    said_add(out, PHRASE(KERNEL_INTENSITY, slot_number(x.intensity)));
    said_add(out, PHRASE(KERNEL_MOST_TIME, slot_name(t->file)));
    *todo = (struct stepless_advice){.first = {.id = of[x.bound].advice}, .is_first = 1};
    return 1;
}

static int tell_jobs(struct report *rep, const struct foreign_table *t, struct said *out, struct stepless_advice *todo)
{
    static const enum advice advice[N_JOB_ENDS] = {[JOB_OUT_OF_MEMORY] = ADVICE_MORE_MEMORY,
                                                   [JOB_NODE_FAILED] = ADVICE_SUBMIT_AGAIN,
                                                   [JOB_TIMED_OUT] = ADVICE_MORE_TIME,
                                                   [JOB_CANCELLED] = ADVICE_FIND_WHO_CANCELLED};
    struct phrase said[NOTE_PHRASES] = {{0}};
    if (!accounting_ended(rep, t, said))
        return 0;
    *out = (struct said){.headline = said[0]};
    said_add(out, said[1]);
    said_add(out, said[2]);
    *todo = (struct stepless_advice){.first = {.id = advice[accounting_jobs(rep, t).end]}, .is_first = 1};
    return 1;
}

/* ---- monitors -------------------------------------------------------------------------------------- */

struct utilisation {
    double mean;
    int64_t n, n_zero; /* number of samples of all GPUs, and of those that read 0 */
    int n_gpus;
};

static struct utilisation utilisation_of(const struct run *r)
{
    struct utilisation u = {0};
    for (int i = 0; i < r->nodes_len; i++)
        for (int k = 0; k < r->nodes[i].n_gpus; k++) {
            const struct sampled *s = &r->nodes[i].gpus[k].utilization_percent;
            u.mean += s->sum / 100;
            u.n += s->n;
            u.n_zero += s->n_zero;
            u.n_gpus += s->n > 0;
        }
    u.mean = u.n ? u.mean / (double)u.n : 0;
    return u;
}

/* All monitored GPUs; each sample counts once. */
static int tell_monitors(const struct report *rep, const struct run *r, struct said *out, struct stepless_advice *todo)
{
    struct utilisation u = utilisation_of(r);
    if (!u.n)
        return 0;
    int is_low = u.mean < rep->thresholds.gpu_utilization, is_known = (double)u.n >= rep->thresholds.few_steps;
    struct slot mean = slot_percent(u.mean), gpus = slot_count(u.n_gpus);
    *out = (struct said){
        .headline = !is_known ? PHRASE(UTILISATION_FEW, slot_count(u.n), slot_count((int64_t)rep->thresholds.few_steps))
                    : is_low  ? PHRASE(UTILISATION_LOW, mean, slot_percent(rep->thresholds.gpu_utilization))
                              : PHRASE(UTILISATION, mean, gpus)};
    said_add(out, is_known ? PHRASE(SAMPLED, slot_count(u.n), gpus) : PHRASE(UTILISATION_MEAN, mean, gpus));
    /* A monitor also watches while nothing runs. */
    if (is_known && is_low && u.n_zero && (double)u.n_zero < 0.9995 * (double)u.n) /* else it would read 100 % */
        said_add(out, PHRASE(UTILISATION_IN_USE, slot_percent((double)u.n_zero / (double)u.n),
                             slot_percent(u.mean * (double)u.n / (double)(u.n - u.n_zero))));
    *todo = !is_known ? (struct stepless_advice){.first = ADVISE(NOTHING_ONE_FILE)}
            : is_low  ? (struct stepless_advice){.first = ADVISE(LEARN_WHY_IDLE), .is_first = 1}
                      : (struct stepless_advice){.first = ADVISE(NOTHING_BUSY)};
    return 1;
}

/* Mean over GPUs of the parts that tell most, after the utilisation if that was sampled too. */
static int tell_activity(const struct report *rep, const struct run *r, const struct foreign_table *t, struct said *out,
                         struct stepless_advice *todo)
{
    static const char *const parts[] = {"multiprocessors active", "tensor cores active", "memory active"};
    int is_told = tell_monitors(rep, r, out, todo);
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        double sum = 0;
        int n = 0;
        for (size_t i = 0; i < table_rows(t); i++)
            if (strcmp(table_cell(t, i, 1), parts[k]) == 0) {
                sum += table_value(t, i, 3);
                n++;
            }
        if (!n)
            continue;
        struct phrase p = PHRASE(ACTIVE, slot_name(parts[k]), slot_percent(sum / n / 100));
        if (is_told)
            said_add(out, p);
        else
            *out = (struct said){.headline = p};
        is_told = 1;
    }
    return is_told;
}

/* ---- which of them --------------------------------------------------------------------------------- */

static int tell_table(struct report *rep, const struct run *r, const struct foreign_table *t, struct said *out,
                      struct stepless_advice *todo)
{
    *todo = (struct stepless_advice){.first = ADVISE(NOTHING_ONE_FILE)};
    if (t->kind == FOREIGN_NCCL_TESTS) {
        todo->first = ADVISE(NOTHING_BENCHMARK);
        return tell_nccl_tests(r, t->file, out);
    }
    if (t->kind == FOREIGN_MEMORY_TIMELINE)
        return tell_memory(t, out);
    if (t->kind == FOREIGN_DCGM)
        return tell_activity(rep, r, t, out, todo);
    if (t->kind == FOREIGN_SACCT && tell_jobs(rep, t, out, todo))
        return 1;
    if (t->kind == FOREIGN_NCU && tell_kernels(rep, r, t, out, todo))
        return 1;
    if (foreign_is_nsys(t->kind))
        return tell_nsys(rep, t, out);
    if (!table_rows(t))
        return 0;
    *out = (struct said){.headline = PHRASE(TABLE_SHOWN, slot_name(t->file))};
    said_add(out, PHRASE(FROM_TABLE, slot_name(t->caption)));
    return 1;
}

/* A trace of counters, which a profiler records in place of the operations. */
static int tell_counters(const struct foreign_trace *t, struct said *out, struct stepless_advice *todo)
{
    const struct range_counters *c = t->counters;
    double flop = 0;
    if (!c || t->n_devices)
        return 0;
    for (int i = 0; i < c->n_kernels; i++)
        flop += c->kernels[i].sum;
    *out = (struct said){.headline = PHRASE(TRACE_OF_COUNTERS, slot_name(t->file), slot_count(c->n_ranges))};
    if (c->has_flop)
        said_add(out,
                 flop < 1e9 ? PHRASE(COUNTED_FLOP, slot_number(flop)) : PHRASE(COUNTED_GFLOP, slot_number(flop / 1e9)));
    *todo = (struct stepless_advice){.first = ADVISE(WITHOUT_COUNTERS), .is_first = 1};
    return 1;
}

/* A trace in which no GPU worked: calls of its runtime show that one was there. */
static int tell_empty_trace(const struct run *r, struct said *out, struct stepless_advice *todo)
{
    int64_t n_calls = 0, n_events = 0;
    int is_marked = 0, n_devices = 0;
    for (int i = 0; i < r->n_traces; i++) {
        n_calls += r->traces[i].n_calls;
        n_events += r->traces[i].n_events;
        is_marked |= r->traces[i].steps.n_steps > 0;
        n_devices += r->traces[i].n_devices;
    }
    if (!r->n_traces)
        return 0;
    int is_host = run_is_of_hosts(r) || (!n_devices && !n_calls && run_may_be_torch(r) && r->traces[0].operators.n);
    struct slot file = slot_name(r->traces[0].file);
    *out = (struct said){.headline = !is_host    ? PHRASE(TRACE_WITHOUT_WORK, file)
                                     : is_marked ? PHRASE(TRACES_APART, slot_count(r->n_traces))
                                                 : PHRASE(TRACE_WITHOUT_STEPS, file)};
    if (is_host && !is_marked) {
        *todo = (struct stepless_advice){.first = ADVISE(MARK_STEPS), .is_first = 1};
        return 1;
    }
    if (is_marked || n_devices)
        *todo = (struct stepless_advice){.first = ADVISE(WATCH_NEXT_RUN), .is_first = 1};
    else if (n_calls)
        *todo = (struct stepless_advice){.first = ADVISE(TRACE_GPU), .is_first = 1};
    else
        *todo = (struct stepless_advice){.first = ADVISE(TRACE_GPU_IF_ANY), .is_first = 1};
    if (!n_events && !n_calls && !is_marked && !n_devices)
        todo->first.id = foreign_is_nsys(r->traces[0].kind) ? ADVICE_MARK_RANGES : ADVICE_MARK_STEPS;
    return 1;
}

static int tell(struct report *rep, const struct run *r, struct said *out, struct stepless_advice *todo)
{
    if (talp_tell(rep, r, out, todo))
        return 1;
    for (int i = 0; i < r->n_traces; i++)
        if (tell_counters(&r->traces[i], out, todo))
            return 1;
    for (int i = 0; i < r->n_tables; i++)
        if (tell_table(rep, r, &r->tables[i], out, todo))
            return 1;
    return (!*r->collector_version && tell_monitors(rep, r, out, todo)) || tell_empty_trace(r, out, todo);
}

int say_evidence(struct report *rep, const struct run *r, struct said *out)
{
    struct stepless_advice todo;
    return tell(rep, r, out, &todo);
}

int advise_evidence(struct report *rep, const struct run *r, struct stepless_advice *out)
{
    struct said said;
    return tell(rep, r, &said, out);
}
