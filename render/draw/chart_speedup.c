/* chart_speedup.c - measured speed-up against ideal; see chart.h. */
#include "render/draw/chart_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void draw_interval(struct canvas *c, const struct speedup_point *p, const struct scale *x, const struct scale *y)
{
    if (!isfinite(p->lo) || !isfinite(p->hi))
        return;
    const struct stroke stroke = {INK_ACCENT, 1.5, false};
    double at = scale_map(x, p->n), lo = scale_map(y, p->lo), hi = scale_map(y, p->hi);
    canvas_line(c, (struct point){at, lo}, (struct point){at, hi}, stroke);
    canvas_line(c, (struct point){at - 5, lo}, (struct point){at + 5, lo}, stroke);
    canvas_line(c, (struct point){at - 5, hi}, (struct point){at + 5, hi}, stroke);
}

/* From this ratio of node counts on, both axes are logarithmic: ideal stays a straight line and 1, 2, 4 stay apart. */
#define LOG_FROM 16.0

/* A label goes below its point, because measured points lie on or below the ideal line; at the bottom of the plot it
 * goes above. whisker: its lower and upper end. right: where the next label begins. returns  where this label begins */
static double draw_label(struct canvas *c, const struct chart_text *text, const struct speedup_point *p,
                         struct point at, const double whisker[2], struct box plot, double right)
{
    char value[48];
    chart_value(text, p->speedup, value, sizeof value);
    double note_width = p->note ? typeface_width(c->typeface, FONT_SMALL, p->note) : 0;
    double value_width = typeface_width(c->typeface, FONT_STRONG, value);
    bool has_note = p->note && at.x + note_width / 2 + 6 <= right;
    double y = fmax(whisker[0], at.y) + 20;
    if (y > plot.y + plot.h - (has_note ? 18 : 4))
        y = fmin(whisker[1], at.y) - (has_note ? 26 : 12);
    if (at.x + value_width / 2 + 4 > right)
        return right;
    canvas_text(c, (struct point){at.x, y}, ALIGN_MIDDLE, FONT_STRONG, INK_TEXT, value);
    if (has_note)
        canvas_text(c, (struct point){at.x, y + 14}, ALIGN_MIDDLE, FONT_SMALL, INK_MUTED, p->note);
    return at.x - fmax(has_note ? note_width : 0, value_width) / 2;
}

static void draw_points(struct canvas *c, const struct chart_speedup *s, const struct scale *x, const struct scale *y,
                        struct box plot, double right)
{
    for (size_t i = s->n_points; i-- > 0;) {
        const struct speedup_point *p = &s->points[i];
        struct point at = {scale_map(x, p->n), scale_map(y, p->speedup)};
        char value[48], note[192];
        chart_value(&s->text, p->speedup, value, sizeof value);
        snprintf(note, sizeof note, "%g %s%s: speed-up %s%s%s", p->n, s->noun, p->n == 1 ? "" : "s", value,
                 p->note ? ", " : "", p->note ? p->note : "");
        canvas_note(c, note);
        draw_interval(c, p, x, y);
        canvas_disc(c, at, 4.5, INK_ACCENT);
        if (p->is_hollow)
            canvas_disc(c, at, 2.5, INK_PAPER);
        bool has = isfinite(p->lo) && isfinite(p->hi);
        const double whisker[2] = {has ? scale_map(y, p->lo) : at.y, has ? scale_map(y, p->hi) : at.y};
        /* The reference is 1 by definition, and its label would lie on the ideal line. */
        if (p->n > s->n_ref)
            right = draw_label(c, &s->text, p, at, whisker, plot, right);
        canvas_end_note(c);
    }
}

void chart_speedup(struct canvas *c, struct box at, const struct chart_speedup *s)
{
    if (s->n_points == 0)
        return;
    double max_n = s->points[s->n_points - 1].n;
    for (size_t i = 0; i < s->n_fit; i++)
        max_n = fmax(max_n, s->fit_n[i]);
    double top = max_n / s->n_ref, least = 1;
    for (size_t i = 0; i < s->n_points; i++) {
        top = fmax(top, isfinite(s->points[i].hi) ? s->points[i].hi : s->points[i].speedup);
        least = fmin(least, s->points[i].speedup);
    }
    bool is_log2 = s->points[0].n > 0 && least > 0 && max_n / s->points[0].n >= LOG_FROM;
    struct box rest = chart_head(c, at, &s->text);
    struct box plot = box_inset(rest, 0, 8, s->n_fit ? 70 : 44, 40);
    struct scale y = {.lo = 0, .hi = top * 1.04}, x = {.lo = 0, .hi = max_n * 1.04};
    if (is_log2) {
        x = (struct scale){.lo = s->points[0].n * 0.85, .hi = max_n * 1.15, .is_log2 = true};
        y = (struct scale){.lo = least * 0.6, .hi = top * 1.15, .is_log2 = true};
    }
    plot = chart_y_axis(c, plot, &y, 7);
    x.from = plot.x;
    x.to = plot.x + plot.w;
    struct ticks t = {.n = 0};
    for (size_t i = 0; i < s->n_points && t.n < SCALE_TICKS_MAX; i++) {
        double px = scale_map(&x, s->points[i].n);
        if (t.n == 0 || px - scale_map(&x, t.at[t.n - 1]) > 22)
            t.at[t.n++] = s->points[i].n;
    }
    char title[96];
    snprintf(title, sizeof title, "%ss%s", s->noun, is_log2 ? " (both axes logarithmic)" : "");
    chart_x_ticks(c, plot, &x, &t, NULL, title);
    double n0 = is_log2 ? s->n_ref : 0;
    struct point ideal[2] = {{scale_map(&x, n0), scale_map(&y, n0 / s->n_ref)},
                             {scale_map(&x, max_n), scale_map(&y, max_n / s->n_ref)}};
    canvas_polyline(c, ideal, 2, (struct stroke){INK_MUTED, 1.4, true});
    canvas_text(c, (struct point){ideal[1].x + 8, ideal[1].y + 4}, ALIGN_START, FONT_LABEL, INK_MUTED, "ideal");
    struct point *p = calloc(s->n_points + s->n_fit + 1, sizeof *p);
    if (!p)
        return;
    for (size_t i = 0; i < s->n_fit; i++)
        p[i] = (struct point){scale_map(&x, s->fit_n[i]), scale_map(&y, s->fit[i])};
    if (s->n_fit) {
        canvas_polyline(c, p, s->n_fit, (struct stroke){INK_ALARM, 1.2, true});
        canvas_text_fit(c, (struct point){p[s->n_fit - 1].x + 8, p[s->n_fit - 1].y + 4}, ALIGN_START, FONT_LABEL,
                        INK_ALARM, s->fit_name ? s->fit_name : "fit", 62);
    }
    for (size_t i = 0; i < s->n_points; i++)
        p[i] = (struct point){scale_map(&x, s->points[i].n), scale_map(&y, s->points[i].speedup)};
    canvas_polyline(c, p, s->n_points, (struct stroke){INK_ACCENT, 2, false});
    draw_points(c, s, &x, &y, plot, rest.x + rest.w);
    free(p);
}
