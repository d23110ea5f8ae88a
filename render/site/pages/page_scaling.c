/* page_scaling.c - all details of a series: fitted laws, their forecasts for node counts that were not run, losses,
 * efficiencies. */
#include "render/site/theme/inside.h"

#include "render/say/format.h"
#include "render/say/say.h"
#include "render/findings/narrate.h"
#include "render/site/figures/figures.h"

#include <math.h>
#include <string.h>

/* For whole runs, a table only of laws that do not fit says nothing. */
static bool has_law(const struct series *series)
{
    bool has = !series->is_of_runs && series->n_laws > 0;
    for (int i = 0; i < series->n_laws; i++)
        has |= series->laws[i].has;
    return has;
}

json_t *view_laws(struct site *s, const struct series *series)
{
    if (!has_law(series))
        return json_null();
    json_t *t = view_table(s, TABLE(LAWS));
    series_unreliable(s, t, series);
    for (int i = 0; i < series->n_laws; i++) {
        const struct law *l = &series->laws[i];
        struct dcr_buf text = {0};
        view_row(s, t, l->name);
        view_cell(s, t, law_source_words(l->source));
        if (l->has || (series->all_reduce.source && l->id == LAW_ALL_REDUCE))
            narrate_law(l, &text);
        bool is_told = l->has || text.len; /* for the network's law, only the residual may be missing */
        if (is_told)
            view_cell(s, t, dcr_buf_text(&text));
        else
            view_cell_missing(s, t, &l->why, NULL);
        if (l->has)
            view_cell_percent(s, t, true, l->residual_ratio);
        else
            view_cell_missing(s, t, is_told ? &l->why : &REASON(NONE), "ratio");
        dcr_buf_release(&text);
    }
    return t;
}

json_t *view_ahead(struct site *s, const struct series *series)
{
    if (series->n_ahead == 0)
        return json_null();
    json_t *t = view_table(s, TABLE(AHEAD, slot_name(node_title(s))));
    series_unreliable(s, t, series);
    for (int i = 0; i < series->n_ahead; i++) {
        const struct extrapolation *e = &series->ahead[i];
        view_row(s, t, node_words(s, e->n_nodes));
        view_cell_value(s, t, fmt_x(e->speedup).text, true, e->speedup, "ratio");
        view_cell_interval(
            s, t,
            e->speedup_interval.has ? fmt_range(e->speedup_interval.lo, e->speedup_interval.hi, fmt_x).text : NULL,
            e->speedup_interval, "ratio");
        view_cell_value(s, t, fmt_ratio(e->efficiency).text, true, e->efficiency, "ratio");
    }
    return t;
}

static const char *interval_words(struct site *s, struct interval i)
{
    return i.has ? site_text(s, "%s", fmt_time_range(i.lo, i.hi).text) : NULL;
}

json_t *view_all_reduce(struct site *s, const struct series *series)
{
    const struct all_reduce *a = &series->all_reduce;
    if (series->n_laws == 0 || !a->source)
        return json_null();
    json_t *t = view_table(s, TABLE(ALL_REDUCES, slot_name(node_title(s)), slot_name(law_source_words(a->source))));
    series_unreliable(s, t, series);
    for (int i = 0; i < a->n_points + a->n_ahead; i++) {
        int is_ahead = i >= a->n_points;
        const struct all_reduce_point *p = is_ahead ? &a->ahead[i - a->n_points] : &a->points[i];
        view_row(s, t, node_words(s, p->n_nodes));
        view_cell_value(s, t, site_text(s, "%d", p->n_ranks), true, p->n_ranks, "");
        view_cell(s, t, all_reduces_words(p).text);
        bool has = p->bytes > 0 && p->count > 0;
        view_exact(s, t, "number", has, p->count, "");
        view_exact(s, t, "of", has, has ? p->bytes / p->count : 0, "bytes");
        view_cell_time(s, t, p->predicted_ns > 0, p->predicted_ns);
        view_cell_interval(s, t, interval_words(s, p->interval), p->interval, "ns");
        bool is_measured = !is_ahead && p->measured_ns > 0;
        view_cell_value(s, t,
                        is_measured ? fmt_time(p->measured_ns).text
                        : is_ahead  ? "not measured"
                                    : NULL,
                        is_measured, (double)p->measured_ns, "ns");
        view_cell_interval(s, t, is_ahead ? "not measured" : interval_words(s, p->measured_interval),
                           is_ahead ? (struct interval){0} : p->measured_interval, "ns");
        if (!p->has_residual && !is_ahead)
            view_cell_missing(s, t, &p->why, "ratio");
        else
            view_cell_value(s, t, is_ahead ? "extrapolated" : fmt_x(1 / (p->residual_ratio + 1)).text, p->has_residual,
                            1 / (p->residual_ratio + 1), "ratio");
    }
    return t;
}

/* A row of forecasts.   then_ns  the mean step; changes too small to be seen are left out */
static void add_move(struct site *s, json_t *t, const struct series_point *p, struct phrase name, double then_ns,
                     const char *basis)
{
    const double factor = (double)p->step.mean_ns / then_ns;
    bool is_now = llround(then_ns) == p->step.mean_ns;
    if (!is_now && fmt_is_same(fmt_x(factor), fmt_x(1)))
        return;
    view_row(s, t, say_phrase(&s->arena, &name));
    view_cell_time(s, t, true, llround(then_ns));
    view_cell_value(s, t, p->has_throughput ? fmt_number(p->throughput * factor).text : NULL, p->has_throughput,
                    p->throughput * factor, "samples/s");
    view_cell_value(s, t, is_now ? NULL : fmt_x(factor).text, !is_now, factor, "ratio");
    view_cell(s, t, basis);
}

