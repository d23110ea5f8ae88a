/* figures_series.c - the figures of a scaling series; see figures.h. Called by page_index.c. */
#include "render/site/figures/figures_inside.h"

#include "render/metrics/known.h"
#include "render/metrics/series/series.h"
#include "render/say/format.h"
#include "render/say/say.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double in_unit(int64_t ns, const struct time_axis *a)
{
    return (double)ns / a->ns;
}

/* ---- speed-up ---------------------------------------------------------------------------------------- */

/* Why the largest unreliable point is so; NULL if all are reliable. */
static const struct phrase *unreliable(const struct series *series)
{
    for (int i = series->n_points; i-- > 0;)
        if (series->points[i].unreliable.id)
            return &series->points[i].unreliable;
    return NULL;
}

void series_unreliable(struct site *s, json_t *table, const struct series *series)
{
    const struct phrase *why = unreliable(series);
    view_caption(s, table, why ? PHRASE(CAPTION_UNRELIABLE, slot_name(say_phrase(&s->arena, why))) : PHRASE(NONE));
}

static void add_ratio(struct site *s, json_t *t, bool has, struct fmt text, double value, const char *mark)
{
    if (!has) {
        view_cell_missing(s, t, &REASON(NOT_RECORDED), "ratio");
        return;
    }
    view_cell_class(s, t, text.text, mark);
    view_exact(s, t, "", true, value, "ratio");
}

static json_t *speedup_table(struct site *s, const struct series *series)
{
    bool is_marked = unreliable(series) != NULL;
    bool is_of_ranks = s->rep->unit == COUNTS_RANKS;
    const char *time = series->is_of_runs ? "Run time" : "Step time, mean";
    json_t *t = view_table(
        s, TABLE(SPEEDUP, slot_name(node_title(s)), slot_name(is_of_ranks ? "Nodes" : "Ranks"), slot_name(time)));
    view_columns(s, t, is_marked ? "Unreliable" : "");
    for (int i = 0; i < series->n_points; i++) {
        const struct series_point *p = &series->points[i];
        const char *mark = p->unreliable.id ? "v-watch" : NULL;
        view_row(s, t, node_words(s, p->n_nodes));
        view_cell_count(s, t, true, is_of_ranks ? s->rep->runs[p->runs[0]].run->n_nodes : p->n_ranks);
        view_cell_count(s, t, true, p->n_runs);
        const struct point_of of = {s->rep, p};
        if (series->is_of_runs)
            VIEW_METRICS(s, t, &point_metrics, &of, POINT_RUN_TIME);
        else
            VIEW_METRICS(s, t, &point_metrics, &of, POINT_STEP_MEAN);
        add_ratio(s, t, p->speedup > 0, fmt_x(p->speedup), p->speedup, mark);
        if (p->speedup_interval.has || i == 0)
            view_cell_interval(
                s, t, i == 0 ? "reference" : fmt_range(p->speedup_interval.lo, p->speedup_interval.hi, fmt_x).text,
                p->speedup_interval, "ratio");
        else
            view_cell_no_interval(s, t, series->is_of_runs ? &REASON(NO_STEPS) : &REASON(TOO_FEW_STEPS), "ratio");
        add_ratio(s, t, p->efficiency > 0, fmt_ratio(p->efficiency), p->efficiency, mark);
        VIEW_METRICS(s, t, &point_metrics, &of, POINT_COMPUTE_SPEEDUP);
        if (is_marked)
            view_cell(s, t, p->unreliable.id ? p->unreliable_because : "no");
    }
    return t;
}

/* What the whiskers are, or why there are none. */
static const char *speedup_caption(struct site *s, const struct series *series)
{
    struct phrase said[] = {series->is_of_runs ? PHRASE(CAPTION_OF_RUNS) : PHRASE(CAPTION_NO_INTERVALS),
                            unreliable(series) ? PHRASE(CAPTION_HOLLOW) : PHRASE(NONE)};
    for (int i = 1; i < series->n_points; i++)
        if (series->points[i].speedup_interval.has)
            said[0].id = is_interval_of_summary(s->rep, series, &series->points[i]) ? PHRASE_CAPTION_NORMAL
                                                                                    : PHRASE_CAPTION_BOOTSTRAP;
    return say_phrases(&s->arena, said, 2);
}

