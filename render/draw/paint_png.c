/* paint_png.c - see paint_png.h. Called by render/site/figures/figure.c. */
#include "render/draw/paint_png.h"

#include "lib/base/map.h"
#include "render/draw/paint_cairo.h"

#include <limits.h>
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

/* ---- colours ------------------------------------------------------------------------------------------------------
 * A byte a pixel instead of three takes a third of the time to compress and of the room. A chart has a few plain
 * colours and shades between them at edges of letters and lines. Where these are more than a palette holds, the rarest
 * become the nearest that it has. */

enum { PALETTE = 256 };
struct shade {
    uint32_t rgb, n; /* pixels */
    unsigned char place;
};
struct shades {
    struct dcr_map number; /* index in list, by colour */
    struct shade *list;
    size_t n, cap;
};

/* returns  NULL: no memory */
static struct shade *shade_of(struct shades *s, uint32_t rgb)
{
    uint32_t number;
    if (dcr_map_get(&s->number, rgb, &number))
        return &s->list[number];
    if (s->n == s->cap) {
        struct shade *larger = realloc(s->list, (2 * s->cap + 1024) * sizeof *larger);
        if (!larger)
            return NULL;
        s->list = larger;
        s->cap = 2 * s->cap + 1024;
    }
    if (dcr_map_put(&s->number, rgb, (uint32_t)s->n))
        return NULL;
    s->list[s->n] = (struct shade){.rgb = rgb};
    return &s->list[s->n++];
}

static uint32_t pixel(const unsigned char *line, int x)
{
    uint32_t v;
    memcpy(&v, line + 4 * x, sizeof v);
    return v & 0xffffff;
}

static int is_as_above(const unsigned char *line, size_t stride, int y, int w)
{
    return y > 0 && memcmp(line, line - stride, 4 * (size_t)w) == 0;
}

/* Rows that repeat the one above count once, which does not change the most frequent shades. */
static int count_shades(cairo_surface_t *surface, struct shades *s)
{
    int w = cairo_image_surface_get_width(surface), h = cairo_image_surface_get_height(surface);
    size_t stride = (size_t)cairo_image_surface_get_stride(surface);
    const unsigned char *pixels = cairo_image_surface_get_data(surface);
    for (int y = 0; y < h; y++) {
        const unsigned char *line = pixels + (size_t)y * stride;
        struct shade *last = NULL;
        int n = is_as_above(line, stride, y, w) ? 0 : w;
        for (int x = 0; x < n; x++) {
            uint32_t rgb = pixel(line, x);
            if ((!last || last->rgb != rgb) && !(last = shade_of(s, rgb)))
                return DCR_FAIL;
            last->n++;
        }
    }
    return 0;
}

static int more_frequent(const void *a, const void *b)
{
    const struct shade *x = *(struct shade *const *)a, *y = *(struct shade *const *)b;
    if (x->n != y->n)
        return x->n > y->n ? -1 : 1;
    return x->rgb < y->rgb ? -1 : 1;
}

static int distance(uint32_t a, uint32_t b)
{
    int r = (int)(a >> 16) - (int)(b >> 16), g = (int)(a >> 8 & 0xff) - (int)(b >> 8 & 0xff),
        blue = (int)(a & 0xff) - (int)(b & 0xff);
    return r * r + g * g + blue * blue;
}

/* Takes the most frequent shades, then each time the one farthest from all shades taken so far, so that the largest
 * error is small (farthest-point clustering: Gonzalez, Theoretical Computer Science 38, 1985). out      shape (PALETTE)
 *  returns  number of colours; 0: no memory Not inlined, because its caller has a setjmp. */
__attribute__((noinline)) static int choose_palette(struct shades *s, png_color *out)
{
    enum { BY_FREQUENCY = 64 };
    struct shade **order = malloc(s->n * sizeof(struct shade *));
    int *away = malloc(s->n * sizeof *away), k = 0; /* distance from the nearest shade taken */
    size_t n = order && away ? s->n : 0, next = 0;
    for (size_t i = 0; i < n; i++)
        order[i] = &s->list[i];
    if (n)
        qsort(order, n, sizeof *order, more_frequent);
    for (size_t i = 0; i < n; i++)
        away[i] = INT_MAX;
    for (; k < PALETTE && n && away[next] > 0; k++) {
        uint32_t rgb = order[next]->rgb;
        out[k] = (png_color){(png_byte)(rgb >> 16), (png_byte)(rgb >> 8 & 0xff), (png_byte)(rgb & 0xff)};
        size_t farthest = 0;
        for (size_t i = 0; i < n; i++) {
            int d = distance(order[i]->rgb, rgb);
            if (d < away[i]) {
                away[i] = d;
                order[i]->place = (unsigned char)k;
            }
            farthest = away[i] > away[farthest] ? i : farthest;
        }
        next = k + 1 < BY_FREQUENCY && (size_t)k + 1 < n ? (size_t)k + 1 : farthest;
    }
    free(order);
    free(away);
    return k;
}

static void write_rows(png_structp png, cairo_surface_t *surface, struct shades *s, unsigned char *row)
{
    int w = cairo_image_surface_get_width(surface), h = cairo_image_surface_get_height(surface);
    size_t stride = (size_t)cairo_image_surface_get_stride(surface);
    const unsigned char *pixels = cairo_image_surface_get_data(surface);
    for (int y = 0; y < h; y++) {
        const unsigned char *line = pixels + (size_t)y * stride;
        const struct shade *last = NULL;
        int n = is_as_above(line, stride, y, w) ? 0 : w; /* the row is in `row` already */
        for (int x = 0; x < n; x++) {
            uint32_t rgb = pixel(line, x);
            last = last && last->rgb == rgb ? last : shade_of(s, rgb);
            row[x] = last->place;
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
    struct shades shades = {0};
    png_color palette[PALETTE];
    unsigned char *row = malloc(w);
    int n_colours = count_shades(p->on.surface, &shades) ? 0 : choose_palette(&shades, palette);
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &failure, png_failed, png_ignored);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    if (!row || !info || !n_colours) {
        dcr_err_set(&failure, DCR_FAIL, "out of memory for a PNG");
        goto out;
    }
    if (setjmp(png_jmpbuf(png)))
        goto out;
    png_set_write_fn(png, out, png_append, png_flush_nothing);
    png_set_IHDR(png, info, w, h, 8, PNG_COLOR_TYPE_PALETTE, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_set_PLTE(png, info, palette, n_colours);
    png_uint_32 per_metre = (png_uint_32)lround(96 * p->scale / 0.0254);
    png_set_pHYs(png, info, per_metre, per_metre, PNG_RESOLUTION_METER);
    set_notes(png, info, notes, n_notes);
    /* In flat colours most rows equal the row above, so nearly all bytes become 0 and runs are enough. This takes a
     * third of the time of any other setting at about the same size. */
    png_set_filter(png, 0, PNG_FILTER_UP);
    png_set_compression_level(png, 2);
    png_set_compression_strategy(png, Z_RLE);
    png_write_info(png, info);
    write_rows(png, p->on.surface, &shades, row);
    png_write_end(png, info);
    status = 0;
out:
    if (status)
        dcr_err_set(err, DCR_FAIL, "%s", failure.text);
    png_destroy_write_struct(&png, &info);
    free(row);
    free(shades.list);
    dcr_map_release(&shades.number);
    return status;
}
