/* paint_png.c - see paint_png.h. Called by render/site/figures/figure.c. */
#include "render/draw/paint_png.h"

#include "render/draw/paint_cairo.h"

#include <math.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

struct paint_png {
    struct paint_cairo on;
    double scale;
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
    if (!paint_cairo_begin(&p->on, cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)w, (int)h), width, height, scale,
                           typeface)) {
        dcr_err_set(err, DCR_FAIL, "cannot start a picture of %.0f x %.0f pixels: %s", w, h,
                    cairo_status_to_string(cairo_status(p->on.cr)));
        paint_png_free(p);
        return DCR_FAIL;
    }
    *out = p;
    return 0;
}

void paint_png_free(struct paint_png *p)
{
    if (!p)
        return;
    paint_cairo_release(&p->on);
    free(p);
}

struct canvas *paint_png_canvas(struct paint_png *p)
{
    return &p->on.canvas;
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
        int is_as_above = y > 0 && memcmp(line, line - stride, 4 * (size_t)w) == 0;
        for (int x = 0; x < w && !is_as_above; x++) {
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
    cairo_surface_flush(p->on.surface);
    if (cairo_status(p->on.cr) != CAIRO_STATUS_SUCCESS)
        return dcr_err_set(err, DCR_FAIL, "cannot draw a picture: %s", cairo_status_to_string(cairo_status(p->on.cr)));
    unsigned w = (unsigned)cairo_image_surface_get_width(p->on.surface);
    unsigned h = (unsigned)cairo_image_surface_get_height(p->on.surface);
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
    /* Flat colours: each row is the one above, so that nearly all bytes are 0, and runs are all there is to find. A
     * third of the time of any other setting at about the same size. */
    png_set_filter(png, 0, PNG_FILTER_UP);
    png_set_compression_level(png, 2);
    png_set_compression_strategy(png, Z_RLE);
    png_write_info(png, info);
    write_rows(png, p->on.surface, row);
    png_write_end(png, info);
    status = 0;
out:
    if (status)
        dcr_err_set(err, DCR_FAIL, "%s", failure.text);
    png_destroy_write_struct(&png, &info);
    free(row);
    return status;
}