static json_t *speedup_figure(struct site *s, const struct series *series, const char *suffix)
{
    size_t n = 0;
    struct speedup_point *p = dcr_arena_alloc(&s->arena, (size_t)series->n_points * sizeof *p);
    struct dcr_buf alt = {0};
    const struct series_point *ref = &series->points[0];
    say_put_phrases(&alt, &PHRASE(CHART_SPEEDUP, slot_name(node_words(s, ref->n_nodes))), 1);
    for (int i = 0; i < series->n_points; i++) {
        const struct series_point *q = &series->points[i];
        if (q->speedup <= 0 || q->n_nodes <= 0)
            continue;
        p[n] = (struct speedup_point){q->n_nodes, q->speedup, NAN, NAN, NULL, i > 0 && q->unreliable.id};
        if (q->speedup_interval.has) {
            p[n].lo = q->speedup_interval.lo;
            p[n].hi = q->speedup_interval.hi;
        }
        if (i > 0 && q->efficiency > 0)
            p[n].note = site_text(s, "efficiency %s", fmt_ratio(q->efficiency).text);
        dcr_buf_printf(&alt, " %s: %s", node_words(s, q->n_nodes), fmt_x(q->speedup).text);
        if (i > 0)
            dcr_buf_printf(&alt, " of ideal %s%s", fmt_x((double)q->n_nodes / ref->n_nodes).text,
                           q->unreliable.id ? ", unreliable" : "");
        dcr_buf_putc(&alt, '.');
        n++;
    }
    json_t *view = NULL;
    if (n > 1) {
        const struct said title = {.headline = PHRASE(SPEEDUP_IS, slot_factor(p[n - 1].speedup),
                                                      slot_things((int)p[n - 1].n, counted_word(s->rep->unit)),
                                                      slot_factor(p[n - 1].n / ref->n_nodes))};
        const char *axis = site_text(s, "speed-up against %s (dashed: ideal)", node_words(s, ref->n_nodes));
        struct chart_speedup spec = {.text = {"Speed-up", axis, "", label_factor},
                                     .noun = counted_word(s->rep->unit),
                                     .points = p,
                                     .n_points = n,
                                     .n_ref = ref->n_nodes};
        view = figure_view(s, &(struct figure){.stem = site_text(s, "speedup%s", suffix),
                                               .title = say_title(&s->arena, &title),
                                               .caption = speedup_caption(s, series),
                                               .alt = dcr_buf_text(&alt),
                                               .draw = draw_speedup,
                                               .spec = &spec,
                                               .wide = FIGURE_HALF,
                                               .height = 340,
                                               .narrow_height = 300,
                                               .run = -1,
                                               .table = speedup_table(s, series)});
    }
    dcr_buf_release(&alt);
    return view;
}

/* ---- step time by category ---------------------------------------------------------------------------- */

/* A part below this share of the step at every node count is merged into the others. */
static const double part_matters = 0.001;

static bool is_part_above(const struct series *series, int part, double share)
{
    for (int i = 0; i < series->n_points; i++)
        if ((double)series->points[i].part_ns[part] > share * (double)series->points[i].step.mean_ns)
            return true;
    return false;
}

static const struct stack_part *stack_parts(struct site *s, const struct series *series)
{
    struct stack_part *parts = dcr_arena_alloc(&s->arena, N_PARTS * sizeof *parts);
    bool holds_others = false;
    for (int k = 0; k < N_PARTS; k++) {
        parts[k] = (struct stack_part){part_name((enum part)k), part_ink((enum part)k)};
        holds_others |= k != PART_OTHER && is_part_above(series, k, 0) && !is_part_above(series, k, part_matters);
    }
    if (holds_others)
        parts[PART_OTHER].name = "other";
    return parts;
}

static json_t *breakdown_table(struct site *s, const struct series *series)
{
    json_t *t = view_table(s, TABLE(CATEGORIES_OF_POINTS));
    for (int i = 0; i < series->n_points; i++) {
        view_column(s, t, "#", node_words(s, series->points[i].n_nodes));
        view_column(s, t, "#", "share");
    }
    for (int k = 0; k <= N_PARTS; k++) {
        view_row(s, t, k < N_PARTS ? part_name((enum part)k) : "whole step");
        for (int i = 0; i < series->n_points; i++) {
            const struct series_point *p = &series->points[i];
            int64_t ns = k < N_PARTS ? p->part_ns[k] : p->step.mean_ns;
            bool is_known = p->step.n && (k == N_PARTS || is_point_part_known(s->rep, p, (enum part)k));
            view_cell_time(s, t, is_known, ns);
            view_cell_percent(s, t, is_known, (double)ns / (double)p->step.mean_ns);
        }
    }
    return t;
}

/* The step that ideal scaling from the first point would give; 0 = for the first point itself, or unknown. */
static int64_t ideal_step(const struct series *series, int i)
{
    const struct series_point *first = &series->points[0], *p = &series->points[i];
    if (i == 0 || first->n_nodes <= 0 || !first->step.n)
        return 0;
    return series->kind == SCALING_WEAK     ? first->step.mean_ns
           : series->kind == SCALING_STRONG ? first->step.mean_ns * first->n_nodes / p->n_nodes
                                            : 0;
}

