/* memory.c - see memory.h. */
#include "render/device/memory.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_DEVICES = 64, MAX_BYTES = 48 }; /* of memory: below 2^48, so that sums of 2^15 such stay within 63 bits */

struct memory_record {
    struct spill_key key; /* device, time */
    int64_t allocated, reserved;
};

struct seen {
    int64_t device, from_ns, to_ns;
    int is_change;
};

struct memory_log {
    struct spill *events;
    struct seen seen[MAX_DEVICES];
    int n;
};

/* One device while its events pass by. */
struct walk {
    struct device_memory *out;
    const struct seen *seen;
    const struct device_steps *steps;
    int64_t level, low; /* low: lowest sum of changes, <= 0: memory from before the recording */
    size_t step;
    int64_t step_peak;
    int has_step_peak;
    double n, sum_x, sum_y, sum_xx, sum_xy; /* of (step, its peak) */
};

struct memory_log *memory_log_new(size_t max_bytes)
{
    struct memory_log *m = calloc(1, sizeof *m);
    if (m && !(m->events = spill_new(sizeof(struct memory_record), max_bytes))) {
        free(m);
        return NULL;
    }
    return m;
}

static void add(struct memory_log *m, struct memory_record r, int is_change)
{
    struct seen *s = NULL;
    for (int i = 0; i < m->n && !s; i++)
        s = m->seen[i].device == r.key.a ? &m->seen[i] : NULL;
    if (!s) {
        if (m->n == MAX_DEVICES)
            return;
        s = &m->seen[m->n++];
        *s = (struct seen){r.key.a, r.key.b, r.key.b, is_change};
    }
    const int64_t most = (int64_t)1 << MAX_BYTES;
    if (s->is_change != is_change || r.allocated > most || r.allocated < -most || r.reserved > most ||
        r.key.b < -RUN_MAX_TIME_NS || r.key.b > RUN_MAX_TIME_NS)
        return;
    s->from_ns = r.key.b < s->from_ns ? r.key.b : s->from_ns;
    s->to_ns = r.key.b > s->to_ns ? r.key.b : s->to_ns;
    spill_add(m->events, &r);
}

void memory_log_state(struct memory_log *m, int64_t device, int64_t t_ns, int64_t allocated, int64_t reserved)
{
    add(m, (struct memory_record){{device, t_ns}, allocated, reserved}, 0);
}

void memory_log_change(struct memory_log *m, int64_t device, int64_t t_ns, int64_t bytes)
{
    add(m, (struct memory_record){{device, t_ns}, bytes, -1}, 1);
}

/* Ends the current step. Its peak is one point of the line through the peaks. */
static void close_step(struct walk *w)
{
    if (w->has_step_peak) {
        double x = (double)w->step, y = (double)w->step_peak;
        w->n++;
        w->sum_x += x;
        w->sum_y += y;
        w->sum_xx += x * x;
        w->sum_xy += x * y;
    }
    w->has_step_peak = 0;
}

/* Closes the steps that end by t. The step that holds t begins with the current level. */
static void reach_step(struct walk *w, int64_t t)
{
    while (w->step < w->steps->n && w->steps->list[w->step].host_end_ns <= t) {
        close_step(w);
        w->step++;
    }
    if (w->step < w->steps->n && w->steps->list[w->step].host_start_ns <= t && !w->has_step_peak && w->out->n) {
        w->step_peak = w->level;
        w->has_step_peak = 1;
    }
}

static void add_point(struct walk *w, int64_t t, int64_t level, int64_t reserved)
{
    struct device_memory *d = w->out;
    int64_t span = w->seen->to_ns - w->seen->from_ns + 1;
    int bucket = (int)((__int128)(t - w->seen->from_ns) * DEVICE_MEMORY_POINTS / span);
    int64_t at = (int64_t)((__int128)span * bucket / DEVICE_MEMORY_POINTS);
    struct memory_point *p = d->n_points ? &d->points[d->n_points - 1] : NULL;
    if (!p || p->t_ns != at) {
        p = &d->points[d->n_points++];
        *p = (struct memory_point){at, level, reserved};
    }
    p->allocated = level > p->allocated ? level : p->allocated;
    p->reserved = reserved > p->reserved ? reserved : p->reserved;
}

static void take(struct walk *w, const struct memory_record *r)
{
    struct device_memory *d = w->out;
    reach_step(w, r->key.b);
    int64_t level = w->seen->is_change ? w->level + r->allocated : r->allocated;
    if (level > (int64_t)1 << 62 || level < -((int64_t)1 << 62))
        return;
    w->level = level;
    w->low = level < w->low ? level : w->low;
    if (d->n++ == 0) {
        d->first_allocated = w->seen->is_change ? 0 : level;
        d->peak_allocated = level;
        d->peak_reserved = -1;
    }
    d->last_allocated = level;
    d->peak_allocated = level > d->peak_allocated ? level : d->peak_allocated;
    d->peak_reserved = r->reserved > d->peak_reserved ? r->reserved : d->peak_reserved;
    if (w->step < w->steps->n && w->steps->list[w->step].host_start_ns <= r->key.b) {
        w->step_peak = w->has_step_peak && w->step_peak > level ? w->step_peak : level;
        w->has_step_peak = 1;
    }
    add_point(w, r->key.b, level, r->reserved);
}

/* Releases of earlier allocations show that the level began at least that high. */
static void finish(struct walk *w)
{
    struct device_memory *d = w->out;
    close_step(w);
    d->first_allocated -= w->low;
    d->last_allocated -= w->low;
    d->peak_allocated -= w->low;
    for (int i = 0; i < d->n_points; i++)
        d->points[i].allocated -= w->low;
    double spread = w->n * w->sum_xx - w->sum_x * w->sum_x;
    d->n_step_peaks = (int64_t)w->n;
    d->has_growth = w->n >= 3 && spread > 0;
    d->growth_bytes_per_step = d->has_growth ? (w->n * w->sum_xy - w->sum_x * w->sum_y) / spread : 0;
}

static const struct seen *seen_of(const struct memory_log *m, int64_t device)
{
    int i = 0;
    while (m->seen[i].device != device)
        i++;
    return &m->seen[i];
}

int memory_log_finish(struct memory_log *m, const struct device_steps *steps, struct dcr_arena *arena,
                      struct device_memory **out, int *n, struct dcr_err *err)
{
    struct walk w = {.out = NULL};
    const struct memory_record *r;
    int rc = spill_sort(m->events, err);
    *n = 0;
    *out = dcr_arena_alloc(arena, (size_t)(m->n + 1) * sizeof **out);
    while (!rc && (r = spill_next(m->events)) != NULL) {
        if (!w.out || w.out->device != r->key.a) {
            if (w.out)
                finish(&w);
            w = (struct walk){.out = &(*out)[(*n)++], .seen = seen_of(m, r->key.a), .steps = steps};
            *w.out = (struct device_memory){.device = r->key.a, .is_driver = w.seen->is_change};
            w.out->points = dcr_arena_alloc(arena, DEVICE_MEMORY_POINTS * sizeof *w.out->points);
        }
        take(&w, r);
    }
    if (w.out)
        finish(&w);
    if (!rc && spill_failed(m->events))
        rc = dcr_err_set(err, DCR_FATAL, "cannot read back the temporary file of a trace");
    return rc;
}

void memory_log_free(struct memory_log *m)
{
    if (!m)
        return;
    spill_free(m->events);
    free(m);
}
