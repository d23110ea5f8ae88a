/* spans_finish.c - turns collected ranges into rows: sorted, lanes packed, ranks numbered; see spans.h. Called by
 * timeline.c. Test: tests/unit/test_timeline.c */
#include "render/site/timeline/spans_inside.h"

#include <stdlib.h>
#include <string.h>

#define LANES_MAX 32
#define LANES_IN_FLIGHT 8

/* Order of the ranges of one row. */
static int compare(const struct span *x, const struct span *y)
{
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    if (x->dur_ns != y->dur_ns)
        return x->dur_ns > y->dur_ns ? -1 : 1;
    return x->name < y->name ? -1 : x->name > y->name;
}

static int compare_at(const void *a, const void *b, void *span)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    int c = compare((const struct span *)span + x, (const struct span *)span + y);
    return c ? c : x < y ? -1 : x > y;
}

/* Moves each range to its place: order[i] is the index of the i-th one. order is used up. */
static void permute(struct span *span, uint32_t *order, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (order[i] == i)
            continue;
        struct span first = span[i];
        size_t at = i;
        while (order[at] != i) {
            size_t from = order[at];
            span[at] = span[from];
            order[at] = (uint32_t)at;
            at = from;
        }
        span[at] = first;
        order[at] = (uint32_t)at;
    }
}

/* By row, then start; equal ranges keep their order. Ranges of a row nearly always come in order, so they are dealt out
 * to the rows, and only a row out of order is sorted. */
void spans_sort(struct spans *s, size_t n_rows)
{
    size_t *at = calloc(n_rows + 1, sizeof *at), sum = 0;
    uint32_t *order = malloc((s->n + 1) * sizeof *order);
    if (!at || !order)
        abort(); /* as the arena does */
    for (size_t i = 0; i < s->n; i++)
        at[s->span[i].row]++;
    for (size_t r = 0; r < n_rows; r++) {
        size_t n = at[r];
        at[r] = sum;
        sum += n;
    }
    for (size_t i = 0; i < s->n; i++)
        order[at[s->span[i].row]++] = (uint32_t)i;
    for (size_t i = 0, end; i < s->n; i = end) {
        end = at[s->span[order[i]].row];
        size_t k = i + 1;
        while (k < end && compare(&s->span[order[k - 1]], &s->span[order[k]]) <= 0)
            k++;
        if (k < end)
            qsort_r(order + i, end - i, sizeof *order, compare_at, s->span);
    }
    permute(s->span, order, s->n);
    free(order);
    free(at);
}

/* Ranges that may overlap go into the first free lane; all depths of such a track are 0 so far. */
static void pack_lanes(struct span *span, size_t n, int n_lanes)
{
    int64_t end[LANES_MAX];
    int used = 0;
    for (size_t i = 0; i < n; i++) {
        int lane = 0;
        while (lane < used && end[lane] > span[i].start_ns)
            lane++;
        if (lane == n_lanes)
            lane = n_lanes - 1; /* drawn over another range: more ranges at once could not be seen */
        if (lane == used)
            end[used++] = 0;
        end[lane] = span[i].start_ns + span[i].dur_ns;
        span[i].row |= (uint32_t)lane;
    }
}

static int by_rank(const void *a, const void *b)
{
    const struct span_track *x = *(const struct span_track *const *)a, *y = *(const struct span_track *const *)b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    if (x->stream != y->stream)
        return x->stream < y->stream ? -1 : 1;
    return x < y ? -1 : x > y; /* order of appearance */
}

