/* chart_parts.c - see chart_parts.h. */
#include "render/draw/chart_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct box chart_head(struct canvas *c, struct box at, const struct chart_text *text)
{
    if (text->title) {
        canvas_text_fit(c, (struct point){at.x, at.y + 14}, ALIGN_START, FONT_TITLE, INK_TEXT, text->title, at.w);
        at = box_inset(at, 0, 26, 0, 0);
    }
    if (text->axis) {
        canvas_text_fit(c, (struct point){at.x, at.y + 11}, ALIGN_START, FONT_SMALL, INK_MUTED, text->axis, at.w);
        at = box_inset(at, 0, 22, 0, 0);
    }
    return at;
}

static struct ticks y_ticks(const struct scale *scale, int most)
{
    return scale->is_log2 ? scale_ticks_log2(scale->lo, scale->hi, most) : scale_ticks(scale->lo, scale->hi, most);
}

double chart_y_gutter(struct canvas *c, const struct scale *scale, int most)
{
    struct ticks t = y_ticks(scale, most);
    char text[48];
    double gutter = 0;
    for (int i = 0; i < t.n; i++) {
        number_label(t.at[i], scale->is_log2 && t.at[i] >= 1 ? 0 : t.decimals, text, sizeof text);
        gutter = fmax(gutter, typeface_width(c->typeface, FONT_LABEL, text));
    }
    return fmax(ceil(gutter) + 8, scale->gutter);
}

struct box chart_y_axis(struct canvas *c, struct box plot, struct scale *scale, int most)
{
    struct ticks t = y_ticks(scale, most);
    char text[48];
    struct box inner = box_inset(plot, chart_y_gutter(c, scale, most), 0, 0, 0);
    scale->from = inner.y + inner.h;
    scale->to = inner.y;
    for (int i = 0; i < t.n; i++) {
        double y = scale_map(scale, t.at[i]);
        bool is_base = t.at[i] == 0;
        canvas_line(c, (struct point){inner.x, y}, (struct point){inner.x + inner.w, y},
                    (struct stroke){is_base ? INK_AXIS : INK_GRID, 1, false});
        number_label(t.at[i], scale->is_log2 && t.at[i] >= 1 ? 0 : t.decimals, text, sizeof text);
        canvas_text(c, (struct point){inner.x - 8, y + 4}, ALIGN_END, FONT_LABEL, INK_MUTED, text);
    }
    if (scale->lo != 0)
        canvas_line(c, (struct point){inner.x, scale->from}, (struct point){inner.x + inner.w, scale->from},
                    (struct stroke){INK_AXIS, 1, false});
    return inner;
}

void chart_x_ticks(struct canvas *c, struct box plot, const struct scale *x, const struct ticks *ticks,
                   void (*label)(double value, char *out, size_t n), const char *title)
{
    double base = plot.y + plot.h;
    for (int i = 0; i < ticks->n; i++) {
        char text[48];
        double at = scale_map(x, ticks->at[i]);
        canvas_line(c, (struct point){at, base}, (struct point){at, base + 4}, (struct stroke){INK_AXIS, 1, false});
        if (label)
            label(ticks->at[i], text, sizeof text);
        else
            number_label(ticks->at[i], ticks->decimals, text, sizeof text);
        double half = typeface_width(c->typeface, FONT_LABEL, text) / 2;
        at = fmax(at, plot.x - 20 + half);
        canvas_text(c, (struct point){at, base + 17}, ALIGN_MIDDLE, FONT_LABEL, INK_MUTED, text);
    }
    if (title)
        canvas_text_fit(c, (struct point){plot.x + plot.w, base + 33}, ALIGN_END, FONT_SMALL, INK_MUTED, title, plot.w);
}

#define LEADER 18.0

double chart_side_width(struct canvas *c, const struct side_label *labels, size_t n, double most)
{
    double widest = 0;
    for (size_t i = 0; i < n; i++) {
        double w = typeface_width(c->typeface, FONT_LABEL, labels[i].name);
        if (labels[i].value[0])
            w += 6 + typeface_width(c->typeface, FONT_STRONG, labels[i].value);
        widest = fmax(widest, w);
    }
    return n == 0 ? 0 : fmin(most, ceil(widest) + LEADER + 6);
}

static int by_height(const void *a, const void *b)
{
    const struct side_label *p = a, *q = b;
    return p->y < q->y ? -1 : p->y > q->y;
}

void chart_side_labels(struct canvas *c, struct side_label *labels, size_t n, double from_x, struct box gutter)
{
    double at[SIDE_LABELS_MAX];
    if (n > SIDE_LABELS_MAX)
        n = SIDE_LABELS_MAX;
    qsort(labels, n, sizeof *labels, by_height);
    for (size_t i = 0; i < n; i++)
        at[i] = labels[i].y;
    spread_labels(at, n, LINE_HEIGHT, gutter.y + 6, gutter.y + gutter.h - 4);
    for (size_t i = 0; i < n; i++) {
        struct point bend[4] = {{from_x + 2, labels[i].y},
                                {from_x + 6, labels[i].y},
                                {gutter.x + LEADER - 7, at[i]},
                                {gutter.x + LEADER - 3, at[i]}};
        canvas_polyline(c, bend, 4, (struct stroke){labels[i].ink, 1.5, false});
        double x = gutter.x + LEADER, room = gutter.x + gutter.w - x;
        double value_width = labels[i].value[0] ? typeface_width(c->typeface, FONT_STRONG, labels[i].value) + 6 : 0;
        double name_width = fmin(typeface_width(c->typeface, FONT_LABEL, labels[i].name), room - value_width);
        canvas_text_fit(c, (struct point){x, at[i] + 4}, ALIGN_START, FONT_LABEL, INK_TEXT, labels[i].name,
                        name_width + 0.5);
        if (value_width > 0)
            canvas_text(c, (struct point){x + fmax(0, name_width) + 6, at[i] + 4}, ALIGN_START, FONT_STRONG, INK_TEXT,
                        labels[i].value);
    }
}

void chart_value(const struct chart_text *text, double value, char *out, size_t n)
{
    char number[40];
    if (text->label && isfinite(value)) {
        text->label(value, out, n);
        return;
    }
    number_label3(value, number, sizeof number);
    /* U+00A0: a number and its unit are one word */
    bool has_unit = text->unit && text->unit[0];
    snprintf(out, n, "%s%s%s", number, has_unit ? "\xc2\xa0" : "", has_unit ? text->unit : "");
}
