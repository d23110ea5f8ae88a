/* chart_trend.c - a few columns beside each other, for a key figure; see chart.h. */
#include "render/draw/chart_parts.h"

#include <math.h>

#define SEAM 3.0
#define COLUMN_MAX 46.0

void chart_trend(struct canvas *c, struct box at, const double *value, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++)
        most = isfinite(value[i]) ? fmax(most, value[i]) : most;
    if (n == 0)
        return;
    double pitch = fmin((at.w + SEAM) / (double)n, COLUMN_MAX + SEAM), foot = at.y + at.h - 1;
    for (size_t i = 0; i < n; i++) {
        double h = most > 0 && value[i] > 0 ? fmax(1, (at.h - 1) * value[i] / most) : 0;
        if (isfinite(value[i]) && h > 0)
            canvas_rect(c, (struct box){at.x + pitch * (double)i, foot - h, pitch - SEAM, h},
                        i + 1 == n ? INK_ACCENT : INK_AXIS);
    }
    canvas_line(c, (struct point){at.x, foot + 0.5}, (struct point){at.x + pitch * (double)n - SEAM, foot + 0.5},
                (struct stroke){INK_AXIS, 1, false});
}
