/* typeface.c - see typeface.h. Widths come from cairo's unhinted metrics, so that they scale and do not depend on the
 * output's resolution. Called by canvas.c and the charts. */
#include "render/draw/typeface.h"

#include <cairo.h>
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

/* Decodes one character as RFC 3629 has it (no surrogates, no long forms). returns  its bytes, 0 when there is none */
static size_t decode(const unsigned char *s, uint32_t *code)
{
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    if (s[0] < 0x80) {
        *code = s[0];
        return 1;
    }
    size_t n = s[0] >= 0xf0 && s[0] < 0xf5 ? 4 : s[0] >= 0xe0 && s[0] < 0xf0 ? 3 : s[0] >= 0xc2 && s[0] < 0xe0 ? 2 : 0;
    if (n == 0)
        return 0;
    uint32_t v = s[0] & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        v = (v << 6) | (s[i] & 0x3fu);
    }
    if (v < least[n] || v > 0x10ffff || (v >= 0xd800 && v < 0xe000) || v == 0xfffe || v == 0xffff)
        return 0;
    *code = v;
    return n;
}

/* The next character of s as valid UTF-8 in out; returns the bytes of s it took. */
static size_t next_character(const char *s, char out[5], uint32_t *code)
{
    size_t n = decode((const unsigned char *)s, code);
    if (n == 0 || *code < 0x20 || (*code >= 0x7f && *code < 0xa0)) {
        memcpy(out, "\xef\xbf\xbd", 4);
        *code = 0xfffd;
        return n ? n : 1;
    }
    memcpy(out, s, n);
    out[n] = '\0';
    return n;
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

double typeface_width(struct typeface *t, struct font font, const char *text)
{
    double sum = 0;
    while (*text) {
        char c[5];
        uint32_t code;
        text += next_character(text, c, &code);
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
        text += next_character(text, c, &code);
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

size_t utf8_clean(const char *text, char *out, size_t out_size)
{
    size_t len = 0;
    while (*text) {
        char c[5];
        uint32_t code;
        size_t took = next_character(text, c, &code);
        size_t n = strlen(c);
        if (len + n + 1 > out_size)
            break;
        memcpy(out + len, c, n);
        len += n;
        text += took;
    }
    out[len] = '\0';
    return len;
}
