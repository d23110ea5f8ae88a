/* spans.c - see spans.h. Called by timeline.c. Test: tests/unit/test_timeline.c */
#include "render/site/spans_inside.h"

#include "lib/reduce.h"
#include "render/model/build.h"

#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 63
#define LANES_MAX 32
#define LANES_IN_FLIGHT 8

/* Open addressing over the names; size a power of two. */
struct span_index {
    uint32_t *slot; /* index + 1; 0 = free */
    size_t size;
};

void spans_start(struct spans *s)
{
    memset(s, 0, sizeof *s);
}

void spans_release(struct spans *s)
{
    free(s->span);
    free(s->blocks);
    if (s->index)
        free(s->index->slot);
    free(s->index);
    dcr_map_release(&s->track_of);
    dcr_arena_release(&s->arena);
    memset(s, 0, sizeof *s);
}

/* ---- names ------------------------------------------------------------------------------------------- */

static uint64_t hash_text(uint64_t h, const char *text)
{
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 0x100000001b3ull; /* FNV-1a */
    return (h ^ 0xff) * 0x100000001b3ull;
}

static int colour_of(const char *category, const char *name)
{
    enum category c = CAT_OTHER;
    switch (event_classify(category, name, &c)) {
    case EVENT_STEP:
        return SPAN_STEP;
    case EVENT_VALIDATION:
        return SPAN_VALIDATION;
    case EVENT_PHASE:
        return (int)c;
    default:
        return SPAN_PLAIN;
    }
}

static void grow_index(struct spans *s)
{
    struct span_index *x = s->index;
    size_t size = x ? 2 * x->size : 1024;
    uint32_t *slot = calloc(size, sizeof *slot);
    if (!x)
        x = calloc(1, sizeof *x);
    if (!slot || !x)
        abort(); /* as the arena does */
    for (size_t i = 0; i < s->n_names; i++) {
        uint64_t h = hash_text(hash_text(hash_text(14695981039346656037ull, s->names[i].domain), s->names[i].category),
                               s->names[i].name);
        size_t at = h & (size - 1);
        while (slot[at])
            at = (at + 1) & (size - 1);
        slot[at] = (uint32_t)i + 1;
    }
    free(x->slot);
    x->slot = slot;
    x->size = size;
    s->index = x;
}

uint32_t spans_name(struct spans *s, const char *domain, const char *category, const char *name)
{
    if (!s->index || s->n_names * 2 >= s->index->size)
        grow_index(s);
    size_t mask = s->index->size - 1;
    size_t at = hash_text(hash_text(hash_text(14695981039346656037ull, domain), category), name) & mask;
    for (; s->index->slot[at]; at = (at + 1) & mask) {
        const struct span_name *k = &s->names[s->index->slot[at] - 1];
        if (!strcmp(k->name, name) && !strcmp(k->category, category) && !strcmp(k->domain, domain))
            return s->index->slot[at] - 1;
    }
    s->names = arena_grow(&s->arena, s->names, s->n_names, &s->names_cap, sizeof *s->names);
    struct span_name *k = &s->names[s->n_names];
    k->name = dcr_arena_strdup(&s->arena, name);
    k->category = dcr_arena_strdup(&s->arena, category);
    k->domain = dcr_arena_strdup(&s->arena, domain);
    k->colour = colour_of(category, name);
    k->joined_ns = -1;
    for (int i = 0; i < SPAN_LONGEST; i++)
        k->longest[i].dur_ns = -1;
    s->index->slot[at] = (uint32_t)++s->n_names;
    return (uint32_t)s->n_names - 1;
}

/* ---- adding -------------------------------------------------------------------------------------------- */

size_t spans_track(struct spans *s, int rank, int node, uint32_t file, uint32_t id, bool is_beside)
{
    uint64_t key = (uint64_t)file << 33 | (uint64_t)id << 1 | is_beside;
    uint32_t at;
    const struct span_track *last =
        s->n_tracks ? &s->tracks[s->last_track] : NULL; /* events come in blocks of one thread */
    if (last && last->file == file && last->id == id && last->is_beside == is_beside)
        return s->last_track;
    if (dcr_map_get(&s->track_of, key, &at))
        return s->last_track = at;
    if (dcr_map_put(&s->track_of, key, (uint32_t)s->n_tracks))
        abort();
    s->tracks = arena_grow(&s->arena, s->tracks, s->n_tracks, &s->tracks_cap, sizeof *s->tracks);
    s->tracks[s->n_tracks] =
        (struct span_track){.rank = rank, .node = node, .id = id, .is_beside = is_beside, .name = "", .file = file};
    return s->last_track = s->n_tracks++;
}

/* Full: what is shorter than twice the bound goes, until a quarter of the room is free. */
static void thin(struct spans *s)
{
    while (s->n > SPANS_MAX / 4 * 3) {
        size_t kept = 0;
        s->least_ns = s->least_ns ? 2 * s->least_ns : 1000;
        for (size_t i = 0; i < s->n; i++)
            if (s->span[i].dur_ns >= s->least_ns)
                s->span[kept++] = s->span[i];
            else
                s->n_left_out += s->span[i].name & SPAN_BLOCK ? s->span[i].bytes : 1;
        s->n = kept;
    }
}

