/* figure_draw.c - from a spec to strokes, with or without the figure's own title. */
#include "render/site/figures/figures_inside.h"

#define DRAW(name, type, chart_function)                                         \
    void name(struct canvas *c, struct box at, const void *spec, bool has_title) \
    {                                                                            \
        type chart = *(const type *)spec;                                        \
        if (!has_title)                                                          \
            chart.text.title = NULL;                                             \
        chart_function(c, at, &chart);                                           \
    }

DRAW(draw_rows, struct chart_rows, chart_rows)
DRAW(draw_stack, struct chart_stack, chart_stack)
DRAW(draw_lines, struct chart_lines, chart_lines)
DRAW(draw_speedup, struct chart_speedup, chart_speedup)
DRAW(draw_heat, struct chart_heat, chart_heat)
