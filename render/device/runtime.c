/* runtime.c - see runtime.h. */
#include "render/device/runtime.h"

#include <stdlib.h>

struct call {
    struct spill_key key; /* start, end */
};
struct runtime_log {
    struct spill *calls;
    struct call open; /* calls that touch it extend it: a driver's calls lie inside those of the runtime */
    int has_open, has_any;
};

struct runtime_log *runtime_log_new(size_t max_bytes)
{
    struct runtime_log *l = calloc(1, sizeof *l);
    if (l && !(l->calls = spill_new(sizeof(struct call), max_bytes))) {
        free(l);
        return NULL;
    }
    return l;
}

void runtime_log_add(struct runtime_log *l, int64_t start_ns, int64_t dur_ns)
{
    int64_t end;
    l->has_any = 1;
    if (dur_ns <= 0 || __builtin_add_overflow(start_ns, dur_ns, &end))
        return;
    if (l->has_open && start_ns <= l->open.key.b && end >= l->open.key.a) {
        l->open.key.a = start_ns < l->open.key.a ? start_ns : l->open.key.a;
        l->open.key.b = end > l->open.key.b ? end : l->open.key.b;
        return;
    }
    if (l->has_open)
        spill_add(l->calls, &l->open);
    l->open = (struct call){{start_ns, end}};
    l->has_open = 1;
}

int runtime_log_has(const struct runtime_log *l)
{
    return l->has_any;
}

/* The part of [from, to) in each step; `from` ascends, and *at is the first step that may still hold some of it. */
static void give(struct device_steps *s, size_t *at, int64_t from, int64_t to)
{
    while (*at < s->n && s->list[*at].end_ns <= from)
        (*at)++;
    for (size_t i = *at; i < s->n && s->list[i].start_ns < to; i++) {
        int64_t lo = s->list[i].start_ns > from ? s->list[i].start_ns : from;
        int64_t hi = s->list[i].end_ns < to ? s->list[i].end_ns : to;
        s->list[i].runtime_ns += hi > lo ? hi - lo : 0;
    }
}

int runtime_log_finish(struct runtime_log *l, struct device_steps *steps, struct dcr_err *err)
{
    int64_t done = INT64_MIN; /* calls up to here are counted, so that overlapping time counts once */
    const struct call *c;
    size_t at = 0;
    if (l->has_open)
        spill_add(l->calls, &l->open);
    l->has_open = 0;
    if (steps->n == 0)
        return 0;
    int rc = spill_sort(l->calls, err);
    while (!rc && (c = spill_next(l->calls)) != NULL) {
        int64_t from = c->key.a > done ? c->key.a : done;
        if (from < c->key.b)
            give(steps, &at, from, c->key.b);
        done = c->key.b > done ? c->key.b : done;
    }
    return !rc && spill_failed(l->calls) ? dcr_err_set(err, DCR_FATAL, "cannot read back the temporary file of a trace")
                                         : rc;
}

void runtime_log_free(struct runtime_log *l)
{
    if (l)
        spill_free(l->calls);
    free(l);
}
