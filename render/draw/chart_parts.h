/* chart_parts.h - what the charts share: sizes, the value axis, labels beside the plot. Inside render/draw only. */
#ifndef DCR_DRAW_CHART_PARTS_H
#define DCR_DRAW_CHART_PARTS_H

#include "render/draw/chart.h"
#include "render/draw/scale.h"

#define FONT_LABEL ((struct font){12, false})
#define FONT_STRONG ((struct font){12, true})
#define FONT_SMALL ((struct font){11, false})
#define FONT_TITLE ((struct font){14, true})
#define LINE_HEIGHT 15.0

/** chart_head - draw title and axis name at the top of the box. returns  the box left for the plot */
struct box chart_head(struct canvas *c, struct box at, const struct chart_text *text);

/** chart_y_axis - grid lines and numbers left of the plot.
 *  plot  the whole width, numbers included
 *  returns  the plot without the numbers' gutter; scale gets its pixels: lo at the bottom */
double chart_y_gutter(struct canvas *c, const struct scale *scale, int most);
struct box chart_y_axis(struct canvas *c, struct box plot, struct scale *scale, int most);

/** chart_x_ticks - numbers under the plot and the axis title at the right end of the line below.
 *  label  how a tick reads; NULL: as a number */
void chart_x_ticks(struct canvas *c, struct box plot, const struct scale *x, const struct ticks *ticks,
                   void (*label)(double value, char *out, size_t n), const char *title);

/* A label beside the plot, with a thin line to where it belongs. */
struct side_label {
    double y; /* where it belongs */
    enum ink ink;
    const char *name;
    char value[48];
};
#define SIDE_LABELS_MAX 24
/** chart_side_width - gutter that the labels want, with their leaders; 0 without labels. Never more than most. */
double chart_side_width(struct canvas *c, const struct side_label *labels, size_t n, double most);
/** chart_side_labels - draw them spread out; labels need not be sorted and are sorted here.
 *  from_x  where the leaders begin; gutter  where the text may stand */
void chart_side_labels(struct canvas *c, struct side_label *labels, size_t n, double from_x, struct box gutter);

/** chart_value - a value as labels show it: text->label, else number_label3 and the unit. */
void chart_value(const struct chart_text *text, double value, char *out, size_t n);

#endif
