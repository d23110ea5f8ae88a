/* trace_ranges.c - ranges of the process. Any thread may end them, and blocks come in the order in which threads fill
 * them, so the end may be read before the beginning. See trace_inside.h. Test: tests/unit/test_trace.c */
#include "lib/trace/trace_inside.h"

#include <stdlib.h>

static struct open_range half_of(const struct track *t, const struct dct_slot *s)
{
    struct open_range o = {
        .id = (uint64_t)s[s->n_extra].t_ns, .track = t->id, .name = s->name, .domain = s->domain, .start_ns = s->t_ns};
    if (s->n_extra >= 2)
        dct_keep_attr(&o, s + 1);
    return o;
}

static void keep_range(struct dct_reader *r, const struct track *t, const struct dct_slot *s)
{
    r->ranges = arena_grow(&r->arena, r->ranges, r->n_ranges, &r->cap_ranges, sizeof *r->ranges);
    dcr_map_set(&r->range_of, (uint64_t)s[s->n_extra].t_ns, r->n_ranges);
    r->ranges[r->n_ranges++] = half_of(t, s);
    r->n_open_total++;
}

static void forget_range(struct dct_reader *r, uint32_t i)
{
    dcr_map_delete(&r->range_of, r->ranges[i].id);
    r->n_ranges--;
    r->n_open_total--;
    if (i != r->n_ranges) { /* the last one fills the gap */
        r->ranges[i] = r->ranges[r->n_ranges];
        dcr_map_set(&r->range_of, r->ranges[i].id, i);
    }
}

static void forget_end(struct dct_reader *r, uint32_t i)
{
    dcr_map_delete(&r->end_of, r->ends[i].id);
    free(r->ends[i].raw);
    r->ends[i].raw = NULL;
    r->ends[i].is_end = 0;
    while (r->first_end < r->next_end && !r->ends[r->first_end % MAX_ENDS].is_end)
        r->first_end++;
    if (r->first_end == r->next_end)
        r->first_end = r->next_end = 0;
}

static void drop_oldest_end(struct dct_reader *r)
{
    forget_end(r, (uint32_t)(r->first_end % MAX_ENDS));
    r->loss.n_unmatched_pops += !r->is_cut;
}

/* Keeps an end whose beginning may still come. Ends have separate room, because most of those that wait long have no
 * beginning. */
static void keep_end(struct dct_reader *r, const struct track *t, const struct dct_slot *s)
{
    uint32_t i;
    uint64_t id = (uint64_t)s[s->n_extra].t_ns;
    int is_there = dcr_map_get(&r->end_of, id, &i);
    if (!is_there && r->next_end - r->first_end == MAX_ENDS)
        drop_oldest_end(r);
    if (is_there) {
        r->loss.n_unmatched_pops++;
        return;
    }
    i = (uint32_t)(r->next_end % MAX_ENDS);
    r->ends = arena_grow(&r->arena, r->ends, i, &r->cap_ends, sizeof *r->ends);
    dcr_map_set(&r->end_of, id, i);
    r->ends[i] = half_of(t, s);
    r->ends[i].is_end = 1;
    r->next_end++;
}

int dct_keep_start(struct dct_reader *r, const struct track *t, const struct dct_slot *s, struct open_range *out,
                   int64_t *end_ns)
{
    uint32_t i;
    uint64_t id = (uint64_t)s[s->n_extra].t_ns;
    if (dcr_map_get(&r->end_of, id, &i) && r->ends[i].start_ns >= s->t_ns) { /* its end was in an earlier block */
        *out = half_of(t, s);
        dct_add_kept(out, &r->ends[i]);
        *end_ns = r->ends[i].start_ns;
        forget_end(r, i);
        return 1;
    }
    if (dcr_map_get(&r->range_of, id, &i)) /* an ID used twice: one of the two ranges is never closed */
        r->loss.n_open_ranges++;
    else if (r->n_open_total >= MAX_OPEN)
        r->loss.n_too_many++;
    else
        keep_range(r, t, s);
    return 0;
}

int dct_close_start(struct dct_reader *r, const struct track *t, const struct dct_slot *s, struct open_range *out,
                    int64_t *end_ns)
{
    uint32_t i;
    if (!dcr_map_get(&r->range_of, (uint64_t)s[s->n_extra].t_ns, &i)) {
        keep_end(r, t, s); /* the beginning may be in a later block, since threads fill blocks at different times */
        return 0;
    }
    if (s->n_extra >= 2)
        dct_add_attr(&r->ranges[i], s + 1);
    *out = r->ranges[i];
    *end_ns = s->t_ns;
    forget_range(r, i);
    return 1;
}

void dct_drop_ends(struct dct_reader *r)
{
    while (r->first_end < r->next_end)
        drop_oldest_end(r);
}
