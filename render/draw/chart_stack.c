/* chart_stack.c - stacked columns; see chart.h. Labels of the parts stand beside the last column. */
#include "render/draw/chart_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double bar_total(const struct chart_stack *s, const struct stack_bar *b)
{
    double sum = 0;
    bool any = false;
    for (size_t k = 0; k < s->n_parts; k++) {
        if (isfinite(b->value[k])) {
            sum += b->value[k];
            any = true;
        }
    }
    return any ? sum : NAN;
}

/* Parts that no bar has are not worth a label. */
static bool part_occurs(const struct chart_stack *s, size_t part)
{
    for (size_t i = 0; i < s->n_bars; i++)
        if (isfinite(s->bars[i].value[part]) && s->bars[i].value[part] > 0)
            return true;
    return false;
}

static size_t label_parts(const struct chart_stack *s, struct side_label *labels)
{
    size_t n = 0;
    const struct stack_bar *last = &s->bars[s->n_bars - 1];
    for (size_t k = 0; k < s->n_parts && n < SIDE_LABELS_MAX; k++) {
        if (!part_occurs(s, k))
            continue;
        labels[n] = (struct side_label){.ink = s->parts[k].ink, .name = s->parts[k].name};
        chart_value(&s->text, last->value[k], labels[n].value, sizeof labels[n].value);
        n++;
    }
    return n;
}

static void place_labels(const struct chart_stack *s, struct side_label *labels, const struct scale *y)
{
    const struct stack_bar *last = &s->bars[s->n_bars - 1];
    double base = 0;
    for (size_t k = 0, n = 0; k < s->n_parts && n < SIDE_LABELS_MAX; k++) {
        double v = isfinite(last->value[k]) ? last->value[k] : 0;
        if (part_occurs(s, k))
            labels[n++].y = scale_map(y, base + v / 2);
        base += v;
    }
}

/* An upright line from lo to hi with caps. It has a paper-coloured edge, because it lies half upon a column of any
 * colour. */
struct whisker {
    bool is_drawn;
    double x, top, bottom;
};
#define CAP 5.0

/* At the right of the column, so that the numbers of its parts stay in the middle. */
static struct whisker whisker_of(const struct stack_bar *b, const struct scale *y, double x, double w)
{
    return (struct whisker){b->hi > b->lo, x + w - fmin(CAP + 4, w / 2), scale_map(y, b->hi), scale_map(y, b->lo)};
}

static void draw_whisker(struct canvas *c, const struct whisker *k)
{
    if (k->bottom - k->top < 3) { /* shorter than its caps are thick: one cap */
        double mid = (k->top + k->bottom) / 2;
        canvas_line(c, (struct point){k->x - CAP, mid}, (struct point){k->x + CAP, mid},
                    (struct stroke){INK_PAPER, 3, false});
        canvas_line(c, (struct point){k->x - CAP, mid}, (struct point){k->x + CAP, mid},
                    (struct stroke){INK_TEXT, 1.5, false});
        return;
    }
    for (int turn = 0; turn < 2; turn++) {
        struct stroke stroke = turn ? (struct stroke){INK_TEXT, 1.5, false} : (struct stroke){INK_PAPER, 4, false};
        canvas_line(c, (struct point){k->x, k->bottom}, (struct point){k->x, k->top}, stroke);
        canvas_line(c, (struct point){k->x - CAP, k->bottom}, (struct point){k->x + CAP, k->bottom}, stroke);
        canvas_line(c, (struct point){k->x - CAP, k->top}, (struct point){k->x + CAP, k->top}, stroke);
    }
}

/* The larger piece of a part that the mark of the ideal would cut through its middle. */
static struct box beside_mark(struct box part, double mark)
{
    double above = mark - part.y, below = part.y + part.h - mark;
    if (fabs(above - below) > 20 || above < 0 || below < 0)
        return part;
    return (struct box){part.x, above > below ? part.y : mark, part.w, fmax(above, below)};
}

/* Draws the number of a part in its middle, or left of the whisker if that is at the same height. */
static void draw_number(struct canvas *c, const struct box *part, const struct whisker *k, enum ink ink,
                        const char *value)
{
    double mid = part->y + part->h / 2, width = typeface_width(c->typeface, FONT_SMALL, value) + 6, room = part->w;
    if (k->is_drawn && k->top - 3 < mid + 6 && k->bottom + 3 > mid - 6)
        room = k->x - CAP - part->x;
    if (part->h >= 17 && width <= room)
        canvas_text(c, (struct point){part->x + fmin(part->w, 2 * room - width) / 2, mid + 4}, ALIGN_MIDDLE, FONT_SMALL,
                    ink_on(ink), value);
}

