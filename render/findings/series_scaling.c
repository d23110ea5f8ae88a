/* series_scaling.c - see series_scaling.h. */
#include "render/findings/series_scaling.h"

#include "render/metrics/cores.h"
#include "render/metrics/known.h"
#include "render/metrics/series/series.h"
#include "render/findings/claims.h"
#include "render/findings/exchange.h"
#include "render/findings/narrate.h"
#include "render/say/format.h"
#include "render/say/say.h"

#include <string.h>

static int64_t comm_of(const int64_t *part)
{
    return part[PART_TRANSFER] + part[PART_WAIT];
}

const struct run_result *series_shared_run(const struct report *rep, const struct series_point *p)
{
    for (int i = 0; i < p->n_runs; i++)
        if (is_doubtful(&rep->runs[p->runs[i]]))
            return &rep->runs[p->runs[i]];
    return NULL;
}

static const struct run_result *doubtful_run(const struct report *rep, const struct series_point *p)
{
    const struct run_result *r = series_shared_run(rep, p);
    return r && is_doubtful(r) ? r : NULL;
}

static struct slot slot_nodes(const struct report *rep, int n_nodes)
{
    return slot_things(n_nodes, counted_word(rep->unit));
}

/* A doubtful reference makes all points doubtful, because their numbers depend on it. */
static void say_unreliable(struct report *rep, struct series *s)
{
    const struct run_result *there = doubtful_run(rep, &s->points[0]);
    for (int i = 0; i < s->n_points; i++) {
        struct series_point *p = &s->points[i];
        const struct run_result *here = i ? doubtful_run(rep, p) : NULL;
        p->unreliable =
            here    ? PHRASE(SURE_AT, slot_nodes(rep, p->n_nodes), slot_name(here->shared.because))
            : there ? PHRASE(SURE_AT_REFERENCE, slot_nodes(rep, s->points[0].n_nodes), slot_name(there->shared.because))
                    : PHRASE(NONE);
        p->unreliable_because = p->unreliable.id ? say_phrase(&rep->arena, &p->unreliable) : NULL;
    }
}

static void add(struct phrase *said, struct phrase p)
{
    for (int i = 0; i < SERIES_SAID_MAX && p.id != PHRASE_NONE; i++)
        if (said[i].id == PHRASE_NONE) {
            said[i] = p;
            return;
        }
}

/* States the largest point. The table has the others. */
static void say_scaling(struct report *rep, struct series *s)
{
    const struct series_point *last = &s->points[s->n_points - 1];
    const struct phrase *why = NULL;
    for (int i = 0; i < s->n_points; i++)
        why = s->points[i].unreliable.id ? &s->points[i].unreliable : why;
    if (last->speedup > 0)
        add(s->scaling, PHRASE(SPEEDUP_ON, slot_nodes(rep, last->n_nodes), slot_factor(last->speedup),
                               slot_ratio(last->efficiency)));
    if (last->speedup > 0 && why) {
        const struct slot because = slot_name(say_phrase(&rep->arena, why));
        add(s->scaling, last->unreliable.id || s->points[0].unreliable.id
                            ? PHRASE(SPEEDUP_UNRELIABLE, because)
                            : PHRASE(SPEEDUP_UNRELIABLE_BETWEEN, because));
    }
}

/* Equal values print equally, so no change between them is stated. */
static int is_printed_alike(const int64_t time[2])
{
    int64_t most = time[0] > time[1] ? time[0] : time[1];
    return fmt_is_same(fmt_time_beside(time[0], most), fmt_time_beside(time[1], most));
}

/* What grows with more nodes, by measurements: compute per rank shrinks, the all-reduce does not. */
static void say_trend(const struct report *rep, struct series *s)
{
    const struct series_point *b = &s->points[s->n_points - 1], *a = &s->points[s->n_points - 2];
    int64_t compute[2] = {a->part_ns[PART_COMPUTE], b->part_ns[PART_COMPUTE]};
    int64_t comm[2] = {comm_of(a->part_ns), comm_of(b->part_ns)};
    int is_recorded = compute[0] > 0 || compute[1] > 0;
    if (a->step.n == 0 || b->step.n == 0 || !is_recorded || s->losses_why.code == REASON_HOST_MAY_ENQUEUE)
        return;
    const struct slot from = slot_nodes(rep, a->n_nodes), to = slot_nodes(rep, b->n_nodes);
    add(s->beyond, is_printed_alike(compute)
                       ? PHRASE(COMPUTE_STAYED, from, to, slot_time(compute[1]))
                       : PHRASE(COMPUTE_WENT, from, to, slot_time(compute[0]), slot_time(compute[1])));
    if (comm[1] <= 0 || !can_exchange(rep, a))
        return;
    add(s->beyond, is_printed_alike(comm) ? PHRASE(COMMUNICATION_STAYED, slot_time(comm[1]))
                                          : PHRASE(COMMUNICATION_WENT, slot_time(comm[0]), slot_time(comm[1])));
    if (s->n_ahead || doubtful_run(rep, a) || doubtful_run(rep, b) || s->kind != SCALING_STRONG || compute[0] <= 0 ||
        comm[0] <= 0)
        return;
    const struct slot last = slot_nodes(rep, b->n_nodes), unit = slot_name(counted_word(rep->unit));
    add(s->beyond, (double)comm[1] / (double)comm[0] > (double)compute[1] / (double)compute[0]
                       ? PHRASE(TREND_GROWS, last, unit)
                       : PHRASE(TREND_SHRINKS, last, unit));
}