/* The mean over the runs of a point of what a change adds to the median step, in ns; NAN: a run has no forecast. */
static double added_by(const struct report *rep, const struct series_point *p, enum trial_kind kind)
{
    double sum = 0;
    for (int i = 0; i < p->n_runs; i++) {
        const struct run_result *r = &rep->runs[p->runs[i]];
        const struct trial *t = NULL;
        for (int k = 0; k < r->n_trials; k++)
            t = r->trials[k].kind == kind && r->trials[k].has_forecast ? &r->trials[k] : t;
        sum += t ? (double)(t->step_ns - r->step.median_ns) : NAN;
    }
    return sum / p->n_runs;
}

/* The mean over the runs of a point of what the removal of a cause saves, in ns. */
static double saved_without(const struct report *rep, const struct series_point *p, enum cause_class c)
{
    double sum = 0;
    for (int i = 0; i < p->n_runs; i++)
        sum += (double)rep->runs[p->runs[i]].classes[c].gain_ns;
    return sum / p->n_runs;
}

json_t *view_moves(struct site *s, const struct series *series, const char **said)
{
    static const enum phrase_id changes[N_TRIALS] = {
        [TRIAL_OVERLAP] = PHRASE_WITH_OVERLAP, [TRIAL_BF16] = PHRASE_WITH_BF16, [TRIAL_LINK] = PHRASE_WITH_LINKS};
    const struct series_point *p = &series->points[series->n_points - 1];
    const double now_ns = (double)p->step.mean_ns;
    double best_ns = now_ns;
    struct phrase best = PHRASE(NONE);
    *said = NULL;
    if (series->n_points < 2 || !p->n_runs || p->step.mean_ns <= 0 || !s->rep->runs[p->runs[0]].has_steps)
        return json_null();
    const struct run_result *r = &s->rep->runs[p->runs[0]];
    const struct slot nodes = slot_things(p->n_nodes, counted_word(s->rep->unit)), now = slot_number(p->throughput);
    json_t *t = view_table(s, TABLE(MOVES, slot_name(node_words(s, p->n_nodes))));
    view_caption(s, t, PHRASE(CAPTION_MOVES));
    series_unreliable(s, t, series);
    add_move(s, t, p, PHRASE(MEASURED_NOW), now_ns, say_phrase(&s->arena, &PHRASE(SURE_MEASURED)));
    for (int i = 0; i < r->n_claims; i++) {
        const struct claim *c = &s->rep->claims[r->claims[i]];
        for (int k = 0; k < N_TRIALS && c->cls == CLASS_COMMUNICATION; k++) {
            const struct phrase name = {.id = changes[k]};
            double then_ns = now_ns + added_by(s->rep, p, (enum trial_kind)k);
            if (!(then_ns > 0 && then_ns < now_ns))
                continue;
            add_move(s, t, p, name, then_ns, gain_basis_word(GAIN_ESTIMATE));
            if (i == 0 && then_ns < best_ns) {
                best_ns = then_ns;
                best = PHRASE(MOVES_BY, slot_name(say_phrase(&s->arena, &name)), nodes,
                              slot_number(p->throughput * now_ns / then_ns), now);
            }
        }
        const double saved_ns = saved_without(s->rep, p, c->cls), then_ns = now_ns - saved_ns;
        const char *time = class_words(c->cls, AS_TIME);
        const struct slot cause =
            slot_name(c->cls == CLASS_COMMUNICATION ? exchange_of_gain(&s->arena, r, (int64_t)saved_ns)
                      : *time                       ? time
                                                    : class_words(c->cls, INSIDE_SENTENCE));
        if (!c->has_gain || c->is_measuring || c->cls == CLASS_COMPUTE || !(then_ns > 0 && then_ns < now_ns))
            continue;
        add_move(s, t, p, PHRASE(WITHOUT_CAUSE, cause), then_ns, gain_basis_word(c->gain_basis));
        const struct slot then = slot_number(p->throughput * now_ns / then_ns);
        if (i == 0 && best.id == PHRASE_NONE)
            best = c->gain_basis == GAIN_BOUND ? PHRASE(MOVES_WITHOUT_UP_TO, cause, nodes, then, now)
                                               : PHRASE(MOVES_WITHOUT, cause, nodes, then, now);
    }
    if (json_array_size(json_object_get(t, "rows")) < 2) {
        json_decref(t);
        return json_null();
    }
    *said = p->has_throughput && !p->unreliable.id && best.id ? say_phrase(&s->arena, &best) : NULL;
    return t;
}

void page_scaling(struct site *s)
{
    if (!has_scaling(s))
        return;
    json_t *data = view_object(s);
    view_set(s, data, "series", json_incref(s->series_views));
    const struct said *answer = &s->rep->series[0].said;
    bool is_one = s->rep->n_series == 1 && answer->headline.id != PHRASE_NONE;
    view_text(s, data, "headline", is_one ? say_title(&s->arena, answer) : "Scaling, in numbers");
    view_caveats(s, data, -1);
    site_page(s, "scaling", "scaling.html", site_text(s, "Scaling, %s", s->rep->title), "scaling", data);
}
