/* summary_names.c - see summary_names.h. Look-ups by text are rare because the caller keeps the place. */
#include "lib/reduce/summary_names.h"

#include "lib/reduce/reduce_inside.h"

#include "lib/base/text.h"

#include <stdlib.h>
#include <string.h>

struct interval {
    int64_t start, end;
};

struct entry {
    struct name_sum sum;      /* its last members are set at the end */
    struct interval *covered; /* not yet merged */
    size_t n_covered, cap_covered;
    int is_union_lost, is_self_lost;
    uint64_t *buckets; /* shape: (SKETCH_BUCKETS); NULL for marks */
};

/* Ranges of a thread end before those around them. This holds the total time and the earliest beginning of the ranges
 * of one depth that have ended since the last range of the depth above ended. */
struct inside {
    int64_t ns, since_ns;
};
struct nest {
    uint32_t track;
    struct inside *at_depth; /* shape: (cap) */
    int cap;
};

/* Rare work is kept out of line, so that the common case saves no registers. */
#define SELDOM __attribute__((noinline, cold))

struct name_table {
    struct dcr_arena arena;
    struct entry *entries;
    size_t n, cap;
    struct dcr_map index_of; /* of an entry */
    size_t n_intervals;      /* of all entries */
    struct nest *nests;
    size_t n_nests, nests_cap, at; /* at: index for the last range, since a thread writes many in a row */
    struct dcr_map nest_of;        /* index by track */
    enum summary_names keep;
};

/* 64 MB of intervals. Beyond that, the covered time is unknown. */
enum { MAX_INTERVALS = 4 << 20 };

struct name_table *names_new(enum summary_names keep)
{
    struct dcr_arena a = {0};
    struct name_table *t = dcr_arena_alloc(&a, sizeof *t);
    t->arena = a;
    t->keep = keep;
    return t;
}

void names_free(struct name_table *t)
{
    for (size_t i = 0; i < t->n; i++)
        free(t->entries[i].covered);
    dcr_map_release(&t->nest_of);
    dcr_map_release(&t->index_of);
    struct dcr_arena a = t->arena;
    dcr_arena_release(&a);
}

/* The entry that counts such events. It is made at the first call, if there are fewer than `most`.
 *  returns  its index + 1; 0: there is no room for a new one */
static uint32_t find(struct name_table *t, const char *domain, const char *category, const char *name, int kind,
                     size_t most)
{
    uint64_t key = dcr_map_text(dcr_map_text(dcr_map_text((uint64_t)kind, domain), category), name);
    for (uint32_t at; dcr_map_get(&t->index_of, key, &at); key++) {
        const struct name_sum *s = &t->entries[at].sum;
        if (s->kind == kind && !strcmp(s->name, name) && !strcmp(s->category, category) && !strcmp(s->domain, domain))
            return at + 1;
    }
    if (t->n >= most)
        return 0;
    dcr_map_set(&t->index_of, key, (uint32_t)t->n);
    t->entries = arena_grow(&t->arena, t->entries, t->n, &t->cap, sizeof *t->entries);
    t->entries[t->n] = (struct entry){
        .sum = {.domain = domain, .category = category, .name = name, .kind = kind, .min_ns = INT64_MAX}};
    return (uint32_t)++t->n;
}

/* The last entry takes all names for which there is no room. */
static SELDOM uint32_t search(struct name_table *t, const struct dct_event *e)
{
    uint32_t at = find(t, e->domain, e->category, e->name, e->kind, SUMMARY_MAX_NAMES - 1);
    return at ? at : find(t, "", "", SUMMARY_OTHER_NAMES, DCT_PUSH, SUMMARY_MAX_NAMES);
}

static int by_start(const void *a, const void *b)
{
    const struct interval *x = a, *y = b;
    return x->start < y->start ? -1 : x->start > y->start;
}

