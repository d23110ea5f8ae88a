/* figures_run.c - the figures of one run; see figures.h. Called by page_run.c. */
#include "render/site/figures/figures_inside.h"

#include "render/metrics/known.h"
#include "render/say/format.h"
#include "render/say/say.h"

#include <math.h>
#include <string.h>

/* ---- breakdown ---------------------------------------------------------------------------------------- */

bool breakdown_spec(struct site *s, const struct run_result *r, struct chart_rows *spec)
{
    if (!r->has_steps || r->step.mean_ns <= 0)
        return false;
    struct time_axis axis = time_axis_for(r->step.mean_ns);
    struct row_bar *rows = dcr_arena_alloc(&s->arena, N_PARTS * sizeof *rows);
    for (int k = 0; k < N_PARTS; k++)
        rows[k] = r->part_ns[k] == 0 /* nothing of the kind was recorded, so there is no bar of length 0 */
                      ? (struct row_bar){.name = part_name((enum part)k),
                                         .to = NAN,
                                         .value = is_part_known(r, (enum part)k) ? "none" : "not recorded"}
                      : (struct row_bar){
                            .name = part_name((enum part)k),
                            .to = (double)r->part_ns[k] / axis.ns,
                            .ink = part_ink((enum part)k),
                            .value = site_text(s, "%s, %s", fmt_time_beside(r->part_ns[k], r->step.mean_ns).text,
                                               fmt_percent((double)r->part_ns[k] / (double)r->step.mean_ns).text)};
    *spec = (struct chart_rows){.text = {say_phrase(&s->arena, &PHRASE(STEP_TIME_GOES)),
                                         site_text(s, "mean per step, %s", axis.unit), axis.unit, axis.label},
                                .rows = rows,
                                .n_rows = N_PARTS};
    return true;
}

/* Least and largest mean of a part over the ranks, because a mean hides the spread. */
static void part_range(const struct run_result *r, int part, int64_t *lo, int64_t *hi)
{
    *lo = INT64_MAX;
    *hi = 0;
    for (int i = 0; i < r->n_rank_results; i++) {
        int64_t v = r->ranks[i].part_ns[part];
        *lo = v < *lo ? v : *lo;
        *hi = v > *hi ? v : *hi;
    }
}

static json_t *breakdown_table(struct site *s, const struct run_result *r)
{
    json_t *t = view_table(s, TABLE(CATEGORIES));
    for (int k = 0; k < N_PARTS; k++) {
        const struct interval *i = &r->part_interval[k];
        int64_t lo, hi;
        part_range(r, k, &lo, &hi);
        bool is_known = is_part_known(r, (enum part)k);
        view_row(s, t, run_part_name(r, (enum part)k));
        VIEW_METRICS(s, t, &run_metrics, r, RUN_NS_PART_COMPUTE + k, RUN_SHARE_PART_COMPUTE + k);
        if (is_known && i->has)
            view_cell_interval(s, t, fmt_percent_range(i->lo, i->hi).text, *i, "ratio");
        else
            view_cell_no_interval(s, t,
                                  is_known                              ? &REASON(TOO_FEW_STEPS)
                                  : k == PART_WAIT && is_one_of_many(r) ? &REASON(ONE_OF_MANY_RANKS)
                                                                        : &REASON(NOT_RECORDED),
                                  "ratio");
        view_cell_time(s, t, is_known && r->n_rank_results, lo);
        view_cell_time(s, t, is_known && r->n_rank_results, hi);
    }
    view_row(s, t, "whole step");
    view_cell_time(s, t, true, r->step.mean_ns);
    view_cell_percent(s, t, true, 1);
    view_cell(s, t, "");
    view_cell(s, t, "");
    view_cell(s, t, "");
    return t;
}

