/* tables_loss.c - tables of the time that a series lost compared with ideal scaling: by part of a step, and by cause.
 * See inside.h. */
#include "render/site/figures/figures_inside.h"

#include "render/metrics/known.h"
#include "render/say/format.h"
#include "render/say/say.h"

/* why: REASON_NONE = it is known */
static void lost_cell(struct site *s, json_t *t, const struct reason *why, int64_t ns)
{
    if (why->code)
        view_cell_missing(s, t, why, "ns");
    else
        view_cell_signed(s, t, ns);
}

/* A column for each loss. */
static void loss_columns(struct site *s, json_t *t, const struct series *series)
{
    for (int i = 0; i < series->n_losses; i++) {
        const struct series_loss *l = &series->losses[i];
        const struct phrase title = PHRASE(COLUMN_FROM_TO, slot_count(series->points[l->from].n_nodes),
                                           slot_things(series->points[l->to].n_nodes, counted_word(s->rep->unit)));
        view_column(s, t, "#", say_phrase(&s->arena, &title));
    }
}

json_t *view_loss_parts(struct site *s, const struct series *series)
{
    json_t *t = view_table(s, TABLE(LOSS_PARTS));
    loss_columns(s, t, series);
    static const char *const heads[] = {"ideal scaling", "measured", "lost time"};
    for (int row = 0; row < 3 + N_PARTS; row++) {
        view_row(s, t, row < 2 ? heads[row] : row < 2 + N_PARTS ? part_name((enum part)(row - 2)) : heads[2]);
        for (int i = 0; i < series->n_losses; i++) {
            const struct series_loss *l = &series->losses[i];
            if (row < 2)
                view_cell_time(s, t, true, row == 0 ? l->ideal_ns : l->actual_ns);
            else if (row < 2 + N_PARTS)
                lost_cell(s, t,
                          known_loss_parts(s->rep, series, l) >> (row - 2) & 1 ? &REASON(NONE) : &REASON(NOT_RECORDED),
                          l->part_ns[row - 2]);
            else
                lost_cell(s, t, &REASON(NONE), l->loss_ns);
        }
    }
    return t;
}

static void cell_of_point(struct site *s, json_t *t, const struct series_point *p, enum part part, int64_t ns)
{
    if (is_point_part_known(s->rep, p, part))
        view_cell_time(s, t, true, ns);
    else
        view_cell_missing(s, t, &REASON(NOT_RECORDED), "ns");
}

/* A column for each point, and one for the time lost from the first to the last. */
static void point_columns(struct site *s, json_t *t, const struct series *series)
{
    const struct series_loss *whole = &series->losses[series->n_losses - 1];
    for (int i = 0; i < series->n_points; i++)
        view_column(s, t, i > 0 && i + 1 < series->n_points ? "~#" : "#", node_words(s, series->points[i].n_nodes));
    const struct phrase lost = PHRASE(COLUMN_LOST, slot_count(series->points[whole->from].n_nodes),
                                      slot_things(series->points[whole->to].n_nodes, counted_word(s->rep->unit)));
    view_column(s, t, "#", say_phrase(&s->arena, &lost));
}

static void row_of_name(struct site *s, json_t *t, const struct series *series, const struct series_name *n,
                        const char *name)
{
    view_row(s, t, name);
    view_cell(s, t, series_names_words(n->of));
    for (int i = 0; i < series->n_points; i++)
        view_cell_time(s, t, true, n->ns[i]);
    lost_cell(s, t, &REASON(NONE), n->lost_ns[series->n_losses - 1]);
}

json_t *view_loss_names(struct site *s, const struct series *series)
{
    if (series->n_names == 0)
        return json_null();
    json_t *t = view_table(s, TABLE(LOSS_NAMES));
    view_caption(s, t, series->names[0].of == NAMES_OPERATORS ? PHRASE(CAPTION_OF_THREADS) : PHRASE(NONE));
    point_columns(s, t, series);
    struct series_name sum = {0};
    for (int k = 0; k < series->n_names; k++) {
        const struct series_name *n = &series->names[k];
        if (k == 0 || n->of != sum.of)
            sum =
                (struct series_name){n->of, "", dcr_arena_alloc(&s->arena, (size_t)series->n_points * sizeof(int64_t)),
                                     dcr_arena_alloc(&s->arena, (size_t)series->n_losses * sizeof(int64_t))};
        for (int i = 0; i < series->n_points; i++)
            sum.ns[i] += n->ns[i];
        for (int i = 0; i < series->n_losses; i++)
            sum.lost_ns[i] += n->lost_ns[i];
        row_of_name(s, t, series, n, *n->name ? n->name : "(the rest)");
        if (k + 1 == series->n_names || series->names[k + 1].of != n->of)
            row_of_name(s, t, series, &sum, "(all)");
    }
    return t;
}

json_t *view_loss_phases(struct site *s, const struct series *series)
{
    if (series->n_phases == 0)
        return json_null();
    const struct series_loss *whole = &series->losses[series->n_losses - 1];
    json_t *t = view_table(s, TABLE(LOSS_PHASES));
    point_columns(s, t, series);
    for (int k = 0; k < series->n_phases; k++) {
        const struct series_phase *p = &series->phases[k];
        view_row(s, t, *p->name ? p->name : "(no named phase)");
        view_cell(s, t, p->part == PART_TRANSFER ? "communication" : part_name(p->part));
        for (int i = 0; i < series->n_points; i++)
            cell_of_point(s, t, &series->points[i], p->part, p->ns[i]);
        lost_cell(s, t, known_loss_parts(s->rep, series, whole) >> p->part & 1 ? &REASON(NONE) : &REASON(NOT_RECORDED),
                  p->lost_ns[series->n_losses - 1]);
    }
    view_row(s, t, "whole step");
    view_cell(s, t, "");
    for (int i = 0; i < series->n_points; i++)
        view_cell_time(s, t, true, series->points[i].step.mean_ns);
    lost_cell(s, t, &REASON(NONE), whole->loss_ns);
    return t;
}

json_t *view_loss_causes(struct site *s, const struct series *series)
{
    if (series->n_losses == 0)
        return json_null();
    json_t *t = view_table(s, TABLE(LOSS_CAUSES));
    loss_columns(s, t, series);
    view_column(s, t, "", say_phrase(&s->arena, &PHRASE(COLUMN_COUNTS_AS)));
    for (int c = 0; c < N_LOSS_CLASSES; c++) {
        bool is_known = false;
        view_row(s, t, loss_class_name((enum loss_class)c));
        for (int i = 0; i < series->n_losses; i++) {
            lost_cell(s, t, &series->losses[i].class_why[c], series->losses[i].class_ns[c]);
            is_known |= !series->losses[i].class_why[c].code;
        }
        view_cell(s, t, loss_class_what((enum loss_class)c));
        if (!is_known)
            view_row_empty(s, t);
    }
    view_row(s, t, "lost time");
    for (int i = 0; i < series->n_losses; i++)
        lost_cell(s, t, &REASON(NONE), series->losses[i].loss_ns);
    view_cell(s, t, "measured minus ideal scaling");
    return t;
}
