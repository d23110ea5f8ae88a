/* page_scaling.c - a series in full: fitted laws, what they say of node counts that were not run, losses, efficiencies.
 */
#include "render/site/theme/inside.h"

#include "render/say/format.h"
#include "render/say/say.h"
#include "render/findings/narrate.h"
#include "render/site/figures/figures.h"

#include <math.h>
#include <string.h>

json_t *view_laws(struct site *s, const struct series *series)
{
    if (series->n_laws == 0)
        return json_null();
    json_t *t = view_table(
        s,
        site_text(s, "Laws of scaling, fitted by least squares, with their residuals at the measured points%s",
                  series_unreliable(s, series)),
        "Law|From|Parameters|#Largest residual");
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
    json_t *t = view_table(s,
                           site_text(s, "Not measured: extrapolated by the law with the smallest residual%s",
                                     series_unreliable(s, series)),
                           site_text(s, "%s|#Speed-up|95 %% prediction interval|#Efficiency", node_title(s)));
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
    const char *source = law_source_words(a->source);
    json_t *t =
        view_table(s,
                   site_text(s, "All-reduces of a step by the %s, beside the transfer that was measured%s", source,
                             series_unreliable(s, series)),
                   site_text(s,
                             "%s|#Ranks|All-reduces a step|#Time by the %s|95 %% interval of the law (scatter of the "
                             "%s)|#Transfer, measured|~95 %% interval (over steps)|#Measured / law",
                             node_title(s), source, source));
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
