/* checks.c - see checks.h. */
#include "render/narrate/checks.h"

#include "render/analyse/analyse.h"
#include "render/say/format.h"
#include "render/say/say.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum metric {
#define X(name, unit, what) METRIC_##name,
    CHECK_METRICS(X)
#undef X
        N_METRICS
};
/* What a metric is compared in. */
enum check_unit { IN_PERCENT, IN_TIME, IN_NUMBERS };
static const struct {
    const char *name;
    enum check_unit unit;
    const char *what;
} metrics[N_METRICS] = {
#define X(name, unit, what) {#name, unit, what},
    CHECK_METRICS(X)
#undef X
};

struct rule {
    enum metric metric;
    int is_below, may_equal;
    double bound; /* ratio, ns or number */
};

static int metric_of(const char *name, size_t n)
{
    for (int i = 0; i < N_METRICS; i++)
        if (strlen(metrics[i].name) == n && strncmp(metrics[i].name, name, n) == 0)
            return i;
    return -1;
}

/* Number behind the operator, in the metric's own unit; NAN when it has the wrong one, or is one no metric can have: a
 * rule with it would hold whatever happens. A share above 1 has to say %, since 20 is meant as 20 %. */
static double bound_of(const char *text, enum check_unit unit)
{
    static const struct {
        const char *name;
        enum check_unit of;
        double factor;
    } units[] = {{"%", IN_PERCENT, 0.01}, {"", IN_PERCENT, 1}, {"ns", IN_TIME, 1}, {"us", IN_TIME, 1e3},
                 {"ms", IN_TIME, 1e6},    {"s", IN_TIME, 1e9}, {"", IN_NUMBERS, 1}};
    char *end;
    double v = strtod(text, &end);
    int is_decimal = strspn(text, "+-.0123456789eE ") >= (size_t)(end - text); /* 0x10 is no number a person means */
    if (end == text || !is_decimal || !(v >= 0 && v <= 1e9)) /* larger ones are no rule, and might not fit into ns */
        return NAN;
    end += strspn(end, " ");
    if (unit == IN_PERCENT && !*end && v > 1)
        return NAN;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (units[i].of == unit && strcmp(units[i].name, end) == 0)
            return v * units[i].factor;
    return NAN;
}

static int parse(const char *text, struct rule *out, struct dcr_err *err)
{
    const char *at = text + strspn(text, " ");
    size_t n = strcspn(at, " <>=");
    int metric = metric_of(at, n);
    if (metric < 0)
        return dcr_err_set(err, DCR_FAIL, "--check '%.80s': there is no metric '%.*s'; docs/man/dcreport.1 lists them",
                           text, n < 60 ? (int)n : 60, at);
    const char *op = at + n + strspn(at + n, " ");
    if (*op != '<' && *op != '>')
        return dcr_err_set(err, DCR_FAIL, "--check '%.80s': expected <, <=, > or >= behind '%s'", text,
                           metrics[metric].name);
    *out = (struct rule){(enum metric)metric, *op == '<', op[1] == '=', 0};
    out->bound = bound_of(op + 1 + out->may_equal, metrics[metric].unit);
    if (isnan(out->bound))
        return dcr_err_set(err, DCR_FAIL, "--check '%.80s': expected %s behind the operator", text,
                           metrics[metric].unit == IN_PERCENT
                               ? "a share such as 20% or 0.2 (not negative, above 1 only with %)"
                           : metrics[metric].unit == IN_TIME ? "a time such as 180ms (ns, us, ms, s; not negative)"
                                                             : "a plain number that is not negative");
    return 0;
}

int checks_parse(const char *const *rules, int n, struct dcr_err *err)
{
    struct rule r;
    for (int i = 0; i < n; i++) {
        int rc = parse(rules[i], &r, err);
        if (rc)
            return rc;
    }
    return 0;
}

/* ---- values -------------------------------------------------------------------------------------------- */

static double share(const struct run_result *r, int64_t ns)
{
    return (double)ns / (double)r->step.mean_ns;
}

