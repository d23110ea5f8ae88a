/* paint_pdf.h - the painter that makes PDF files: one page, lines and text as such, the fonts inside. */
#ifndef DCR_DRAW_PAINT_PDF_H
#define DCR_DRAW_PAINT_PDF_H

#include "lib/base/buf.h"
#include "render/draw/canvas.h"

struct paint_pdf;

/** paint_pdf_new - a page of width x height CSS pixels.
 *  scale     points (1/72 inch) per CSS pixel
 *  out       borrows until paint_pdf_free; the file is appended to it
 *  typeface  borrows until paint_pdf_free
 *  pdf       gives; paint_pdf_free accepts NULL
 *  errors    DCR_FAIL: no memory */
int paint_pdf_new(struct paint_pdf **pdf, double width, double height, double scale, struct typeface *typeface,
                  struct dcr_buf *out, struct dcr_err *err) DCR_MUST_CHECK;
void paint_pdf_free(struct paint_pdf *p);

/** paint_pdf_canvas - what charts draw on. borrows, lives as long as p. */
struct canvas *paint_pdf_canvas(struct paint_pdf *p);

/* Metadata of the file, UTF-8. */
struct pdf_note {
    const char *title, *subject, *keywords;
    const char *date; /* "2031-04-25T10:15:00Z": of the evidence, so that equal input gives equal bytes */
};

/** paint_pdf_finish - write the end of the file; nothing may be drawn after it.
 *  errors  DCR_FAIL: drawing failed or no memory */
int paint_pdf_finish(struct paint_pdf *p, const struct pdf_note *note, struct dcr_err *err) DCR_MUST_CHECK;

#endif
