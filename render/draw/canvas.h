/* canvas.h - the few strokes a chart is made of, and the function table that a painter implements.
 *
 * A chart is described once, in units of one CSS pixel (1/96 inch), origin top left, y down; a painter turns the
 * strokes into PNG, SVG or, in tests, into a list. Charts know no painter, painters know no chart. Nothing here fails:
 * a painter keeps its first failure and reports it when it is finished. */
#ifndef DCR_DRAW_CANVAS_H
#define DCR_DRAW_CANVAS_H

#include "render/draw/ink.h"
#include "render/draw/typeface.h"

#include <stdbool.h>
#include <stddef.h>

struct point {
    double x, y;
};

struct box {
    double x, y, w, h;
};

enum align { ALIGN_START, ALIGN_MIDDLE, ALIGN_END };

struct stroke {
    enum ink ink;
    double width;
    bool is_dashed;
};

/* What a painter provides. Coordinates are final: sub-pixel decisions were made by the chart. */
struct canvas_painter {
    void (*rect)(void *state, struct box at, enum ink fill);
    void (*polyline)(void *state, const struct point *p, size_t n, struct stroke stroke);
    void (*area)(void *state, const struct point *p, size_t n, enum ink fill, double opacity);
    void (*disc)(void *state, struct point centre, double radius, enum ink fill);
    void (*text)(void *state, struct point at, enum align align, struct font font, enum ink fill, const char *text);
    void (*clip)(void *state, struct box to); /* nests with unclip */
    void (*unclip)(void *state);
    void (*note)(void *state, const char *text); /* what the strokes until end_note show; for tooltips */
    void (*end_note)(void *state);
};

struct canvas {
    const struct canvas_painter *painter;
    void *state;
    struct typeface *typeface; /* borrows; one for all painters, so that all have one layout */
    double width, height;
};

void canvas_rect(struct canvas *c, struct box at, enum ink fill);
void canvas_line(struct canvas *c, struct point from, struct point to, struct stroke stroke);
/** canvas_polyline - points whose x or y is not finite break the line: a gap is drawn as a gap. */
void canvas_polyline(struct canvas *c, const struct point *p, size_t n, struct stroke stroke);
void canvas_area(struct canvas *c, const struct point *p, size_t n, enum ink fill, double opacity);
void canvas_disc(struct canvas *c, struct point centre, double radius, enum ink fill);
/** canvas_text - one line; at.y is the base line. Bytes that are not UTF-8 are shown as U+FFFD. */
void canvas_text(struct canvas *c, struct point at, enum align align, struct font font, enum ink fill,
                 const char *text);
/** canvas_text_fit - as canvas_text, shortened with an ellipsis to width; nothing when not even that fits. */
void canvas_text_fit(struct canvas *c, struct point at, enum align align, struct font font, enum ink fill,
                     const char *text, double width);
/** canvas_text_lines - text broken at spaces into at most n_lines lines; the last one is shortened when there is more.
 *  at  base line of the first line. returns  the lines drawn */
int canvas_text_lines(struct canvas *c, struct point at, struct font font, enum ink fill, const char *text,
                      double width, int n_lines);
void canvas_clip(struct canvas *c, struct box to);
void canvas_unclip(struct canvas *c);
void canvas_note(struct canvas *c, const char *text);
void canvas_end_note(struct canvas *c);

/** box_inset - the box less its margins. */
struct box box_inset(struct box b, double left, double top, double right, double bottom);

#endif
