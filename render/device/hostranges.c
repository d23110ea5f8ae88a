/* hostranges.c - see hostranges.h. */
#include "render/device/hostranges.h"

#include <stdlib.h>

/* Intervals are walked once per device, so they stay in memory, merged: at most this many of loading, of files, and of
 * waiting calls (of all threads together). */
#define MAX_INTERVALS ((size_t)1 << 20)

struct range_record {
    struct spill_key key; /* enum host_range or N_HOST_RANGES + a thread, start */
    int64_t end_ns;
};

struct host_ranges {
    struct spill *ranges;
    struct threads threads;
    struct range_record open[N_HOST_RANGES + THREADS_MAX]; /* the range being extended */
    int has_open[N_HOST_RANGES + THREADS_MAX];
};

struct host_ranges *host_ranges_new(size_t max_bytes)
{
    struct host_ranges *h = calloc(1, sizeof *h);
    if (h && !(h->ranges = spill_new(sizeof(struct range_record), max_bytes))) {
        free(h);
        return NULL;
    }
    return h;
}

void host_ranges_free(struct host_ranges *h)
{
    if (h)
        spill_free(h->ranges);
    free(h);
}

int host_ranges_thread(struct host_ranges *h, int64_t process, int64_t thread)
{
    return threads_index(&h->threads, process, thread);
}

int64_t host_ranges_thread_id(const struct host_ranges *h, int at)
{
    return h->threads.of[at].thread;
}

/* kind: enum host_range, or N_HOST_RANGES + a thread */
static void add(struct host_ranges *h, int kind, int64_t start_ns, int64_t dur_ns)
{
    int64_t end;
    if (dur_ns <= 0 || __builtin_add_overflow(start_ns, dur_ns, &end))
        return;
    struct range_record *open = &h->open[kind];
    if (h->has_open[kind] && start_ns <= open->end_ns && end >= open->key.b) { /* nested or overlapping: one range */
        open->key.b = start_ns < open->key.b ? start_ns : open->key.b;
        open->end_ns = end > open->end_ns ? end : open->end_ns;
        return;
    }
    if (h->has_open[kind])
        spill_add(h->ranges, open);
    *open = (struct range_record){{(int64_t)kind, start_ns}, end};
    h->has_open[kind] = 1;
}

void host_ranges_add(struct host_ranges *h, enum host_range kind, int64_t start_ns, int64_t dur_ns)
{
    add(h, (int)kind, start_ns, dur_ns);
}

void host_ranges_wait(struct host_ranges *h, int thread, int64_t start_ns, int64_t dur_ns)
{
    add(h, HOST_SYNC, start_ns, dur_ns);
    if (thread >= 0)
        add(h, N_HOST_RANGES + thread, start_ns, dur_ns);
}

/* ---- what became of them ------------------------------------------------------------------------------- */

static void add_interval(struct dcr_arena *arena, struct intervals *x, int64_t from, int64_t to)
{
    if (x->n && from <= x->at[x->n - 1][1]) {
        if (to > x->at[x->n - 1][1])
            x->at[x->n - 1][1] = to;
        return;
    }
    x->at = arena_grow(arena, x->at, x->n, &x->cap, sizeof *x->at);
    x->at[x->n][0] = from;
    x->at[x->n++][1] = to;
}

/* x without what y covers */
static struct intervals without(struct dcr_arena *arena, const struct intervals *x, const struct intervals *y)
{
    struct intervals out = {0};
    size_t k = 0;
    for (size_t i = 0; i < x->n; i++) {
        int64_t from = x->at[i][0], to = x->at[i][1];
        while (k < y->n && y->at[k][1] <= from)
            k++;
        for (size_t j = k; j < y->n && y->at[j][0] < to; j++) {
            if (y->at[j][0] > from)
                add_interval(arena, &out, from, y->at[j][0]);
            from = y->at[j][1] > from ? y->at[j][1] : from;
        }
        if (from < to)
            add_interval(arena, &out, from, to);
    }
    return out;
}

int host_ranges_finish(struct host_ranges *h, struct dcr_arena *arena, struct host_side *out, int *is_too_many,
                       struct dcr_err *err)
{
    for (int k = 0; k < N_HOST_RANGES + h->threads.n; k++)
        if (h->has_open[k])
            spill_add(h->ranges, &h->open[k]);
    int rc = spill_sort(h->ranges, err);
    const struct range_record *r;
    size_t n_of_threads = 0;
    *is_too_many = 0;
    *out = (struct host_side){.threads = &h->threads};
    while (!rc && (r = spill_next(h->ranges)) != NULL) { /* all of a kind, then the next: threads come last */
        struct intervals *x = &out->of[r->key.a];
        int is_of_thread = r->key.a >= N_HOST_RANGES;
        size_t n = x->n;
        if ((is_of_thread ? n_of_threads : n) >= MAX_INTERVALS) {
            *is_too_many = 1;
            if (is_of_thread)
                break;
            continue;
        }
        add_interval(arena, x, r->key.b, r->end_ns);
        n_of_threads += is_of_thread ? x->n - n : 0;
    }
    if (!rc && spill_failed(h->ranges))
        rc = dcr_err_set(err, DCR_FATAL, "cannot read back the temporary file of a trace");
    out->of[HOST_IO] = without(arena, &out->of[HOST_IO], &out->of[HOST_DATA]);
    out->of[HOST_COMM] = without(arena, &out->of[HOST_COMM], &out->of[HOST_DATA]);
    out->of[HOST_COMM] = without(arena, &out->of[HOST_COMM], &out->of[HOST_IO]);
    return rc;
}

int64_t intervals_covered(const struct intervals *x, int64_t from, int64_t to, size_t *cursor)
{
    int64_t sum = 0;
    while (*cursor < x->n && x->at[*cursor][1] <= from)
        (*cursor)++;
    for (size_t i = *cursor; i < x->n && x->at[i][0] < to; i++) {
        int64_t lo = x->at[i][0] > from ? x->at[i][0] : from, hi = x->at[i][1] < to ? x->at[i][1] : to;
        sum += hi - lo;
    }
    return sum;
}