/* Mean utilisation, or the largest share of memory, over the monitored GPUs; NAN without any. */
static double gpu_value(const struct run *run, int is_memory)
{
    double sum = 0, most = NAN;
    int n = 0;
    for (int i = 0; i < run->nodes_len; i++)
        for (int k = 0; k < run->nodes[i].n_gpus; k++) {
            const struct run_gpu *g = &run->nodes[i].gpus[k];
            if (g->utilization_percent.n) {
                sum += g->utilization_percent.sum / (double)g->utilization_percent.n / 100;
                n++;
            }
            if (g->memory_used_mb.n && g->memory_total_mb.n && g->memory_total_mb.max > 0) {
                double used = g->memory_used_mb.max / g->memory_total_mb.max;
                most = isnan(most) || used > most ? used : most;
            }
        }
    return is_memory ? most : n ? sum / n : NAN;
}

/* Why gpu_memory is n/a: not monitored at all, or in part. */
static struct reason why_no_memory(const struct run *run)
{
    int n = 0, n_used = 0;
    for (int i = 0; i < run->nodes_len; i++)
        for (int k = 0; k < run->nodes[i].n_gpus; k++, n++)
            n_used += run->nodes[i].gpus[k].memory_used_mb.n > 0;
    return n_used ? REASON(GPU_MONITOR_NO_TOTAL) : n ? REASON(GPU_MONITOR_NO_MEMORY) : REASON(NO_GPU_MONITORED);
}

static double dropped(const struct run *run)
{
    double n = 0;
    for (int i = 0; i < run->ranks_len; i++)
        n += (double)run->ranks[i].n_dropped;
    return run->ranks_len ? n : NAN;
}

/* Of a step; NAN where nothing was recorded that could tell it: no zero, which would pass. */
static double part_share(const struct run_result *r, enum part p, struct reason *why)
{
    if (is_part_known(r, p))
        return share(r, r->part_ns[p]);
    const struct class_result *c = &r->classes[class_of_part(p)];
    *why = c->verdict == VERDICT_NA ? c->why : *why;
    return NAN;
}

/* Transfer and waiting. */
static double communication_share(const struct run_result *r, struct reason *why)
{
    double transfer = part_share(r, PART_TRANSFER, why);
    return isnan(transfer) && r->comm_ns == 0 ? NAN : share(r, r->comm_ns);
}

/* Of workers against each other, ranks or GPUs. */
static int is_efficiency(enum metric m)
{
    return m == METRIC_load_balance || m == METRIC_parallel_efficiency || m == METRIC_communication_efficiency;
}

/* NAN: n/a, and why says so. */
static double value_of(const struct run_result *r, enum metric m, struct reason *why)
{
    double v;
    *why = r->has_steps ? REASON(NOT_MEASURED) : r->steps_why;
    switch (m) {
    case METRIC_gpu_utilization:
    case METRIC_gpu_memory:
        *why = m == METRIC_gpu_memory ? why_no_memory(r->run)
               : r->run->n_traces     ? REASON(NO_GPU_MONITORED_NOR_STEPS)
                                      : REASON(NO_GPU_MONITORED);
        v = gpu_value(r->run, m == METRIC_gpu_memory);
        return isnan(v) && m == METRIC_gpu_utilization ? traced_utilization(r->run) : v;
    case METRIC_throughput:
        if (lost_steps(r->run))
            break;
        *why = r->throughput_why;
        return r->has_throughput ? r->throughput : NAN;
    case METRIC_dropped:
        *why = REASON(NO_RANK_RECORDED);
        return dropped(r->run);
    default:
        break;
    }
    if (lost_steps(r->run)) { /* a check must hold for the whole run, and only a part of it was recorded */
        *why = REASON(EVENTS_LOST);
        return NAN;
    }
    switch (m) {
    case METRIC_step_time:
        return r->step.n ? (double)r->step.mean_ns : NAN;
    case METRIC_step_p95:
        return r->step.n ? (double)r->step.p95_ns : NAN;
    case METRIC_step_cv:
        return r->step.n > 1 ? r->step.cv_ratio : NAN;
    case METRIC_steps:
        return (double)r->n_counted;
    default:
        break;
    }
    if (!r->has_steps || r->step.mean_ns <= 0)
        return NAN;
    if (!r->pop.has && is_efficiency(m))
        *why = r->pop_why;
    switch (m) {
    case METRIC_exposed_comm:
        return communication_share(r, why);
    case METRIC_comm_transfer:
    case METRIC_comm_wait:
        if (is_one_of_many(r))
            *why = REASON(ONE_OF_MANY_RANKS);
        else if (m == METRIC_comm_wait && r->n_ranks == 1)
            *why = REASON(ONE_RANK);
        return is_one_of_many(r) || (m == METRIC_comm_wait && r->n_ranks == 1)
                   ? NAN
                   : part_share(r, m == METRIC_comm_wait ? PART_WAIT : PART_TRANSFER, why);
    case METRIC_compute:
        return part_share(r, PART_COMPUTE, why);
    case METRIC_data:
        return part_share(r, PART_DATA, why);
    case METRIC_io:
        return part_share(r, PART_IO, why);
    case METRIC_copy:
        return part_share(r, PART_COPY, why);
    case METRIC_other:
        return part_share(r, PART_OTHER, why);
    case METRIC_load_balance:
        return r->pop.has ? r->pop.load_balance_ratio : NAN;
    case METRIC_parallel_efficiency:
        return r->pop.has ? r->pop.parallel_ratio : NAN;
    case METRIC_communication_efficiency:
        return r->pop.has ? r->pop.communication_ratio : NAN;
    case METRIC_gpu_communication:
    case METRIC_gpu_orchestration:
        if (!r->pop.is_of_gpus) {
            *why = REASON(STEPS_NOT_OF_GPU_TRACES);
            return NAN;
        }
        *why = r->pop_why;
        if (!r->pop.has)
            return NAN;
        return m == METRIC_gpu_communication ? r->pop.gpu_communication_ratio : r->pop.orchestration_ratio;
    case METRIC_device_offload:
        *why = r->pop_host_why;
        return r->pop_host.has ? r->pop_host.offload_ratio : NAN;
    default:
        return NAN;
    }
}

