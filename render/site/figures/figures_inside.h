/* figures_inside.h - the specs of a run's figures, shared by the page and the composed picture. Inside render/site
 * only.
 */
#ifndef RENDER_SITE_FIGURES_FIGURES_INSIDE_H
#define RENDER_SITE_FIGURES_FIGURES_INSIDE_H

#include "render/draw/chart.h"
#include "render/site/figures/figures.h"

struct steps_spec {
    struct chart_lines chart;
    struct line_series mean;
    struct line_band band;
    struct line_span warmup;
    struct line_level median;
};

#define PANELS_MAX 14
#define PANELS_SHEET 4 /* on the composed picture */
#define PANEL_HEIGHT 125.0
#define PANEL_LOW 96.0  /* if there are more than PANELS_SHEET */
#define PANEL_FOOT 22.0 /* what chart_lines leaves for the x axis, less what it leaves without */
#define MONITOR_LINES_MAX 16

struct monitors_spec {
    struct {
        struct chart_lines chart;
        struct line_series lines[MONITOR_LINES_MAX];
    } panel[PANELS_MAX];
    int n_panels;
    bool has_phases;    /* the last panel shows the parts of the steps */
    int64_t n_in_point; /* largest number of samples whose mean is a point */
};

#define RUN_OF(s, r) ((int)((r) - (s)->rep->runs))

/* Specs live in the site's arena. NULL or false: nothing was measured. */
bool breakdown_spec(struct site *s, const struct run_result *r, struct chart_rows *spec);
bool ranks_spec(struct site *s, const struct run_result *r, struct chart_stack *spec);
struct steps_spec *steps_spec(struct site *s, const struct run_result *r);
/* is_brief: CPU, memory and GPU use and the phases only, PANELS_SHEET at most. */
struct monitors_spec *monitors_spec(struct site *s, const struct run_result *r, bool is_brief);

/* figure_draw functions for the four kinds of spec */
void draw_rows(struct canvas *c, struct box at, const void *spec, bool has_title);
void draw_stack(struct canvas *c, struct box at, const void *spec, bool has_title);
void draw_lines(struct canvas *c, struct box at, const void *spec, bool has_title);
void draw_speedup(struct canvas *c, struct box at, const void *spec, bool has_title);
void draw_heat(struct canvas *c, struct box at, const void *spec, bool has_title);
void draw_monitors(struct canvas *c, struct box at, const void *spec, bool has_title);

#endif
