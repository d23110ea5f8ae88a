/* paint_svg.c - see paint_svg.h. Coordinates are written with two decimals: a hundredth of a pixel is invisible and
 * keeps pages small. A clip is a nested <svg>, which needs no id. Called by render/site/figures/figure.c. */
#include "render/draw/paint_svg.h"

#include "lib/base/text.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* At most two decimals, without trailing zeros. Uses integers, because a large site prints millions of numbers. */
static void put_number(struct dcr_buf *out, double v)
{
    char text[32], *end = text + sizeof text, *at = end;
    long long hundredths = llround(v * 100);
    unsigned long long n = hundredths < 0 ? 0ull - (unsigned long long)hundredths : (unsigned long long)hundredths;
    unsigned fraction = (unsigned)(n % 100);
    if (fraction % 10)
        *--at = (char)('0' + fraction % 10);
    if (fraction) {
        *--at = (char)('0' + fraction / 10);
        *--at = '.';
    }
    n /= 100;
    do
        *--at = (char)('0' + n % 10);
    while (n /= 10);
    if (hundredths < 0)
        *--at = '-';
    dcr_buf_add(out, at, (size_t)(end - at));
}

static void put_attribute(struct dcr_buf *out, const char *name, double v)
{
    dcr_buf_printf(out, " %s=\"", name);
    put_number(out, v);
    dcr_buf_putc(out, '"');
}

static void put_fill(struct dcr_buf *out, enum ink ink)
{
    dcr_buf_printf(out, " class=\"f-%s\" fill=\"#%06x\"", ink_class(ink), (unsigned)ink_rgb(ink));
}

static void put_points(struct dcr_buf *out, const struct point *p, size_t n)
{
    dcr_buf_puts(out, " points=\"");
    for (size_t i = 0; i < n; i++) {
        if (i)
            dcr_buf_putc(out, ' ');
        put_number(out, p[i].x);
        dcr_buf_putc(out, ',');
        put_number(out, p[i].y);
    }
    dcr_buf_putc(out, '"');
}

static struct dcr_buf *out_of(void *state)
{
    return ((struct paint_svg *)state)->out;
}

static void svg_rect(void *state, struct box at, enum ink fill)
{
    struct dcr_buf *out = out_of(state);
    dcr_buf_puts(out, "<rect");
    put_attribute(out, "x", at.x);
    put_attribute(out, "y", at.y);
    put_attribute(out, "width", at.w);
    put_attribute(out, "height", at.h);
    put_fill(out, fill);
    dcr_buf_puts(out, "/>");
}

static void svg_polyline(void *state, const struct point *p, size_t n, struct stroke stroke)
{
    struct dcr_buf *out = out_of(state);
    dcr_buf_puts(out, "<polyline");
    put_points(out, p, n);
    dcr_buf_printf(out, " class=\"s-%s\" fill=\"none\" stroke=\"#%06x\"", ink_class(stroke.ink),
                   (unsigned)ink_rgb(stroke.ink));
    put_attribute(out, "stroke-width", stroke.width);
    if (n > 2)
        dcr_buf_puts(out, " stroke-linejoin=\"round\"");
    if (stroke.is_dashed)
        dcr_buf_puts(out, " stroke-dasharray=\"4 3\"");
    dcr_buf_puts(out, "/>");
}

static void svg_area(void *state, const struct point *p, size_t n, enum ink fill, double opacity)
{
    struct dcr_buf *out = out_of(state);
    dcr_buf_puts(out, "<polygon");
    put_points(out, p, n);
    put_fill(out, fill);
    if (opacity < 1)
        put_attribute(out, "fill-opacity", opacity);
    dcr_buf_puts(out, "/>");
}

static void svg_disc(void *state, struct point centre, double radius, enum ink fill)
{
    struct dcr_buf *out = out_of(state);
    dcr_buf_puts(out, "<circle");
    put_attribute(out, "cx", centre.x);
    put_attribute(out, "cy", centre.y);
    put_attribute(out, "r", radius);
    put_fill(out, fill);
    dcr_buf_puts(out, "/>");
}

static void svg_text(void *state, struct point at, enum align align, struct font font, enum ink fill, const char *text)
{
    static const char *const anchor[] = {"", " text-anchor=\"middle\"", " text-anchor=\"end\""};
    struct dcr_buf *out = out_of(state);
    dcr_buf_puts(out, "<text");
    put_attribute(out, "x", at.x);
    put_attribute(out, "y", at.y);
    put_attribute(out, "font-size", font.size);
    dcr_buf_printf(out, "%s%s", anchor[align], font.is_bold ? " font-weight=\"bold\"" : "");
    put_fill(out, fill);
    dcr_buf_putc(out, '>');
    text_xml(out, text);
    dcr_buf_puts(out, "</text>");
}

static void svg_clip(void *state, struct box to)
{
    struct paint_svg *p = state;
    dcr_buf_puts(p->out, "<svg overflow=\"hidden\"");
    put_attribute(p->out, "x", to.x);
    put_attribute(p->out, "y", to.y);
    put_attribute(p->out, "width", to.w);
    put_attribute(p->out, "height", to.h);
    dcr_buf_puts(p->out, " viewBox=\"");
    put_number(p->out, to.x);
    dcr_buf_putc(p->out, ' ');
    put_number(p->out, to.y);
    dcr_buf_putc(p->out, ' ');
    put_number(p->out, to.w);
    dcr_buf_putc(p->out, ' ');
    put_number(p->out, to.h);
    dcr_buf_puts(p->out, "\">");
}

static void svg_unclip(void *state)
{
    dcr_buf_puts(out_of(state), "</svg>");
}

static void svg_note(void *state, const char *text)
{
    struct dcr_buf *out = out_of(state);
    dcr_buf_puts(out, "<g><title>");
    text_xml(out, text);
    dcr_buf_puts(out, "</title>");
}

static void svg_end_note(void *state)
{
    dcr_buf_puts(out_of(state), "</g>");
}

static const struct canvas_painter svg_painter = {
    svg_rect, svg_polyline, svg_area, svg_disc, svg_text, svg_clip, svg_unclip, svg_note, svg_end_note,
};

void paint_svg_begin(struct paint_svg *p, double width, double height, struct typeface *typeface,
                     const char *class_name, const char *label, struct dcr_buf *out)
{
    *p = (struct paint_svg){{&svg_painter, p, typeface, width, height}, out};
    dcr_buf_puts(out, "<svg xmlns=\"http://www.w3.org/2000/svg\"");
    if (class_name)
        dcr_buf_printf(out, " class=\"%s\"", class_name);
    put_attribute(out, "width", width);
    put_attribute(out, "height", height);
    dcr_buf_puts(out, " viewBox=\"0 0 ");
    put_number(out, width);
    dcr_buf_putc(out, ' ');
    put_number(out, height);
    dcr_buf_puts(out, "\" font-family=\"" TYPEFACE_FAMILY ", Verdana, sans-serif\"");
    if (label) {
        dcr_buf_puts(out, " role=\"img\" aria-label=\"");
        text_xml(out, label);
        dcr_buf_putc(out, '"');
    } else {
        dcr_buf_puts(out, " aria-hidden=\"true\"");
    }
    dcr_buf_putc(out, '>');
}

void paint_svg_end(struct paint_svg *p)
{
    dcr_buf_puts(p->out, "</svg>\n");
}
