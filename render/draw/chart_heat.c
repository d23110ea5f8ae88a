/* chart_heat.c - rows by columns in shades of one ink; see chart.h. It uses few shades and draws neighbours of one
 * shade as one, so that a thousand steps of a hundred ranks stay a small file. */
#include "render/draw/chart_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SHADES 6
#define ROW_MAX 26.0
#define KEY_BOX 16.0

static int shade_of(const struct chart_heat *s, double value)
{
    if (!isfinite(value) || value <= 0)
        return 0;
    int shade = (int)ceil(value / s->full * (SHADES - 1) - 0.5);
    return shade < 0 ? 0 : shade >= SHADES ? SHADES - 1 : shade;
}

static void shaded(struct canvas *c, struct box b, int shade)
{
    const struct point p[4] = {{b.x, b.y}, {b.x + b.w, b.y}, {b.x + b.w, b.y + b.h}, {b.x, b.y + b.h}};
    if (shade > 0)
        canvas_area(c, p, 4, INK_ACCENT, (double)shade / (SHADES - 1));
}

/* The greatest value of the rows and columns that one cell on paper stands for. */
static double greatest(const struct chart_heat *s, size_t row, size_t row_end, size_t col, size_t col_end)
{
    double most = -INFINITY;
    for (size_t r = row; r < row_end; r++)
        for (size_t k = col; k < col_end; k++)
            most = fmax(most, s->value[r * s->n_cols + k]); /* fmax leaves NAN out */
    return most;
}

static void draw_row(struct canvas *c, const struct chart_heat *s, struct box at, size_t row, size_t row_end,
                     size_t n_cells)
{
    size_t begin = 0;
    int shade = -1;
    for (size_t k = 0; k <= n_cells; k++) {
        int now = k == n_cells
                      ? -1
                      : shade_of(s, greatest(s, row, row_end, s->n_cols * k / n_cells, s->n_cols * (k + 1) / n_cells));
        if (now == shade)
            continue;
        if (shade > 0) {
            double x0 = at.x + at.w * (double)begin / (double)n_cells, x1 = at.x + at.w * (double)k / (double)n_cells;
            shaded(c, (struct box){x0, at.y, x1 - x0, at.h}, shade);
        }
        begin = k;
        shade = now;
    }
}

/* What the shades mean, at the right end of the head. */
static void draw_key(struct canvas *c, const struct chart_heat *s, double right, double y)
{
    char least[48], most[48], text[64];
    chart_value(&s->text, 0, least, sizeof least);
    chart_value(&s->text, s->full, most, sizeof most);
    snprintf(text, sizeof text, "%s or more", most);
    double x = right - typeface_width(c->typeface, FONT_SMALL, text) - 6 - SHADES * KEY_BOX;
    canvas_text(c, (struct point){x - 6, y}, ALIGN_END, FONT_SMALL, INK_MUTED, least);
    canvas_rect(c, (struct box){x, y - 10, SHADES * KEY_BOX, 12}, INK_SHADE);
    for (int i = 0; i < SHADES; i++)
        shaded(c, (struct box){x + i * KEY_BOX, y - 10, KEY_BOX, 12}, i);
    canvas_text(c, (struct point){right, y}, ALIGN_END, FONT_SMALL, INK_MUTED, text);
}

double chart_heat_height(const struct chart_heat *s)
{
    double row = s->n_rows ? fmin(ROW_MAX, fmax(4, 420.0 / (double)s->n_rows)) : 0;
    return fmin(row * (double)s->n_rows, 480) + 24 + 22 + 40 + 6;
}

void chart_heat(struct canvas *c, struct box at, const struct chart_heat *s)
{
    struct box rest = chart_head(c, at, &s->text);
    draw_key(c, s, at.x + at.w, rest.y + 4);
    rest = box_inset(rest, 0, 14, 0, 0);
    if (s->n_rows == 0 || s->n_cols == 0)
        return;
    double gutter = 0, side = 0;
    for (size_t r = 0; r < s->n_rows; r++) {
        bool is_marked = s->mark && s->mark[r];
        gutter = fmax(gutter, typeface_width(c->typeface, is_marked ? FONT_STRONG : FONT_LABEL, s->row_name[r]));
        if (is_marked)
            side = fmax(side, typeface_width(c->typeface, FONT_STRONG, s->mark[r]) + 10);
    }
    gutter = fmin(gutter, rest.w * 0.3);
    side = fmin(side, rest.w * 0.3);
    struct box plot = box_inset(rest, ceil(gutter) + 8, 0, side > 0 ? side : 12, 40);
    size_t n_shown = (size_t)fmin((double)s->n_rows, fmax(1, plot.h / 4));
    double h = plot.h / (double)n_shown, next_label = -INFINITY;
    canvas_rect(c, plot, INK_SHADE);
    for (size_t i = 0; i < n_shown; i++) {
        size_t row = s->n_rows * i / n_shown, row_end = s->n_rows * (i + 1) / n_shown;
        struct box b = {plot.x, plot.y + h * (double)i, plot.w, h > 6 ? h - 1.5 : h};
        draw_row(c, s, b, row, row_end, (size_t)fmin((double)s->n_cols, fmax(8, plot.w / 2)));
        bool is_marked = s->mark && s->mark[row];
        double y = b.y + b.h / 2 + 4;
        if (y - next_label < 0 && !is_marked)
            continue;
        if (y - next_label >= 0)
            canvas_text_fit(c, (struct point){plot.x - 8, y}, ALIGN_END, is_marked ? FONT_STRONG : FONT_LABEL,
                            is_marked ? INK_TEXT : INK_MUTED, s->row_name[row], gutter + 2);
        if (is_marked)
            canvas_text_fit(c, (struct point){plot.x + plot.w + 8, y}, ALIGN_START, FONT_STRONG, INK_TEXT, s->mark[row],
                            side);
        next_label = y + LINE_HEIGHT;
    }
    struct scale x = {.lo = s->x_from, .hi = s->x_to, .from = plot.x, .to = plot.x + plot.w};
    struct ticks t = scale_ticks_whole(x.lo, x.hi, plot.w < 300 ? 5 : 9);
    chart_x_ticks(c, plot, &x, &t, NULL, s->x_title);
}
