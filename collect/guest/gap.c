/* gap.c - see gap.h. Test: tests/integration/collect_gap.sh */
#include "collect/guest/gap.h"

#include "collect/guest/hot.h"

#include <string.h>

/* ---- the nodes -------------------------------------------------------------------------------- */

/* Looks among the first n nodes for one that already counts events like this one.
 *  returns  its index; GAP_NONE: no node does */
static uint32_t find(const struct gap *g, uint32_t n, const struct gap_node *like)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct gap_node *x = &g->node[i];
        if (x->n && x->name == like->name && x->parent == like->parent && x->kind == like->kind &&
            x->domain == like->domain && x->category == like->category)
            return i;
    }
    return GAP_NONE;
}

static void add(struct gap_node *to, const struct gap_node *more)
{
    to->n += more->n;
    to->ns += more->ns;
    to->bytes += more->bytes;
}

static uint8_t innermost(const struct spool_track *t)
{
    return t->n_lost ? t->lost[t->n_lost - 1].node : GAP_NONE;
}

static int64_t since(const struct spool_track *t)
{
    int64_t first = INT64_MAX;
    for (uint32_t i = 0; i < t->n_lost; i++)
        first = t->lost[i].start_ns < first ? t->lost[i].start_ns : first;
    for (uint32_t i = 0; i < t->gap.n; i++)
        first = t->gap.node[i].start_ns < first ? t->gap.node[i].start_ns : first;
    return first;
}

void gap_give_up(struct spool_track *t)
{
    if (t->gap.n || t->n_lost)
        process_unsummed(since(t));
    t->gap.n = 0;
    for (uint32_t i = 0; i < t->n_lost; i++)
        t->lost[i].node = GAP_NONE;
}

static void make_room(struct spool_track *t)
{
    if (t->gap.n == GAP_NODES && gap_flush(t) != 0)
        gap_give_up(t);
}

void gap_open(struct spool_track *t)
{
    struct lost_range r = t->lost[--t->n_lost];
    make_room(t);
    r.node = (uint8_t)t->gap.n;
    t->gap.node[t->gap.n++] = (struct gap_node){.start_ns = r.start_ns,
                                                .name = r.name,
                                                .category = r.attr.category,
                                                .domain = (uint16_t)r.domain,
                                                .kind = DCT_PUSH,
                                                .parent = innermost(t)};
    t->lost[t->n_lost++] = r;
}

/* Ranges of a thread nest, so all nodes from number i on belong to the range that ends. They are merged with nodes of
 * earlier ranges of the same name and place. */
static void fold(struct gap *g, uint32_t i)
{
    uint8_t at[GAP_NODES];
    uint32_t kept = i;
    for (uint32_t k = i; k < g->n; k++) {
        struct gap_node x = g->node[k];
        if (k > i)
            x.parent = at[x.parent];
        uint32_t same = find(g, i, &x);
        if (same != GAP_NONE)
            add(&g->node[same], &x);
        else
            g->node[same = kept++] = x;
        at[k] = (uint8_t)same;
    }
    g->n = kept;
}

void gap_close(struct spool_track *t, uint32_t i, int64_t end_ns)
{
    const struct lost_range *r = &t->lost[i];
    if (r->node == GAP_NONE)
        return;
    if (i + 1 != t->n_lost) { /* ranges of two domains that do not nest */
        gap_give_up(t);
        return;
    }
    struct gap_node *x = &t->gap.node[r->node];
    x->n = 1;
    x->ns = end_ns > r->start_ns ? end_ns - r->start_ns : 0;
    x->bytes = r->bytes;
    fold(&t->gap, r->node);
}

/* Subtracts from an MPI call the time of calls on files inside it, and remembers the call. The inner ones ended before
 * it, so they are the last ones remembered. */
static void remember_call(struct gap *g, int64_t start_ns, int64_t *ns)
{
    int64_t all = *ns;
    g->n_calls = g->n ? g->n_calls : 0;
    for (; g->n_calls && g->call[g->n_calls - 1].start_ns >= start_ns; g->n_calls--)
        *ns -= g->call[g->n_calls - 1].ns < *ns ? g->call[g->n_calls - 1].ns : *ns;
    if (g->n_calls == GAP_CALLS)
        memmove(&g->call[0], &g->call[1], --g->n_calls * sizeof g->call[0]);
    g->call[g->n_calls].start_ns = start_ns;
    g->call[g->n_calls++].ns = all;
}

