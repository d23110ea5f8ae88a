/* paint_svg.h - the painter that writes SVG with real text.
 *
 * Every shape carries its colour twice: as presentation attribute (what it is on white paper) and as class ("f-comm",
 * "s-grid"), which a page's style sheet may recolour. No style attributes, no scripts, no ids: a page with a strict
 * Content-Security-Policy may contain the text, any number of times. */
#ifndef DCR_DRAW_PAINT_SVG_H
#define DCR_DRAW_PAINT_SVG_H

#include "lib/base/buf.h"
#include "render/draw/canvas.h"

struct paint_svg {
    struct canvas canvas;
    struct dcr_buf *out; /* borrows */
};

/** paint_svg_begin - write the <svg> tag.
 *  p           caller-owned; nothing to free
 *  out         borrows until paint_svg_end; appended to
 *  class_name  class attribute of the <svg>, [a-z -] only; may be NULL
 *  label       text alternative (role img, aria-label); NULL: hidden from screen readers, its caption speaks for it */
void paint_svg_begin(struct paint_svg *p, double width, double height, struct typeface *typeface,
                     const char *class_name, const char *label, struct dcr_buf *out);
/** paint_svg_end - close what is open. Failure shows in out->failed. */
void paint_svg_end(struct paint_svg *p);

#endif
