/* page_scaling.c - a series in full: fitted laws, what they say of node counts that were not run, losses, efficiencies.
 */
#include "render/site/inside.h"

#include "render/narrate/format.h"
#include "render/narrate/narrate.h"
#include "render/site/figures.h"

#include <string.h>

json_t *view_laws(struct site *s, const struct series *series)
{
    if (series->n_laws == 0)
        return json_null();
    json_t *t = view_table(
        s,
        site_text(s, "Laws of scaling, fitted to the measured points by least squares%s", series_unreliable(s, series)),
        "Law|Parameters|#Largest residual");
    for (int i = 0; i < series->n_laws; i++) {
        const struct law *l = &series->laws[i];
        struct dcr_buf text = {0};
        view_row(s, t, l->name);
        if (l->has)
            narrate_law(l, &text);
        view_cell(s, t, l->has ? dcr_buf_text(&text) : l->because);
        view_cell_percent(s, t, l->has, l->residual_ratio);
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
        view_cell(s, t, fmt_x(e->speedup).text);
        view_cell(s, t,
                  e->speedup_interval.has
                      ? site_text(s, "%s to %s", fmt_x(e->speedup_interval.lo).text, fmt_x(e->speedup_interval.hi).text)
                      : "n/a");
        view_cell(s, t, fmt_ratio(e->efficiency).text);
    }
    return t;
}

void page_scaling(struct site *s)
{
    if (!has_scaling(s))
        return;
    json_t *data = view_object(s);
    view_set(s, data, "series", json_incref(s->series_views));
    view_caveats(s, data, -1);
    site_page(s, "scaling", "scaling.html", site_text(s, "Scaling, %s", s->rep->title), "scaling", data);
}
