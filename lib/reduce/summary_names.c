/* summary_names.c - see summary_names.h. Texts of a reader stay in place, so a name is found by its address. Look-ups
 * are rare because the caller keeps the place. Equal texts at two addresses are joined at the end. */
#include "lib/reduce/summary_names.h"

#include "lib/base/map.h"
#include "lib/base/text.h"

#include <stdlib.h>
#include <string.h>

struct interval {
    int64_t start, end;
};

struct entry {
    const char *domain, *category, *name;
    int kind;
    uint32_t before; /* index + 1 of the previous entry with the same hash; 0 none */
    uint64_t n, bytes;
    int64_t sum_ns, min_ns, max_ns, self_ns;
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
    struct entry *entries;
    size_t n, cap;
    struct dcr_map last_of; /* index of the last entry by hash */
    size_t n_intervals;     /* of all entries */
    struct nest *nests;
    size_t n_nests, nests_cap, at; /* at: index for the last range, since a thread writes many in a row */
    struct dcr_map nest_of;        /* index by track */
    enum summary_names keep;
};

/* 64 MB of intervals. Beyond that, the covered time is unknown. */
enum { MAX_INTERVALS = 4 << 20 };

static void *must(void *p)
{
    if (!p)
        abort(); /* as dcr_arena_alloc does */
    return p;
}

struct name_table *names_new(enum summary_names keep)
{
    struct name_table *t = must(calloc(1, sizeof *t));
    t->keep = keep;
    return t;
}

void names_free(struct name_table *t)
{
    for (size_t i = 0; i < t->n; i++) {
        free(t->entries[i].covered);
        free(t->entries[i].buckets);
    }
    for (size_t i = 0; i < t->n_nests; i++)
        free(t->nests[i].at_depth);
    free(t->nests);
    dcr_map_release(&t->nest_of);
    free(t->entries);
    dcr_map_release(&t->last_of);
    free(t);
}

static uint64_t hash_of(const char *domain, const char *category, const char *name, int kind)
{
    uint64_t h = (uint64_t)(uintptr_t)domain * 0x9e3779b97f4a7c15u;
    h = (h ^ (uint64_t)(uintptr_t)category) * 0xbf58476d1ce4e5b9u;
    h = (h ^ (uint64_t)(uintptr_t)name) * 0x94d049bb133111ebu;
    return h ^ h >> 31 ^ (uint64_t)kind;
}

/* The entry that counts such events. It is made at the first call, if there are fewer than `most`.
 *  returns  its index + 1; 0: there is no room for a new one */
static uint32_t find(struct name_table *t, const char *domain, const char *category, const char *name, int kind,
                     size_t most)
{
    uint64_t hash = hash_of(domain, category, name, kind);
    uint32_t last, first = dcr_map_get(&t->last_of, hash, &last) ? last + 1 : 0;
    for (uint32_t at = first; at; at = t->entries[at - 1].before) {
        const struct entry *e = &t->entries[at - 1];
        if (e->name == name && e->category == category && e->domain == domain && e->kind == kind)
            return at;
    }
    if (t->n >= most)
        return 0;
    if (t->n == t->cap) {
        t->cap = t->cap ? 2 * t->cap : 64;
        t->entries = must(realloc(t->entries, t->cap * sizeof *t->entries));
    }
    if (dcr_map_put(&t->last_of, hash, (uint32_t)t->n) != 0)
        abort();
    t->entries[t->n] = (struct entry){.domain = domain, .category = category, .name = name, .kind = kind};
    t->entries[t->n].min_ns = INT64_MAX;
    t->entries[t->n].before = first;
    return (uint32_t)++t->n;
}

/* The last entry takes all names for which there is no room. */
static SELDOM uint32_t search(struct name_table *t, const struct dct_event *e)
{
    static const char none[] = "", other[] = SUMMARY_OTHER_NAMES;
    uint32_t at = find(t, e->domain, e->category, e->name, e->kind, SUMMARY_MAX_NAMES - 1);
    return at ? at : find(t, none, none, other, DCT_PUSH, SUMMARY_MAX_NAMES);
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
            e->covered = must(realloc(e->covered, e->cap_covered * sizeof *e->covered));
        }
    }
    e->covered[e->n_covered++] = (struct interval){start, end};
    t->n_intervals++;
}

static void add(int64_t *sum, int64_t more)
{
    if (__builtin_add_overflow(*sum, more, sum))
        *sum = INT64_MAX;
}

