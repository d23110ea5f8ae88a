/* typeface.c - see typeface.h. Widths come from cairo's unhinted metrics, so that they scale and do not depend on the
 * output's resolution. Called by canvas.c and the charts. */
#include "render/draw/typeface.h"
#include "lib/base/utf8.h"

#include <cairo.h>
#include <fontconfig/fontconfig.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Advance widths are measured once per character at this size and scaled: kerning in DejaVu Sans is small. */
#define EM 1000.0
#define TABLE 1024

struct typeface {
    cairo_surface_t *surface;
    cairo_t *cr[2];           /* regular, bold */
    double advance[2][TABLE]; /* in em/EM; 0 = not measured yet */
};

static cairo_t *context(cairo_surface_t *surface, cairo_font_weight_t weight)
{
    cairo_t *cr = cairo_create(surface);
    cairo_font_options_t *options = cairo_font_options_create();
    cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
    cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
    cairo_set_font_options(cr, options);
    cairo_font_options_destroy(options);
    cairo_select_font_face(cr, TYPEFACE_FAMILY, CAIRO_FONT_SLANT_NORMAL, weight);
    cairo_set_font_size(cr, EM);
    return cr;
}

struct typeface *typeface_new(void)
{
    struct typeface *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->surface = cairo_image_surface_create(CAIRO_FORMAT_A8, 1, 1);
    t->cr[0] = context(t->surface, CAIRO_FONT_WEIGHT_NORMAL);
    t->cr[1] = context(t->surface, CAIRO_FONT_WEIGHT_BOLD);
    return t;
}

void typeface_free(struct typeface *t)
{
    if (!t)
        return;
    cairo_destroy(t->cr[0]);
    cairo_destroy(t->cr[1]);
    cairo_surface_destroy(t->surface);
    free(t);
}

static double advance(struct typeface *t, bool bold, const char *character, uint32_t code)
{
    double *known = code < TABLE ? &t->advance[bold][code] : NULL;
    if (known && *known > 0)
        return *known;
    cairo_text_extents_t e;
    cairo_text_extents(t->cr[bold], character, &e);
    if (known)
        *known = e.x_advance;
    return e.x_advance;
}

void typeface_forget(void)
{
    cairo_debug_reset_static_data();
    FcFini();
}

double typeface_width(struct typeface *t, struct font font, const char *text)
{
    double sum = 0;
    while (*text) {
        char c[5];
        uint32_t code;
        text += utf8_next(text, c, &code);
        sum += advance(t, font.is_bold, c, code);
    }
    return sum * font.size / EM;
}

double typeface_fit(struct typeface *t, struct font font, const char *text, double width, char *out, size_t out_size)
{
    static const char dots[] = "\xe2\x80\xa6";
    double scale = font.size / EM, sum = 0, kept_sum = 0;
    double dots_width = advance(t, font.is_bold, dots, 0x2026) * scale;
    size_t len = 0, kept = 0;
    bool cut = false;
    while (*text && !cut) {
        char c[5];
        uint32_t code;
        text += utf8_next(text, c, &code);
        size_t n = strlen(c);
        sum += advance(t, font.is_bold, c, code) * scale;
        cut = sum > width || len + n + sizeof dots > out_size;
        if (cut)
            break;
        memcpy(out + len, c, n);
        len += n;
        if (sum + dots_width <= width) {
            kept = len;
            kept_sum = sum;
        }
    }
    if (!cut) {
        out[len] = '\0';
        return sum;
    }
    if (dots_width > width || kept == 0) {
        out[0] = '\0';
        return 0;
    }
    memcpy(out + kept, dots, sizeof dots);
    return kept_sum + dots_width;
}