/* The law that fits best and its value for the next node count, apart from measured values. */
static void say_ahead(struct report *rep, struct series *s)
{
    const struct law *l = s->laws;
    const struct extrapolation *e = &s->ahead[0];
    if (s->n_ahead == 0)
        return;
    for (int i = 0; i < s->n_laws; i++)
        if (s->laws[i].id == s->extrapolated_by)
            l = &s->laws[i];
    const char *range = report_text(rep, "%s", fmt_range(e->speedup_interval.lo, e->speedup_interval.hi, fmt_x).text);
    add(s->beyond, PHRASE(LAW_AHEAD, slot_nodes(rep, e->n_nodes),
                          slot_name(l->id == LAW_USL ? say_phrase(&rep->arena, &PHRASE(NAME_USL)) : l->name),
                          slot_factor(e->speedup), slot_name(range)));
}

/* Does it matter that the network was not measured alone? Without that, limiting all-reduces cannot be told from slow
 * links. */
static int is_network_missed(const struct report *rep, const struct series *s)
{
    const struct run_result *r = run_of_point(rep, &s->points[s->n_points - 1]);
    const enum exchange most = exchange_of(r).kind;
    return s->all_reduce.why.code == REASON_REDUCE_NOT_CALIBRATED &&
           r->classes[CLASS_COMMUNICATION].verdict == VERDICT_LIMITS &&
           (most == EXCHANGE_ALL_REDUCE || most == EXCHANGE_UNKNOWN);
}

/* What could not be judged, one sentence for each mark. Causes that do not apply are not listed. */
static void say_not_judged(struct report *rep, struct series *s)
{
    const struct reason none = {0};
    const int is_uncalibrated = s->all_reduce.why.code == REASON_REDUCE_NOT_CALIBRATED;
    const struct {
        const char *what;
        const struct reason *why;
    } all[] = {{"speed-up", &s->speedup_why},
               {say_phrase(&rep->arena, &PHRASE(NAME_LOSSES)), &s->losses_why},
               {say_phrase(&rep->arena, &PHRASE(NAME_AHEAD)), s->n_ahead ? &none : &s->extrapolation_why},
               {"all-reduces", s->is_of_runs || is_uncalibrated ? &none : &s->all_reduce.why},
               {say_phrase(&rep->arena, &PHRASE(NAME_REDUCES_ON_MORE, slot_name(counted_word(rep->unit)))),
                s->is_of_runs || s->all_reduce.n_ahead ? &none : &s->all_reduce.ahead_why}};
    enum { N_ALL = sizeof all / sizeof *all };
    int is_said[N_ALL] = {0}, n_said = 0;
    for (int i = 0; i < N_ALL; i++) {
        const char *mark = say_row(all[i].why->code)->mark, *names[N_ALL];
        int n = 0;
        for (int k = i; k < N_ALL && *mark && !strchr("NOG", *mark); k++)
            if (!is_said[k] && strcmp(say_row(all[k].why->code)->mark, mark) == 0) {
                is_said[k] = 1;
                names[n++] = all[k].what;
            }
        const struct slot what = slot_name(say_list(&rep->arena, names, n)), why = slot_name(say_mark(mark));
        if (n)
            add(s->not_judged, n_said++ ? PHRASE(NOT_JUDGED_EITHER, what, why) : PHRASE(NOT_JUDGED, what, why));
    }
    if (is_network_missed(rep, s))
        add(s->not_judged, PHRASE(REDUCE_TO_JUDGE));
}

void series_scaling_texts(struct report *rep, struct series *s)
{
    say_unreliable(rep, s);
    say_scaling(rep, s);
    say_trend(rep, s);
    say_ahead(rep, s);
    say_not_judged(rep, s);
    series_all_reduce_text(rep, s);
    s->scaling_text = say_phrases(&rep->arena, s->scaling, SERIES_SAID_MAX);
    s->beyond_text = say_phrases(&rep->arena, s->beyond, SERIES_SAID_MAX);
    s->not_judged_text = say_phrases(&rep->arena, s->not_judged, SERIES_SAID_MAX);
}

/* A fit may give an impossible time. It is printed as a plain number under its bare name. */
static void put_time(struct dcr_buf *out, const char *before, const char *name, const char *bare, double ns)
{
    int is_possible = ns < 9e18 && ns > -9e18;
    dcr_buf_printf(out, "%s%s %s", before, is_possible ? name : bare,
                   is_possible ? fmt_time((int64_t)ns).text : fmt_number(ns).text);
}

void narrate_law(const struct law *l, struct dcr_buf *out)
{
    for (int k = 0; k < l->n_parameters; k++) {
        const struct law_parameter *p = &l->parameters[k];
        const char *what = k ? ", " : "", *name = law_parameter_key(p->id);
        switch (p->id) {
        case LAW_CALIBRATED: /* the table of the all-reduces has it */
            break;
        case LAW_SERIAL:
            dcr_buf_printf(out, "%s%s share %s", what, name, fmt_percent(p->value).text);
            break;
        case LAW_BANDWIDTH: /* the second term of the law of transfer is the time to move a step's bytes */
            put_time(out, what, "moving the bytes", name, p->value);
            break;
        case LAW_LATENCY: /* of a step */
            put_time(out, what, "latency of the all-reduces", name, p->value);
            break;
        case LAW_C:
            put_time(out, what, name, name, p->value);
            break;
        default:
            dcr_buf_printf(out, "%s%s %s", what, name, fmt_number(p->value).text);
        }
    }
}
