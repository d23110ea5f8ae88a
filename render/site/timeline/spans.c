/* spans.c - ranges as they are collected, and their names; see spans.h. spans_finish.c sorts them into rows. Called by
 * timeline.c. Test: tests/unit/test_timeline.c */
#include "render/site/timeline/spans_inside.h"

#include "lib/reduce/reduce.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Ranges that all runs hold, until their pages are made. */
static atomic_size_t n_held;

bool spans_hold(struct spans_share *share, size_t n)
{
    if (n == share->n)
        return true;
    size_t held = atomic_fetch_add(&n_held, n - share->n) + n - share->n;
    share->n = n;
    return held <= SPANS_MAX;
}

void spans_start(struct spans *s)
{
    memset(s, 0, sizeof *s);
}

void spans_release(struct spans *s)
{
    free(s->span);
    free(s->blocks);
    dcr_map_release(&s->name_of);
    dcr_map_release(&s->track_of);
    dcr_arena_release(&s->arena);
    memset(s, 0, sizeof *s);
}

/* ---- names ------------------------------------------------------------------------------------------- */

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

uint32_t spans_name(struct spans *s, const char *domain, const char *category, const char *name)
{
    uint64_t key = dcr_map_text(dcr_map_text(dcr_map_text(0, domain), category), name);
    for (uint32_t at; dcr_map_get(&s->name_of, key, &at); key++) {
        const struct span_name *k = &s->names[at];
        if (!strcmp(k->name, name) && !strcmp(k->category, category) && !strcmp(k->domain, domain))
            return at;
    }
    dcr_map_set(&s->name_of, key, (uint32_t)s->n_names);
    s->names = arena_grow(&s->arena, s->names, s->n_names, &s->names_cap, sizeof *s->names);
    struct span_name *k = &s->names[s->n_names];
    k->name = dcr_arena_strdup(&s->arena, name);
    k->category = dcr_arena_strdup(&s->arena, category);
    k->domain = dcr_arena_strdup(&s->arena, domain);
    k->colour = colour_of(category, name);
    k->joined_ns = -1;
    for (int i = 0; i < SPAN_LONGEST; i++)
        k->longest[i].dur_ns = -1;
    return (uint32_t)s->n_names++;
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
    dcr_map_set(&s->track_of, key, (uint32_t)s->n_tracks);
    s->tracks = arena_grow(&s->arena, s->tracks, s->n_tracks, &s->tracks_cap, sizeof *s->tracks);
    s->tracks[s->n_tracks] =
        (struct span_track){.rank = rank, .node = node, .id = id, .is_beside = is_beside, .name = "", .file = file};
    return s->last_track = s->n_tracks++;
}

/* If there are too many, ranges shorter than twice the bound are removed, until a quarter of the room is free. */
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
    size_t cap = s->cap ? 2 * s->cap : 4096; /* not a power of two if ranges were joined */
    cap = cap < SPANS_MAX ? cap : SPANS_MAX;
    struct span *more = realloc(s->span, cap * sizeof *more);
    if (!more)
        abort();
    s->span = more;
    s->cap = cap;
}

/* Makes room for one more range of that length, which stands for n ranges; false: they are left out. */
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
    depth = depth < 0 ? 0 : depth > SPANS_DEPTH_MAX ? SPANS_DEPTH_MAX : depth;
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
