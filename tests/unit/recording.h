/* recording.h - a painter that keeps the strokes, so that tests look at geometry and words instead of pixels. */
#ifndef TESTS_UNIT_RECORDING_H
#define TESTS_UNIT_RECORDING_H

#include "render/draw/canvas.h"

#include <stdio.h>
#include <string.h>

#define RECORDING_MAX 8192

enum stroke_kind { STROKE_RECT, STROKE_LINE, STROKE_AREA, STROKE_DISC, STROKE_TEXT, STROKE_NOTE };

struct recorded {
    enum stroke_kind kind;
    enum ink ink;
    struct box at; /* of text: x is the anchor */
    enum align align;
    struct font font;
    size_t n_points;
    char text[160];
};

struct recording {
    struct canvas canvas;
    struct recorded stroke[RECORDING_MAX];
    int n, depth;
};

static struct recorded *recording_add(void *state, enum stroke_kind kind, enum ink ink, struct box at)
{
    struct recording *r = state;
    if (r->n == RECORDING_MAX)
        return &r->stroke[RECORDING_MAX - 1];
    struct recorded *s = &r->stroke[r->n++];
    *s = (struct recorded){.kind = kind, .ink = ink, .at = at};
    return s;
}

static void recording_rect(void *state, struct box at, enum ink fill)
{
    recording_add(state, STROKE_RECT, fill, at);
}

static struct box recording_bounds(const struct point *p, size_t n)
{
    double x0 = p[0].x, x1 = x0, y0 = p[0].y, y1 = y0;
    for (size_t i = 1; i < n; i++) {
        x0 = p[i].x < x0 ? p[i].x : x0;
        x1 = p[i].x > x1 ? p[i].x : x1;
        y0 = p[i].y < y0 ? p[i].y : y0;
        y1 = p[i].y > y1 ? p[i].y : y1;
    }
    return (struct box){x0, y0, x1 - x0, y1 - y0};
}

static void recording_polyline(void *state, const struct point *p, size_t n, struct stroke stroke)
{
    recording_add(state, STROKE_LINE, stroke.ink, recording_bounds(p, n))->n_points = n;
}

static void recording_area(void *state, const struct point *p, size_t n, enum ink fill, double opacity)
{
    (void)opacity;
    recording_add(state, STROKE_AREA, fill, recording_bounds(p, n))->n_points = n;
}

static void recording_disc(void *state, struct point c, double radius, enum ink fill)
{
    recording_add(state, STROKE_DISC, fill, (struct box){c.x - radius, c.y - radius, 2 * radius, 2 * radius});
}

static void recording_text(void *state, struct point at, enum align align, struct font font, enum ink fill,
                           const char *text)
{
    struct recording *r = state;
    struct recorded *s = recording_add(
        state, STROKE_TEXT, fill, (struct box){at.x, at.y, typeface_width(r->canvas.typeface, font, text), font.size});
    s->align = align;
    s->font = font;
    snprintf(s->text, sizeof s->text, "%s", text);
}

static void recording_clip(void *state, struct box to)
{
    (void)to;
    ((struct recording *)state)->depth++;
}

static void recording_unclip(void *state)
{
    ((struct recording *)state)->depth--;
}

static void recording_note(void *state, const char *text)
{
    struct recorded *s = recording_add(state, STROKE_NOTE, INK_TEXT, (struct box){0, 0, 0, 0});
    snprintf(s->text, sizeof s->text, "%s", text);
    ((struct recording *)state)->depth++;
}

static const struct canvas_painter recording_painter = {
    recording_rect, recording_polyline, recording_area, recording_disc,   recording_text,
    recording_clip, recording_unclip,   recording_note, recording_unclip,
};

static void recording_init(struct recording *r, struct typeface *t, double w, double h)
{
    memset(r, 0, sizeof *r);
    r->canvas = (struct canvas){&recording_painter, r, t, w, h};
}

__attribute__((unused)) static const struct recorded *recording_find_text(const struct recording *r, const char *text)
{
    for (int i = 0; i < r->n; i++)
        if (r->stroke[i].kind == STROKE_TEXT && strstr(r->stroke[i].text, text))
            return &r->stroke[i];
    return NULL;
}

/* Left end of a recorded text. */
__attribute__((unused)) static double recording_left(const struct recorded *s)
{
    return s->at.x - (s->align == ALIGN_MIDDLE ? s->at.w / 2 : s->align == ALIGN_END ? s->at.w : 0);
}

#endif
