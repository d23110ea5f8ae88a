/* checks.c - see checks.h. */
#include "render/findings/checks.h"

#include "lib/base/nearest.h"
#include "render/metrics/cores.h"
#include "render/metrics/known.h"
#include "render/metrics/recorded.h"
#include "render/metrics/registry/metrics.h"
#include "render/say/format.h"
#include "render/say/say.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct checked {
    const char *name;
    const struct metrics *of;
    int id;
    const char *what;
} checked[] = {
#define X(name, table, id, what) {#name, &table##_metrics, id, what},
    CHECK_METRICS(X)
#undef X
};
enum { N_CHECKED = sizeof checked / sizeof *checked };

/* Units in which a metric is compared. */
enum check_unit { IN_PERCENT, IN_TIME, IN_NUMBERS };
static enum check_unit unit_of(const struct checked *c)
{
    enum value_unit unit = c->of->rows[c->id].unit;
    return unit == UNIT_RATIO ? IN_PERCENT : unit == UNIT_NS ? IN_TIME : IN_NUMBERS;
}

struct rule {
    const struct checked *of;
    int is_below, may_equal;
    double bound; /* ratio, ns or number */
};

/* Is it a part of a whole? Efficiencies and a deviation over its mean can exceed 100 %. */
static int is_share(const struct checked *c)
{
    return c->of == &run_metrics &&
           (c->id == RUN_COMMUNICATION_SHARE || (c->id > RUN_SHARES && c->id <= RUN_SHARES + N_PARTS) ||
            c->id == RUN_GPU_UTILIZATION || c->id == RUN_GPU_MEMORY);
}

static const struct checked *called(const char *name, size_t n)
{
    for (int i = 0; i < N_CHECKED; i++)
        if (strlen(checked[i].name) == n && strncmp(checked[i].name, name, n) == 0)
            return &checked[i];
    return NULL;
}

/* Number after the operator, in the unit of the metric; NAN if it has another unit, or a value that no metric can have,
 * because such a rule would always hold. A share above 1 needs %, because 20 means 20 %. */
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
    /* A user does not mean 0x10 as a number. Values above 1e9 make no sense, and might not fit into ns. */
    int is_decimal = strspn(text, "+-.0123456789eE ") >= (size_t)(end - text);
    if (end == text || !is_decimal || !(v >= 0 && v <= 1e9))
        return NAN;
    end += strspn(end, " ");
    if (unit == IN_PERCENT && !*end && v > 1)
        return NAN;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (units[i].of == unit && strcmp(units[i].name, end) == 0)
            return v * units[i].factor;
    return NAN;
}

/* Names the metrics whose names contain the word ("comm"), else the one that is misspelt. */
static int refuse_name(const char *text, const char *name, size_t n, struct dcr_err *err)
{
    struct nearest near = {.word = name, .length = n};
    const char *meant[N_CHECKED];
    int n_meant = 0;
    for (int i = 0; i < N_CHECKED; i++) {
        nearest_try(&near, checked[i].name);
        if (n >= 3 && memmem(checked[i].name, strlen(checked[i].name), name, n))
            meant[n_meant++] = checked[i].name;
    }
    if (!n_meant && near.name)
        meant[n_meant++] = near.name;
    struct dcr_arena a = {0};
    int shown = n < 60 ? (int)n : 60;
    if (n_meant)
        dcr_err_set(err, DCR_FAIL, "--check '%.80s': unknown metric '%.*s'; did you mean %s?", text, shown, name,
                    say_either(&a, meant, n_meant));
    else
        dcr_err_set(err, DCR_FAIL,
                    "--check '%.80s': unknown metric '%.*s'; see `man dcreport`, or build/man/dcreport.1 in the "
                    "sources, for the metrics",
                    text, shown, name);
    dcr_arena_release(&a);
    return DCR_FAIL;
}