/* Sorted and disjoint; returns their length. */
static int64_t merge(struct entry *e)
{
    size_t n = 0;
    int64_t sum = 0;
    if (e->n_covered)
        qsort(e->covered, e->n_covered, sizeof *e->covered, by_start);
    for (size_t i = 0; i < e->n_covered; i++) {
        if (n && e->covered[i].start <= e->covered[n - 1].end) {
            if (e->covered[i].end > e->covered[n - 1].end)
                e->covered[n - 1].end = e->covered[i].end;
        } else {
            e->covered[n++] = e->covered[i];
        }
    }
    for (size_t i = 0; i < n; i++)
        sum += e->covered[i].end - e->covered[i].start;
    e->n_covered = n;
    return sum;
}

static void lose_union(struct name_table *t, struct entry *e)
{
    t->n_intervals -= e->n_covered;
    free(e->covered);
    e->covered = NULL;
    e->n_covered = e->cap_covered = 0;
    e->is_union_lost = 1;
}

static void cover(struct name_table *t, struct entry *e, int64_t start, int64_t end)
{
    if (e->is_union_lost)
        return;
    if (e->n_covered) { /* the usual case: neighbours that touch, or a range around earlier ones */
        struct interval *last = &e->covered[e->n_covered - 1];
        if (start >= last->start && start <= last->end) {
            last->end = end > last->end ? end : last->end;
            return;
        }
        if (start < last->start && end >= last->end) {
            last->start = start;
            last->end = end;
            return;
        }
    }
    if (e->n_covered == e->cap_covered) {
        size_t before = e->n_covered;
        (void)merge(e);
        t->n_intervals -= before - e->n_covered;
        if (t->n_intervals >= MAX_INTERVALS) {
            lose_union(t, e);
            return;
        }
        if (2 * e->n_covered >= e->cap_covered) {
            e->cap_covered = e->cap_covered ? 2 * e->cap_covered : 64;
            e->covered = realloc(e->covered, e->cap_covered * sizeof *e->covered);
            if (!e->covered)
                dcr_die_of_memory();
        }
    }
    e->covered[e->n_covered++] = (struct interval){start, end};
    t->n_intervals++;
}

static SELDOM struct nest *make_nest(struct name_table *t, const struct dct_event *in)
{
    uint32_t at;
    if (!dcr_map_get(&t->nest_of, in->track, &at)) {
        t->nests = arena_grow(&t->arena, t->nests, t->n_nests, &t->nests_cap, sizeof *t->nests);
        at = (uint32_t)t->n_nests;
        dcr_map_set(&t->nest_of, in->track, at);
        t->nests[t->n_nests++] = (struct nest){.track = in->track};
    }
    t->at = at;
    struct nest *n = &t->nests[at];
    if (in->depth + 2 > n->cap) {
        int cap = 2 * in->depth + 16;
        struct inside *more = dcr_arena_alloc(&t->arena, (size_t)cap * sizeof *more);
        if (n->cap)
            memcpy(more, n->at_depth, (size_t)n->cap * sizeof *more);
        n->at_depth = more;
        n->cap = cap;
    }
    return n;
}

static inline struct nest *nest_of(struct name_table *t, const struct dct_event *in)
{
    if (t->at >= t->n_nests)
        return make_nest(t, in);
    struct nest *n = &t->nests[t->at];
    return n->track == in->track && in->depth + 2 <= n->cap ? n : make_nest(t, in);
}

/* If the inner ranges began before this one, they are not inside it: the trace is damaged, or ranges of different
 * domains do not nest. Their time is then not subtracted. */
static int64_t self_of(struct name_table *t, const struct dct_event *in, int64_t ns)
{
    struct inside *own = &nest_of(t, in)->at_depth[in->depth], *inner = own + 1;
    int is_inside = inner->ns && inner->since_ns >= in->start_ns;
    int64_t self = !is_inside ? ns : inner->ns < ns ? ns - inner->ns : 0;
    inner->ns = 0;
    own->since_ns = own->ns && own->since_ns < in->start_ns ? own->since_ns : in->start_ns;
    reduce_add(&own->ns, ns);
    return self;
}