/* Tracks by rank, and rows numbered through. */
static void number_rows(struct spans *s)
{
    struct span_track **order = dcr_arena_alloc(&s->arena, (s->n_tracks + 1) * sizeof *order);
    struct span_track *sorted = dcr_arena_alloc(&s->arena, (s->n_tracks + 1) * sizeof *sorted);
    for (size_t i = 0; i < s->n_tracks; i++)
        order[i] = &s->tracks[i];
    for (size_t i = 0; i < s->n; i++) {
        struct span_track *t = &s->tracks[s->span[i].row >> 6];
        uint32_t depth = s->span[i].row & SPANS_DEPTH_MAX;
        t->n_rows = depth + 1 > t->n_rows ? depth + 1 : t->n_rows;
    }
    if (s->n_tracks)
        qsort(order, s->n_tracks, sizeof *order, by_rank);
    for (size_t i = 0; i < s->n_tracks; i++) {
        order[i]->first_row = s->n_rows;
        s->n_rows += order[i]->n_rows;
    }
    for (size_t i = 0; i < s->n; i++)
        s->span[i].row = s->tracks[s->span[i].row >> 6].first_row + (s->span[i].row & SPANS_DEPTH_MAX);
    for (size_t i = 0; i < s->n_tracks; i++)
        sorted[i] = *order[i];
    s->tracks = sorted;
}

static void count(struct spans *s)
{
    for (size_t i = 0; i < s->n; i++) {
        const struct span *p = &s->span[i];
        if (p->start_ns + p->dur_ns > s->total_ns)
            s->total_ns = p->start_ns + p->dur_ns;
        if (p->name & SPAN_BLOCK) {
            s->n_joined += p->bytes;
            s->n_blocks++;
            continue;
        }
        struct span_name *k = &s->names[p->name];
        k->count++;
        k->total_ns += p->dur_ns;
        int at = SPAN_LONGEST;
        while (at > 0 && k->longest[at - 1].dur_ns < p->dur_ns)
            at--;
        if (at == SPAN_LONGEST)
            continue;
        memmove(&k->longest[at + 1], &k->longest[at], (size_t)(SPAN_LONGEST - 1 - at) * sizeof *k->longest);
        k->longest[at] = *p;
    }
}

void spans_align(struct spans *s)
{
    uint32_t n_files = 0;
    for (size_t i = 0; i < s->n_tracks; i++)
        n_files = s->tracks[i].file >= n_files ? s->tracks[i].file + 1 : n_files;
    if (n_files < 2)
        return;
    struct reach {
        int64_t from, to;
    } *reach = dcr_arena_alloc(&s->arena, n_files * sizeof *reach), *first = NULL;
    for (uint32_t f = 0; f < n_files; f++)
        reach[f] = (struct reach){INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < s->n; i++) {
        const struct span *p = &s->span[i];
        struct reach *r = &reach[s->tracks[p->row >> 6].file];
        r->from = p->start_ns < r->from ? p->start_ns : r->from;
        r->to = p->start_ns + p->dur_ns > r->to ? p->start_ns + p->dur_ns : r->to;
    }
    for (uint32_t f = 0; f < n_files && !first; f++)
        first = reach[f].to >= reach[f].from ? &reach[f] : NULL;
    if (!first)
        return;
    for (size_t i = 0; i < s->n; i++) {
        struct span *p = &s->span[i];
        const struct reach *r = &reach[s->tracks[p->row >> 6].file];
        if (r->from <= first->to && r->to >= first->from)
            continue;
        p->start_ns = p->start_ns - r->from + first->from;
        s->is_aligned = true;
    }
}

void spans_finish(struct spans *s)
{
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < s->n; i++)
        first = s->span[i].start_ns < first ? s->span[i].start_ns : first;
    for (size_t i = 0; i < s->n; i++)
        s->span[i].start_ns -= first;
    spans_sort(s, s->n_tracks << 6);
    for (size_t i = 0; i < s->n;) {
        size_t end = i;
        while (end < s->n && s->span[end].row == s->span[i].row)
            end++;
        const struct span_track *t = &s->tracks[s->span[i].row >> 6];
        if (t->is_beside) /* for nested ranges the lane is the depth */
            pack_lanes(s->span + i, end - i, t->kind == TRACK_HOST ? LANES_MAX : LANES_IN_FLIGHT);
        i = end;
    }
    number_rows(s);
    spans_sort(s, s->n_rows);
    count(s);
}
