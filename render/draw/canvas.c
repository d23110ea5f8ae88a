/* canvas.c - see canvas.h. Guards the painters: empty shapes, numbers that are not finite and text that is not UTF-8
 * stop here. Called by the charts. */
#include "render/draw/canvas.h"
#include "lib/base/utf8.h"

#include <math.h>
#include <string.h>

/* The longest line of text a figure shows; more is cut at a character. */
#define TEXT_BYTES 1024

static bool finite2(struct point p)
{
    return isfinite(p.x) && isfinite(p.y);
}

void canvas_rect(struct canvas *c, struct box at, enum ink fill)
{
    if (finite2((struct point){at.x, at.y}) && isfinite(at.w) && isfinite(at.h) && at.w > 0 && at.h > 0)
        c->painter->rect(c->state, at, fill);
}

void canvas_line(struct canvas *c, struct point from, struct point to, struct stroke stroke)
{
    struct point p[2] = {from, to};
    canvas_polyline(c, p, 2, stroke);
}

void canvas_polyline(struct canvas *c, const struct point *p, size_t n, struct stroke stroke)
{
    size_t i = 0;
    while (i < n) {
        while (i < n && !finite2(p[i]))
            i++;
        size_t start = i;
        while (i < n && finite2(p[i]))
            i++;
        if (i - start > 1)
            c->painter->polyline(c->state, p + start, i - start, stroke);
        else if (i - start == 1) /* a lone value between two gaps is still a value */
            c->painter->disc(c->state, p[start], stroke.width, stroke.ink);
    }
}

void canvas_area(struct canvas *c, const struct point *p, size_t n, enum ink fill, double opacity)
{
    for (size_t i = 0; i < n; i++)
        if (!finite2(p[i]))
            return;
    if (n > 2)
        c->painter->area(c->state, p, n, fill, opacity);
}

void canvas_disc(struct canvas *c, struct point centre, double radius, enum ink fill)
{
    if (finite2(centre) && radius > 0)
        c->painter->disc(c->state, centre, radius, fill);
}

void canvas_text(struct canvas *c, struct point at, enum align align, struct font font, enum ink fill, const char *text)
{
    char clean[TEXT_BYTES];
    if (finite2(at) && utf8_clean(text, clean, sizeof clean) > 0)
        c->painter->text(c->state, at, align, font, fill, clean);
}

void canvas_text_fit(struct canvas *c, struct point at, enum align align, struct font font, enum ink fill,
                     const char *text, double width)
{
    char kept[TEXT_BYTES];
    if (typeface_fit(c->typeface, font, text, width, kept, sizeof kept) > 0)
        canvas_text(c, at, align, font, fill, kept);
}

int canvas_text_lines(struct canvas *c, struct point at, struct font font, enum ink fill, const char *text,
                      double width, int n_lines)
{
    char line[TEXT_BYTES];
    int n = 0;
    while (*text && n < n_lines - 1) {
        size_t fits = 0, len = 0;
        while (len < sizeof line - 1 && text[len]) {
            len += strcspn(text + len + 1, " ") + 1; /* to the end of the next word */
            if (len >= sizeof line)
                break;
            memcpy(line, text, len);
            line[len] = '\0';
            if (typeface_width(c->typeface, font, line) > width)
                break;
            fits = len;
        }
        if (fits == 0)
            break; /* one word is too long: let it be shortened */
        memcpy(line, text, fits);
        line[fits] = '\0';
        canvas_text(c, (struct point){at.x, at.y + n * font.size * 1.4}, ALIGN_START, font, fill, line);
        text += fits + (text[fits] == ' ');
        n++;
    }
    if (*text) {
        canvas_text_fit(c, (struct point){at.x, at.y + n * font.size * 1.4}, ALIGN_START, font, fill, text, width);
        n++;
    }
    return n;
}

void canvas_clip(struct canvas *c, struct box to)
{
    c->painter->clip(c->state, to);
}

void canvas_unclip(struct canvas *c)
{
    c->painter->unclip(c->state);
}

void canvas_note(struct canvas *c, const char *text)
{
    char clean[TEXT_BYTES];
    utf8_clean(text, clean, sizeof clean);
    c->painter->note(c->state, clean);
}

void canvas_end_note(struct canvas *c)
{
    c->painter->end_note(c->state);
}

struct box box_inset(struct box b, double left, double top, double right, double bottom)
{
    return (struct box){b.x + left, b.y + top, fmax(0, b.w - left - right), fmax(0, b.h - top - bottom)};
}
