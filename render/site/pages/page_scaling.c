/* page_scaling.c - a series in full: fitted laws, what they say of node counts that were not run, losses, efficiencies.
 */
#include "render/site/theme/inside.h"

#include "render/say/format.h"
#include "render/say/say.h"
#include "render/findings/narrate.h"
#include "render/site/figures/figures.h"

#include <math.h>
#include <string.h>

/* The numbers of a law for the CSV, a column for each parameter that any law has. */
static void add_parameters(struct site *s, json_t *t, const struct law *l)
{
    for (int id = 0; id < N_LAW_PARAMETERS; id++) {
        const struct law_parameter *p = NULL;
        for (int k = 0; k < l->n_parameters; k++)
            p = l->parameters[k].id == (enum law_parameter_id)id ? &l->parameters[k] : p;
        view_exact(s, t, law_parameter_key((enum law_parameter_id)id), p != NULL, p ? p->value : 0,
                   law_parameter_unit((enum law_parameter_id)id));
    }
}

json_t *view_laws(struct site *s, const struct series *series)
{
    if (series->n_laws == 0)
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
        bool is_told = l->has || text.len; /* of the network's law the residual alone may be missing */
        if (is_told)
            view_cell(s, t, dcr_buf_text(&text));
        else
            view_cell_missing(s, t, &l->why, NULL);
        add_parameters(s, t, l);
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

/* A row of what would move the limit.   then_ratio  mean step then / now */
static void add_move(struct site *s, json_t *t, const struct run_result *r, struct phrase name, double then_ratio,
                     const char *sure)
{
    view_row(s, t, say_phrase(&s->arena, &name));
    view_cell_time(s, t, true, llround((double)r->step.mean_ns * then_ratio));
    view_cell_value(s, t, r->has_throughput ? fmt_number(r->throughput / then_ratio).text : NULL, r->has_throughput,
                    r->throughput / then_ratio, "samples/s");
    view_cell_value(s, t, then_ratio < 1 ? fmt_x(1 / then_ratio).text : NULL, then_ratio < 1, 1 / then_ratio, "ratio");
    view_cell(s, t, sure);
}

json_t *view_moves(struct site *s, const struct series *series, const char **said)
{
    static const enum phrase_id changes[N_TRIALS] = {
        [TRIAL_OVERLAP] = PHRASE_WITH_OVERLAP, [TRIAL_BF16] = PHRASE_WITH_BF16, [TRIAL_LINK] = PHRASE_WITH_LINKS};
    const struct series_point *last = &series->points[series->n_points - 1];
    *said = NULL;
    if (series->n_points < 2 || !last->n_runs || !s->rep->runs[last->runs[0]].has_steps)
        return json_null();
    const struct run_result *r = &s->rep->runs[last->runs[0]];
    const struct slot nodes = slot_things(last->n_nodes, counted_word(s->rep->unit)), now = slot_number(r->throughput);
    struct phrase most = PHRASE(NONE);
    double best_ratio = 1;
    json_t *t = view_table(s, TABLE(MOVES, slot_name(node_words(s, last->n_nodes))));
    view_caption(s, t, PHRASE(CAPTION_MOVES));
    add_move(s, t, r, PHRASE(MEASURED_NOW), 1, say_phrase(&s->arena, &PHRASE(SURE_MEASURED)));
    for (int i = 0; i < r->n_trials; i++) {
        const struct trial *k = &r->trials[i];
        const struct phrase name = {.id = changes[k->kind]};
        double ratio = (double)k->step_ns / (double)r->step.median_ns;
        if (!k->has_forecast || ratio >= 1)
            continue;
        add_move(s, t, r, name, ratio, gain_basis_word(GAIN_ESTIMATE));
        if (ratio < best_ratio)
            most = PHRASE(MOVES_MOST, nodes, slot_name(say_phrase(&s->arena, &name)), now,
                          slot_number(r->throughput / ratio));
        best_ratio = ratio < best_ratio ? ratio : best_ratio;
    }
    for (int i = 0; i < r->n_claims; i++) {
        const struct claim *c = &s->rep->claims[r->claims[i]];
        double ratio = 1 - (double)c->gain_ns / (double)r->step.mean_ns;
        const struct slot cause = slot_name(class_words(c->cls, AS_TIME));
        if (!c->has_gain || c->cls == CLASS_COMPUTE || c->cls == CLASS_SHARED || ratio >= 1 || ratio <= 0)
            continue;
        add_move(s, t, r, PHRASE(WITHOUT_CAUSE, cause), ratio, gain_basis_word(c->gain_basis));
        if (most.id == PHRASE_NONE)
            most = PHRASE(MOVES_MOST_WITHOUT, nodes, cause, now, slot_number(r->throughput / ratio));
    }
    if (json_array_size(json_object_get(t, "rows")) < 2) {
        json_decref(t);
        return json_null();
    }
    *said = r->has_throughput && most.id ? say_phrase(&s->arena, &most) : NULL;
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
