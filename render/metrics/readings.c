/* readings.c - see readings.h. */
#include "render/metrics/readings.h"

#include "render/metrics/recorded.h"

int readings_cover(const struct run_reading *list, int n, struct reading_window w)
{
    int64_t ns = w.to - w.from;
    return n > 1 && ns > 0 && w.from >= list[0].t_ns - ns / 20 && w.to <= list[n - 1].t_ns + ns / 4;
}

struct run_reading reading_at(const struct run_reading *list, int n, int64_t t_ns)
{
    int i = 1;
    while (i < n - 1 && list[i].t_ns < t_ns)
        i++;
    const struct run_reading *a = &list[i - 1], *b = &list[i];
    double part = b->t_ns > a->t_ns ? (double)(t_ns - a->t_ns) / (double)(b->t_ns - a->t_ns) : 0;
    part = part > 1 ? 1 : part; /* below 0 before the first reading: its slope is the best guess */
    return (struct run_reading){.t_ns = t_ns,
                                .run_delay_ns =
                                    a->run_delay_ns + (int64_t)(part * (double)(b->run_delay_ns - a->run_delay_ns)),
                                .cpu_ns = a->cpu_ns + (int64_t)(part * (double)(b->cpu_ns - a->cpu_ns)),
                                .own_ns = a->own_ns + (int64_t)(part * (double)(b->own_ns - a->own_ns)),
                                .misses = a->misses + (int64_t)(part * (double)(b->misses - a->misses))};
}

struct reading_window window_of_steps(const struct run_rank *k)
{
    struct recorded_rank part = recorded_of_rank(k);
    if (!k->n_steps && k->window.until_ns && part.ns > 0)
        return (struct reading_window){k->watched_from_ns + part.from_ns, k->watched_from_ns + part.to_ns};
    if (!k->n_steps)
        return (struct reading_window){0, 0};
    const struct step_record *last = &k->steps[k->n_steps - 1];
    return (struct reading_window){k->steps[0].start_ns, last->start_ns + last->step_ns};
}

struct reading_window window_of_counted(const struct run_rank *k)
{
    struct reading_window w = window_of_steps(k);
    if (k->n_warmup < k->n_steps)
        w.from = k->steps[k->n_warmup].start_ns;
    return w;
}
