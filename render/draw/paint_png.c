/* paint_png.c - see paint_png.h. Text is drawn unhinted and in grey antialiasing, since sub-pixel colours and hinting
 * depend on the machine's font settings. Called by render/site/figure.c. */
#include "render/draw/paint_png.h"

#include <cairo.h>
#include <math.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>

struct paint_png {
    struct canvas canvas;
    cairo_surface_t *surface;
    cairo_t *cr;
    double scale;
};

static void set_ink(cairo_t *cr, enum ink ink, double opacity)
{
    uint32_t rgb = ink_rgb(ink);
    cairo_set_source_rgba(cr, (double)(rgb >> 16 & 0xff) / 255, (double)(rgb >> 8 & 0xff) / 255,
                          (double)(rgb & 0xff) / 255, opacity);
}

static void paint_rect(void *state, struct box at, enum ink fill)
{
    cairo_t *cr = ((struct paint_png *)state)->cr;
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
    cairo_t *cr = ((struct paint_png *)state)->cr;
    set_ink(cr, stroke.ink, 1);
    cairo_set_line_width(cr, stroke.width);
    cairo_set_line_join(cr, CAIRO_LINE_JOIN_ROUND);
    cairo_set_dash(cr, dashes, stroke.is_dashed ? 2 : 0, 0);
    trace(cr, p, n);
    cairo_stroke(cr);
}

static void paint_area(void *state, const struct point *p, size_t n, enum ink fill, double opacity)
{
    cairo_t *cr = ((struct paint_png *)state)->cr;
    set_ink(cr, fill, opacity);
    trace(cr, p, n);
    cairo_close_path(cr);
    cairo_fill(cr);
}

static void paint_disc(void *state, struct point centre, double radius, enum ink fill)
{
    const double turn = 6.283185307179586;
    cairo_t *cr = ((struct paint_png *)state)->cr;
    set_ink(cr, fill, 1);
    cairo_arc(cr, centre.x, centre.y, radius, 0, turn);
    cairo_fill(cr);
}

static void paint_text(void *state, struct point at, enum align align, struct font font, enum ink fill,
                       const char *text)
{
    struct paint_png *p = state;
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
    cairo_t *cr = ((struct paint_png *)state)->cr;
    cairo_save(cr);
    cairo_rectangle(cr, to.x, to.y, to.w, to.h);
    cairo_clip(cr);
}

static void paint_unclip(void *state)
{
    cairo_restore(((struct paint_png *)state)->cr);
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

static const struct canvas_painter png_painter = {
    paint_rect, paint_polyline, paint_area, paint_disc,     paint_text,
    paint_clip, paint_unclip,   paint_note, paint_end_note,
};

int paint_png_new(struct paint_png **out, double width, double height, double scale, struct typeface *typeface,
                  struct dcr_err *err)
{
    *out = NULL;
    double w = ceil(width * scale), h = ceil(height * scale);
    if (!(w >= 1 && w <= 20000 && h >= 1 && h <= 20000))
        return dcr_err_set(err, DCR_FAIL, "a picture of %.0f x %.0f pixels is out of range", w, h);
    struct paint_png *p = calloc(1, sizeof *p);
    if (!p)
        return dcr_err_set(err, DCR_FAIL, "out of memory for a picture");
    p->scale = scale;
    p->surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)w, (int)h);
    p->cr = cairo_create(p->surface);
    if (cairo_status(p->cr) != CAIRO_STATUS_SUCCESS) {
        dcr_err_set(err, DCR_FAIL, "cannot start a picture of %.0f x %.0f pixels: %s", w, h,
                    cairo_status_to_string(cairo_status(p->cr)));
        paint_png_free(p);
        return DCR_FAIL;
    }
    cairo_font_options_t *options = cairo_font_options_create();
    cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
    cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
    cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
    cairo_set_font_options(p->cr, options);
    cairo_font_options_destroy(options);
    cairo_scale(p->cr, scale, scale);
    set_ink(p->cr, INK_PAPER, 1);
    cairo_paint(p->cr);
    p->canvas = (struct canvas){&png_painter, p, typeface, width, height};
    *out = p;
    return 0;
}