static const char *breakdown_alt(struct site *s, const struct series *series)
{
    struct dcr_buf alt = {0};
    say_put_phrases(&alt, &PHRASE(CHART_POINTS), 1);
    for (int i = 0; i < series->n_points; i++) {
        const struct series_point *p = &series->points[i];
        if (!p->step.n)
            continue;
        dcr_buf_printf(&alt, " %s: %s", node_words(s, p->n_nodes), fmt_time(p->step.mean_ns).text);
        for (int k = 0; k < N_PARTS; k++)
            if (p->part_ns[k] != 0)
                dcr_buf_printf(&alt, ", %s %s", part_name((enum part)k), fmt_time(p->part_ns[k]).text);
        if (ideal_step(series, i))
            dcr_buf_printf(&alt, ", ideal %s", fmt_time(ideal_step(series, i)).text);
        dcr_buf_putc(&alt, '.');
    }
    const char *text = site_text(s, "%s", dcr_buf_text(&alt));
    dcr_buf_release(&alt);
    return text;
}

/* "A step takes 306 ms on 4 nodes, ideally 172 ms". */
static const char *breakdown_title(struct site *s, const struct series *series)
{
    int last = series->n_points - 1;
    const struct series_point *p = &series->points[last];
    int64_t ideal = ideal_step(series, last);
    const struct slot step = slot_time(p->step.mean_ns), at = slot_name(node_words(s, p->n_nodes));
    const struct phrase title = !p->step.n        ? PHRASE(STEP_TIME_GOES)
                                : p->n_nodes <= 0 ? PHRASE(STEP_TAKES, step)
                                : ideal           ? PHRASE(STEP_TAKES_IDEALLY, step, at, slot_time(ideal))
                                                  : PHRASE(STEP_TAKES_ON, step, at);
    return say_phrase(&s->arena, &title);
}

static json_t *breakdown_figure(struct site *s, const struct series *series, const char *suffix)
{
    size_t n = 0;
    int64_t most = 0;
    struct stack_bar *bars = dcr_arena_alloc(&s->arena, (size_t)series->n_points * sizeof *bars);
    for (int i = 0; i < series->n_points; i++)
        if (series->points[i].step.n && series->points[i].step.mean_ns > most)
            most = series->points[i].step.mean_ns;
    if (most == 0)
        return NULL;
    struct time_axis axis = time_axis_for(most);
    bool has_interval = false, has_ideal = false, is_short = series->n_points > 2; /* the axis names the unit once */
    for (int i = 0; i < series->n_points; i++) {
        const struct series_point *p = &series->points[i];
        if (!p->step.n)
            continue;
        double *v = dcr_arena_alloc(&s->arena, N_PARTS * sizeof *v);
        for (int k = 0; k < N_PARTS; k++)
            v[k] = 0;
        for (int k = 0; k < N_PARTS; k++)
            v[is_part_above(series, k, part_matters) ? k : PART_OTHER] += in_unit(p->part_ns[k], &axis);
        const char *at = p->n_nodes <= 0 && series->n_points == 1 ? "this run" : node_words(s, p->n_nodes);
        bars[n] = (struct stack_bar){.label = is_short ? site_text(s, "%d", p->n_nodes) : at,
                                     .value = v,
                                     .ideal = in_unit(ideal_step(series, i), &axis)};
        has_ideal |= ideal_step(series, i) > 0;
        if (p->step_interval.has) {
            bars[n].lo = p->step_interval.lo / axis.ns;
            bars[n].hi = p->step_interval.hi / axis.ns;
            has_interval = true;
        }
        n++;
    }
    struct chart_stack spec = {.parts = stack_parts(s, series), .n_parts = N_PARTS, .bars = bars, .n_bars = n};
    spec.x_title = is_short ? site_text(s, "%ss", counted_word(s->rep->unit)) : NULL;
    spec.text = (struct chart_text){"Step time by category", site_text(s, "mean step time, %s", axis.unit), axis.unit,
                                    axis.label};
    const struct phrase caption[] = {has_interval ? PHRASE(CAPTION_MEANS_INTERVALS) : PHRASE(CAPTION_MEANS),
                                     has_ideal ? PHRASE(CAPTION_IDEAL) : PHRASE(NONE)};
    return figure_view(s, &(struct figure){.stem = site_text(s, "breakdown%s", suffix),
                                           .title = breakdown_title(s, series),
                                           .caption = say_phrases(&s->arena, caption, 2),
                                           .alt = breakdown_alt(s, series),
                                           .draw = draw_stack,
                                           .spec = &spec,
                                           .wide = FIGURE_FULL,
                                           .height = 340,
                                           .narrow_height = 300,
                                           .run = -1,
                                           .table = breakdown_table(s, series)});
}

/* ---- the waterfall of the loss --------------------------------------------------------------------------- */