static SELDOM struct nest *make_nest(struct name_table *t, const struct dct_event *in)
{
    uint32_t at;
    if (!dcr_map_get(&t->nest_of, in->track, &at)) {
        if (t->n_nests == t->nests_cap) {
            t->nests_cap = t->nests_cap ? 2 * t->nests_cap : 16;
            t->nests = must(realloc(t->nests, t->nests_cap * sizeof *t->nests));
        }
        at = (uint32_t)t->n_nests;
        if (dcr_map_put(&t->nest_of, in->track, at))
            abort();
        t->nests[t->n_nests++] = (struct nest){.track = in->track};
    }
    t->at = at;
    struct nest *n = &t->nests[at];
    if (in->depth + 2 > n->cap) {
        int cap = 2 * in->depth + 16;
        n->at_depth = must(realloc(n->at_depth, (size_t)cap * sizeof *n->at_depth));
        memset(n->at_depth + n->cap, 0, (size_t)(cap - n->cap) * sizeof *n->at_depth);
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
    add(&own->ns, ns);
    return self;
}

static __attribute__((noinline)) void add_detail(struct name_table *t, struct entry *e, const struct dct_event *in)
{
    if (in->kind == DCT_SPAN && __builtin_add_overflow(e->bytes, in->bytes, &e->bytes))
        e->bytes = UINT64_MAX;
    if (!e->buckets)
        e->buckets = must(calloc(SKETCH_BUCKETS, sizeof *e->buckets));
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
    int64_t ns = in->end_ns - in->start_ns;
    e->n++;
    if (in->kind == DCT_MARK)
        return;
    add(&e->sum_ns, ns);
    if (in->kind == DCT_PUSH)
        add(&e->self_ns, self_of(t, in, ns));
    e->min_ns = ns < e->min_ns ? ns : e->min_ns;
    e->max_ns = ns > e->max_ns ? ns : e->max_ns;
    if (t->keep != SUMMARY_NAME_SUMS)
        add_detail(t, e, in);
}

void names_add_dropped(struct name_table *t, const struct dct_dropped *d)
{
    const struct dct_event like = {.kind = d->kind, .domain = d->domain, .category = d->category, .name = d->name};
    uint32_t place = search(t, &like); /* may move the entries */
    struct entry *e = &t->entries[place - 1];
    if (__builtin_add_overflow(e->n, d->n, &e->n) || e->n > INT64_MAX)
        e->n = INT64_MAX;
    e->is_self_lost = 1;
    if (d->kind == DCT_MARK)
        return;
    add(&e->sum_ns, (int64_t)d->ns);
    if (__builtin_add_overflow(e->bytes, d->bytes, &e->bytes))
        e->bytes = UINT64_MAX;
    if (!e->is_union_lost)
        lose_union(t, e);
}

uint64_t names_looks(const struct name_table *t)
{
    return t->nest_of.n_looks;
}

static int compare(const struct entry *x, const struct entry *y)
{
    int c = strcmp(x->domain, y->domain);
    c = c ? c : strcmp(x->category, y->category);
    c = c ? c : strcmp(x->name, y->name);
    return c ? c : x->kind - y->kind;
}

static int by_text(const void *a, const void *b)
{
    return compare(a, b);
}

/* Merges y into x, which has the same text. */
static void join(struct name_table *t, struct entry *x, struct entry *y)
{
    if (__builtin_add_overflow(x->n, y->n, &x->n) || x->n > INT64_MAX)
        x->n = INT64_MAX;
    if (__builtin_add_overflow(x->bytes, y->bytes, &x->bytes))
        x->bytes = UINT64_MAX;
    add(&x->sum_ns, y->sum_ns);
    add(&x->self_ns, y->self_ns);
    x->min_ns = y->min_ns < x->min_ns ? y->min_ns : x->min_ns;
    x->max_ns = y->max_ns > x->max_ns ? y->max_ns : x->max_ns;
    for (int b = 0; x->buckets && y->buckets && b < SKETCH_BUCKETS; b++)
        x->buckets[b] += y->buckets[b];
    if (!x->buckets) {
        x->buckets = y->buckets;
        y->buckets = NULL;
    }
    x->is_self_lost |= y->is_self_lost;
    if (y->is_union_lost)
        lose_union(t, x);
    for (size_t i = 0; i < y->n_covered; i++)
        cover(t, x, y->covered[i].start, y->covered[i].end);
}

static void put(struct entry *e, struct dcr_arena *a, struct name_sum *out)
{
    *out = (struct name_sum){.domain = text_clean(a, e->domain),
                             .category = text_clean(a, e->category),
                             .name = text_clean(a, e->name),
                             .kind = e->kind,
                             .n = e->n,
                             .sum_ns = e->sum_ns,
                             .min_ns = e->min_ns < INT64_MAX ? e->min_ns : 0, /* the entry of other names may hold marks
                                                                               * only */
                             .max_ns = e->max_ns,
                             .self_ns = e->kind == DCT_PUSH && !e->is_self_lost ? e->self_ns : -1,
                             .union_ns = e->is_union_lost ? -1 : merge(e),
                             .bytes = e->bytes};
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
    *n = 0;
    *names = dcr_arena_alloc(a, (t->n ? t->n : 1) * sizeof **names);
    if (t->n)
        qsort(t->entries, t->n, sizeof *t->entries, by_text);
    for (size_t i = 0, k; i < t->n; i = k) {
        for (k = i + 1; k < t->n && compare(&t->entries[i], &t->entries[k]) == 0; k++)
            join(t, &t->entries[i], &t->entries[k]);
        put(&t->entries[i], a, &(*names)[(*n)++]);
    }
}
