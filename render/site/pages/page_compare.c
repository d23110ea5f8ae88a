/* page_compare.c - before and after (--baseline): step times part by part, significant changes, and forecasts. See
 * inside.h. */
#include "render/site/figures/figures_inside.h"

#include "render/findings/rules/compare.h"
#include "render/findings/rules/trials.h"
#include "render/pages/parts.h"
#include "render/say/format.h"
#include "render/say/say.h"
#include "render/write/html.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* step: NULL if the steps of both sides are not equal work, then there is no verdict on their times */
static const char *verdict_on(struct site *s, const struct compared *c, const struct compared *step)
{
    const struct phrase missing = c->has_before  ? PHRASE(NOT_RECORDED_AFTER)
                                  : c->has_after ? PHRASE(NOT_RECORDED_BEFORE)
                                                 : PHRASE(FACT_NOT_RECORDED);
    return !compared_has(c)                 ? say_phrase(&s->arena, &missing)
           : !step                          ? say_phrase(&s->arena, &PHRASE(OTHER_WORK))
           : compared_is_unchanged(c, step) ? "unchanged"
           : !c->change_ns.has              ? say_phrase(&s->arena, &PHRASE(TOO_FEW_STEPS))
           : !c->is_significant             ? say_phrase(&s->arena, &PHRASE(MAY_BE_CHANCE))
           : c->change_ns.hi < 0            ? "shorter"
                                            : "longer";
}

/* "13.4" in a column of one unit, which its longest time decides. */
static const char *time_in(struct site *s, int64_t ns, int64_t longest_ns)
{
    struct fmt time = fmt_time_beside(ns, longest_ns);
    char *unit = strrchr(time.text, ' ');
    if (unit)
        *unit = '\0';
    return site_text(s, "%s", time.text);
}

static const char *unit_of(struct site *s, int64_t longest_ns)
{
    struct fmt time = fmt_time_beside(longest_ns, longest_ns);
    const char *unit = strrchr(time.text, ' ');
    return site_text(s, "%s", unit ? unit + 1 : "");
}

/* 0, "< 0.01" or "> -0.01" */
static bool is_below_print(const char *time)
{
    return *time == '<' || *time == '>' || strcmp(time, "0") == 0;
}

/* "-14.3 to -14.1". If the ends print alike, the width is given instead. */
static const char *interval_in(struct site *s, const struct interval *i, int64_t longest_ns)
{
    const char *lo = time_in(s, llround(i->lo), longest_ns), *hi = time_in(s, llround(i->hi), longest_ns);
    if (is_below_print(lo) && is_below_print(hi))
        return "within 0.01";
    return strcmp(lo, hi) ? site_text(s, "%s to %s", lo, hi) : site_text(s, "%s", fmt_time_range(i->lo, i->hi).text);
}

/* A change outside the interval of runs without repetitions is not coloured, because it is not certain. */
static void add_compared(struct site *s, json_t *t, const char *name, const struct compared *c,
                         const struct compared *step, int64_t longest_ns, bool repeated, bool has_interval)
{
    const struct interval *i = &c->change_ns;
    int64_t change_ns = c->after_ns - c->before_ns;
    view_row(s, t, name);
    view_cell_value(s, t, c->has_before ? time_in(s, c->before_ns, longest_ns) : NULL, c->has_before,
                    (double)c->before_ns, "ns");
    view_cell_value(s, t, c->has_after ? time_in(s, c->after_ns, longest_ns) : NULL, c->has_after, (double)c->after_ns,
                    "ns");
    view_cell_value(s, t,
                    compared_has(c) ? time_in(s, change_ns, longest_ns)
                    : has_interval  ? NULL
                                    : verdict_on(s, c, step),
                    compared_has(c), (double)change_ns, "ns");
    if (!has_interval)
        return;
    view_cell_interval(s, t, i->has ? interval_in(s, i, longest_ns) : NULL, *i, "ns");
    bool is_certain = step && c->is_significant && repeated && !compared_is_unchanged(c, step);
    view_cell_class(s, t, verdict_on(s, c, step), !is_certain ? "v-na" : i->hi < 0 ? "v-fine" : "v-limits");
}

/* Traces alone give no node count, and a pair of them needs none. */
static const char *name_of(const struct site *s, const struct comparison *c)
{
    return c->n_nodes <= 0 && s->rep->n_comparisons == 1 ? "These runs" : c->label;
}

/* The row of what is equal work on both sides. */
static const char *samples_row(struct site *s, const struct comparison *c)
{
    return say_phrase(&s->arena, &PHRASE(TIME_OF_SAMPLES, slot_count(c->equal.samples_before)));
}