static json_t *loss_figure(struct site *s, const struct series *series, const char *suffix)
{
    if (series->n_losses == 0)
        return NULL;
    /* The last one spans the whole series. */
    const struct series_loss *l = &series->losses[series->n_losses - 1];
    struct time_axis axis = time_axis_for(l->actual_ns > l->ideal_ns ? l->actual_ns : l->ideal_ns);
    struct row_bar rows[N_PARTS + 2];
    struct dcr_buf alt = {0};
    size_t n = 0;
    int n_to = series->points[l->to].n_nodes;
    int64_t at = l->ideal_ns;
    rows[n++] = (struct row_bar){site_text(s, "ideal scaling"), 0, in_unit(at, &axis), INK_MUTED, NULL, true};
    say_put_phrases(
        &alt, &PHRASE(CHART_WATERFALL, slot_time(l->ideal_ns), slot_name(node_words(s, n_to)), slot_time(l->actual_ns)),
        1);
    for (int k = 0; k < N_PARTS; k++) {
        int64_t part = l->part_ns[k];
        if (part == 0)
            continue;
        const char *words = site_text(s, "%s", fmt_signed(fmt_time_beside(part, l->actual_ns), (double)part).text);
        rows[n++] = (struct row_bar){part_name((enum part)k),
                                     in_unit(at, &axis),
                                     in_unit(at + part, &axis),
                                     part_ink((enum part)k),
                                     words,
                                     false};
        at += part;
        dcr_buf_printf(&alt, " %s %s.", part_name((enum part)k), words);
    }
    rows[n++] = (struct row_bar){"measured", 0, in_unit(l->actual_ns, &axis), INK_TEXT, NULL, true};
    int most = 0;
    for (int k = 1; k < N_PARTS; k++)
        most = l->part_ns[k] > l->part_ns[most] ? k : most;
    bool is_communication = l->part_ns[PART_TRANSFER] + l->part_ns[PART_WAIT] > l->part_ns[most];
    int64_t most_ns = is_communication ? l->part_ns[PART_TRANSFER] + l->part_ns[PART_WAIT] : l->part_ns[most];
    /* Mean compute of a late rank and the waiting for it are one loss. */
    bool is_late =
        series->limit_claim >= 0 && l->to == series->told && s->rep->claims[series->limit_claim].cls == CLASS_IMBALANCE;
    most_ns += is_late && !is_communication ? l->part_ns[PART_WAIT] : 0;
    const char *most_name = is_late ? "a late rank" : is_communication ? "communication" : part_name((enum part)most);
    const struct slot nodes = slot_things(n_to, counted_word(s->rep->unit));
    const struct slot loss = slot_time(l->actual_ns - l->ideal_ns);
    /* With shared cores any part may be inflated, so none is named. */
    bool is_loss = l->actual_ns > l->ideal_ns && n_to > 0;
    const struct said found = {.headline = !is_loss ? PHRASE(BETTER_THAN_IDEAL, slot_name(node_words(s, n_to)),
                                                             slot_time(l->ideal_ns - l->actual_ns))
                                           : series->points[l->to].unreliable.id ? PHRASE(LOSS_ALONE, nodes, loss)
                                           : 2 * most_ns > l->actual_ns - l->ideal_ns
                                               ? PHRASE(LOSS_IS, nodes, loss, slot_name(most_name))
                                               : PHRASE(LOSS_LARGEST, nodes, loss, slot_name(most_name))};
    const char *title = say_title(&s->arena, &found);
    struct chart_rows spec = {
        .text = {title, site_text(s, "step time at %s, %s", node_words(s, n_to), axis.unit), axis.unit, axis.label},
        .rows = rows,
        .n_rows = n,
        .is_waterfall = true};
    double height = chart_rows_height(&spec) - 26;
    json_t *view = figure_view(s, &(struct figure){.stem = site_text(s, "loss%s", suffix),
                                                   .title = title,
                                                   .caption = say_phrase(&s->arena, &PHRASE(CAPTION_LOSS)),
                                                   .alt = dcr_buf_text(&alt),
                                                   .draw = draw_rows,
                                                   .spec = &spec,
                                                   .wide = FIGURE_HALF,
                                                   .height = height < 340 ? 340 : height,
                                                   .narrow_height = height,
                                                   .run = -1,
                                                   .table = view_loss_parts(s, series)});
    dcr_buf_release(&alt);
    return view;
}

json_t *series_steps(struct site *s, const struct series *series, const char *suffix)
{
    json_t *view = breakdown_figure(s, series, suffix);
    return view ? view : json_null();
}

json_t *series_figures(struct site *s, const struct series *series, const char *suffix)
{
    json_t *list = view_list(s);
    json_t *view[] = {speedup_figure(s, series, suffix), loss_figure(s, series, suffix)};
    for (int i = 0; i < 2; i++)
        if (view[i])
            view_add(s, list, view[i]);
    return list;
}
