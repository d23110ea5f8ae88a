/* paint_png.h - the painter that makes PNG files: cairo draws, libpng writes. */
#ifndef DCR_DRAW_PAINT_PNG_H
#define DCR_DRAW_PAINT_PNG_H

#include "lib/base/buf.h"
#include "render/draw/canvas.h"

struct paint_png;

/** paint_png_new - a white sheet.
 *  width, height  CSS pixels, 1..20000 after scaling
 *  scale          image pixels per CSS pixel; 2 gives 192 dots per inch
 *  typeface       borrows until paint_png_free
 *  out            gives; paint_png_free accepts NULL
 *  errors         DCR_FAIL: no memory or a size out of range */
int paint_png_new(struct paint_png **out, double width, double height, double scale, struct typeface *typeface,
                  struct dcr_err *err) DCR_MUST_CHECK;
void paint_png_free(struct paint_png *p);

/** paint_png_canvas - what charts draw on. borrows, lives as long as p. */
struct canvas *paint_png_canvas(struct paint_png *p);

/* One line of provenance inside the file. */
struct png_note {
    const char *key;  /* PNG keyword: "Title", "Description", "Software", "Source"; 1..79 Latin letters */
    const char *text; /* UTF-8 */
};

/** paint_png_finish - append the whole file to out: 8-bit RGB, pHYs from the scale, notes as tEXt (iTXt when not
 *  ASCII). No time stamp: the same strokes give the same bytes with the same libpng and zlib.
 *  errors  DCR_FAIL: drawing or encoding failed */
int paint_png_finish(struct paint_png *p, const struct png_note *notes, size_t n_notes, struct dcr_buf *out,
                     struct dcr_err *err) DCR_MUST_CHECK;

#endif