/* "data loading, -29.0 ms" */
static const char *changed_most(struct site *s, const struct comparison *c)
{
    enum part parts[N_PARTS];
    const struct compared *most = comparison_order(c, parts) ? &c->part[parts[0]] : NULL;
    if (comparison_is_of_samples(c))
        return say_phrase(&s->arena, &PHRASE(OTHER_WORK));
    return most && compared_has(most) && most->after_ns != most->before_ns
               ? site_text(s, "%s, %s", part_name(parts[0]),
                           fmt_time_beside(most->after_ns - most->before_ns, compared_longest(&c->step)).text)
               : "none";
}

static json_t *parts_table(struct site *s, const struct comparison *c)
{
    enum part parts[N_PARTS];
    int n = comparison_order(c, parts);
    bool has_interval = c->step.change_ns.has;
    struct table_said is =
        *TABLE(COMPARED_PARTS, slot_name(name_of(s, c)), slot_name(unit_of(s, compared_longest(&c->step))),
               slot_things(c->steps_before, "step"), slot_things(c->steps_after, "step"));
    is.id = has_interval ? TABLE_COMPARED_PARTS_CERTAIN : is.id;
    json_t *t = view_table(s, &is);
    bool is_of_samples = comparison_is_of_samples(c), is_repeated = comparison_is_repeated(c);
    const struct compared *step = is_of_samples ? NULL : &c->step;
    int64_t longest_ns = compared_longest(&c->step);
    for (int i = 0; i < n; i++)
        add_compared(s, t, part_name(parts[i]), &c->part[parts[i]], step, longest_ns, is_repeated, has_interval);
    add_compared(s, t, "whole step", &c->step, step, longest_ns, is_repeated, has_interval);
    if (is_of_samples)
        add_compared(s, t, samples_row(s, c), &c->equal.time, &c->equal.time, longest_ns, is_repeated, has_interval);
    return t;
}

/* The page shows parts that are large enough to see; the CSV has all. */
static void drop_small_parts(struct site *s, const struct comparison *c, json_t *table)
{
    enum part parts[N_PARTS];
    size_t row[N_PARTS + 2], n = 0;
    int n_parts = comparison_order(c, parts), n_rows = n_parts + 1 + comparison_is_of_samples(c);
    for (int i = 0; i < n_parts; i++)
        if (!compared_is_small(&c->part[parts[i]], &c->step))
            row[n++] = (size_t)i;
    for (int i = n_parts; i < n_rows; i++)
        row[n++] = (size_t)i; /* the step, and as many samples */
    if (n < (size_t)n_rows)
        view_keep_rows(s, table, row, n);
}

void view_compared(struct site *s, json_t *data)
{
    const struct report *rep = s->rep;
    view_set(s, data, "compared", json_null());
    if (rep->n_comparisons == 0 && !rep->changes)
        return;
    json_t *v = view_object(s);
    view_text(s, v, "baseline", rep->baseline);
    view_set(s, data, "compared", v);
    view_set(s, v, "table", json_null());
    if (rep->n_comparisons == 0)
        return;
    int64_t longest_ns = 0;
    for (int i = 0; i < rep->n_comparisons; i++) {
        int64_t ns = compared_longest(comparison_judged(&rep->comparisons[i]));
        longest_ns = ns > longest_ns ? ns : longest_ns;
    }
    json_t *t = view_table(s, TABLE(COMPARED, slot_name(unit_of(s, longest_ns))));
    for (int i = 0; i < rep->n_comparisons; i++) {
        const struct comparison *c = &rep->comparisons[i];
        const struct compared *judged = comparison_judged(c);
        const char *name = name_of(s, c);
        add_compared(s, t, comparison_is_of_samples(c) ? site_text(s, "%s, %s", name, samples_row(s, c)) : name, judged,
                     judged, longest_ns, comparison_is_repeated(c), true);
        view_cell(s, t, changed_most(s, c));
        json_t *rows = json_object_get(t, "rows");
        view_text(s, json_array_get(rows, json_array_size(rows) - 1), "href",
                  site_text(s, "compare.html#nodes-%s", rep->comparisons[i].anchor));
    }
    site_table(s, t, "compared", -1);
    view_set(s, v, "table", t);
}