/* Of ranks that meet each other: of a run of one rank it means nothing, unless it is of its GPU. */
static int is_of_ranks(enum metric m)
{
    return m == METRIC_comm_wait || is_efficiency(m);
}

/* Has it one rank, and is that all that the rule is about? One GPU computes, or waits for its host. */
static int is_single(const struct run_result *r, enum metric m)
{
    return r->n_ranks == 1 && !is_one_of_many(r) && !(is_efficiency(m) && r->pop.is_of_gpus);
}

/* Checks of one rule, from `first` on. Where it applies to none of the runs it was not checked at all. */
static void skip_single_ranks(struct report *rep, struct checks *out, int first, enum metric m)
{
    int n = out->n - first, n_single = 0;
    for (int i = 0; i < rep->n_runs; i++)
        n_single += is_single(&rep->runs[i], m);
    for (int i = 0; i < n; i++) {
        struct check *c = &out->list[first + i];
        if (!is_single(&rep->runs[i], m))
            continue;
        c->text = "one rank waits for nobody";
        if (n_single == n) {
            struct reason why = n == 1 ? REASON(RULE_OF_RANKS_ONE_RUN) : REASON(RULE_OF_RANKS_ALL_RUNS);
            c->text = say_reason(&rep->arena, &why);
            continue;
        }
        c->is_skipped = 1;
        out->n_skipped++;
        out->n_unmeasured--;
        out->n_failed--;
    }
}

static const char *value_text(struct report *rep, enum metric m, double v)
{
    enum check_unit unit = metrics[m].unit;
    if ((m == METRIC_steps || m == METRIC_dropped) && v == floor(v)) /* counted */
        return report_text(rep, "%.0f", v);
    return report_text(rep, "%s",
                       unit == IN_PERCENT ? fmt_percent(v).text
                       : unit == IN_TIME  ? fmt_time((int64_t)v).text
                                          : fmt_number(v).text);
}

/* A value that reads like another, and is not the same, gets the decimals that tell them apart. */
static const char *value_beside(struct report *rep, enum metric m, double v, double other)
{
    static const char *const words[] = {[IN_PERCENT] = " %", [IN_TIME] = " ms", [IN_NUMBERS] = ""};
    static const double factors[] = {[IN_PERCENT] = 100, [IN_TIME] = 1e-6, [IN_NUMBERS] = 1};
    const char *text = value_text(rep, m, v);
    if (v == other || strcmp(text, value_text(rep, m, other)) != 0)
        return text;
    double factor = factors[metrics[m].unit];
    for (int decimals = 1; decimals <= 9; decimals++) {
        text = report_text(rep, "%.*f", decimals, factor * v);
        if (strcmp(text, report_text(rep, "%.*f", decimals, factor * other)) != 0)
            break;
    }
    return report_text(rep, "%s%s", text, words[metrics[m].unit]);
}

