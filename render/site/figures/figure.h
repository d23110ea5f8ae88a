/* figure.h - one drawing in all its forms. It is twice in the page (wide and narrow; the style sheet shows one of
 * them) and in PNG and SVG files, with its text alternative, caption and table. */
#ifndef RENDER_SITE_FIGURES_FIGURE_H
#define RENDER_SITE_FIGURES_FIGURE_H

#include "render/draw/canvas.h"
#include "render/site/theme/inside.h"

#define FIGURE_HALF 500.0
#define FIGURE_FULL 1040.0
#define FIGURE_NARROW 340.0
#define FIGURE_PNG_SCALE 3.125 /* 300 dots per inch, at the widths on paper */
/* Widths on paper, in points: one and two columns of a two-column journal (IEEE: 3.5 and 7.16 inches). Half figures are
 * drawn as for a phone, and full ones at the width that gives both the same type size. */
#define FIGURE_COLUMN_PT 252.0
#define FIGURE_PAGE_PT 516.0
#define FIGURE_PT_SCALE (FIGURE_COLUMN_PT / FIGURE_NARROW)

/* Pictures of many single runs would take more time than everything else, and hardly anybody prints them all. The pages
 * contain the drawings in any case. The data page says so. */
#define FIGURE_RUN_FILES_MAX 8

/* How a figure is drawn: into the box, with its own title only if no page gives one. borrows spec. */
typedef void figure_draw(struct canvas *c, struct box at, const void *spec, bool has_title);

struct figure {
    const char *stem;  /* anchor and file name: "speedup"; [a-z0-9-] */
    const char *title; /* a few words */
    const char *caption;
    const char *alt; /* what it shows, with its numbers */
    figure_draw *draw;
    const void *spec;
    double wide; /* FIGURE_HALF or FIGURE_FULL */
    double height, narrow_height;
    int run;       /* run that the files belong to: index into report.runs, -1: figures/ and tables/ of the site */
    json_t *table; /* takes; NULL none */
};

/** figure_view - draw and write the figure.
 *  returns  gives the object for the partial figure.html */
json_t *figure_view(struct site *s, const struct figure *f);

/** figure_png - draw one PNG file at path, as wide as on a page: f's box with a margin and its title.
 *  scale  image pixels per CSS pixel */
void figure_png(struct site *s, const struct figure *f, double scale, const char *path);

/* Axes of time: values are divided into `unit`, label writes one as the prose does. */
struct time_axis {
    double ns; /* of one unit */
    const char *unit;
    void (*label)(double value, char *out, size_t n);
};
struct time_axis time_axis_for(int64_t max_ns);
/** label_percent, label_factor - for chart_text.label: percent 0..100, speed-up. */
void label_percent(double value, char *out, size_t n);
void label_factor(double value, char *out, size_t n);

/** part_ink - the one colour of a part of the step. */
enum ink part_ink(enum part p);

#endif