static json_t *predictions_table(struct site *s, const struct comparison *c)
{
    if (c->n_predictions == 0 || c->tried.has) /* the forecast of the change is in its own table */
        return json_null();
    int64_t longest_ns = 0;
    for (int i = 0; i < c->n_predictions; i++) {
        const struct prediction *p = &c->predictions[i];
        const int64_t ns[] = {p->predicted_mean_ns, p->before_ns, p->after_ns};
        for (int k = 0; k < 3; k++)
            longest_ns = ns[k] > longest_ns ? ns[k] : longest_ns;
    }
    json_t *t = view_table(s, TABLE(PREDICTIONS, slot_name(name_of(s, c)), slot_name(unit_of(s, longest_ns))));
    for (int i = 0; i < c->n_predictions; i++) {
        const struct prediction *p = &c->predictions[i];
        view_row(s, t, p->name);
        view_cell_value(s, t, time_in(s, p->predicted_mean_ns, longest_ns), true, (double)p->predicted_mean_ns, "ns");
        view_cell(s, t, gain_basis_word(p->basis));
        view_cell_value(s, t, time_in(s, p->before_ns, longest_ns), true, (double)p->before_ns, "ns");
        view_cell_value(s, t, time_in(s, p->after_ns, longest_ns), true, (double)p->after_ns, "ns");
        /* only kernels can be removed from compute, and their time is not known separately */
        bool has = p->cls != CLASS_COMPUTE && p->before_ns > 0;
        double left = has ? (double)p->after_ns / (double)p->before_ns : 0;
        view_cell_value(s, t, has ? fmt_percent(left).text : NULL, has, left, "ratio");
    }
    return t;
}

/* Forecast beside result, for a change that the report before advised. */
static json_t *tried_table(struct site *s, const struct comparison *c)
{
    const struct tried *t = &c->tried;
    if (!t->has)
        return json_null();
    json_t *table = view_table(s, TABLE(TRIED, slot_name(name_of(s, c)), slot_name(unit_of(s, t->before_ns))));
    view_row(s, table, trial_key_word(t->kind));
    view_cell_value(s, table, time_in(s, t->before_ns, t->before_ns), true, (double)t->before_ns, "ns");
    view_cell_value(s, table, time_in(s, t->forecast_ns, t->before_ns), true, (double)t->forecast_ns, "ns");
    view_cell_value(s, table, time_in(s, t->achieved_ns, t->before_ns), true, (double)t->achieved_ns, "ns");
    view_cell_value(s, table, fmt_percent(t->error_ratio).text, true, t->error_ratio, "ratio");
    return table;
}

/* The change of the step, or of samples per second, in words that fit under two columns. */
static const char *change_words(struct site *s, const struct comparison *c)
{
    const struct compared *k = comparison_judged(c);
    const struct slot factor = slot_factor(k->after_ns > 0 ? (double)k->before_ns / (double)k->after_ns : 0);
    const struct phrase said = !k->change_ns.has                                             ? PHRASE(TOO_FEW_TO_TELL)
                               : !k->is_significant || k->after_ns <= 0 || k->before_ns <= 0 ? PHRASE(MAY_BE_CHANCE)
                               : comparison_is_of_samples(c) ? PHRASE(TIMES_THE_SAMPLES, factor)
                                                             : PHRASE(TIMES_AS_FAST, factor);
    return say_phrase(&s->arena, &said);
}

/* The result of the chart. */
static const char *chart_title(struct site *s, const struct comparison *c)
{
    enum part parts[N_PARTS];
    const struct compared *most = comparison_order(c, parts) ? &c->part[parts[0]] : NULL;
    int is_told = most && compared_has(most) && (most->is_significant || !c->step.change_ns.has);
    const struct equal_work *e = &c->equal;
    struct said found = {.headline =
                             comparison_is_of_samples(c)
                                 ? PHRASE(STEPS_OF_SAMPLES, slot_count(e->samples_after), slot_count(e->samples_before))
                             : is_told ? PHRASE(MOST_CHANGED, slot_name(part_name(parts[0])))
                                       : PHRASE(NONE_CHANGED)};
    return say_title(&s->arena, &found);
}