static int parse(const char *text, struct rule *out, struct dcr_err *err)
{
    const char *at = text + strspn(text, " ");
    size_t n = strcspn(at, " <>=");
    const struct checked *of = called(at, n);
    if (!of)
        return refuse_name(text, at, n, err);
    const char *op = at + n + strspn(at + n, " ");
    if (*op != '<' && *op != '>')
        return dcr_err_set(err, DCR_FAIL,
                           "--check '%.80s': expected <, <=, > or >= after '%s'; write it as in 'exposed_comm<20%%'",
                           text, of->name);
    enum check_unit unit = unit_of(of);
    *out = (struct rule){of, *op == '<', op[1] == '=', 0};
    out->bound = bound_of(op + 1 + out->may_equal, unit);
    if (isnan(out->bound))
        return dcr_err_set(err, DCR_FAIL, "--check '%.80s': the limit is not %s", text,
                           unit == IN_PERCENT ? "a share; write it as 20% or 0.2"
                           : unit == IN_TIME  ? "a time; write it as 180ms (ns, us, ms or s)"
                                              : "a number; write it as 3 or 0.5");
    if (is_share(of) && out->bound > 1)
        return dcr_err_set(err, DCR_FAIL,
                           "--check '%.80s': a share is at most 100%%; write a smaller limit, such as 20%%", text);
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

/* Does it compare ranks, or GPUs, with each other? */
static int is_efficiency(int id)
{
    return id == RUN_POP_LOAD_BALANCE || id == RUN_POP_PARALLEL || id == RUN_POP_COMMUNICATION;
}

/* A check must hold for the whole run. Metrics of steps cannot show that if only a part of the steps was recorded. The
 * three below do not depend on steps. */
static int is_of_steps(int id)
{
    return id != RUN_GPU_UTILIZATION && id != RUN_GPU_MEMORY && id != RUN_DROPPED;
}

/* The value that a check compares. It is missing where the check could otherwise pass without evidence. */
static struct value value_of(const struct run_result *r, int id)
{
    struct value v = metric_value(&run_metrics, id, r);
    int is_exchange = id == RUN_SHARE_PART_TRANSFER || id == RUN_SHARE_PART_WAIT;
    if (is_of_steps(id) && lost_steps(r->run))
        v.why = REASON(EVENTS_LOST);
    else if (r->has_steps && is_exchange && is_one_of_many(r))
        v.why = REASON(ONE_OF_MANY_RANKS);
    else if (r->has_steps && id == RUN_SHARE_PART_WAIT && r->n_ranks == 1)
        v.why = REASON(ONE_RANK);
    else if (id == RUN_STEP_CV && r->step.n < 2)
        v.why = REASON(NOT_MEASURED);
    if (v.why.code == REASON_NOT_MEASURED && !r->has_steps && r->steps_why.code)
        v.why = r->steps_why;
    return v;
}

/* Does it describe how ranks work together? It means nothing for one rank, except on its GPU. */
static int is_of_ranks(const struct checked *c)
{
    return c->of == &run_metrics && (c->id == RUN_SHARE_PART_WAIT || is_efficiency(c->id));
}

/* Does the run have one rank, while the rule is about several? One GPU computes, or waits for its host. */
static int is_single(const struct run_result *r, int id)
{
    return r->n_ranks == 1 && !is_one_of_many(r) && !(is_efficiency(id) && r->pop.is_of_gpus);
}

/* Checks of one rule, from `first` on. If it applies to none of the runs, it was not checked at all. */
static void skip_single_ranks(struct report *rep, struct checks *out, int first, int id)
{
    int n = out->n - first, n_single = 0;
    for (int i = 0; i < rep->n_runs; i++)
        n_single += is_single(&rep->runs[i], id);
    for (int i = 0; i < n; i++) {
        struct check *c = &out->list[first + i];
        if (!is_single(&rep->runs[i], id))
            continue;
        c->text = say_clause(&rep->arena, &REASON(ONE_RANK));
        if (n_single == n) {
            struct reason why = n == 1 ? REASON(RULE_OF_RANKS_ONE_RUN) : REASON(RULE_OF_RANKS_ALL_RUNS);
            c->text = say_clause(&rep->arena, &why);
            continue;
        }
        c->is_skipped = 1;
        out->n_skipped++;
        out->n_unmeasured--;
        out->n_failed--;
    }
}

static const char *value_text(struct report *rep, const struct checked *c, double v)
{
    enum check_unit unit = unit_of(c);
    if (c->of->rows[c->id].unit == UNIT_COUNT && v == floor(v))
        return report_text(rep, "%.0f", v);
    return report_text(rep, "%s",
                       unit == IN_PERCENT ? fmt_percent(v).text
                       : unit == IN_TIME  ? fmt_time((int64_t)v).text
                                          : fmt_number(v).text);
}

/* Two different values that print alike get more decimals. */
static const char *value_beside(struct report *rep, const struct checked *c, double v, double other)
{
    static const char *const words[] = {[IN_PERCENT] = " %", [IN_TIME] = " ms", [IN_NUMBERS] = ""};
    static const double factors[] = {[IN_PERCENT] = 100, [IN_TIME] = 1e-6, [IN_NUMBERS] = 1};
    const char *text = value_text(rep, c, v);
    if (v == other || strcmp(text, value_text(rep, c, other)) != 0)
        return text;
    double factor = factors[unit_of(c)];
    for (int decimals = 1; decimals <= 9; decimals++) {
        text = report_text(rep, "%.*f", decimals, factor * v);
        if (strcmp(text, report_text(rep, "%.*f", decimals, factor * other)) != 0)
            break;
    }
    return report_text(rep, "%s%s", text, words[unit_of(c)]);
}

/* unreliable: why the report does not trust this value; "": it does. */
static void add(struct report *rep, struct checks *out, const char *text, const struct rule *r, const char *on,
                struct value value, const char *unreliable)
{
    struct check *c = &out->list[out->n++];
    double v = value_number(&value);
    *c = (struct check){.rule = text, .what = r->of->what, .on = on};
    if (!value_is_known(&value)) {
        c->text = say_clause(&rep->arena, &value.why);
        out->n_unmeasured++;
    } else {
        c->is_measured = 1;
        c->holds =
            r->is_below ? (r->may_equal ? v <= r->bound : v < r->bound) : (r->may_equal ? v >= r->bound : v > r->bound);
        c->text =
            report_text(rep, "%s, %s%s %s%s", value_beside(rep, r->of, v, r->bound), c->holds ? "" : "not ",
                        r->is_below ? (r->may_equal ? "at most" : "below") : (r->may_equal ? "at least" : "above"),
                        value_beside(rep, r->of, r->bound, v),
                        *unreliable ? report_text(rep, " (unreliable: %s)", unreliable) : "");
        c->is_unreliable = *unreliable != '\0';
    }
    out->n_failed += !c->holds;
}

/* A missing core changes times, but not counts. */
static const char *doubt_of(const struct run_result *r, const struct checked *c)
{
    int is_count = c->of->rows[c->id].unit == UNIT_COUNT || (c->of == &run_metrics && c->id == RUN_GPU_MEMORY);
    return is_doubtful(r) && !is_count ? r->shared.because : "";
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
        struct value v = metric_value(&point_metrics, r->of->id, &(struct point_of){rep, p});
        if (lost_at(rep, &s->points[0]) || lost_at(rep, p))
            v.why = REASON(EVENTS_LOST);
        else if (!value_is_known(&v) && s->speedup_why.code)
            v.why = s->speedup_why;
        add(rep, out, text, r, report_text(rep, "%s", fmt_count(p->n_nodes, counted_word(rep->unit)).text), v,
            p->unreliable.id ? p->unreliable_because : doubt_of(&rep->runs[p->runs[0]], r->of));
        n++;
    }
    if (n == 0)
        add(rep, out, text, r, rep->title, (struct value){.why = REASON(ONE_NODE_COUNT)}, "");
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
        if (r.of->of == &point_metrics) {
            check_series(rep, out, text, &r);
            continue;
        }
        for (int k = 0; k < rep->n_runs; k++)
            add(rep, out, text, &r, rep->runs[k].label, value_of(&rep->runs[k], r.of->id),
                doubt_of(&rep->runs[k], r.of));
        if (is_of_ranks(r.of))
            skip_single_ranks(rep, out, out->n - rep->n_runs, r.of->id);
    }
    return 0;
}