static void grow(struct spans *s)
{
    size_t cap = s->cap ? 2 * s->cap : 4096; /* no power of two where ranges were joined */
    cap = cap < SPANS_MAX ? cap : SPANS_MAX;
    struct span *more = realloc(s->span, cap * sizeof *more);
    if (!more)
        abort();
    s->span = more;
    s->cap = cap;
}

/* Room for one more of that length, which stands for n ranges; false: they are left out. */
static bool make_room(struct spans *s, int64_t dur_ns, uint64_t n)
{
    if (dur_ns < 0)
        return false;
    if (dur_ns < s->least_ns && !s->blocks) {
        s->n_left_out += n;
        return false;
    }
    if (s->n + (s->blocks ? SPAN_FOREIGN_TRACKS : 0) < s->cap)
        return true;
    if (s->blocks)
        spans_join_room(s);
    else if (s->cap >= SPANS_MAX)
        thin(s);
    else
        grow(s);
    return true;
}

static void put(struct spans *s, size_t track, int depth, uint32_t key, int64_t start_ns, int64_t end_ns,
                uint64_t bytes)
{
    depth = depth < 0 ? 0 : depth > DEPTH_MAX ? DEPTH_MAX : depth;
    struct span p = {start_ns, end_ns - start_ns, bytes, key, (uint32_t)track << 6 | (uint32_t)depth};
    if (s->blocks && p.dur_ns < s->least_ns)
        spans_join_one(s, &p);
    else
        s->span[s->n++] = p;
}

void spans_add_block(struct spans *s, size_t track, const struct span *p)
{
    if (make_room(s, p->dur_ns, p->bytes))
        put(s, track, 0, p->name, p->start_ns, p->start_ns + p->dur_ns, p->bytes);
}

void spans_add(struct spans *s, size_t track, int depth, const char *domain, const char *category, const char *name,
               int64_t start_ns, int64_t end_ns, uint64_t bytes)
{
    if (make_room(s, end_ns - start_ns, 1))
        put(s, track, depth, spans_name(s, domain, category, name), start_ns, end_ns, bytes);
}

void spans_add_stable(struct spans *s, size_t track, int depth, const char *domain, const char *category,
                      const char *name, int64_t start_ns, int64_t end_ns, uint64_t bytes)
{
    if (!make_room(s, end_ns - start_ns, 1))
        return;
    uintptr_t at = (uintptr_t)name ^ (uintptr_t)category >> 3;
    struct span_recent *k = &s->recent[(at ^ at >> 4 ^ at >> 10) % SPANS_RECENT];
    if (!k->name || k->name != name || k->category != category || k->domain != domain)
        *k = (struct span_recent){domain, category, name, spans_name(s, domain, category, name)};
    put(s, track, depth, k->key, start_ns, end_ns, bytes);
}

void spans_forget(struct spans *s)
{
    memset(s->recent, 0, sizeof s->recent);
}

/* ---- finishing ------------------------------------------------------------------------------------------ */

/* Of one row. */
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

/* Each to its place, which is order[i] for the one that shall be the i-th; order is used up. */
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

/* By row, then start; what is equal stays in order. Ranges of a row nearly always come in order: they are dealt out to
 * the rows, and only a row that is not in order is sorted. */
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

/* What may overlap: each into the first lane that is free; all depths of such a track are 0 so far. */
static void pack_lanes(struct span *span, size_t n, int n_lanes)
{
    int64_t end[LANES_MAX];
    int used = 0;
    for (size_t i = 0; i < n; i++) {
        int lane = 0;
        while (lane < used && end[lane] > span[i].start_ns)
            lane++;
        if (lane == n_lanes)
            lane = n_lanes - 1; /* drawn over another: there are more at once than one can see */
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
        uint32_t depth = s->span[i].row & DEPTH_MAX;
        t->n_rows = depth + 1 > t->n_rows ? depth + 1 : t->n_rows;
    }
    if (s->n_tracks)
        qsort(order, s->n_tracks, sizeof *order, by_rank);
    for (size_t i = 0; i < s->n_tracks; i++) {
        order[i]->first_row = s->n_rows;
        s->n_rows += order[i]->n_rows;
    }
    for (size_t i = 0; i < s->n; i++)
        s->span[i].row = s->tracks[s->span[i].row >> 6].first_row + (s->span[i].row & DEPTH_MAX);
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
        if (t->is_beside) /* of nested ranges the lane is the depth */
            pack_lanes(s->span + i, end - i, t->kind == TRACK_HOST ? LANES_MAX : LANES_IN_FLIGHT);
        i = end;
    }
    number_rows(s);
    spans_sort(s, s->n_rows);
    count(s);
}
