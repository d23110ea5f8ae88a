/* ranges.c - named ranges of programs in native traces, summed over the ranks of a run by name. */
#include "render/model/build.h"

#include <stdlib.h>
#include <string.h>

#define RUN_MAX_RANGES 4096

static int compare_name(const struct host_operator *x, const struct host_operator *y)
{
    int order = strcmp(x->name, y->name);
    return order ? order : (int)x->kind - (int)y->kind;
}

/* Limits sums to 63 bits, because a damaged file may hold any numbers. */
static void add(int64_t *sum, int64_t more)
{
    if (__builtin_add_overflow(*sum, more, sum))
        *sum = INT64_MAX;
}

static void join(struct host_operator *x, const struct host_operator *y)
{
    if (!x->n || x->min_ns < 0) {
        x->min_ns = y->min_ns;
        x->max_ns = y->max_ns;
    } else if (y->min_ns >= 0) {
        x->min_ns = x->min_ns < y->min_ns ? x->min_ns : y->min_ns;
        x->max_ns = x->max_ns > y->max_ns ? x->max_ns : y->max_ns;
    }
    add(&x->n, y->n);
    add(&x->total_ns, y->total_ns);
    if (x->self_ns >= 0 && y->self_ns >= 0)
        add(&x->self_ns, y->self_ns);
    else
        x->self_ns = -1;
}

/* Names ascend while the run is read. returns the index of the name, or where to insert it */
static int place_of(const struct host_operators *all, const struct host_operator *one)
{
    int low = 0, high = all->n_names;
    while (low < high) {
        int middle = (low + high) / 2;
        if (compare_name(&all->list[middle], one) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void add_range(struct run *r, struct host_operator one)
{
    struct host_operators *all = &r->ranges;
    int at = place_of(all, &one);
    int is_known = at < all->n_names && compare_name(&all->list[at], &one) == 0;
    if (!is_known && all->n_names >= RUN_MAX_RANGES - 1 && strcmp(one.name, SUMMARY_OTHER_NAMES) != 0) {
        one.name = SUMMARY_OTHER_NAMES;
        one.kind = OPERATOR_RANGE;
        add_range(r, one);
        return;
    }
    if (!is_known) {
        all->list = arena_grow(&r->arena, all->list, (size_t)all->n_names, &r->ranges_cap, sizeof *all->list);
        memmove(&all->list[at + 1], &all->list[at], (size_t)(all->n_names - at) * sizeof *all->list);
        all->list[at] = (struct host_operator){.name = one.name, .kind = one.kind};
        all->n_names++;
    }
    join(&all->list[at], &one);
    add(&all->n, one.n);
}

void run_add_ranges(struct run *r, const struct summary *from)
{
    for (size_t i = 0; i < from->n_names; i++) {
        const struct name_sum *s = &from->names[i];
        int is_process = s->kind == DCT_START;
        int is_one_known = s->max_ns > 0 || s->sum_ns == 0; /* else every event was dropped, and only sums are left */
        if (s->kind != DCT_PUSH && !is_process)
            continue;
        add_range(r, (struct host_operator){.name = s->name,
                                            .kind = is_process ? OPERATOR_PROCESS : OPERATOR_RANGE,
                                            .n = s->n <= INT64_MAX ? (int64_t)s->n : INT64_MAX,
                                            .total_ns = s->sum_ns,
                                            .self_ns = is_process ? s->sum_ns : s->self_ns,
                                            .min_ns = is_one_known ? s->min_ns : -1,
                                            .max_ns = is_one_known ? s->max_ns : -1});
    }
}

static int compare_time(const void *a, const void *b)
{
    const struct host_operator *x = a, *y = b;
    int64_t s = x->self_ns, t = y->self_ns;
    if (s == t) {
        s = x->total_ns;
        t = y->total_ns;
    }
    return s != t ? (s > t ? -1 : 1) : compare_name(x, y);
}

void run_sort_ranges(struct run *r)
{
    if (r->ranges.n_names)
        qsort(r->ranges.list, (size_t)r->ranges.n_names, sizeof *r->ranges.list, compare_time);
}
