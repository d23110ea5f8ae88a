/* paint_cairo.h - draws the strokes of a canvas with cairo, onto pixels or PDF. Used by paint_png.c and paint_pdf.c
 * only. */
#ifndef DCR_DRAW_PAINT_CAIRO_H
#define DCR_DRAW_PAINT_CAIRO_H

#include "render/draw/canvas.h"

#include <cairo.h>

struct paint_cairo {
    struct canvas canvas;
    cairo_surface_t *surface;
    cairo_t *cr;
};

/** paint_cairo_begin - white paper, text unhinted.
 *  surface   takes; released by paint_cairo_release
 *  scale     surface units per CSS pixel
 *  typeface  borrows
 *  returns   false when cairo cannot draw on it; the reason by cairo_status(p->cr) */
bool paint_cairo_begin(struct paint_cairo *p, cairo_surface_t *surface, double width, double height, double scale,
                       struct typeface *typeface);
void paint_cairo_release(struct paint_cairo *p);

#endif