/* "104 ms" is "104" where the axis has that unit too. */
static void drop_unit(const struct chart_text *text, char *value)
{
    size_t n = strlen(value), unit = text->unit ? strlen(text->unit) : 0;
    if (unit && n > unit && strcmp(value + n - unit, text->unit) == 0)
        value[n - unit -
              (value[n - unit - 1] == ' '                      ? 1
               : n > unit + 1 && value[n - unit - 2] == '\xc2' ? 2
                                                               : 0)] = '\0';
}

/* returns  the height above which its place is free; not finite: there is no column */
static double draw_bar(struct canvas *c, const struct chart_stack *s, const struct stack_bar *b, const struct scale *y,
                       double x, double w, double pitch)
{
    double base = 0, total = bar_total(s, b);
    char value[48], note[256];
    if (!isfinite(total)) {
        canvas_text(c, (struct point){x + w / 2, scale_map(y, 0) - 5}, ALIGN_MIDDLE, FONT_SMALL, INK_MUTED,
                    "\xe2\x80\x93");
        return INFINITY;
    }
    struct whisker whisker = whisker_of(b, y, x, w);
    for (size_t k = 0; k < s->n_parts; k++) {
        double v = b->value[k];
        if (!isfinite(v) || v <= 0)
            continue;
        double top = scale_map(y, base + v), bottom = scale_map(y, base);
        double seam = bottom - top > 3 && base > 0 ? 1 : 0;
        chart_value(&s->text, v, value, sizeof value);
        snprintf(note, sizeof note, "%s, %s: %s", b->label, s->parts[k].name, value);
        canvas_note(c, note);
        canvas_rect(c, (struct box){x, top, w, bottom - top - seam}, s->parts[k].ink);
        struct box room = {x, top, w, bottom - top};
        room = b->ideal > 0 ? beside_mark(room, scale_map(y, b->ideal)) : room;
        draw_number(c, &room, &whisker, s->parts[k].ink, value);
        canvas_end_note(c);
        base += v;
    }
    if (b->ideal > 0) {
        double at = scale_map(y, b->ideal);
        chart_value(&s->text, b->ideal, value, sizeof value);
        snprintf(note, sizeof note, "%s, ideal: %s", b->label, value);
        canvas_note(c, note);
        canvas_rect(c, (struct box){x - 7, at - 2.5, w + 14, 5}, INK_PAPER);
        canvas_rect(c, (struct box){x - 7, at - 1.5, w + 14, 3}, INK_TEXT);
        canvas_end_note(c);
    }
    double above = scale_map(y, base) - 6;
    if (whisker.is_drawn) {
        draw_whisker(c, &whisker);
        above = fmin(above, whisker.top - 6);
    }
    chart_value(&s->text, total, value, sizeof value);
    struct font font = FONT_STRONG;
    double room = fmin(fmax(w + 16, pitch - 4), fmax(pitch - 2, w));
    if (typeface_width(c->typeface, font, value) > room)
        font = FONT_SMALL;
    if (typeface_width(c->typeface, font, value) > room)
        drop_unit(&s->text, value);
    if (!s->is_percent && typeface_width(c->typeface, font, value) <= room) {
        canvas_text(c, (struct point){x + w / 2, above}, ALIGN_MIDDLE, font, INK_TEXT, value);
        above -= LINE_HEIGHT;
    }
    return above;
}

/* Where the columns stand. */
struct columns {
    double x, pitch, group_pitch, width;
    size_t group;
};

static struct columns columns_of(const struct chart_stack *s, struct box plot)
{
    size_t group = s->group > 1 ? s->group : 1, n_groups = (s->n_bars + group - 1) / group;
    double group_pitch = plot.w / (double)n_groups, pitch = group_pitch * (group > 1 ? 0.84 : 1) / (double)group;
    double share = group > 1 ? 0.88 : s->n_bars > 12 ? 0.84 : 0.62;
    return (struct columns){plot.x, pitch, group_pitch, fmin(pitch * share, 96), group};
}

static double group_middle(const struct columns *k, size_t group)
{
    return k->x + k->group_pitch * ((double)group + 0.5);
}

static double middle_of(const struct columns *k, size_t i)
{
    return group_middle(k, i / k->group) + k->pitch * ((double)(i % k->group) - ((double)k->group - 1) / 2);
}