static const char *breakdown_alt(struct site *s, const struct run_result *r)
{
    struct dcr_buf alt = {0};
    say_put_phrases(&alt, &PHRASE(CHART_BARS, slot_time(r->step.mean_ns)), 1);
    for (int k = 0; k < N_PARTS; k++)
        dcr_buf_printf(&alt, "%s %s %s", k ? "," : "", run_part_name(r, (enum part)k),
                       !is_part_known(r, (enum part)k) ? "not recorded"
                       : r->part_ns[k] == 0            ? "none"
                                            : fmt_percent((double)r->part_ns[k] / (double)r->step.mean_ns).text);
    const char *text = site_text(s, "%s.", dcr_buf_text(&alt));
    dcr_buf_release(&alt);
    return text;
}

static const char *most_title(struct site *s, const struct run_result *r)
{
    int most = 0;
    for (int k = 1; k < N_PARTS; k++)
        most = r->part_ns[k] > r->part_ns[most] ? k : most;
    const struct said title = {.headline = PHRASE(PART_IS_MOST, slot_name(part_name((enum part)most)),
                                                  slot_percent((double)r->part_ns[most] / (double)r->step.mean_ns))};
    return say_title(&s->arena, &title);
}

json_t *run_figure_breakdown(struct site *s, const struct run_result *r)
{
    struct chart_rows spec;
    if (!breakdown_spec(s, r, &spec))
        return NULL;
    double height = chart_rows_height(&spec) - 26;
    return figure_view(s, &(struct figure){.stem = "breakdown-figure",
                                           .run = RUN_OF(s, r),
                                           .title = most_title(s, r),
                                           .caption = say_phrase(&s->arena, &PHRASE(CAPTION_BREAKDOWN)),
                                           .alt = breakdown_alt(s, r),
                                           .draw = draw_rows,
                                           .spec = &spec,
                                           .wide = FIGURE_HALF,
                                           .height = height,
                                           .narrow_height = height,
                                           .table = breakdown_table(s, r)});
}

/* ---- ranks --------------------------------------------------------------------------------------------- */

static const struct rank_shown *shown_ranks(struct site *s, const struct run_result *r, size_t *n_shown)
{
    size_t n = (size_t)r->n_rank_results;
    double *own = dcr_arena_alloc(&s->arena, (n + 1) * sizeof *own);
    for (size_t i = 0; i < n; i++)
        own[i] = rank_own_ns(&r->ranks[i]);
    return ranks_to_show(s, own, n, "fastest", "slowest", n_shown);
}

bool ranks_spec(struct site *s, const struct run_result *r, struct chart_stack *spec)
{
    size_t n = r->has_steps ? (size_t)r->n_rank_results : 0;
    int64_t most = 0;
    for (size_t i = 0; i < n; i++)
        most = r->ranks[i].step.mean_ns > most ? r->ranks[i].step.mean_ns : most;
    if (n == 0 || most == 0)
        return false;
    struct time_axis axis = time_axis_for(most);
    size_t has_mean = n > 1, n_shown; /* the mean stands before the ranks */
    const struct rank_shown *shown = shown_ranks(s, r, &n_shown);
    struct stack_bar *bars = dcr_arena_alloc(&s->arena, (n_shown + has_mean) * sizeof *bars);
    struct stack_part *parts = dcr_arena_alloc(&s->arena, N_PARTS * sizeof *parts);
    double *v = dcr_arena_alloc(&s->arena, (n_shown + has_mean) * N_PARTS * sizeof *v);
    for (int k = 0; k < N_PARTS; k++)
        parts[k] = (struct stack_part){part_name((enum part)k), part_ink((enum part)k)};
    for (int k = 0; has_mean && k < N_PARTS; k++)
        v[k] = (double)r->part_ns[k] / axis.ns;
    bars[0] = (struct stack_bar){.label = "mean", .value = v};
    v += has_mean * N_PARTS;
    for (size_t i = 0; i < n_shown; i++, v += N_PARTS) {
        const struct rank_result *q = &r->ranks[shown[i].at];
        for (int k = 0; k < N_PARTS; k++)
            v[k] = (double)q->part_ns[k] / axis.ns;
        bool is_late = r->straggler.has && r->straggler.rank == q->rank;
        bars[i + has_mean] =
            (struct stack_bar){.label = shown[i].word ? site_text(s, "%s: rank %d", shown[i].word, q->rank)
                                                      : site_text(s, n <= 4 ? "rank %d" : "%d", q->rank),
                               .value = v,
                               .mark = !is_late                   ? NULL
                                       : r->straggler.is_of_steps ? "waits least"
                                                                  : "arrives last"};
    }
    *spec =
        (struct chart_stack){.text = {"Ranks", site_text(s, "mean step time, %s", axis.unit), axis.unit, axis.label},
                             .parts = parts,
                             .n_parts = N_PARTS,
                             .bars = bars,
                             .n_bars = n_shown + has_mean,
                             .x_title = n <= 4 || n_shown < n ? NULL : "rank"};
    return true;
}

