/* chart.h - the kinds of figure. Each is described by plain arrays and drawn into a box of a canvas.
 *
 * Charts know nothing of runs, ranks or nodes: the caller brings names, numbers in the unit of the axis, and inks. A
 * value that is not finite was not measured and is never drawn as 0. Bars begin at zero. All arrays are borrowed for
 * the call. */
#ifndef DCR_DRAW_CHART_H
#define DCR_DRAW_CHART_H

#include "render/draw/canvas.h"

struct chart_text {
    const char *title; /* NULL: none; pages put their own heading above */
    const char *axis;  /* what the value axis shows, with its unit: "step time, ms" */
    const char *unit;  /* after numbers in labels: "ms", "%", "" */
    /* Writes a value in a label as the prose writes it; NULL = number_label3 and the unit. */
    void (*label)(double value, char *out, size_t n);
};

/* ---- stacked columns: categories of a whole, side by side ---------------------------------------- */
struct stack_part {
    const char *name;
    enum ink ink;
};
struct stack_bar {
    const char *label;   /* under the column: "4 nodes", "rank 3" */
    const double *value; /* one per part, 0 or more; shape (n_parts) */
    const char *mark;    /* NULL, or a word above the column: "slowest" */
    double lo, hi;       /* interval of the total, drawn as a whisker; hi <= lo: none */
    double ideal;        /* a line across the column at this height; <= 0: none */
};
struct chart_stack {
    struct chart_text text;
    const struct stack_part *parts; /* bottom to top, the order of every stack in a site */
    size_t n_parts;
    const struct stack_bar *bars;
    size_t n_bars;
    const char *x_title;            /* NULL: the labels suffice */
    bool is_percent;                /* axis 0 to 100, no totals */
    bool no_part_labels;            /* another panel beside this one has them */
    size_t group;                   /* number of columns that stand close together; 0 or 1: no groups */
    const char *const *group_label; /* under each group, what stands before the comma where there is little room; shape
                                       (n_bars / group) */
};
void chart_stack(struct canvas *c, struct box at, const struct chart_stack *spec);

/* ---- rows: horizontal bars, from zero or floating (a waterfall) --------------------------------------- */
struct row_bar {
    const char *name;
    double from, to; /* to < from: a gain */
    enum ink ink;
    const char *value; /* text at the bar: "+12 ms"; NULL: to - from as text.label writes it */
    bool is_total;     /* set in bold; the connecting line begins or ends here */
};
struct chart_rows {
    struct chart_text text;
    const struct row_bar *rows;
    size_t n_rows;
    bool is_waterfall; /* thin lines connect each end with the next beginning */
};
/** chart_rows_height - the height at which rows have their natural thickness. */
double chart_rows_height(const struct chart_rows *spec);
void chart_rows(struct canvas *c, struct box at, const struct chart_rows *spec);

/* ---- lines over steps, epochs or time ------------------------------------------------------------- */
struct line_series {
    const char *name; /* NULL: no label */
    enum ink ink;
    const double *x, *y; /* x ascending; shape (n) */
    size_t n;
    bool is_dashed;
};
struct line_span { /* a shaded range of x: warm-up */
    double from, to;
    const char *name;
};
struct line_level { /* a reference line: the median */
    double y;
    const char *name;
    enum ink ink;
};
struct line_band { /* from the least to the greatest, behind the lines */
    const double *x, *lo, *hi;
    size_t n;
    enum ink ink;
};
struct chart_lines {
    struct chart_text text;
    const char *x_title;
    const struct line_band *band; /* NULL: none */
    const struct line_series *series;
    size_t n_series;
    size_t n_to_label; /* a label is level with the last value of so many points of its line; 0: of all */
    const struct line_span *spans;
    size_t n_spans;
    const struct line_level *levels;
    size_t n_levels;
    bool x_is_whole; /* ticks at whole numbers */
    bool y_is_free;  /* the axis need not begin at 0 (loss curves) */
    double y_max;    /* end of the axis; 0: from the data. Values above are cut off at the edge and counted in words */
    double x_from, x_to;                                /* ends of the x axis; x_to <= x_from: from the data */
    void (*x_label)(double value, char *out, size_t n); /* how a tick of the x axis reads; NULL: as a number */
    bool hide_x_labels;                                 /* another panel below has them */
    double least_gutter; /* minimum room at the left for the numbers of the axis: panels of one axis share it */
    double least_side;   /* minimum room at the right for labels: panels of one axis share it */
};
/** chart_lines_gutter - the room at the left that the numbers of the axis take in a box of about this height. */
double chart_lines_gutter(struct canvas *c, double height, const struct chart_lines *spec);
/** chart_lines_side - the room that the labels at the right would take in a box of this width. */
double chart_lines_side(struct canvas *c, double width, const struct chart_lines *spec);
void chart_lines(struct canvas *c, struct box at, const struct chart_lines *spec);

/* ---- shades: rows by columns ------------------------------------------------------------------------- */
struct chart_heat {
    struct chart_text text;
    const char *const *row_name; /* shape (n_rows) */
    const char *const
        *mark; /* a word at the right of a row that stands out, NULL none; shape (n_rows); NULL: no marks */
    size_t n_rows, n_cols;
    const double *value; /* 0 or less: no shade; not finite: not measured, no shade; shape (n_rows)(n_cols) */
    double full;         /* from here on the full ink */
    double x_from, x_to; /* of the first and the last column */
    const char *x_title;
};
/** chart_heat_height - the height at which rows have their natural thickness. */
double chart_heat_height(const struct chart_heat *spec);
void chart_heat(struct canvas *c, struct box at, const struct chart_heat *spec);

/* ---- speed-up against ideal ------------------------------------------------------------------------ */
struct speedup_point {
    double n;         /* nodes */
    double speedup;   /* against the reference */
    double lo, hi;    /* interval; not finite: none */
    const char *note; /* beside the point, NULL none: "efficiency 96 %" */
    bool is_hollow;   /* not to be relied on */
};
struct chart_speedup {
    struct chart_text text;
    const char *noun;                   /* the unit of n: "node" */
    const struct speedup_point *points; /* ascending n */
    size_t n_points;
    double n_ref;              /* the reference's n: ideal is n / n_ref */
    const double *fit_n, *fit; /* a fitted curve, n_fit = 0 none */
    size_t n_fit;
    const char *fit_name;
};
void chart_speedup(struct canvas *c, struct box at, const struct chart_speedup *spec);

/* ---- a trend beside a number ----------------------------------------------------------------------- */

#endif