void paint_png_free(struct paint_png *p)
{
    if (!p)
        return;
    cairo_destroy(p->cr);
    cairo_surface_destroy(p->surface);
    free(p);
}

struct canvas *paint_png_canvas(struct paint_png *p)
{
    return &p->canvas;
}

static void png_failed(png_structp png, png_const_charp text)
{
    dcr_err_set(png_get_error_ptr(png), DCR_FAIL, "cannot write a PNG: %s", text);
    longjmp(png_jmpbuf(png), 1);
}

static void png_ignored(png_structp png, png_const_charp text)
{
    (void)png;
    (void)text;
}

static void png_append(png_structp png, png_bytep bytes, size_t n)
{
    struct dcr_buf *out = png_get_io_ptr(png);
    dcr_buf_add(out, bytes, n);
    if (out->failed)
        png_error(png, "out of memory");
}

static void png_flush_nothing(png_structp png)
{
    (void)png;
}

static void set_notes(png_structp png, png_infop info, const struct png_note *notes, size_t n_notes)
{
    for (size_t i = 0; i < n_notes; i++) {
        png_text text = {0};
        text.compression = PNG_TEXT_COMPRESSION_NONE;
        for (const char *s = notes[i].text; *s; s++)
            if (*s & 0x80)
                text.compression = PNG_ITXT_COMPRESSION_NONE;
        text.key = (png_charp)(uintptr_t)notes[i].key;
        text.text = (png_charp)(uintptr_t)notes[i].text;
        png_set_text(png, info, &text, 1);
    }
}

static void write_rows(png_structp png, cairo_surface_t *surface, unsigned char *row)
{
    int w = cairo_image_surface_get_width(surface), h = cairo_image_surface_get_height(surface);
    size_t stride = (size_t)cairo_image_surface_get_stride(surface);
    const unsigned char *pixels = cairo_image_surface_get_data(surface);
    for (int y = 0; y < h; y++) {
        const unsigned char *line = pixels + (size_t)y * stride;
        for (int x = 0; x < w; x++) {
            uint32_t v;
            memcpy(&v, line + 4 * x, sizeof v);
            row[3 * x] = (unsigned char)(v >> 16 & 0xff);
            row[3 * x + 1] = (unsigned char)(v >> 8 & 0xff);
            row[3 * x + 2] = (unsigned char)(v & 0xff);
        }
        png_write_row(png, row);
    }
}

int paint_png_finish(struct paint_png *p, const struct png_note *notes, size_t n_notes, struct dcr_buf *out,
                     struct dcr_err *err)
{
    cairo_surface_flush(p->surface);
    if (cairo_status(p->cr) != CAIRO_STATUS_SUCCESS)
        return dcr_err_set(err, DCR_FAIL, "cannot draw a picture: %s", cairo_status_to_string(cairo_status(p->cr)));
    unsigned w = (unsigned)cairo_image_surface_get_width(p->surface);
    unsigned h = (unsigned)cairo_image_surface_get_height(p->surface);
    struct dcr_err failure = {0};
    volatile int status = DCR_FAIL;
    unsigned char *row = malloc(3 * (size_t)w);
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &failure, png_failed, png_ignored);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    if (!row || !info) {
        dcr_err_set(&failure, DCR_FAIL, "out of memory for a PNG");
        goto out;
    }
    if (setjmp(png_jmpbuf(png)))
        goto out;
    png_set_write_fn(png, out, png_append, png_flush_nothing);
    png_set_IHDR(png, info, w, h, 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_uint_32 per_metre = (png_uint_32)lround(96 * p->scale / 0.0254);
    png_set_pHYs(png, info, per_metre, per_metre, PNG_RESOLUTION_METER);
    set_notes(png, info, notes, n_notes);
    /* Flat colours repeat exactly: unfiltered rows at a low level are as small as any and several times faster. */
    png_set_filter(png, 0, PNG_FILTER_NONE);
    png_set_compression_level(png, 5);
    png_write_info(png, info);
    write_rows(png, p->surface, row);
    png_write_end(png, info);
    status = 0;
out:
    if (status)
        dcr_err_set(err, DCR_FAIL, "%s", failure.text);
    png_destroy_write_struct(&png, &info);
    free(row);
    return status;
}