static json_t *ranks_table(struct site *s, const struct run_result *r)
{
    bool is_io = r->part_ns[PART_IO] > r->part_ns[PART_DATA]; /* the larger one is shown */
    json_t *t = view_table(s, is_io ? TABLE(RANKS_WITH_IO) : TABLE(RANKS));
    for (int i = 0; i < r->n_rank_results; i++) {
        struct rank_of k = {.run = r, .is = &r->ranks[i]};
        view_row(s, t, site_text(s, "%d", k.is->rank));
        VIEW_METRICS(s, t, &rank_metrics, &k, RANK_NODE, RANK_STEP_MEAN, RANK_STEP_P95, RANK_NS_PART_COMPUTE,
                     RANK_NS_PART_TRANSFER, RANK_NS_PART_WAIT, RANK_NS_PART_DATA, RANK_NS_PART_IO, RANK_LAST,
                     RANK_CAUSED_WAIT);
    }
    return t;
}

/* The result of the chart, as its title. */
static const char *ranks_title(struct site *s, const struct run_result *r)
{
    int64_t lo = INT64_MAX, hi = 0;
    const struct slot rank = slot_count(r->straggler.rank), share = slot_percent(r->straggler.wins_ratio);
    if (r->straggler.has)
        return say_phrase(&s->arena, r->straggler.is_of_steps ? &PHRASE(RANK_WAITS_LEAST, rank, share)
                                                              : &PHRASE(RANK_ARRIVES_LAST, rank, share));
    if (r->n_rank_results < 2)
        return say_phrase(&s->arena, &PHRASE(STEP_TIME_GOES));
    for (int i = 0; i < r->n_rank_results; i++) {
        int64_t v = r->ranks[i].part_ns[PART_COMPUTE];
        lo = v < lo ? v : lo;
        hi = v > hi ? v : hi;
    }
    if (hi <= 0) /* not named */
        return say_phrase(&s->arena, &PHRASE(STEP_TIME_GOES));
    const char *range = site_text(
        s, "%s",
        fmt_is_same(fmt_time(lo), fmt_time(hi)) ? fmt_time(hi).text : fmt_time_range((double)lo, (double)hi).text);
    return say_phrase(&s->arena, &PHRASE(RANKS_COMPUTE, slot_name(range)));
}

static const char *ranks_alt(struct site *s, const struct run_result *r)
{
    struct dcr_buf alt = {0};
    say_put_phrases(&alt, &PHRASE(CHART_RANKS), 1);
    size_t n_shown;
    const struct rank_shown *shown = shown_ranks(s, r, &n_shown);
    for (size_t i = 0; i < n_shown; i++) {
        const struct rank_result *q = &r->ranks[shown[i].at];
        const struct slot rank = slot_count(q->rank), step = slot_time(q->step.mean_ns),
                          compute = slot_time(q->part_ns[PART_COMPUTE]), wait = slot_time(q->part_ns[PART_WAIT]);
        say_put_phrases(&alt,
                        shown[i].word ? &PHRASE(CHART_RANK_CALLED, rank, slot_name(shown[i].word), step, compute, wait)
                                      : &PHRASE(CHART_RANK, rank, step, compute, wait),
                        1);
    }
    if (n_shown < (size_t)r->n_rank_results)
        say_put_phrases(&alt, &PHRASE(CHART_OTHER_RANKS), 1);
    const char *text = site_text(s, "%s", dcr_buf_text(&alt));
    dcr_buf_release(&alt);
    return text;
}

