/* memory_timeline.c - PyTorch's raw memory timeline (export_memory_timeline("x.raw.json.gz")): [[t, action, bytes,
 * kind], ...] in order of time, bytes above zero when a tensor appears and below when it goes. Finds what each kind of
 * tensor held at the peak of the sum. source: torch/profiler/_memory_profiler.py, export_memory_timeline_raw. */
#include "render/import/text/parsers.h"

#include "render/import/text/decimal.h"
#include "render/import/text/json_window.h"

#include <stdio.h>

enum { N_KINDS = 8, N_FIELDS = 4 };
static const char *const kinds[N_KINDS] = {"parameters",  "optimizer state", "inputs",          "temporaries",
                                           "activations", "gradients",       "autograd detail", "not known"};

static const char *number(const char *p, const char *end)
{
    p += p < end && *p == '-';
    const char *first = p;
    while (p < end && *p >= '0' && *p <= '9')
        p++;
    return p > first ? p : NULL;
}

/* The place after "[t, action, bytes, kind]" at p; NULL if that is not there. shape (N_FIELDS) */
static const char *entry(const char *p, const char *end, int64_t *out)
{
    for (int i = 0; i < N_FIELDS; i++) {
        if (p >= end || *p++ != (i ? ',' : '['))
            return NULL;
        p = json_space(p, end);
        const char *after = number(p, end);
        if (!after || after >= end || decimal_scaled(p, end, 0, &out[i]))
            return NULL;
        p = json_space(after, end);
    }
    return p < end && *p == ']' ? p + 1 : NULL;
}

int memory_timeline_is(const char *head, size_t n)
{
    int64_t x[N_FIELDS];
    const char *end = head + n, *p = n && *head == '[' ? json_space(head + 1, end) : end;
    return entry(p, end, x) != NULL;
}

struct timeline {
    int64_t now[N_KINDS], at_peak[N_KINDS], own_peak[N_KINDS], total, peak, n;
};

static int take(struct timeline *m, const int64_t *x)
{
    int k = x[3] >= 0 && x[3] < N_KINDS ? (int)x[3] : N_KINDS - 1;
    if (__builtin_add_overflow(m->total, x[2], &m->total) || __builtin_add_overflow(m->now[k], x[2], &m->now[k]))
        return -1;
    m->own_peak[k] = m->now[k] > m->own_peak[k] ? m->now[k] : m->own_peak[k];
    m->n++;
    if (m->total > m->peak) {
        m->peak = m->total;
        for (k = 0; k < N_KINDS; k++)
            m->at_peak[k] = m->now[k];
    }
    return 0;
}

static int walk(struct window *w, struct timeline *m, const char *name, struct dcr_err *err)
{
    for (int is_begun = 0;;) {
        int64_t x[N_FIELDS];
        while (w->at < w->end && ((unsigned char)*w->at <= ' ' || *w->at == ',' || (unsigned char)*w->at >= 0x80))
            w->at++;
        if (w->at < w->end && *w->at == ']' && is_begun)
            return 0;
        if (!is_begun && w->at < w->end && *w->at == '[') {
            is_begun = 1;
            w->at++;
            continue;
        }
        const char *after = entry(w->at, w->end, x);
        if (after && take(m, x))
            return dcr_err_set(err, DCR_FAIL,
                               "'%s' holds sizes that do not fit into 64 bits, at byte %lld; export it again", name,
                               (long long)window_offset(w, w->at));
        if (after) {
            w->at = after;
            continue;
        }
        if (w->end - w->at > 256)
            return dcr_err_set(
                err, DCR_FAIL,
                "'%s' stops being a memory timeline at byte %lld: [t, action, bytes, kind] expected; export it again",
                name, (long long)window_offset(w, w->at));
        int rc = window_more(w, err);
        if (rc)
            return rc == DCR_END
                       ? dcr_err_set(err, DCR_FAIL, "'%s' ends in the middle, at byte %lld: it was cut; copy it again",
                                     name, (long long)window_offset(w, w->end))
                       : rc;
    }
}

int memory_timeline_read(struct run *r, struct dcr_stream *s, struct dcr_err *err)
{
    struct window w;
    struct timeline m = {.n = 0};
    int rc = window_open(&w, s, err);
    rc = rc ? rc : walk(&w, &m, s->name, err);
    window_close(&w);
    if (rc)
        return rc;
    struct foreign_table *t =
        run_add_table(r, s->name, FOREIGN_MEMORY_TIMELINE, "Memory of the framework by kind of tensor, bytes",
                      "Kind|#At the peak of all|#Own peak|#At the end");
    for (int k = 0; k < N_KINDS; k++) {
        table_add(r, t, "%s", kinds[k]);
        table_add(r, t, "%lld", (long long)m.at_peak[k]);
        table_add(r, t, "%lld", (long long)m.own_peak[k]);
        table_add(r, t, "%lld", (long long)m.now[k]);
    }
    table_add(r, t, "all");
    table_add(r, t, "%lld", (long long)m.peak);
    table_add(r, t, "%lld", (long long)m.peak);
    table_add(r, t, "%lld", (long long)m.total);
    return 0;
}