void gap_call(struct spool_track *t, uint32_t domain, uint32_t name, uint32_t category, int64_t start_ns,
              int64_t end_ns, uint64_t bytes)
{
    make_room(t);
    struct gap_node x = {.n = 1,
                         .bytes = bytes,
                         .start_ns = start_ns,
                         .ns = end_ns > start_ns ? end_ns - start_ns : 0,
                         .name = name,
                         .category = category,
                         .domain = (uint16_t)domain,
                         .kind = DCT_SPAN,
                         .parent = innermost(t)};
    remember_call(&t->gap, start_ns, &x.ns);
    uint32_t same = find(&t->gap, t->gap.n, &x);
    if (same != GAP_NONE)
        add(&t->gap.node[same], &x);
    else
        t->gap.node[t->gap.n++] = x;
}

/* ---- into a block ----------------------------------------------------------------------------- */

uint32_t gap_slots(struct spool_track *t)
{
    uint32_t n = 1;
    if (t->n_top && t->gap.n)
        gap_give_up(t);
    if (t->n_top || (!t->gap.n && !t->n_lost))
        return 0;
    for (uint32_t i = 0; i < t->gap.n; i++)
        n += t->gap.node[i].n ? 3 : 0;
    for (uint32_t i = 0; i < t->n_lost; i++)
        n += 1 + t->lost[i].has_attr;
    return n;
}

/* Puts the nodes directly inside `parent`, end to end from at_ns on (0: from the start of the first), each after the
 * nodes inside it. */
static struct dct_slot *put_nodes(const struct gap *g, struct dct_slot *s, uint32_t parent, int64_t at_ns,
                                  uint32_t level)
{
    for (uint32_t i = 0; i < g->n; i++) {
        const struct gap_node *x = &g->node[i];
        if (x->parent != parent || !x->n)
            continue;
        at_ns = at_ns ? at_ns : x->start_ns;
        s = put_nodes(g, s, i, at_ns, level + 1);
        const struct dct_span span = {.dur_ns = x->ns, .bytes = x->bytes};
        const struct dct_sum sum = {.category = x->category, .kind = x->kind | level << 8, .n = x->n};
        s = track_head(s, DCT_GAP, 2, x->domain, x->name, at_ns);
        memcpy(s++, &span, sizeof span);
        memcpy(s++, &sum, sizeof sum);
        at_ns += x->ns;
    }
    return s;
}

void gap_write(struct spool_track *t)
{
    struct dct_slot *first = (struct dct_slot *)(t->block + 1) + t->used;
    struct dct_slot *s = put_nodes(&t->gap, track_head(first, DCT_GAP, 0, 0, 0, since(t)), GAP_NONE, 0, 0);
    for (uint32_t i = 0; i < t->n_lost; i++) {
        const struct lost_range *r = &t->lost[i];
        s = track_head(s, DCT_PUSH, r->has_attr, r->domain, r->name, r->start_ns);
        if (r->has_attr)
            memcpy(s++, &r->attr, sizeof r->attr);
        if (r->node != GAP_NONE)
            s = put_nodes(&t->gap, s, r->node, 0, 0);
        t->open += t->open < MAX_KEPT_POPS;
        t->level[r->domain].recorded++;
        t->level[r->domain].lost--;
        if (r->is_counted)
            process_lost(DCT_PUSH, r->domain, r->name, r->attr.category, -1, 0, 0);
    }
    t->n_lost = t->gap.n = 0;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    t->used += (uint32_t)(s - first);
    __atomic_store_n(&t->block->used_slots, t->used, __ATOMIC_RELEASE);
}

int gap_flush(struct spool_track *t)
{
    uint32_t n = gap_slots(t);
    if (t->n_top)
        return -1;
    if (!n)
        return 0;
    if ((!t->block || t->used + n + t->open + t->n_lost > SEGMENT_SLOTS - SPOOL_END_SLOTS) &&
        spool_next_block(t, 0) != 0 && spool_next_block(t, 1) != 0)
        return -1;
    gap_write(t);
    if (t->is_reserve) /* no other event may use it */
        t->cap = t->used + t->open;
    return 0;
}