json_t *run_figure_ranks(struct site *s, const struct run_result *r)
{
    struct chart_stack spec;
    size_t n_shown;
    if (!ranks_spec(s, r, &spec))
        return NULL;
    const struct rank_shown *shown = shown_ranks(s, r, &n_shown);
    json_t *view = figure_view(s, &(struct figure){.stem = "ranks",
                                                   .run = RUN_OF(s, r),
                                                   .title = ranks_title(s, r),
                                                   .caption = n_shown < (size_t)r->n_rank_results
                                                                  ? say_phrase(&s->arena, &PHRASE(RANKS_SHOWN_ARE))
                                                                  : say_phrase(&s->arena, &PHRASE(CAPTION_RANKS)),
                                                   .alt = ranks_alt(s, r),
                                                   .draw = draw_stack,
                                                   .spec = &spec,
                                                   .wide = FIGURE_FULL,
                                                   .height = 320,
                                                   .narrow_height = 300,
                                                   .table = ranks_table(s, r)});
    view_keep_ranks(s, json_object_get(view, "table"), shown, n_shown);
    return view;
}

/* ---- steps --------------------------------------------------------------------------------------------- */

struct step_table {
    double *x, *mean, *lo, *hi;
    size_t n;
};

/* Every step that all ranks have, warm-up included: mean, least and greatest over ranks. */
static struct step_table collect_steps(struct site *s, const struct run *run, double unit_ns)
{
    struct step_table t = {0};
    size_t room = 0;
    int n_ranks = 0;
    const struct run_rank *first = NULL;
    for (int k = 0; k < run->ranks_len; k++) {
        const struct run_rank *q = &run->ranks[k];
        if (q->n_steps == 0)
            continue;
        n_ranks++;
        if (!first || q->n_steps < first->n_steps)
            first = q;
    }
    if (!first)
        return t;
    room = first->n_steps;
    t.x = dcr_arena_alloc(&s->arena, 4 * room * sizeof *t.x);
    t.mean = t.x + room;
    t.lo = t.mean + room;
    t.hi = t.lo + room;
    size_t *at = dcr_arena_alloc(&s->arena, (size_t)run->ranks_len * sizeof *at);
    for (size_t i = 0; i < room; i++) {
        int64_t step = first->steps[i].step, sum = 0, lo = INT64_MAX, hi = 0;
        int found = 0;
        for (int k = 0; k < run->ranks_len; k++) {
            const struct run_rank *q = &run->ranks[k];
            while (at[k] < q->n_steps && q->steps[at[k]].step < step)
                at[k]++;
            if (at[k] == q->n_steps || q->steps[at[k]].step != step)
                continue;
            int64_t ns = q->steps[at[k]].step_ns;
            sum += ns;
            lo = ns < lo ? ns : lo;
            hi = ns > hi ? ns : hi;
            found++;
        }
        if (found != n_ranks)
            continue;
        t.x[t.n] = (double)step;
        t.mean[t.n] = (double)sum / found / unit_ns;
        t.lo[t.n] = (double)lo / unit_ns;
        t.hi[t.n] = (double)hi / unit_ns;
        t.n++;
    }
    return t;
}