static __attribute__((noinline)) void add_detail(struct name_table *t, struct entry *e, const struct dct_event *in)
{
    if (in->kind == DCT_SPAN)
        e->sum.bytes = reduce_plus(e->sum.bytes, in->bytes);
    if (!e->buckets)
        e->buckets = dcr_arena_alloc(&t->arena, SKETCH_BUCKETS * sizeof *e->buckets);
    e->buckets[sketch_bucket(in->end_ns - in->start_ns)]++;
    cover(t, e, in->start_ns, in->end_ns);
}

void names_add(struct name_table *t, const struct dct_event *in, uint32_t *place)
{
    if (in->is_open && in->kind == DCT_PUSH) /* its inner ranges are inside no later range */
        nest_of(t, in)->at_depth[in->depth + 1].ns = 0;
    if (in->kind == DCT_FILE || in->is_open)
        return;
    if (!*place)
        *place = search(t, in);
    struct entry *e = &t->entries[*place - 1];
    struct name_sum *s = &e->sum;
    int64_t ns = in->end_ns - in->start_ns;
    s->n++;
    if (in->kind == DCT_MARK)
        return;
    reduce_add(&s->sum_ns, ns);
    if (in->kind == DCT_PUSH)
        reduce_add(&s->self_ns, self_of(t, in, ns));
    s->min_ns = ns < s->min_ns ? ns : s->min_ns;
    s->max_ns = ns > s->max_ns ? ns : s->max_ns;
    if (t->keep != SUMMARY_NAME_SUMS)
        add_detail(t, e, in);
}

void names_add_dropped(struct name_table *t, const struct dct_dropped *d)
{
    const struct dct_event like = {.kind = d->kind, .domain = d->domain, .category = d->category, .name = d->name};
    uint32_t place = search(t, &like); /* may move the entries */
    struct entry *e = &t->entries[place - 1];
    e->sum.n = reduce_plus(e->sum.n, d->n);
    e->is_self_lost = 1;
    if (d->kind == DCT_MARK)
        return;
    reduce_add(&e->sum.sum_ns, (int64_t)d->ns);
    e->sum.bytes = reduce_plus(e->sum.bytes, d->bytes);
    if (!e->is_union_lost)
        lose_union(t, e);
}

uint64_t names_looks(const struct name_table *t)
{
    return t->nest_of.n_looks;
}

static int by_text(const void *a, const void *b)
{
    const struct name_sum *x = &((const struct entry *)a)->sum, *y = &((const struct entry *)b)->sum;
    int c = strcmp(x->domain, y->domain);
    c = c ? c : strcmp(x->category, y->category);
    c = c ? c : strcmp(x->name, y->name);
    return c ? c : x->kind - y->kind;
}

static void put(struct entry *e, struct dcr_arena *a, struct name_sum *out)
{
    *out = e->sum;
    out->domain = text_clean(a, out->domain);
    out->category = text_clean(a, out->category);
    out->name = text_clean(a, out->name);
    if (out->min_ns == INT64_MAX) /* marks */
        out->min_ns = 0;
    if (out->kind != DCT_PUSH || e->is_self_lost)
        out->self_ns = -1;
    out->union_ns = e->is_union_lost ? -1 : merge(e);
    for (int b = 0; e->buckets && b < SKETCH_BUCKETS; b++)
        out->n_sketch += e->buckets[b] > 0;
    if (!out->n_sketch)
        return;
    out->sketch = dcr_arena_alloc(a, (size_t)out->n_sketch * sizeof *out->sketch);
    int k = 0;
    for (int b = 0; b < SKETCH_BUCKETS; b++)
        if (e->buckets[b])
            out->sketch[k++] = (struct sketch_bucket_count){b, e->buckets[b]};
}

void names_finish(struct name_table *t, struct dcr_arena *a, struct name_sum **names, size_t *n)
{
    *n = t->n;
    *names = dcr_arena_alloc(a, (t->n ? t->n : 1) * sizeof **names);
    if (t->n)
        qsort(t->entries, t->n, sizeof *t->entries, by_text);
    for (size_t i = 0; i < t->n; i++)
        put(&t->entries[i], a, &(*names)[i]);
}