/* unreliable: why the report trusts no verdict on what this is about; "" it does. */
static void add(struct report *rep, struct checks *out, const char *text, const struct rule *r, const char *on,
                double v, struct reason why, const char *unreliable)
{
    struct check *c = &out->list[out->n++];
    *c = (struct check){.rule = text, .what = metrics[r->metric].what, .on = on};
    if (isnan(v)) {
        c->text = say_reason(&rep->arena, &why);
        out->n_unmeasured++;
    } else {
        c->is_measured = 1;
        c->holds =
            r->is_below ? (r->may_equal ? v <= r->bound : v < r->bound) : (r->may_equal ? v >= r->bound : v > r->bound);
        c->text =
            report_text(rep, "%s, %s%s %s%s", value_beside(rep, r->metric, v, r->bound), c->holds ? "" : "not ",
                        r->is_below ? (r->may_equal ? "at most" : "below") : (r->may_equal ? "at least" : "above"),
                        value_beside(rep, r->metric, r->bound, v),
                        *unreliable ? report_text(rep, " (unreliable: %s)", unreliable) : "");
        c->is_unreliable = *unreliable != '\0';
    }
    out->n_failed += !c->holds;
}

/* What a rank without a core of its own does to times it does not do to counts. */
static const char *doubt_of(const struct run_result *r, enum metric m)
{
    int is_count = m == METRIC_steps || m == METRIC_dropped || m == METRIC_gpu_memory;
    return is_doubtful(r) && !is_count ? r->shared.because : "";
}

/* Scaling is of a series, not of a run. */
static int is_of_series(enum metric m)
{
    return m == METRIC_efficiency || m == METRIC_speedup;
}

/* Are events missing in a run of the point? */
static int lost_at(const struct report *rep, const struct series_point *p)
{
    for (int i = 0; i < p->n_runs; i++)
        if (lost_steps(rep->runs[p->runs[i]].run))
            return 1;
    return 0;
}

static void check_series(struct report *rep, struct checks *out, const char *text, const struct rule *r)
{
    int n = 0;
    for (int i = 0; i < rep->n_series; i++) {
        const struct series *s = &rep->series[i];
        if (s->n_points < 2)
            continue;
        const struct series_point *p = &s->points[s->n_points - 1];
        double v = r->metric == METRIC_speedup ? p->speedup : p->efficiency;
        int is_lost = lost_at(rep, &s->points[0]) || lost_at(rep, p);
        add(rep, out, text, r, report_text(rep, "%s", fmt_count(p->n_nodes, counted_word(rep->unit)).text),
            v > 0 && !is_lost ? v : NAN, is_lost ? REASON(EVENTS_LOST) : s->speedup_why,
            *p->unreliable ? p->unreliable : doubt_of(&rep->runs[p->runs[0]], r->metric));
        n++;
    }
    if (n == 0)
        add(rep, out, text, r, rep->title, NAN, REASON(ONE_NODE_COUNT), "");
}

int checks_run(struct report *rep, const char *const *rules, int n, struct checks *out, struct dcr_err *err)
{
    *out = (struct checks){0};
    out->list = dcr_arena_alloc(&rep->arena, (size_t)(n * (rep->n_runs + rep->n_series + 1) + 1) * sizeof *out->list);
    for (int i = 0; i < n; i++) {
        struct rule r;
        int rc = parse(rules[i], &r, err);
        if (rc)
            return rc;
        const char *text = report_text(rep, "%s", rules[i]);
        if (is_of_series(r.metric)) {
            check_series(rep, out, text, &r);
            continue;
        }
        for (int k = 0; k < rep->n_runs; k++) {
            struct reason why;
            double v = value_of(&rep->runs[k], r.metric, &why);
            add(rep, out, text, &r, rep->runs[k].label, v, why, doubt_of(&rep->runs[k], r.metric));
        }
        if (is_of_ranks(r.metric))
            skip_single_ranks(rep, out, out->n - rep->n_runs, r.metric);
    }
    return 0;
}
