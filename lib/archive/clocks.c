/* clocks.c - see clocks.h. */
#include "lib/archive/clocks.h"

#include "lib/base/csv.h"
#include "lib/base/text.h"

#include <stdio.h>
#include <string.h>

/* Sums and differences of three such numbers stay within 64 bits. */
#define MAX_TIME_NS (INT64_MAX / 4)
#define MAX_ERROR_NS (INT64_MAX / 1048576)

/* ---- one host against the reference ------------------------------------------------------------ */

static int take_point(struct dcr_csv *csv, struct dcr_clock_point *p)
{
    return dcr_csv_int(csv, dcr_csv_column(csv, "t_ns"), &p->t_ns, NULL) ||
                   dcr_csv_int(csv, dcr_csv_column(csv, "offset_ns"), &p->offset_ns, NULL) ||
                   dcr_csv_int(csv, dcr_csv_column(csv, "error_ns"), &p->error_ns, NULL) || p->t_ns < 0 ||
                   p->t_ns > MAX_TIME_NS || p->offset_ns < -MAX_TIME_NS || p->offset_ns > MAX_TIME_NS ||
                   p->error_ns < 0 || p->error_ns > MAX_ERROR_NS
               ? -1
               : 0;
}

/* Keeps every stride-th reading and the last one. When the room is full, every second point is dropped. */
int dcr_clock_read(struct dcr_clock *c, struct dcr_arena *arena, struct dcr_stream *s, long *n_bad, struct dcr_err *err)
{
    struct dcr_csv *csv = NULL;
    int64_t row = 0, stride = 1;
    int is_extra = 0; /* the last point lies between two strides */
    *c = (struct dcr_clock){.reference = ""};
    *n_bad = 0;
    int rc = dcr_csv_open(&csv, s, err);
    if (rc)
        return rc;
    c->points = dcr_arena_alloc(arena, DCR_MAX_CLOCK_POINTS * sizeof *c->points);
    while ((rc = dcr_csv_next(csv, err)) == 0 || rc == DCR_FAIL) {
        struct dcr_clock_point p;
        if (rc || take_point(csv, &p) != 0 || (c->n && p.t_ns <= c->points[c->n - 1].t_ns)) {
            ++*n_bad;
            continue;
        }
        if (!*c->reference)
            c->reference = text_clean(arena, dcr_csv_text(csv, dcr_csv_column(csv, "reference")));
        c->n -= is_extra;
        if (c->n == DCR_MAX_CLOCK_POINTS) {
            for (int i = 0; i < DCR_MAX_CLOCK_POINTS / 2; i++)
                c->points[i] = c->points[2 * i];
            c->n = DCR_MAX_CLOCK_POINTS / 2;
            stride *= 2;
        }
        c->points[c->n++] = p;
        is_extra = row++ % stride != 0;
    }
    dcr_csv_close(csv);
    return rc == DCR_END ? 0 : rc;
}

int64_t dcr_clock_offset(const struct dcr_clock *c, int64_t t_ns)
{
    const struct dcr_clock_point *p = c->points, *last = &c->points[c->n - 1];
    if (t_ns <= p->t_ns)
        return p->offset_ns;
    if (t_ns >= last->t_ns)
        return last->offset_ns;
    for (int n = c->n; n > 2;) { /* p: the last point known to lie before t_ns */
        int half = n / 2;
        n = p[half].t_ns < t_ns ? n - half : half + 1;
        p = p[half].t_ns < t_ns ? p + half : p;
    }
    double part = (double)(t_ns - p->t_ns) / (double)(p[1].t_ns - p->t_ns);
    return p->offset_ns + (int64_t)(part * (double)(p[1].offset_ns - p->offset_ns));
}

int64_t dcr_clock_error(const struct dcr_clock *c)
{
    int64_t worst = 0;
    for (int i = 0; i < c->n; i++)
        worst = c->points[i].error_ns > worst ? c->points[i].error_ns : worst;
    return worst;
}

int dcr_clock_drift(const struct dcr_clock *c, double *ppm, double *error_ppm)
{
    const struct dcr_clock_point *first = &c->points[0], *last = &c->points[c->n - 1];
    double seconds = (double)(last->t_ns - first->t_ns) / 1e9;
    if (seconds < 1)
        return -1;
    *ppm = (double)(last->offset_ns - first->offset_ns) / seconds / 1e3;
    *error_ppm = (double)(first->error_ns + last->error_ns) / seconds / 1e3;
    return 0;
}

/* ---- all hosts on the calendar of one ----------------------------------------------------------- */

/* Adds without overflow: damaged readings may hold any number. */
static int64_t plus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t minus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

static struct dcr_host *known(const struct dcr_hosts *h, const char *name)
{
    for (size_t i = 0; i < h->n; i++)
        if (strncmp(h->list[i].name, name, DCR_HOST_NAME) == 0)
            return &h->list[i];
    return NULL;
}

static struct dcr_host *add(struct dcr_hosts *h, const char *name, int64_t shift_ns, const struct dcr_clock *clock)
{
    h->list = arena_grow(h->arena, h->list, h->n, &h->cap, sizeof *h->list);
    struct dcr_host *new = &h->list[h->n++];
    *new = (struct dcr_host){.shift_ns = shift_ns, .clock = clock, .is_reference = h->n == 1 && !clock};
    snprintf(new->name, sizeof new->name, "%.*s", DCR_HOST_NAME, name);
    return new;
}

struct dcr_host dcr_host_of(struct dcr_hosts *h, const char *name, int64_t mono_ns, int64_t real_ns,
                            const struct dcr_clock *clock)
{
    struct dcr_host *host = known(h, name);
    if (host && host->is_seen)
        return *host;
    int is_sane = real_ns >= 0 && real_ns <= MAX_TIME_NS && mono_ns >= 0 && mono_ns <= MAX_TIME_NS;
    int is_measured = clock && clock->n && *clock->reference && strcmp(clock->reference, name) != 0;
    if (!host && is_measured) {
        /* The calendar of the reference's first process; if there is none, that of this host. */
        struct dcr_host *reference = known(h, clock->reference);
        if (!reference)
            reference = add(h, clock->reference,
                            is_sane ? minus(real_ns, plus(mono_ns, dcr_clock_offset(clock, mono_ns))) : 0, NULL);
        reference->is_reference = 1;
        host = add(h, name, reference->shift_ns, clock);
    } else if (!host) {
        host = add(h, name, is_sane ? minus(real_ns, mono_ns) : 0, NULL);
    }
    host->is_seen = 1;
    h->n_seen++;
    if (host->clock) {
        int64_t error = dcr_clock_error(host->clock);
        h->n_measured++;
        h->error_ns = error > h->error_ns ? error : h->error_ns;
    }
    return *host;
}

int dcr_host_is_known(const struct dcr_hosts *h, const char *name)
{
    const struct dcr_host *host = known(h, name);
    return host && host->is_seen;
}

int64_t dcr_host_time(const struct dcr_host *h, int64_t t_ns)
{
    return plus(plus(t_ns, h->clock ? dcr_clock_offset(h->clock, t_ns) : 0), h->shift_ns);
}
