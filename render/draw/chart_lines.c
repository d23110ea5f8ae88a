/* chart_lines.c - lines over steps, epochs or time; see chart.h. */
#include "render/draw/chart_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct extent {
    double x_lo, x_hi, y_lo, y_hi;
    size_t n_cut;   /* values above the axis */
    double cut_max; /* the greatest of them */
};

static struct extent measure(const struct chart_lines *s)
{
    struct extent e = {INFINITY, -INFINITY, INFINITY, -INFINITY, 0, 0};
    for (size_t k = 0; k < s->n_series; k++) {
        for (size_t i = 0; i < s->series[k].n; i++) {
            double x = s->series[k].x[i], y = s->series[k].y[i];
            if (!isfinite(x) || !isfinite(y))
                continue;
            e.x_lo = fmin(e.x_lo, x);
            e.x_hi = fmax(e.x_hi, x);
            if (s->y_max > 0 && y > s->y_max) {
                e.n_cut++;
                e.cut_max = fmax(e.cut_max, y);
                continue;
            }
            e.y_lo = fmin(e.y_lo, y);
            e.y_hi = fmax(e.y_hi, y);
        }
    }
    if (s->band && s->y_max <= 0) {
        for (size_t i = 0; i < s->band->n; i++) {
            e.y_lo = fmin(e.y_lo, s->band->lo[i]);
            e.y_hi = fmax(e.y_hi, s->band->hi[i]);
        }
    }
    for (size_t k = 0; k < s->n_levels; k++) {
        e.y_lo = fmin(e.y_lo, s->levels[k].y);
        e.y_hi = fmax(e.y_hi, s->levels[k].y);
    }
    return e;
}

static void set_y_range(const struct chart_lines *s, const struct extent *e, struct scale *y)
{
    y->lo = s->y_is_free ? e->y_lo : fmin(0, e->y_lo);
    y->hi = s->y_max > 0 ? s->y_max : e->y_hi;
    if (!isfinite(y->lo) || !isfinite(y->hi)) {
        y->lo = 0;
        y->hi = 1;
    }
    if (y->hi <= y->lo)
        y->hi = y->lo + (y->lo != 0 ? fabs(y->lo) * 0.1 : 1);
    if (s->y_max <= 0) {
        double pad = (y->hi - y->lo) * 0.08;
        y->hi += pad;
        y->lo -= s->y_is_free ? pad : 0;
    }
}

/* Series labels first, then levels: all share one gutter. */
static size_t make_labels(const struct chart_lines *s, const struct scale *y, struct side_label *labels)
{
    size_t n = 0;
    for (size_t k = 0; k < s->n_series && n < SIDE_LABELS_MAX; k++) {
        const struct line_series *l = &s->series[k];
        size_t last = s->n_to_label ? s->n_to_label : l->n;
        while (last > 0 && !isfinite(l->y[last - 1]))
            last--;
        if (!l->name || last == 0)
            continue;
        double v = fmin(fmax(l->y[last - 1], y->lo), y->hi);
        labels[n++] = (struct side_label){.y = scale_map(y, v), .ink = l->ink, .name = l->name};
    }
    for (size_t k = 0; k < s->n_levels && n < SIDE_LABELS_MAX; k++) {
        labels[n] = (struct side_label){.y = scale_map(y, s->levels[k].y), .ink = s->levels[k].ink};
        labels[n].name = s->levels[k].name;
        chart_value(&s->text, s->levels[k].y, labels[n].value, sizeof labels[n].value);
        n++;
    }
    return n;
}

static void draw_series(struct canvas *c, const struct line_series *l, const struct scale *x, const struct scale *y,
                        size_t n_buckets)
{
    size_t room = l->n < 2 * n_buckets ? l->n : 2 * n_buckets;
    size_t *index = calloc(room + 1, sizeof *index);
    struct point *p = calloc(room + 1, sizeof *p);
    if (!index || !p)
        goto out;
    size_t n = thin_series(l->y, l->n, n_buckets, index);
    for (size_t i = 0; i < n; i++)
        p[i] = (struct point){scale_map(x, l->x[index[i]]), scale_map(y, l->y[index[i]])};
    if (l->name)
        canvas_note(c, l->name);
    canvas_polyline(c, p, n, (struct stroke){l->ink, 1.6, l->is_dashed});
    if (n > 0 && n <= 30)
        for (size_t i = 0; i < n; i++)
            canvas_disc(c, p[i], 2.6, l->ink);
    if (l->name)
        canvas_end_note(c);
out:
    free(index);
    free(p);
}

/* The outline of the band: per bucket the least below and the greatest above, so that it covers every value. */
static void draw_band(struct canvas *c, const struct line_band *b, const struct scale *x, const struct scale *y,
                      size_t n_buckets)
{
    size_t n = b->n < n_buckets ? b->n : n_buckets;
    struct point *p = calloc(2 * n + 1, sizeof *p);
    if (!p)
        return;
    for (size_t k = 0; k < n; k++) {
        size_t from = b->n * k / n, to = b->n * (k + 1) / n;
        double lo = b->lo[from], hi = b->hi[from];
        for (size_t i = from + 1; i < to; i++) {
            lo = fmin(lo, b->lo[i]);
            hi = fmax(hi, b->hi[i]);
        }
        double at = scale_map(x, (b->x[from] + b->x[to - 1]) / 2);
        p[k] = (struct point){at, scale_map(y, hi)};
        p[2 * n - 1 - k] = (struct point){at, scale_map(y, lo)};
    }
    canvas_area(c, p, 2 * n, b->ink, 0.22);
    free(p);
}

