/* figures_many.c - the choice for many ranks: the slowest, the median and the fastest, and the spread of all. See
 * figures.h. Called by figures_run.c and figures_stepless.c. Test: tests/integration/render_large.sh */
#include "render/site/figures/figures_inside.h"

#include "render/say/format.h"
#include "render/say/say.h"

#include <stdlib.h>

struct of_rank {
    double value;
    size_t at;
};

static int by_value(const void *a, const void *b)
{
    const struct of_rank *x = a, *y = b;
    if (x->value < y->value || x->value > y->value)
        return x->value < y->value ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

static struct of_rank *in_order(struct site *s, const double *value, size_t n)
{
    struct of_rank *r = dcr_arena_alloc(&s->arena, (n + 1) * sizeof *r);
    for (size_t i = 0; i < n; i++)
        r[i] = (struct of_rank){value[i], i};
    qsort(r, n, sizeof *r, by_value);
    return r;
}

const struct rank_shown *ranks_to_show(struct site *s, const double *value, size_t n, const char *least,
                                       const char *most, size_t *n_shown)
{
    bool is_some = n > RANKS_SHOWN;
    *n_shown = is_some ? 3 : n;
    struct rank_shown *shown = dcr_arena_alloc(&s->arena, (*n_shown + 1) * sizeof *shown);
    if (!is_some) {
        for (size_t i = 0; i < n; i++)
            shown[i].at = i;
        return shown;
    }
    const struct of_rank *order = in_order(s, value, n);
    shown[0] = (struct rank_shown){order[n - 1].at, most};
    shown[1] = (struct rank_shown){order[n / 2].at, "median"};
    shown[2] = (struct rank_shown){order[0].at, least};
    return shown;
}

void view_keep_ranks(struct site *s, json_t *table, const struct rank_shown *shown, size_t n_shown)
{
    size_t row[RANKS_SHOWN];
    if (n_shown == 0 || !shown[0].word)
        return;
    for (size_t i = 0; i < n_shown; i++)
        row[i] = shown[i].at;
    view_keep_rows(s, table, row, n_shown);
}

/* In synchronous training all steps end together, so ranks differ in their time outside communication. */
double rank_own_ns(const struct rank_result *q)
{
    return (double)(q->step.mean_ns - q->part_ns[PART_TRANSFER] - q->part_ns[PART_WAIT]);
}

json_t *run_figure_spread(struct site *s, const struct run_result *r)
{
    size_t n = r->has_steps ? (size_t)r->n_rank_results : 0;
    if (n <= RANKS_SHOWN)
        return NULL;
    double *own = dcr_arena_alloc(&s->arena, 3 * n * sizeof *own), *x = own + n, *y = x + n;
    for (size_t i = 0; i < n; i++)
        own[i] = rank_own_ns(&r->ranks[i]);
    const struct of_rank *order = in_order(s, own, n);
    if (order[n - 1].value <= 0)
        return NULL;
    struct time_axis axis = time_axis_for((int64_t)order[n - 1].value);
    for (size_t i = 0; i < n; i++) {
        x[i] = (double)(i + 1);
        y[i] = order[i].value / axis.ns;
    }
    const char *middle = site_text(s, "%s", fmt_time_range(order[n / 4].value, order[n - 1 - n / 4].value).text),
               *all = site_text(s, "%s", fmt_time_range(order[0].value, order[n - 1].value).text);
    struct line_series line = {NULL, INK_ACCENT, x, y, n, false};
    struct line_level median = {order[n / 2].value / axis.ns, "median", INK_TEXT};
    struct chart_lines spec = {
        .text = {"Spread of the ranks", site_text(s, "own work of a step, %s", axis.unit), axis.unit, axis.label},
        .x_title = "ranks, from the fastest to the slowest",
        .series = &line,
        .n_series = 1,
        .levels = &median,
        .n_levels = 1,
        .x_is_whole = true};
    bool is_alike = order[n - 1].value < 1.01 * order[0].value,
         is_all_one = fmt_is_same(fmt_time(llround(order[0].value)), fmt_time(llround(order[n - 1].value))),
         is_middle_one =
             fmt_is_same(fmt_time(llround(order[n / 4].value)), fmt_time(llround(order[n - 1 - n / 4].value)));
    const struct said title = {
        .headline = is_alike ? PHRASE(RANKS_ALIKE, slot_count((int64_t)n), slot_time((int64_t)order[n / 2].value))
                    : is_middle_one
                        ? PHRASE(RANKS_MIDDLE, slot_count((int64_t)n), slot_time((int64_t)order[n / 2].value))
                        : PHRASE(RANKS_SPREAD, slot_count((int64_t)n), slot_name(middle))};
    const struct phrase caption[] = {PHRASE(SPREAD_CAPTION),
                                     is_all_one ? PHRASE(NONE) : PHRASE(SPREAD_ALL, slot_name(all))};
    const struct phrase alt[] = {PHRASE(CHART_SPREAD, slot_name(say_title(&s->arena, &title))), caption[1]};
    return figure_view(s, &(struct figure){.stem = "ranks-spread",
                                           .run = RUN_OF(s, r),
                                           .title = say_title(&s->arena, &title),
                                           .caption = say_phrases(&s->arena, caption, 2),
                                           .alt = say_phrases(&s->arena, alt, 2),
                                           .draw = draw_lines,
                                           .spec = &spec,
                                           .wide = FIGURE_FULL,
                                           .height = 240,
                                           .narrow_height = 220});
}
