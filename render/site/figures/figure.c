/* figure.c - see figure.h. */
#include "render/site/figures/figure.h"

#include "render/draw/paint_pdf.h"
#include "render/draw/paint_png.h"
#include "render/draw/paint_svg.h"
#include "render/draw/scale.h"
#include "render/say/format.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MARGIN 20.0

static void put_svg(struct site *s, const struct figure *f, double width, double height, const char *class_name,
                    struct dcr_buf *out)
{
    struct paint_svg svg;
    paint_svg_begin(&svg, width, height, s->typeface, class_name, f->alt, out);
    f->draw(&svg.canvas, (struct box){0, 0, width, height}, f->spec, false);
    paint_svg_end(&svg);
}

/* The drawing area on paper, in CSS pixels: one or two columns of a journal, with room for the title. */
static struct box paper(const struct figure *f)
{
    bool is_full = f->wide > FIGURE_HALF;
    return (struct box){0, 0, is_full ? FIGURE_PAGE_PT / FIGURE_PT_SCALE : FIGURE_NARROW,
                        (is_full ? f->height : f->narrow_height) + 26};
}

static void write_png(struct site *s, const struct figure *f, struct box at, double scale, const char *path)
{
    struct paint_png *png = NULL;
    struct dcr_buf bytes = {0};
    if (s->rc)
        return;
    int rc = paint_png_new(&png, 2 * at.x + at.w, 2 * at.y + at.h, scale, s->typeface, s->err);
    if (rc)
        goto out;
    f->draw(paint_png_canvas(png), at, f->spec, true);
    const struct png_note notes[] = {
        {"Title", f->title},
        {"Description", f->alt},
        {"Source", s->sources},
        {"Software", "dcreport " DCR_VERSION},
    };
    rc = paint_png_finish(png, notes, sizeof notes / sizeof notes[0], &bytes, s->err);
    if (rc == 0)
        site_write(s, path, dcr_buf_text(&bytes), bytes.len);
out:
    site_fail(s, rc);
    paint_png_free(png);
    dcr_buf_release(&bytes);
}

void figure_png(struct site *s, const struct figure *f, double scale, const char *path)
{
    write_png(s, f, (struct box){MARGIN, MARGIN, f->wide, f->height + 26}, scale, path);
}

static void write_pdf(struct site *s, const struct figure *f, const char *path)
{
    struct paint_pdf *pdf = NULL;
    struct dcr_buf bytes = {0};
    struct box at = paper(f);
    int rc = paint_pdf_new(&pdf, at.w, at.h, FIGURE_PT_SCALE, s->typeface, &bytes, s->err);
    if (rc)
        goto out;
    f->draw(paint_pdf_canvas(pdf), at, f->spec, true);
    rc = paint_pdf_finish(pdf, &(struct pdf_note){f->title, f->alt, s->sources, s->date}, s->err);
out:
    paint_pdf_free(pdf); /* before its bytes are looked at */
    site_fail(s, rc);
    if (rc == 0)
        site_write(s, path, dcr_buf_text(&bytes), bytes.len);
    dcr_buf_release(&bytes);
}

static void write_svg(struct site *s, const struct figure *f, const char *path)
{
    struct dcr_buf bytes = {0};
    struct paint_svg painter;
    paint_svg_begin(&painter, f->wide, f->height + 26, s->typeface, NULL, f->alt, &bytes);
    f->draw(&painter.canvas, (struct box){0, 0, f->wide, f->height + 26}, f->spec, true);
    paint_svg_end(&painter);
    site_write(s, path, dcr_buf_text(&bytes), bytes.len);
    dcr_buf_release(&bytes);
}

static void write_files(struct site *s, const struct figure *f, json_t *view)
{
    if (s->rc || (f->run >= 0 && s->rep->n_runs > FIGURE_RUN_FILES_MAX))
        return;
    const char *at = f->run >= 0 ? site_text(s, "runs/%s/", s->rep->runs[f->run].slug) : "";
    static const char *const names[] = {"png", "svg", "pdf"};
    const char *path[3];
    for (int i = 0; i < 3; i++) {
        const char *from = site_text(s, "figures/%s.%s", f->stem, names[i]);
        path[i] = site_text(s, "%s%s", at, from);
        view_text(s, view, i == 1 ? "svg_file" : names[i], from);
    }
    write_png(s, f, paper(f), FIGURE_PNG_SCALE, path[0]);
    write_svg(s, f, path[1]);
    write_pdf(s, f, path[2]);
    site_data_file(s, f->title, site_text(s, "PNG|%s|SVG|%s|PDF|%s", path[0], path[1], path[2]), f->run);
}

json_t *figure_view(struct site *s, const struct figure *f)
{
    struct dcr_buf svg = {0};
    json_t *view = view_object(s);
    put_svg(s, f, f->wide, f->height, "wide", &svg);
    put_svg(s, f, FIGURE_NARROW, f->narrow_height, "narrow", &svg);
    view_html(s, view, "svg", &svg);
    dcr_buf_release(&svg);
    view_text(s, view, "stem", f->stem);
    view_text(s, view, "title", f->title);
    view_text(s, view, "caption", f->caption);
    view_flag(s, view, "full", f->wide > FIGURE_HALF);
    view_set(s, view, "png", json_null());
    view_set(s, view, "svg_file", json_null());
    view_set(s, view, "pdf", json_null());
    if (f->table)
        site_table(s, f->table, f->stem, f->run);
    view_set(s, view, "table", f->table ? f->table : json_null());
    write_files(s, f, view);
    return view;
}

static void put(const struct fmt *f, char *out, size_t n)
{
    snprintf(out, n, "%s", f->text);
}

#define TIME_LABEL(name, ns)                                                  \
    static void name(double value, char *out, size_t n)                       \
    {                                                                         \
        struct fmt f = fmt_time_beside(llround(value * (ns)), (int64_t)(ns)); \
        put(&f, out, n);                                                      \
    }
TIME_LABEL(label_ns, 1)
TIME_LABEL(label_us, 1e3)
TIME_LABEL(label_ms, 1e6)
TIME_LABEL(label_s, 1e9)

struct time_axis time_axis_for(int64_t max_ns)
{
    struct unit u = unit_of_seconds((double)max_ns * 1e-9);
    struct time_axis a = {u.divisor * 1e9, u.name, label_s};
    a.label = u.divisor < 1e-8 ? label_ns : u.divisor < 1e-5 ? label_us : u.divisor < 1e-2 ? label_ms : label_s;
    return a;
}

void label_percent(double value, char *out, size_t n)
{
    struct fmt f = fmt_percent(value / 100);
    put(&f, out, n);
}

void label_factor(double value, char *out, size_t n)
{
    struct fmt f = fmt_x(value);
    put(&f, out, n);
}

enum ink part_ink(enum part p)
{
    switch (p) {
    case PART_COMPUTE:
        return INK_COMPUTE;
    case PART_TRANSFER:
        return INK_COMM;
    case PART_WAIT:
        return INK_WAIT;
    case PART_DATA:
        return INK_DATA;
    case PART_IO:
        return INK_IO;
    case PART_COPY:
        return INK_COPY;
    default:
        return INK_OTHER;
    }
}