static void draw_spans(struct canvas *c, const struct chart_lines *s, struct box plot, const struct scale *x)
{
    for (size_t k = 0; k < s->n_spans; k++) {
        double a = fmax(scale_map(x, s->spans[k].from), plot.x);
        double b = fmin(scale_map(x, s->spans[k].to), plot.x + plot.w);
        canvas_rect(c, (struct box){a, plot.y, b - a, plot.h}, INK_SHADE);
        double width = typeface_width(c->typeface, FONT_SMALL, s->spans[k].name);
        /* The name of a narrow span stands beside it. */
        double at = width + 8 <= b - a ? a + 4 : b + 4;
        canvas_text_fit(c, (struct point){at, plot.y + plot.h - 7}, ALIGN_START, FONT_SMALL, INK_MUTED,
                        s->spans[k].name, plot.x + plot.w - at);
    }
}

static void draw_cut(struct canvas *c, const struct chart_lines *s, const struct extent *e, struct box plot)
{
    if (e->n_cut == 0)
        return;
    char value[48], text[96];
    chart_value(&s->text, e->cut_max, value, sizeof value);
    snprintf(text, sizeof text, "%zu above the axis, up to %s", e->n_cut, value);
    canvas_text_fit(c, (struct point){plot.x + plot.w - 4, plot.y - 5}, ALIGN_END, FONT_SMALL, INK_MUTED, text, plot.w);
}

double chart_lines_side(struct canvas *c, double width, const struct chart_lines *s)
{
    struct extent e = measure(s);
    struct scale y = {0};
    struct side_label labels[SIDE_LABELS_MAX];
    set_y_range(s, &e, &y);
    return chart_side_width(c, labels, make_labels(s, &y, labels), width * 0.5);
}

#define TICKS_OF(height) ((height) < 90 ? 3 : (height) < 150 ? 4 : 6)

double chart_lines_gutter(struct canvas *c, double height, const struct chart_lines *s)
{
    struct extent e = measure(s);
    struct scale y = {0};
    set_y_range(s, &e, &y);
    return chart_y_gutter(c, &y, TICKS_OF(height));
}

void chart_lines(struct canvas *c, struct box at, const struct chart_lines *s)
{
    struct extent e = measure(s);
    struct box rest = chart_head(c, at, &s->text);
    struct scale y = {.gutter = s->least_gutter}, x = {.lo = e.x_lo, .hi = e.x_hi};
    set_y_range(s, &e, &y);
    struct side_label labels[SIDE_LABELS_MAX];
    double side = fmax(chart_side_width(c, labels, make_labels(s, &y, labels), rest.w * 0.5), s->least_side);
    struct box plot = box_inset(rest, 0, e.n_cut ? 12 : 4, side > 0 ? side : 12, s->hide_x_labels ? 18 : 40);
    if (!isfinite(e.x_lo)) {
        canvas_text(c, (struct point){rest.x, rest.y + 20}, ALIGN_START, FONT_LABEL, INK_MUTED, "nothing was measured");
        return;
    }
    if (s->x_to > s->x_from) {
        x.lo = s->x_from;
        x.hi = s->x_to;
    }
    if (x.hi == x.lo) {
        x.lo -= 0.5;
        x.hi += 0.5;
    }
    plot = chart_y_axis(c, plot, &y, TICKS_OF(plot.h));
    x.from = plot.x;
    x.to = plot.x + plot.w;
    draw_spans(c, s, plot, &x);
    if (!s->hide_x_labels) {
        struct ticks t = s->x_is_whole ? scale_ticks_whole(x.lo, x.hi, plot.w < 300 ? 5 : 9)
                                       : scale_ticks(x.lo, x.hi, plot.w < 300 ? 5 : 9);
        chart_x_ticks(c, plot, &x, &t, s->x_label, s->x_title);
    }
    for (size_t k = 0; k < s->n_levels; k++) {
        double at_y = scale_map(&y, s->levels[k].y);
        canvas_line(c, (struct point){plot.x, at_y}, (struct point){plot.x + plot.w, at_y},
                    (struct stroke){s->levels[k].ink, 1.2, true});
    }
    canvas_clip(c, (struct box){plot.x - 3, plot.y - 3, plot.w + 6, plot.h + 6});
    if (s->band && s->band->n > 1)
        draw_band(c, s->band, &x, &y, (size_t)fmax(plot.w / 2, 8));
    for (size_t k = 0; k < s->n_series; k++)
        draw_series(c, &s->series[k], &x, &y, (size_t)fmax(plot.w, 8));
    canvas_unclip(c);
    draw_cut(c, s, &e, plot);
    size_t n_labels = make_labels(s, &y, labels);
    if (n_labels)
        chart_side_labels(c, labels, n_labels, plot.x + plot.w,
                          (struct box){plot.x + plot.w, plot.y - 6, rest.x + rest.w - plot.x - plot.w, plot.h + 12});
}
