/* clocks.c - see clocks.h. */
#include "render/model/clocks.h"

#include "render/model/run.h"

#include <string.h>

const struct run_clock *run_clock_of(const struct run *r, const char *host)
{
    for (int i = 0; i < r->nodes_len; i++)
        if (r->nodes[i].clock.n && strcmp(r->nodes[i].host, host) == 0)
            return &r->nodes[i].clock;
    return NULL;
}

int64_t run_clock_offset(const struct run_clock *c, int64_t t_ns)
{
    const struct run_clock_point *p = c->points, *last = &c->points[c->n - 1];
    if (t_ns <= p->t_ns)
        return p->offset_ns;
    if (t_ns >= last->t_ns)
        return last->offset_ns;
    while (t_ns > p[1].t_ns)
        p++;
    double part = (double)(t_ns - p->t_ns) / (double)(p[1].t_ns - p->t_ns);
    return p->offset_ns + (int64_t)(part * (double)(p[1].offset_ns - p->offset_ns));
}

int64_t run_clock_error(const struct run_clock *c)
{
    int64_t worst = 0;
    for (int i = 0; i < c->n; i++)
        worst = c->points[i].error_ns > worst ? c->points[i].error_ns : worst;
    return worst;
}

int run_clock_drift(const struct run_clock *c, double *ppm, double *error_ppm)
{
    const struct run_clock_point *first = &c->points[0], *last = &c->points[c->n - 1];
    double seconds = (double)(last->t_ns - first->t_ns) / 1e9;
    if (seconds < 1)
        return -1;
    *ppm = (double)(last->offset_ns - first->offset_ns) / seconds / 1e3;
    *error_ppm = (double)(first->error_ns + last->error_ns) / seconds / 1e3;
    return 0;
}
