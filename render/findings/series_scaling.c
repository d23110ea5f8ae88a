/* series_scaling.c - see series_scaling.h. */
#include "render/findings/series_scaling.h"

#include "render/metrics/cores.h"
#include "render/metrics/series/series.h"
#include "render/findings/claims.h"
#include "render/findings/narrate.h"
#include "render/say/format.h"
#include "render/say/say.h"

#include <string.h>

static int64_t comm_of(const int64_t *part)
{
    return part[PART_TRANSFER] + part[PART_WAIT];
}

static const char *range_text(struct report *rep, struct interval i, struct fmt (*f)(double))
{
    if (!i.has)
        return "";
    return report_text(rep, " (95 %% interval%s %s)", fmt_is_same(f(i.lo), f(i.hi)) ? ":" : "",
                       fmt_range(i.lo, i.hi, f).text);
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

/* Numbers of a point are those of the reference too. */
static void say_unreliable(struct report *rep, struct series *s)
{
    const struct run_result *there = doubtful_run(rep, &s->points[0]);
    for (int i = 0; i < s->n_points; i++) {
        struct series_point *p = &s->points[i];
        const struct run_result *here = i ? doubtful_run(rep, p) : NULL;
        p->unreliable = here    ? report_text(rep, "at %s %s", nodes_text(rep, p->n_nodes), here->shared.because)
                        : there ? report_text(rep, "at the reference, %s, %s", nodes_text(rep, s->points[0].n_nodes),
                                              there->shared.because)
                                : "";
    }
}

static void say_scaling(struct report *rep, struct series *s)
{
    const char *text = "";
    for (int i = 1; i < s->n_points; i++) {
        const struct series_point *p = &s->points[i];
        if (p->speedup > 0)
            text = report_text(rep, "%s%s%s the speed-up is %s%s and the efficiency %s%s.", text, i > 1 ? " " : "",
                               at_nodes(rep, p->n_nodes), fmt_x(p->speedup).text,
                               range_text(rep, p->speedup_interval, fmt_x), fmt_ratio(p->efficiency).text,
                               *p->unreliable ? " (unreliable)" : "");
    }
    if (*text)
        text = report_text(rep, "%s The reference is %s%s%s.", text, nodes_text(rep, s->points[0].n_nodes),
                           *s->points[0].unreliable ? ", where " : "",
                           *s->points[0].unreliable ? doubtful_run(rep, &s->points[0])->shared.because : "");
    s->scaling_text = text;
}

/* What grows from here on, from what was measured: compute per rank shrinks, the all-reduce does not. */
static void say_beyond(struct report *rep, struct series *s)
{
    const struct series_point *b = &s->points[s->n_points - 1], *a = &s->points[s->n_points - 2];
    if (a->step.n == 0 || b->step.n == 0)
        return;
    int64_t compute[2] = {a->part_ns[PART_COMPUTE], b->part_ns[PART_COMPUTE]};
    int64_t comm[2] = {comm_of(a->part_ns), comm_of(b->part_ns)};
    const char *next = "";
    if (doubtful_run(rep, a) || doubtful_run(rep, b))
        next = " Cores were shared, so that no trend follows from this.";
    else if (s->kind == SCALING_STRONG && comm[1] > 0 && compute[0] > 0 && comm[0] > 0)
        next = (double)comm[1] / (double)comm[0] > (double)compute[1] / (double)compute[0]
                   ? report_text(rep,
                                 " If both go on like this, communication limits beyond %s: a trend from two %s "
                                 "counts, not a forecast.",
                                 nodes_text(rep, b->n_nodes), counted_word(rep->unit))
                   : report_text(rep,
                                 " If both go on like this, communication does not become the limit beyond %s: a trend "
                                 "from two %s counts, not a forecast.",
                                 nodes_text(rep, b->n_nodes), counted_word(rep->unit));
    s->beyond_text =
        report_text(rep, "From %s to %s compute went from %s to %s a step and communication from %s to %s.%s",
                    nodes_text(rep, a->n_nodes), nodes_text(rep, b->n_nodes), fmt_time(compute[0]).text,
                    fmt_time(compute[1]).text, fmt_time(comm[0]).text, fmt_time(comm[1]).text, next);
}

/* The law that fits best, and what it says of the next node counts: never mixed with what was measured. */
static const char *extrapolation_sentence(struct report *rep, const struct series *s)
{
    if (s->n_ahead == 0) {
        const struct reason *why = &s->extrapolation_why;
        return is_too_few_for_trend(why) ? report_text(rep, "T%s.", say_clause(&rep->arena, why) + 1)
               : why->code == REASON_NO_LAW_FITS
                   ? report_text(rep,
                                 "What more %ss would bring is n/a because no law of scaling fits what was measured.",
                                 counted_word(rep->unit))
                   : "";
    }
    const struct law *l = s->laws;
    for (int i = 0; i < s->n_laws; i++)
        if (s->laws[i].id == s->extrapolated_by)
            l = &s->laws[i];
    const char *text =
        report_text(rep, "Extrapolated, not measured (%s, off by %s at most where it was measured):", l->name,
                    fmt_percent(l->residual_ratio).text);
    for (int i = 0; i < s->n_ahead; i++)
        text = report_text(rep, "%s%s at %s a speed-up of %s (95 %% interval %s)", text, i ? "," : "",
                           nodes_text(rep, s->ahead[i].n_nodes), fmt_x(s->ahead[i].speedup).text,
                           fmt_range(s->ahead[i].speedup_interval.lo, s->ahead[i].speedup_interval.hi, fmt_x).text);
    return report_text(rep, "%s.", text);
}

void series_scaling_texts(struct report *rep, struct series *s)
{
    say_unreliable(rep, s);
    say_scaling(rep, s);
    say_beyond(rep, s);
    const char *ahead = extrapolation_sentence(rep, s);
    s->beyond_text = report_text(rep, "%s%s%s", s->beyond_text, *s->beyond_text && *ahead ? " " : "", ahead);
    series_all_reduce_text(rep, s);
}

/* A fit may give a time that is no possible one: it stands there as a number under its bare name. */
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
            put_time(out, what, "bytes at bus bandwidth", name, p->value);
            break;
        case LAW_C:
        case LAW_LATENCY:
            put_time(out, what, name, name, p->value);
            break;
        default:
            dcr_buf_printf(out, "%s%s %s", what, name, fmt_number(p->value).text);
        }
    }
}
