/* figures_losses.c - losses of the training over time; see figures.h. Called by page_run.c. */
#include "render/site/figures/figures_inside.h"

#include "render/say/format.h"
#include "render/say/say.h"

#include <math.h>

static bool metric_series(struct site *s, const struct run *run, const char *column, const char *name, enum ink ink,
                          bool is_dashed, struct line_series *out)
{
    int epoch = run_metric("epoch"), value = run_metric(column);
    double *x = dcr_arena_alloc(&s->arena, 2 * run->n_epochs * sizeof *x);
    double *y = x + run->n_epochs;
    size_t n_values = 0;
    for (size_t i = 0; i < run->n_epochs; i++) {
        x[i] = epoch >= 0 ? run->epochs[i].value[epoch] : (double)i;
        y[i] = run->epochs[i].value[value];
        n_values += isfinite(y[i]) ? 1 : 0;
    }
    *out = (struct line_series){name, ink, x, y, run->n_epochs, is_dashed};
    return n_values > 0;
}

/* "training loss per epoch: 2.74 in the first, 1.81 in the last of 10 epochs." Epochs without a value are skipped. */
static const char *losses_in_words(struct site *s, const struct line_series *l)
{
    size_t first = 0, last = l->n - 1;
    while (!isfinite(l->y[first]))
        first++;
    while (!isfinite(l->y[last]))
        last--;
    return say_phrase(&s->arena, &PHRASE(CHART_EPOCHS, slot_name(l->name), slot_number(l->y[first]),
                                         slot_number(l->y[last]), slot_count((int64_t)(last - first) + 1)));
}

json_t *run_figure_losses(struct site *s, const struct run_result *r)
{
    const struct run *run = r->run;
    struct line_series lines[3];
    size_t n = 0;
    if (!r->has_accuracy || run->n_epochs == 0)
        return NULL;
    n += metric_series(s, run, "train_loss", "training loss", INK_ACCENT, false, &lines[n]);
    n += metric_series(s, run, "val_loss", "validation loss", INK_TEXT, false, &lines[n]);
    n += metric_series(s, run, "val_mae", "validation MAE", INK_MUTED, true, &lines[n]);
    if (n == 0)
        return NULL;
    json_t *t = view_table(s, TABLE(TRAINING_LOSSES));
    static const char *const columns[] = {"train_loss", "val_loss", "val_mae"};
    for (size_t i = 0; i < run->n_epochs; i++) {
        const double *v = run->epochs[i].value;
        view_row(s, t, site_text(s, "%lld", isfinite(v[0]) ? (long long)v[0] : (long long)i));
        for (int k = 0; k < 3; k++) {
            double x = v[run_metric(columns[k])];
            if (isfinite(x))
                view_cell_value(s, t, fmt_number(x).text, true, x, "");
            else
                view_cell_missing(s, t, &REASON(NOT_RECORDED), "");
        }
    }
    const struct phrase caption[] = {PHRASE(CAPTION_LOSSES), PHRASE(CAPTION_FREE_AXIS)};
    struct chart_lines spec = {.text = {"Loss", "loss", "", NULL},
                               .x_title = "epoch",
                               .series = lines,
                               .n_series = n,
                               .x_is_whole = true,
                               .y_is_free = true};
    return figure_view(s, &(struct figure){.stem = "losses-figure",
                                           .run = RUN_OF(s, r),
                                           .title = say_phrase(&s->arena, &PHRASE(LEARNS)),
                                           .caption = say_phrases(&s->arena, caption, 2),
                                           .alt = losses_in_words(s, &lines[0]),
                                           .draw = draw_lines,
                                           .spec = &spec,
                                           .wide = FIGURE_HALF,
                                           .height = 280,
                                           .narrow_height = 240,
                                           .table = t});
}