static json_t *figure(struct site *s, const struct report *rep)
{
    size_t n = 0;
    int64_t most = 0;
    struct stack_bar *bars = dcr_arena_alloc(&s->arena, 2 * (size_t)rep->n_comparisons * sizeof *bars);
    const char **names = dcr_arena_alloc(&s->arena, (size_t)rep->n_comparisons * sizeof *names);
    struct stack_part parts[N_PARTS];
    struct dcr_buf alt = {0};
    say_put_phrases(&alt, &PHRASE(CHART_COMPARED), 1);
    for (int i = 0; i < rep->n_comparisons; i++) {
        const struct compared *step = &rep->comparisons[i].step;
        most = step->before_ns > most ? step->before_ns : most;
        most = step->after_ns > most ? step->after_ns : most;
    }
    if (most <= 0)
        return json_null();
    struct time_axis axis = time_axis_for(most);
    for (int k = 0; k < N_PARTS; k++)
        parts[k] = (struct stack_part){part_name((enum part)k), part_ink((enum part)k)};
    for (int i = 0; i < rep->n_comparisons; i++) {
        const struct comparison *c = &rep->comparisons[i];
        dcr_buf_printf(&alt, " %s: %s before, %s after: %s.", c->label, fmt_time(c->step.before_ns).text,
                       fmt_time(c->step.after_ns).text, change_words(s, c));
        for (int side = 0; side < 2; side++) {
            double *v = dcr_arena_alloc(&s->arena, N_PARTS * sizeof *v);
            for (int k = 0; k < N_PARTS; k++)
                v[k] = (double)(side ? c->part[k].after_ns : c->part[k].before_ns) / axis.ns;
            bars[n++] = (struct stack_bar){.label = side ? "after" : "before", .value = v};
        }
        names[i] =
            site_text(s, "%s%s", rep->n_comparisons > 1 ? site_text(s, "%s, ", c->label) : "", change_words(s, c));
    }
    struct chart_stack spec = {
        .text = {"Before and after", site_text(s, "mean step time, %s", axis.unit), axis.unit, axis.label},
        .parts = parts,
        .n_parts = N_PARTS,
        .bars = bars,
        .n_bars = n,
        .group = 2,
        .group_label = names};
    json_t *view = figure_view(s, &(struct figure){.stem = "compare",
                                                   .run = -1,
                                                   .title = chart_title(s, &rep->comparisons[rep->n_comparisons - 1]),
                                                   .caption = say_phrase(&s->arena, &PHRASE(CAPTION_COMPARED)),
                                                   .alt = dcr_buf_text(&alt),
                                                   .draw = draw_stack,
                                                   .spec = &spec,
                                                   .wide = n > 4 ? FIGURE_FULL : FIGURE_HALF,
                                                   .height = 340,
                                                   .narrow_height = 300});
    dcr_buf_release(&alt);
    return view;
}

static const char *phrases(struct site *s, const struct phrase *p, int n)
{
    const char *text = say_phrases(&s->arena, p, n);
    return *text ? text : NULL;
}

static json_t *comparison_view(struct site *s, const struct comparison *c)
{
    json_t *v = view_object(s), *parts = parts_table(s, c), *predictions = predictions_table(s, c),
           *tried = tried_table(s, c);
    struct doc d = {0};
    struct dcr_buf sure = {0};
    list_of_sure(c->sure, 1, &d);
    write_html(&d, &sure);
    doc_release(&d);
    site_table(s, tried, site_text(s, "tried-%s", c->anchor), -1);
    site_table(s, parts, site_text(s, "compare-%s", c->anchor), -1);
    drop_small_parts(s, c, parts);
    site_table(s, predictions, site_text(s, "predictions-%s", c->anchor), -1);
    view_text(s, v, "anchor", site_text(s, "nodes-%s", c->anchor));
    view_text(s, v, "headline", say_title(&s->arena, &c->said));
    view_text(s, v, "support", phrases(s, c->said.support, SAID_MAX));
    view_text(s, v, "forecast", phrases(s, c->forecast, COMPARED_MAX));
    view_text(s, v, "more", phrases(s, c->more, COMPARED_MAX));
    view_html(s, v, "sure", &sure);
    view_set(s, v, "tried", tried);
    view_text(s, v, "command", c->tried.has ? c->tried.command : NULL);
    view_set(s, v, "parts", parts);
    view_set(s, v, "predictions", predictions);
    dcr_buf_release(&sure);
    return v;
}

void page_compare(struct site *s)
{
    const struct report *rep = s->rep;
    if (rep->n_comparisons == 0 && !rep->changes)
        return;
    json_t *data = view_object(s), *others = view_list(s);
    for (int i = 0; i < rep->n_comparisons - 1; i++)
        view_add(s, others, comparison_view(s, &rep->comparisons[i]));
    view_set(s, data, "first",
             rep->n_comparisons ? comparison_view(s, &rep->comparisons[rep->n_comparisons - 1]) : json_null());
    view_text(s, data, "baseline", rep->baseline);
    view_caveats(s, data, -1);
    view_set(s, data, "others", others);
    view_set(s, data, "figure", rep->n_comparisons ? figure(s, rep) : json_null());
    view_set(s, data, "changes", view_changes(s));
    site_page(s, "compare", "compare.html", site_text(s, "Before and after, %s", rep->title), "compare", data);
}
