/* spans_join.c - short ranges of a large trace joined with their neighbours, so that the timeline shows that something
 * ran even if it cannot show what; see spans.h. Test: tests/unit/test_timeline.c */
#include "render/site/timeline/spans_inside.h"

#include <stdlib.h>
#include <string.h>

int spans_colour(const struct spans *s, const struct span *p)
{
    return p->name & SPAN_BLOCK ? (int)(p->name & ~SPAN_BLOCK) : s->names[p->name].colour;
}

/* A range without a neighbour to join stays a single range. */
static void put_block(struct spans *s, struct span_block *b)
{
    int most = 0;
    for (int c = 1; c < N_SPAN_COLOURS; c++)
        most = b->time_ns[c] > b->time_ns[most] ? c : most;
    s->span[s->n] = b->span;
    if (b->n > 1)
        s->span[s->n].name = SPAN_BLOCK | (uint32_t)most;
    if (b->n > 1)
        s->span[s->n].bytes = b->n;
    s->n++;
    memset(b, 0, sizeof *b);
}

/* The same rule as for the levels of detail (levels.c): far from the block, or the block is long enough to be seen
 * alone. */
static bool is_apart(const struct spans *s, const struct span *block, const struct span *p)
{
    int64_t block_end = block->start_ns + block->dur_ns;
    return p->start_ns - block_end >= s->least_ns || block->start_ns - (p->start_ns + p->dur_ns) >= s->least_ns ||
           block->dur_ns >= s->least_ns;
}

/* A range is drawn as part of a block from now on, so it is counted here under its name. */
static void count_joined(struct spans *s, const struct span *p)
{
    if (p->name & SPAN_BLOCK) /* the ranges of a block were counted when it was made */
        return;
    struct span_name *k = &s->names[p->name];
    k->count++;
    k->total_ns += p->dur_ns;
    if (p->dur_ns > k->joined_ns) {
        k->joined_ns = p->dur_ns;
        k->joined_file = s->tracks[p->row >> 6].file;
    }
}

void spans_join_one(struct spans *s, const struct span *p)
{
    struct span_block *b = &s->blocks[p->row >> 6];
    if (b->n && is_apart(s, &b->span, p))
        put_block(s, b);
    if (b->n == 0) {
        b->span = *p;
    } else {
        if (b->n == 1)
            count_joined(s, &b->span);
        count_joined(s, p);
        int64_t end = b->span.start_ns + b->span.dur_ns, p_end = p->start_ns + p->dur_ns;
        b->span.start_ns = p->start_ns < b->span.start_ns ? p->start_ns : b->span.start_ns;
        b->span.dur_ns = (p_end > end ? p_end : end) - b->span.start_ns;
    }
    b->n += p->name & SPAN_BLOCK ? p->bytes : 1;
    b->time_ns[spans_colour(s, p)] += p->dur_ns;
}

static void put_all(struct spans *s)
{
    for (size_t i = 0; i < SPAN_FOREIGN_TRACKS; i++)
        if (s->blocks[i].n)
            put_block(s, &s->blocks[i]);
}

/* Sorted first, so that neighbours follow each other. It never writes more ranges than it read. */
static void join_shorter(struct spans *s)
{
    put_all(s);
    spans_sort(s, s->n_tracks << 6);
    size_t n = s->n;
    s->n = 0;
    for (size_t i = 0; i < n; i++) {
        struct span p = s->span[i];
        if (p.dur_ns < s->least_ns)
            spans_join_one(s, &p);
        else
            s->span[s->n++] = p;
    }
    put_all(s);
}

static bool are_too_many(const struct spans *s, int64_t least_ns)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++)
        n += s->span[i].dur_ns >= least_ns;
    return n > SPANS_OF_LARGE / 4 * 3;
}

void spans_join_room(struct spans *s)
{
    while (s->n > SPANS_OF_LARGE / 4 * 3) {
        do /* ranges that stay single must fit */
            s->least_ns = s->least_ns ? 2 * s->least_ns : 1000;
        while (are_too_many(s, s->least_ns));
        join_shorter(s);
    }
}

void spans_join(struct spans *s)
{
    s->blocks = calloc(SPAN_FOREIGN_TRACKS, sizeof *s->blocks);
    if (!s->blocks)
        abort(); /* as the arena does */
    size_t cap = s->cap > SPANS_OF_LARGE + SPAN_FOREIGN_TRACKS ? s->cap : SPANS_OF_LARGE + SPAN_FOREIGN_TRACKS;
    struct span *more = realloc(s->span, cap * sizeof *more);
    if (!more)
        abort();
    s->span = more;
    s->cap = cap;
    spans_join_room(s);
    s->span = realloc(s->span, (SPANS_OF_LARGE + SPAN_FOREIGN_TRACKS) * sizeof *more);
    if (!s->span)
        abort();
    s->cap = SPANS_OF_LARGE + SPAN_FOREIGN_TRACKS;
}

void spans_join_end(struct spans *s)
{
    if (!s->blocks)
        return;
    put_all(s);
    free(s->blocks);
    s->blocks = NULL;
    s->joined_ns = s->least_ns;
    s->least_ns = 0;
}
