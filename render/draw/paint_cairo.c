/* paint_cairo.c - see paint_cairo.h. Text is drawn unhinted and in grey antialiasing, since sub-pixel colours and
 * hinting depend on the machine's font settings. */
#include "render/draw/paint_cairo.h"

static void set_ink(cairo_t *cr, enum ink ink, double opacity)
{
    uint32_t rgb = ink_rgb(ink);
    cairo_set_source_rgba(cr, (double)(rgb >> 16 & 0xff) / 255, (double)(rgb >> 8 & 0xff) / 255,
                          (double)(rgb & 0xff) / 255, opacity);
}

static void paint_rect(void *state, struct box at, enum ink fill)
{
    cairo_t *cr = ((struct paint_cairo *)state)->cr;
    set_ink(cr, fill, 1);
    cairo_rectangle(cr, at.x, at.y, at.w, at.h);
    cairo_fill(cr);
}

static void trace(cairo_t *cr, const struct point *p, size_t n)
{
    cairo_move_to(cr, p[0].x, p[0].y);
    for (size_t i = 1; i < n; i++)
        cairo_line_to(cr, p[i].x, p[i].y);
}

static void paint_polyline(void *state, const struct point *p, size_t n, struct stroke stroke)
{
    static const double dashes[2] = {4, 3};
    cairo_t *cr = ((struct paint_cairo *)state)->cr;
    set_ink(cr, stroke.ink, 1);
    cairo_set_line_width(cr, stroke.width);
    cairo_set_line_join(cr, CAIRO_LINE_JOIN_ROUND);
    cairo_set_dash(cr, dashes, stroke.is_dashed ? 2 : 0, 0);
    trace(cr, p, n);
    cairo_stroke(cr);
}

static void paint_area(void *state, const struct point *p, size_t n, enum ink fill, double opacity)
{
    cairo_t *cr = ((struct paint_cairo *)state)->cr;
    set_ink(cr, fill, opacity);
    trace(cr, p, n);
    cairo_close_path(cr);
    cairo_fill(cr);
}

static void paint_disc(void *state, struct point centre, double radius, enum ink fill)
{
    const double turn = 6.283185307179586;
    cairo_t *cr = ((struct paint_cairo *)state)->cr;
    set_ink(cr, fill, 1);
    cairo_arc(cr, centre.x, centre.y, radius, 0, turn);
    cairo_fill(cr);
}

static void paint_text(void *state, struct point at, enum align align, struct font font, enum ink fill,
                       const char *text)
{
    struct paint_cairo *p = state;
    double width = align == ALIGN_START ? 0 : typeface_width(p->canvas.typeface, font, text);
    set_ink(p->cr, fill, 1);
    cairo_select_font_face(p->cr, TYPEFACE_FAMILY, CAIRO_FONT_SLANT_NORMAL,
                           font.is_bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(p->cr, font.size);
    cairo_move_to(p->cr, at.x - (align == ALIGN_MIDDLE ? width / 2 : align == ALIGN_END ? width : 0), at.y);
    cairo_show_text(p->cr, text);
}

static void paint_clip(void *state, struct box to)
{
    cairo_t *cr = ((struct paint_cairo *)state)->cr;
    cairo_save(cr);
    cairo_rectangle(cr, to.x, to.y, to.w, to.h);
    cairo_clip(cr);
}

static void paint_unclip(void *state)
{
    cairo_restore(((struct paint_cairo *)state)->cr);
}

static void paint_note(void *state, const char *text)
{
    (void)state;
    (void)text;
}

static void paint_end_note(void *state)
{
    (void)state;
}

static const struct canvas_painter cairo_painter = {
    paint_rect, paint_polyline, paint_area, paint_disc,     paint_text,
    paint_clip, paint_unclip,   paint_note, paint_end_note,
};

bool paint_cairo_begin(struct paint_cairo *p, cairo_surface_t *surface, double width, double height, double scale,
                       struct typeface *typeface)
{
    p->surface = surface;
    p->cr = cairo_create(surface);
    p->canvas = (struct canvas){&cairo_painter, p, typeface, width, height};
    if (cairo_status(p->cr) != CAIRO_STATUS_SUCCESS)
        return false;
    cairo_font_options_t *options = cairo_font_options_create();
    cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
    cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
    cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
    cairo_set_font_options(p->cr, options);
    cairo_font_options_destroy(options);
    cairo_scale(p->cr, scale, scale);
    set_ink(p->cr, INK_PAPER, 1);
    cairo_paint(p->cr);
    return true;
}

void paint_cairo_release(struct paint_cairo *p)
{
    cairo_destroy(p->cr);
    cairo_surface_destroy(p->surface);
}
