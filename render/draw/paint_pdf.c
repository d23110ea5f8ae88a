/* paint_pdf.c - see paint_pdf.h. Called by render/site/figures/figure.c. */
#include "render/draw/paint_pdf.h"

#include "render/draw/paint_cairo.h"

#include <cairo-pdf.h>
#include <stdlib.h>

struct paint_pdf {
    struct paint_cairo on;
};

static cairo_status_t append(void *closure, const unsigned char *bytes, unsigned n)
{
    struct dcr_buf *out = closure;
    dcr_buf_add(out, bytes, n);
    return out->failed ? CAIRO_STATUS_NO_MEMORY : CAIRO_STATUS_SUCCESS;
}

int paint_pdf_new(struct paint_pdf **pdf, double width, double height, double scale, struct typeface *typeface,
                  struct dcr_buf *out, struct dcr_err *err)
{
    *pdf = NULL;
    struct paint_pdf *p = calloc(1, sizeof *p);
    if (!p)
        return dcr_err_set(err, DCR_FAIL, "out of memory for a PDF");
    cairo_surface_t *surface = cairo_pdf_surface_create_for_stream(append, out, width * scale, height * scale);
    if (!paint_cairo_begin(&p->on, surface, width, height, scale, typeface)) {
        int rc = dcr_err_set(err, DCR_FAIL, "cannot start a PDF: %s", cairo_status_to_string(cairo_status(p->on.cr)));
        paint_pdf_free(p);
        return rc;
    }
    *pdf = p;
    return 0;
}

void paint_pdf_free(struct paint_pdf *p)
{
    if (!p)
        return;
    paint_cairo_release(&p->on);
    free(p);
}

struct canvas *paint_pdf_canvas(struct paint_pdf *p)
{
    return &p->on.canvas;
}

int paint_pdf_finish(struct paint_pdf *p, const struct pdf_note *note, struct dcr_err *err)
{
    cairo_surface_t *s = p->on.surface;
    cairo_pdf_surface_set_metadata(s, CAIRO_PDF_METADATA_TITLE, note->title);
    cairo_pdf_surface_set_metadata(s, CAIRO_PDF_METADATA_SUBJECT, note->subject);
    cairo_pdf_surface_set_metadata(s, CAIRO_PDF_METADATA_KEYWORDS, note->keywords);
    cairo_pdf_surface_set_metadata(s, CAIRO_PDF_METADATA_CREATOR, "dcreport " DCR_VERSION);
    cairo_pdf_surface_set_metadata(s, CAIRO_PDF_METADATA_CREATE_DATE, note->date);
    cairo_status_t drawn = cairo_status(p->on.cr);
    cairo_surface_finish(s);
    if (drawn == CAIRO_STATUS_SUCCESS)
        drawn = cairo_surface_status(s);
    return drawn ? dcr_err_set(err, DCR_FAIL, "cannot make a PDF: %s", cairo_status_to_string(drawn)) : 0;
}
