/* chart_rows.c - horizontal bars and the waterfall; see chart.h. */
#include "render/draw/chart_parts.h"

#include <math.h>
#include <stdio.h>

#define ROW_PITCH 30.0
#define ROW_PITCH_MAX 44.0
#define FOOT 38.0

double chart_rows_height(const struct chart_rows *s)
{
    return (s->text.title ? 26 : 0) + (s->text.axis ? 22 : 0) + ROW_PITCH * (double)s->n_rows + FOOT;
}

static void row_value(const struct chart_rows *s, const struct row_bar *r, char *out, size_t n)
{
    if (r->value)
        snprintf(out, n, "%s", r->value);
    else
        chart_value(&s->text, r->to - r->from, out, n);
}

/* at is the row right of the names. */
static void draw_row(struct canvas *c, const struct chart_rows *s, size_t i, const struct scale *x, struct box at,
                     double name_width)
{
    const struct row_bar *r = &s->rows[i];
    struct font font = r->is_total ? FONT_STRONG : FONT_LABEL;
    char value[64], note[256];
    double mid = at.y + at.h / 2, thick = at.h * 0.6;
    canvas_text_fit(c, (struct point){at.x - 10, mid + 4}, ALIGN_END, font, INK_TEXT, r->name, name_width + 0.5);
    if (!isfinite(r->from) || !isfinite(r->to)) {
        canvas_text_fit(c, (struct point){at.x + 6, mid + 4}, ALIGN_START, FONT_LABEL, INK_MUTED,
                        r->value ? r->value : "\xe2\x80\x93", at.w - 6);
        return;
    }
    row_value(s, r, value, sizeof value);
    snprintf(note, sizeof note, "%s: %s", r->name, value);
    double a = scale_map(x, fmin(r->from, r->to)), b = scale_map(x, fmax(r->from, r->to));
    canvas_note(c, note);
    canvas_rect(c, (struct box){a, mid - thick / 2, fmax(b - a, 1), thick}, r->ink);
    canvas_end_note(c);
    if (s->is_waterfall && i + 1 < s->n_rows && isfinite(s->rows[i + 1].from)) {
        double end = scale_map(x, r->to);
        canvas_line(c, (struct point){end, mid + thick / 2}, (struct point){end, mid + at.h - thick / 2},
                    (struct stroke){INK_AXIS, 1, false});
    }
    double width = typeface_width(c->typeface, font, value);
    if (b + 6 + width <= at.x + at.w || a - at.x < width + 12)
        canvas_text(c, (struct point){b + 6, mid + 4}, ALIGN_START, font, INK_TEXT, value);
    else
        canvas_text(c, (struct point){a - 6, mid + 4}, ALIGN_END, font, INK_TEXT, value);
}

void chart_rows(struct canvas *c, struct box at, const struct chart_rows *s)
{
    if (s->n_rows == 0)
        return;
    double lo = 0, hi = 0, name_width = 0, value_width = 0;
    for (size_t i = 0; i < s->n_rows; i++) {
        const struct row_bar *r = &s->rows[i];
        struct font font = r->is_total ? FONT_STRONG : FONT_LABEL;
        char value[64];
        name_width = fmax(name_width, typeface_width(c->typeface, font, r->name));
        row_value(s, r, value, sizeof value);
        value_width = fmax(value_width, typeface_width(c->typeface, FONT_STRONG, value));
        if (isfinite(r->from) && isfinite(r->to)) {
            lo = fmin(lo, fmin(r->from, r->to));
            hi = fmax(hi, fmax(r->from, r->to));
        }
    }
    struct box rest = chart_head(c, at, &s->text);
    name_width = fmin(ceil(name_width), rest.w * 0.42);
    struct box plot = box_inset(rest, name_width + 10, 0, 0, FOOT);
    /* The longest bar leaves room for its number at its right: the ticks end where the bars do. */
    struct box bars = plot;
    bars.w = fmax(plot.w - value_width - 10, plot.w * 0.4);
    double pitch = fmin(fmax(plot.h / (double)s->n_rows, ROW_PITCH), ROW_PITCH_MAX);
    bars.h = pitch * (double)s->n_rows;
    struct scale x = {.lo = lo, .hi = hi > lo ? hi : lo + 1, .from = bars.x, .to = bars.x + bars.w};
    struct ticks t = scale_ticks(x.lo, x.hi, bars.w < 200 ? 4 : 7);
    for (int i = 0; i < t.n; i++) {
        double at_x = scale_map(&x, t.at[i]);
        canvas_line(c, (struct point){at_x, bars.y}, (struct point){at_x, bars.y + bars.h},
                    (struct stroke){t.at[i] == 0 ? INK_AXIS : INK_GRID, 1, false});
    }
    chart_x_ticks(c, bars, &x, &t, NULL, NULL);
    for (size_t i = 0; i < s->n_rows; i++)
        draw_row(c, s, i, &x, (struct box){plot.x, plot.y + pitch * (double)i, plot.w, pitch}, name_width);
}