struct steps_spec *steps_spec(struct site *s, const struct run_result *r)
{
    if (!r->has_steps || r->step.n == 0)
        return NULL;
    struct time_axis axis = time_axis_for(r->step.median_ns);
    struct step_table t = collect_steps(s, r->run, axis.ns);
    if (t.n < 2)
        return NULL;
    struct steps_spec *spec = dcr_arena_alloc(&s->arena, sizeof *spec);
    spec->mean = (struct line_series){NULL, INK_ACCENT, t.x, t.mean, t.n, false};
    spec->band = (struct line_band){t.x, t.lo, t.hi, t.n, INK_ACCENT};
    spec->median = (struct line_level){(double)r->step.median_ns / axis.ns, "median", INK_TEXT};
    spec->chart = (struct chart_lines){
        .text = {"Step time over the run", site_text(s, "step time, %s", axis.unit), axis.unit, axis.label},
        .x_title = "step",
        .band = r->n_rank_results > 1 ? &spec->band : NULL,
        .series = &spec->mean,
        .n_series = 1,
        .levels = &spec->median,
        .n_levels = 1,
        .x_is_whole = true};
    /* The counted steps begin where the warm-up ends. */
    if (r->n_warmup > 0 && r->n_counted > 0 && t.x[0] < (double)r->step_number[0]) {
        spec->warmup = (struct line_span){t.x[0], (double)r->step_number[0], "warm-up"};
        spec->chart.spans = &spec->warmup;
        spec->chart.n_spans = 1;
    }
    double p95 = (double)r->step.p95_ns / axis.ns, most = 0;
    for (size_t i = 0; i < t.n; i++)
        most = fmax(most, t.mean[i]);
    if (most > 2.5 * p95)
        spec->chart.y_max = 1.6 * p95; /* one slow step must not flatten all others, so it is counted in words */
    return spec;
}

json_t *run_figure_steps(struct site *s, const struct run_result *r)
{
    struct steps_spec *spec = steps_spec(s, r);
    if (!spec)
        return NULL;
    json_t *t = view_table(s, TABLE(STEP_TIMES));
    static const struct {
        const char *name;
        int id;
    } rows[] = {{"mean", RUN_STEP_MEAN},
                {"median", RUN_STEP_MEDIAN},
                {"95th percentile", RUN_STEP_P95},
                {"99th percentile", RUN_STEP_P99},
                {"fastest", RUN_STEP_MIN},
                {"slowest", RUN_STEP_MAX},
                {"slowest / median", RUN_STEP_MAX_OVER_MEDIAN}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        view_row(s, t, rows[i].name);
        VIEW_METRICS(s, t, &run_metrics, r, rows[i].id);
    }
    view_row(s, t, "standard deviation / mean");
    if (r->step.n > 1)
        view_cell_value(s, t, fmt_percent(r->step.cv_ratio).text, true, r->step.cv_ratio, "ratio");
    else
        view_cell_missing(s, t, &REASON(ONE_STEP), "ratio");
    view_row(s, t, "steps counted");
    VIEW_METRICS(s, t, &run_metrics, r, RUN_COUNTED);
    view_row(s, t, "steps left out as warm-up");
    VIEW_METRICS(s, t, &run_metrics, r, RUN_WARMUP);
    const struct said title = {.headline = PHRASE(STEPS_TAKE, slot_time(r->step.median_ns), slot_time(r->step.p95_ns))};
    const struct phrase line = PHRASE(CHART_STEPS, slot_count((int64_t)spec->mean.n), slot_time(r->step.median_ns),
                                      slot_time(r->step.p95_ns), slot_time(r->step.max_ns));
    const char *alt = site_text(s, "%s %s", say_phrase(&s->arena, &line), r->warmup_because ? r->warmup_because : "");
    return figure_view(
        s, &(struct figure){.stem = "steps-figure",
                            .run = RUN_OF(s, r),
                            .title = say_title(&s->arena, &title),
                            .caption = say_phrase(&s->arena, r->n_rank_results > 1 ? &PHRASE(CAPTION_STEPS_OF_RANKS)
                                                                                   : &PHRASE(CAPTION_STEPS)),
                            .alt = alt,
                            .draw = draw_lines,
                            .spec = &spec->chart,
                            .wide = FIGURE_FULL,
                            .height = 260,
                            .narrow_height = 240,
                            .table = t});
}
