/* picture.c - profiling_analysis.png: one run on one sheet. Called by page_run.c. */
#include "render/site/figures/figures_inside.h"

/* With more runs than this, sheets are drawn at two thirds of the resolution, because they would take longer than
 * everything else. */
#define SHEETS_FINE_MAX 8

/* ---- the composed picture ------------------------------------------------------------------------------------- */

struct picture {
    const char *title, *headline;
    struct chart_rows breakdown;
    struct chart_stack ranks;
    struct steps_spec *steps;
    struct monitors_spec *monitors;
    bool has_breakdown, has_ranks;
};

static void draw_absence(struct canvas *c, struct box at, const char *title, const char *why)
{
    canvas_text(c, (struct point){at.x, at.y + 14}, ALIGN_START, (struct font){14, true}, INK_TEXT, title);
    canvas_text_fit(c, (struct point){at.x, at.y + 40}, ALIGN_START, (struct font){12, false}, INK_MUTED, why, at.w);
}

static void draw_picture(struct canvas *c, struct box at, const void *spec, bool has_title)
{
    (void)has_title;
    const struct picture *p = spec;
    canvas_text_fit(c, (struct point){at.x, at.y + 18}, ALIGN_START, (struct font){18, true}, INK_TEXT, p->title, at.w);
    canvas_text_lines(c, (struct point){at.x, at.y + 42}, (struct font){13, false}, INK_MUTED, p->headline, at.w, 2);
    at = box_inset(at, 0, 84, 0, 0);
    double w = (at.w - 40) / 2, h = (at.h - 30) / 2;
    struct box cell[4] = {{at.x, at.y, w, h},
                          {at.x + w + 40, at.y, w, h},
                          {at.x, at.y + h + 30, w, h},
                          {at.x + w + 40, at.y + h + 30, w, h}};
    if (p->has_breakdown)
        draw_rows(c, cell[0], &p->breakdown, true);
    else
        draw_absence(c, cell[0], "Where a step's time goes", "not measured: the archive has no steps");
    if (p->has_ranks)
        draw_stack(c, cell[1], &p->ranks, true);
    else
        draw_absence(c, cell[1], "Ranks", "not measured: the archive has no steps of ranks");
    if (p->steps)
        draw_lines(c, cell[2], &p->steps->chart, true);
    else
        draw_absence(c, cell[2], "Step time over the run", "not measured: the archive has no steps");
    if (p->monitors)
        draw_monitors(c, cell[3], p->monitors, true);
    else
        draw_absence(c, cell[3], "Monitors", "not measured: the archive has no monitor samples");
}

void run_picture(struct site *s, const struct run_result *r, const char *path)
{
    struct picture p = {.title = site_text(s, "%s: %s", s->rep->title, r->label), .headline = r->headline};
    p.has_breakdown = breakdown_spec(s, r, &p.breakdown);
    p.has_ranks = ranks_spec(s, r, &p.ranks);
    p.steps = steps_spec(s, r);
    p.monitors = monitors_spec(s, r, true);
    figure_png(s,
               &(struct figure){.title = p.title,
                                .alt = r->headline && r->headline[0] ? r->headline : p.title,
                                .draw = draw_picture,
                                .spec = &p,
                                .wide = FIGURE_FULL,
                                .height = 780},
               s->rep->n_runs > SHEETS_FINE_MAX ? 1 : 1.5, path);
}