/* A word above its column, and above those that it is wide enough to reach. */
static void draw_mark(struct canvas *c, const struct chart_stack *s, const struct columns *k, const double *above,
                      size_t i)
{
    const char *mark = s->bars[i].mark;
    double x = middle_of(k, i), y = above[i] - 11, room = fmax(k->width + 30, 70);
    double half = fmin(typeface_width(c->typeface, FONT_SMALL, mark), room) / 2;
    for (size_t j = 0; j < s->n_bars; j++)
        if (fabs(middle_of(k, j) - x) < half + fmax(k->width / 2, 16) && above[j] < INFINITY)
            y = fmin(y, above[j] - 4);
    struct point tip[3] = {{x - 5, above[i] - 7}, {x + 5, above[i] - 7}, {x, above[i]}};
    canvas_note(c, mark);
    canvas_area(c, tip, 3, INK_ALARM, 1);
    canvas_text_fit(c, (struct point){x, y}, ALIGN_MIDDLE, FONT_SMALL, INK_ALARM, mark, room);
    canvas_end_note(c);
}

static void draw_x_labels(struct canvas *c, const struct chart_stack *s, struct box plot, const struct columns *k)
{
    double widest = 0, pitch = k->pitch;
    for (size_t i = 0; i < s->n_bars; i++)
        widest = fmax(widest, typeface_width(c->typeface, FONT_LABEL, s->bars[i].label));
    size_t every = (size_t)ceil(fmin(widest + 4, 120) / pitch);
    every = every < 1 ? 1 : every;
    for (size_t i = 0; i < s->n_bars && (k->group < 2 || every == 1); i += every)
        canvas_text_fit(c, (struct point){middle_of(k, i), plot.y + plot.h + 18}, ALIGN_MIDDLE, FONT_LABEL, INK_TEXT,
                        s->bars[i].label, fmax(pitch * (double)every, 24));
    for (size_t i = 0; k->group > 1 && s->group_label && i < s->n_bars / k->group; i++) {
        const char *name = s->group_label[i];
        bool is_whole = typeface_width(c->typeface, FONT_STRONG, name) <= k->group_pitch - 6;
        char first[48];
        snprintf(first, sizeof first, "%.*s", is_whole ? 0 : (int)strcspn(name, ","), name);
        canvas_text_fit(c, (struct point){group_middle(k, i), plot.y + plot.h + (every == 1 ? 36 : 18)}, ALIGN_MIDDLE,
                        is_whole ? FONT_STRONG : FONT_SMALL, INK_TEXT, is_whole ? name : first, k->group_pitch - 2);
    }
    if (s->x_title)
        canvas_text_fit(c, (struct point){plot.x + plot.w, plot.y + plot.h + 34}, ALIGN_END, FONT_SMALL, INK_MUTED,
                        s->x_title, plot.w);
}

void chart_stack(struct canvas *c, struct box at, const struct chart_stack *s)
{
    if (s->n_bars == 0)
        return;
    struct side_label labels[SIDE_LABELS_MAX];
    size_t n_labels = s->no_part_labels ? 0 : label_parts(s, labels);
    double most = 0;
    bool is_marked = false;
    for (size_t i = 0; i < s->n_bars; i++) {
        most = fmax(fmax(most, bar_total(s, &s->bars[i])), s->bars[i].ideal);
        most = s->bars[i].hi > s->bars[i].lo ? fmax(most, s->bars[i].hi) : most;
        is_marked |= s->bars[i].mark != NULL;
    }
    struct box rest = chart_head(c, at, &s->text);
    double side = chart_side_width(c, labels, n_labels, rest.w * 0.55);
    struct box plot = box_inset(rest, 0, (s->is_percent ? 4 : 18) + (is_marked ? 24 : 0), side,
                                s->group > 1 ? 42
                                : s->x_title ? 40
                                             : 24);
    struct scale y = {.lo = 0, .hi = s->is_percent ? 100 : scale_round_up(most, 5)};
    if (!s->is_percent && y.hi > most * 1.12 && most > 0)
        y.hi = most * 1.12; /* no empty band on top: the last grid line may stand below the top of the plot */
    plot = chart_y_axis(c, plot, &y, plot.h < 140 ? 4 : 6);
    double *above = calloc(s->n_bars, sizeof *above);
    if (!above)
        return;
    const struct columns columns = columns_of(s, plot);
    for (size_t i = 0; i < s->n_bars; i++)
        above[i] =
            draw_bar(c, s, &s->bars[i], &y, middle_of(&columns, i) - columns.width / 2, columns.width, columns.pitch);
    for (size_t i = 0; i < s->n_bars; i++)
        if (s->bars[i].mark && above[i] < INFINITY)
            draw_mark(c, s, &columns, above, i);
    free(above);
    double right = middle_of(&columns, s->n_bars - 1) + columns.width / 2;
    draw_x_labels(c, s, plot, &columns);
    if (n_labels) {
        place_labels(s, labels, &y);
        chart_side_labels(c, labels, n_labels, right,
                          (struct box){plot.x + plot.w, plot.y - 8, rest.x + rest.w - plot.x - plot.w, plot.h + 16});
    }
}
