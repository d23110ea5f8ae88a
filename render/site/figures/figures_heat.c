/* figures_heat.c - ranks by steps: which ranks were late, and when. See figures.h. Called by page_run.c. */
#include "render/site/figures/figures_inside.h"

#include "render/say/format.h"
#include "render/say/say.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct heat {
    size_t n_ranks, n_steps;
    double *value;    /* shape (n_ranks)(n_steps): own work over the fastest rank's in that step, less 1 */
    int64_t *late_ns; /* sum over steps of what a rank took longer than the fastest; shape (n_ranks) */
    int64_t *worst_ns, *worst_step, *n_slowest;
};

static int compare_double(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int64_t own_work(const struct step_record *q)
{
    return q->step_ns - q->part_ns[CAT_COMM];
}

/* In synchronous training all steps end together, so ranks differ in their time outside communication. */
static bool collect(struct site *s, const struct run_result *r, struct heat *h)
{
    *h = (struct heat){.n_ranks = (size_t)r->n_rank_results, .n_steps = (size_t)r->n_counted};
    if (h->n_ranks < 2 || h->n_steps == 0)
        return false;
    const struct step_record **at = dcr_arena_alloc(&s->arena, h->n_ranks * sizeof *at);
    const struct run_rank **rank = dcr_arena_alloc(&s->arena, h->n_ranks * sizeof *rank);
    size_t *next = dcr_arena_alloc(&s->arena, h->n_ranks * sizeof *next);
    h->value = dcr_arena_alloc(&s->arena, h->n_ranks * h->n_steps * sizeof *h->value);
    h->late_ns = dcr_arena_alloc(&s->arena, 4 * h->n_ranks * sizeof *h->late_ns);
    h->worst_ns = h->late_ns + h->n_ranks;
    h->worst_step = h->worst_ns + h->n_ranks;
    h->n_slowest = h->worst_step + h->n_ranks;
    for (size_t k = 0; k < h->n_ranks; k++) {
        for (int i = 0; i < r->run->ranks_len; i++)
            if (r->run->ranks[i].rank == r->ranks[k].rank)
                rank[k] = &r->run->ranks[i];
        if (!rank[k])
            return false;
    }
    for (size_t i = 0; i < h->n_steps; i++) {
        int64_t fastest = INT64_MAX, slowest = -1;
        size_t last = 0;
        for (size_t k = 0; k < h->n_ranks; k++) {
            while (next[k] < rank[k]->n_steps && rank[k]->steps[next[k]].step < r->step_number[i])
                next[k]++;
            bool has = next[k] < rank[k]->n_steps && rank[k]->steps[next[k]].step == r->step_number[i];
            at[k] = has ? &rank[k]->steps[next[k]] : NULL;
            if (!has)
                continue;
            fastest = own_work(at[k]) < fastest ? own_work(at[k]) : fastest;
            if (own_work(at[k]) > slowest) {
                slowest = own_work(at[k]);
                last = k;
            }
        }
        h->n_slowest[last] += slowest > fastest;
        for (size_t k = 0; k < h->n_ranks; k++) {
            int64_t late = at[k] ? own_work(at[k]) - fastest : 0;
            h->value[k * h->n_steps + i] = at[k] && fastest > 0 ? 100.0 * (double)late / (double)fastest : NAN;
            h->late_ns[k] += late;
            if (late > h->worst_ns[k]) {
                h->worst_ns[k] = late;
                h->worst_step[k] = r->step_number[i];
            }
        }
    }
    return true;
}

/* The shade is full from the 98th percentile on, so that one slow step does not make all others white. */
static double full_of(struct site *s, const struct heat *h)
{
    size_t n = 0;
    double *sorted = dcr_arena_alloc(&s->arena, h->n_ranks * h->n_steps * sizeof *sorted);
    for (size_t i = 0; i < h->n_ranks * h->n_steps; i++)
        if (isfinite(h->value[i]))
            sorted[n++] = h->value[i];
    if (n == 0)
        return 5;
    qsort(sorted, n, sizeof *sorted, compare_double);
    double at = sorted[(n - 1) * 98 / 100];
    return at <= 5 ? 5 : at <= 10 ? 10 : at <= 20 ? 20 : at <= 50 ? 50 : ceil(at / 100) * 100;
}

json_t *run_figure_heat(struct site *s, const struct run_result *r)
{
    struct heat h;
    if (!r->has_steps || !collect(s, r, &h))
        return NULL;
    const char **name = dcr_arena_alloc(&s->arena, h.n_ranks * sizeof *name);
    const char **mark = dcr_arena_alloc(&s->arena, h.n_ranks * sizeof *mark);
    json_t *t = view_table(s, TABLE(LATENESS));
    size_t worst = 0;
    for (size_t k = 0; k < h.n_ranks; k++) {
        int number = r->ranks[k].rank;
        name[k] = site_text(s, "rank %d", number);
        if (r->straggler.has && r->straggler.rank == number)
            mark[k] = "straggler";
        worst = h.late_ns[k] > h.late_ns[worst] ? k : worst;
        view_row(s, t, site_text(s, "%d", number));
        view_cell_time(s, t, true, h.late_ns[k] / (int64_t)h.n_steps);
        view_cell_time(s, t, true, h.worst_ns[k]);
        view_cell_count(s, t, h.worst_ns[k] > 0, (int64_t)h.worst_step[k]);
        view_cell_value(s, t, fmt_count(h.n_slowest[k], "step").text, true, (double)h.n_slowest[k], "steps");
        view_cell_percent(s, t, true, (double)h.n_slowest[k] / (double)h.n_steps);
    }
    struct chart_heat spec = {.text = {"Slower ranks, step by step",
                                       "time outside communication, above the fastest rank of the step", "%",
                                       label_percent},
                              .row_name = name,
                              .mark = mark,
                              .n_rows = h.n_ranks,
                              .n_cols = h.n_steps,
                              .value = h.value,
                              .full = full_of(s, &h),
                              .x_from = (double)r->step_number[0],
                              .x_to = (double)r->step_number[h.n_steps - 1],
                              .x_title = "step"};
    const struct phrase shades[] = {
        PHRASE(CHART_SHADES, slot_count((int64_t)h.n_ranks), slot_count((int64_t)h.n_steps)),
        PHRASE(CHART_SLOWEST, slot_count(r->ranks[worst].rank), slot_time(h.late_ns[worst] / (int64_t)h.n_steps),
               slot_count((int64_t)h.worst_step[worst]), slot_time(h.worst_ns[worst]))};
    const char *alt = say_phrases(&s->arena, shades, 2);
    const struct said title = {.headline = PHRASE(RANK_IS_SLOWEST, slot_count(r->ranks[worst].rank),
                                                  slot_time(h.late_ns[worst] / (int64_t)h.n_steps))};
    double height = chart_heat_height(&spec);
    json_t *view = figure_view(s, &(struct figure){.stem = "late-ranks",
                                                   .run = RUN_OF(s, r),
                                                   .title = say_title(&s->arena, &title),
                                                   .caption = say_phrase(&s->arena, &PHRASE(CAPTION_HEAT)),
                                                   .alt = alt,
                                                   .draw = draw_heat,
                                                   .spec = &spec,
                                                   .wide = FIGURE_FULL,
                                                   .height = height,
                                                   .narrow_height = height,
                                                   .table = t});
    double *late = dcr_arena_alloc(&s->arena, h.n_ranks * sizeof *late);
    for (size_t k = 0; k < h.n_ranks; k++)
        late[k] = (double)h.late_ns[k];
    size_t n_shown;
    const struct rank_shown *shown = ranks_to_show(s, late, h.n_ranks, "earliest", "latest", &n_shown);
    view_keep_ranks(s, t, shown, n_shown);
    return view;
}
