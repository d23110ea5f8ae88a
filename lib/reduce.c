/* reduce.c - see reduce.h. One pending list per track holds the ranges since the last step, cut so that they do not
 * overlap; a step takes its share of them and the list begins anew. */
#include "lib/reduce.h"

#include "lib/map.h"
#include "lib/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct segment {
    int64_t start_ns, end_ns;
    enum category category;
    int phase; /* index into the reducer's phases, -1 none */
    int is_observed;
};

struct phase {
    const char *name;
    enum category category;
};

struct column { /* of one phase on one track */
    int64_t *ns;
    size_t n, cap; /* steps after the n-th had none */
};

struct call { /* one collective: the outermost communication range */
    int64_t start_ns, end_ns, bytes;
};

struct track {
    uint32_t id;
    struct segment *pending; /* ascending, disjoint */
    size_t n_pending, pending_cap;
    struct call *calls; /* since the last step; on a track without steps: all */
    size_t n_calls, calls_cap;
    struct step_record *steps;
    size_t n_steps, steps_cap;
    struct collective *collectives;
    int64_t *collective_start; /* shape (n_collectives) */
    size_t n_collectives, collectives_cap, starts_cap;
    int64_t outside_ns[N_CATEGORIES], validation_ns;
    int64_t tail_ns[N_CATEGORIES],
        tail_validation_ns;  /* after the last step so far; counts once another step follows */
    struct collective since; /* running: since the last collective */
    int64_t last_step_end_ns;
    struct column phases[RUN_MAX_PHASES];
};

struct reducer {
    struct dcr_arena arena;
    struct track **tracks;   /* by pointer: they grow */
    struct dcr_map track_of; /* index by id */
    struct track *last;      /* a thread writes many events in a row */
    struct track beside;     /* its calls: communication that no thread waits in, as the program names it */
    struct track flights;    /* the same as observed: what counts where the program names none */
    size_t n_tracks, tracks_cap;
    struct phase phases[RUN_MAX_PHASES];
    int n_phases;
    uint64_t overflow;
};

enum { MAX_PENDING = 1000000, MAX_CALLS = 4000000 };

struct word {
    const char *text;
    enum event_kind kind;
    enum category category;
};

/* Categories of docs/FORMAT.md. */
static const struct word categories[] = {
    {"step", EVENT_STEP, CAT_OTHER},
    {"data", EVENT_PHASE, CAT_DATA},
    {"copy", EVENT_PHASE, CAT_COPY},
    {"comm", EVENT_PHASE, CAT_COMM},
    {"compute", EVENT_PHASE, CAT_COMPUTE},
    {"io", EVENT_PHASE, CAT_IO},
    {"validation", EVENT_VALIDATION, CAT_OTHER},
};

/* Whole names, for ranges without a category. */
static const struct word names[] = {
    {"step", EVENT_STEP, CAT_OTHER},
    {"train_step", EVENT_STEP, CAT_OTHER},
    {"training_step", EVENT_STEP, CAT_OTHER},
    {"iteration", EVENT_STEP, CAT_OTHER},
    {"data_load", EVENT_PHASE, CAT_DATA},
    {"data_loading", EVENT_PHASE, CAT_DATA},
    {"dataloader", EVENT_PHASE, CAT_DATA},
    {"h2d", EVENT_PHASE, CAT_COPY},
    {"host_to_device", EVENT_PHASE, CAT_COPY},
    {"forward", EVENT_PHASE, CAT_COMPUTE},
    {"backward", EVENT_PHASE, CAT_COMPUTE},
    {"optimizer", EVENT_PHASE, CAT_COMPUTE},
    {"optimizer_step", EVENT_PHASE, CAT_COMPUTE},
    {"all_reduce", EVENT_PHASE, CAT_COMM},
    {"allreduce", EVENT_PHASE, CAT_COMM},
    {"checkpoint", EVENT_PHASE, CAT_IO},
    {"validation", EVENT_VALIDATION, CAT_OTHER},
    {"validate", EVENT_VALIDATION, CAT_OTHER},
};

enum event_kind event_classify(const char *category, const char *name, enum category *out)
{
    *out = CAT_OTHER;
    if (strcasecmp(name, "epoch") == 0) /* may carry the category of the steps that it encloses */
        return EVENT_NONE;
    for (size_t i = 0; i < sizeof categories / sizeof *categories; i++)
        if (strcasecmp(category, categories[i].text) == 0) {
            *out = categories[i].category;
            return categories[i].kind;
        }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcasecmp(name, names[i].text) == 0) {
            *out = names[i].category;
            return names[i].kind;
        }
    if (strcasestr(name, "nccl") || strcasestr(name, "rccl") || strncmp(name, "MPI_", 4) == 0) {
        *out = CAT_COMM;
        return EVENT_PHASE;
    }
    return EVENT_NONE;
}

/* MPI calls that start something or only look are communication, but no collective that ranks could wait in. */
static int waits(const char *name)
{
    if (!name || strncmp(name, "MPI_", 4) != 0)
        return 1;
    if (strncmp(name, "MPI_Init", 8) == 0)
        return 1;
    return strncmp(name, "MPI_I", 5) != 0 && strncmp(name, "MPI_Test", 8) != 0;
}

/* Point-to-point calls differ from rank to rank: no k-th call that all ranks have in common. */
static int is_between_two(const char *name)
{
    static const char *const calls[] = {"MPI_Send",  "MPI_Bsend",  "MPI_Ssend", "MPI_Rsend", "MPI_Recv",
                                        "MPI_Mrecv", "MPI_Mprobe", "MPI_Probe", "MPI_Start", "MPI_Request"};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (strncmp(name, calls[i], strlen(calls[i])) == 0)
            return 1;
    return 0;
}

const char *category_key(enum category c)
{
    static const char *const keys[] = {
#define X(id, key, name, covers) key,
        RUN_CATEGORIES(X)
#undef X
    };
    return keys[c];
}

struct reducer *reduce_new(void)
{
    struct dcr_arena a = {0};
    struct reducer *d = dcr_arena_alloc(&a, sizeof *d);
    d->arena = a;
    return d;
}

/* Times and payloads are what a file says: sums of those that lie stay within 63 bits. */
static void add(int64_t *sum, int64_t more)
{
    if (__builtin_add_overflow(*sum, more, sum))
        *sum = INT64_MAX;
}

static struct track *track_of(struct reducer *d, uint32_t id)
{
    uint32_t at;
    if (d->last && d->last->id == id)
        return d->last;
    if (dcr_map_get(&d->track_of, id, &at))
        return d->last = d->tracks[at];
    if (dcr_map_put(&d->track_of, id, (uint32_t)d->n_tracks))
        abort(); /* as the arena does */
    d->tracks = arena_grow(&d->arena, d->tracks, d->n_tracks, &d->tracks_cap, sizeof *d->tracks);
    struct track *t = dcr_arena_alloc(&d->arena, sizeof *t);
    t->id = id;
    t->last_step_end_ns = INT64_MIN;
    d->tracks[d->n_tracks++] = t;
    return d->last = t;
}

/* The phase of that name and category, made when it is new and there is room; else -1. */
static int phase_of(struct reducer *d, const struct event *e)
{
    if (!e->name || !*e->name)
        return -1;
    for (int i = 0; i < d->n_phases; i++)
        if (d->phases[i].category == e->category && strcmp(d->phases[i].name, e->name) == 0)
            return i;
    if (d->n_phases == RUN_MAX_PHASES)
        return -1;
    d->phases[d->n_phases] = (struct phase){dcr_arena_strdup(&d->arena, e->name), e->category};
    return d->n_phases++;
}

static void push_segment(struct reducer *d, struct track *t, struct segment g)
{
    if (g.end_ns <= g.start_ns)
        return;
    struct segment *last = t->n_pending ? &t->pending[t->n_pending - 1] : NULL;
    if (last && last->end_ns == g.start_ns && last->category == g.category && last->phase == g.phase &&
        last->is_observed == g.is_observed) {
        last->end_ns = g.end_ns;
        return;
    }
    if (t->n_pending >= MAX_PENDING) {
        d->overflow++;
        return;
    }
    t->pending = arena_grow(&d->arena, t->pending, t->n_pending, &t->pending_cap, sizeof *t->pending);
    t->pending[t->n_pending++] = g;
}

/* Is what was observed inside a range of the program's the range's own time? */
static int is_absorbed(const struct segment *inner, const struct event *e)
{
    return inner->is_observed && !e->is_observed && (inner->category == e->category || inner->category == CAT_IO);
}

/* File calls inside loading stay loading, as a phase of their own: what waits for a disk and what decodes are two
 * causes. */
static int files_phase(struct reducer *d, const struct event *e)
{
    char name[256];
    struct event files = *e;
    if (e->category != CAT_DATA || !e->name || !*e->name)
        return -1;
    snprintf(name, sizeof name, "%.200s" REDUCE_FILES, e->name);
    files.name = name;
    return phase_of(d, &files);
}

/* Gives the parts of [e.start, e.end) that no earlier (inner) range took to e's category. */
static void add_phase(struct reducer *d, struct track *t, const struct event *e)
{
    size_t first = t->n_pending;
    while (first > 0 && t->pending[first - 1].end_ns > e->start_ns)
        first--;
    size_t n_inner = t->n_pending - first;
    struct segment own = {e->start_ns, e->end_ns, e->category, phase_of(d, e), e->is_observed};
    if (n_inner == 0) { /* a leaf, by far the most frequent case */
        push_segment(d, t, own);
        return;
    }
    struct segment *inner = malloc(n_inner * sizeof *inner);
    if (!inner) {
        d->overflow++;
        return;
    }
    memcpy(inner, t->pending + first, n_inner * sizeof *inner);
    t->n_pending = first;
    for (size_t i = 0; i < n_inner; i++) {
        if (is_absorbed(&inner[i], e)) {
            if (inner[i].category != CAT_IO || e->category != CAT_DATA)
                continue;
            inner[i].category = CAT_DATA;
            inner[i].phase = files_phase(d, e);
            inner[i].is_observed = 0;
        }
        struct segment before = own;
        before.end_ns = inner[i].start_ns < e->end_ns ? inner[i].start_ns : e->end_ns;
        push_segment(d, t, before);
        push_segment(d, t, inner[i]);
        if (inner[i].end_ns > own.start_ns)
            own.start_ns = inner[i].end_ns;
    }
    push_segment(d, t, own);
    free(inner);
}

static void keep_call(struct reducer *d, struct track *t, struct call c)
{
    if (t->n_calls >= MAX_CALLS) {
        d->overflow++;
        return;
    }
    t->calls = arena_grow(&d->arena, t->calls, t->n_calls, &t->calls_cap, sizeof *t->calls);
    t->calls[t->n_calls++] = c;
}

/* A communication range swallows those inside it (an all_reduce mark around MPI_Allreduce is one collective). */
static void add_call(struct reducer *d, struct track *t, const struct event *e)
{
    int64_t bytes = e->bytes;
    while (t->n_calls && t->calls[t->n_calls - 1].start_ns >= e->start_ns) {
        t->n_calls--;
        if (e->bytes == 0)
            add(&bytes, t->calls[t->n_calls].bytes);
    }
    keep_call(d, t, (struct call){e->start_ns, e->end_ns, bytes});
}

static void forget_inside(struct track *t, int64_t start)
{
    while (t->n_pending && t->pending[t->n_pending - 1].start_ns >= start)
        t->n_pending--;
    while (t->n_calls && t->calls[t->n_calls - 1].start_ns >= start)
        t->n_calls--;
}

/* The pending ranges before `until` lie between two steps. */
static void count_outside(struct track *t, int64_t until)
{
    if (t->n_steps == 0) /* before the first step: start-up, not training */
        return;
    for (size_t i = 0; i < t->n_pending && t->pending[i].start_ns < until; i++) {
        int64_t end = t->pending[i].end_ns < until ? t->pending[i].end_ns : until;
        add(&t->tail_ns[t->pending[i].category], end - t->pending[i].start_ns);
    }
}

static void close_collective(struct reducer *d, struct track *t, const struct call *c)
{
    t->collectives =
        arena_grow(&d->arena, t->collectives, t->n_collectives, &t->collectives_cap, sizeof *t->collectives);
    t->collective_start =
        arena_grow(&d->arena, t->collective_start, t->n_collectives, &t->starts_cap, sizeof *t->collective_start);
    t->since.dur_ns = c->end_ns - c->start_ns;
    t->since.since_ns[CAT_COMM] = 0;
    t->collectives[t->n_collectives] = t->since;
    t->collective_start[t->n_collectives++] = c->start_ns;
    memset(&t->since, 0, sizeof t->since);
}

/* Adds [start, end) of one category to the running "since the last collective", closing the collectives that end in
 * it. A collective is closed when time passes its end. */
static void pass_time(struct reducer *d, struct track *t, size_t *next_call, int64_t start, int64_t end,
                      enum category c)
{
    while (*next_call < t->n_calls && t->calls[*next_call].end_ns <= start)
        close_collective(d, t, &t->calls[(*next_call)++]);
    if (c != CAT_COMM)
        t->since.since_ns[c] += end - start;
}

/* Time of a phase in the step that is being made. */
static void add_phase_time(struct reducer *d, struct track *t, int phase, int64_t ns)
{
    if (phase < 0)
        return;
    struct column *c = &t->phases[phase];
    while (c->n <= t->n_steps) {
        c->ns = arena_grow(&d->arena, c->ns, c->n, &c->cap, sizeof *c->ns);
        c->ns[c->n++] = 0;
    }
    c->ns[t->n_steps] += ns;
}

static void add_step(struct reducer *d, struct track *t, const struct event *e)
{
    count_outside(t, e->start_ns);
    for (int c = 0; c < N_CATEGORIES; c++)
        add(&t->outside_ns[c], t->tail_ns[c]);
    add(&t->validation_ns, t->tail_validation_ns);
    memset(t->tail_ns, 0, sizeof t->tail_ns);
    t->tail_validation_ns = 0;
    t->steps = arena_grow(&d->arena, t->steps, t->n_steps, &t->steps_cap, sizeof *t->steps);
    struct step_record *s = &t->steps[t->n_steps];
    memset(s, 0, sizeof *s);
    s->step = e->number >= 0 ? e->number : (int64_t)t->n_steps;
    s->start_ns = e->start_ns;
    s->step_ns = e->end_ns - e->start_ns;
    s->samples = -1;
    s->first_collective = (uint32_t)t->n_collectives;
    if (t->n_steps && e->start_ns > t->last_step_end_ns)
        t->since.outside_ns += e->start_ns - t->last_step_end_ns;

    size_t call = 0;
    while (call < t->n_calls && t->calls[call].start_ns < e->start_ns)
        call++; /* outside the step */
    int64_t at = e->start_ns;
    for (size_t i = 0; i < t->n_pending; i++) {
        struct segment g = t->pending[i];
        if (g.end_ns <= e->start_ns || g.start_ns >= e->end_ns)
            continue;
        int64_t from = g.start_ns > e->start_ns ? g.start_ns : e->start_ns;
        int64_t to = g.end_ns < e->end_ns ? g.end_ns : e->end_ns;
        if (from > at) {
            s->part_ns[CAT_OTHER] += from - at;
            pass_time(d, t, &call, at, from, CAT_OTHER);
        }
        s->part_ns[g.category] += to - from;
        add_phase_time(d, t, g.phase, to - from);
        pass_time(d, t, &call, from, to, g.category);
        at = to;
    }
    s->part_ns[CAT_OTHER] += e->end_ns - at;
    pass_time(d, t, &call, at, e->end_ns, CAT_OTHER);
    while (call < t->n_calls)
        close_collective(d, t, &t->calls[call++]);
    s->n_collectives = (uint32_t)(t->n_collectives - s->first_collective);
    for (size_t i = 0; i < t->n_calls; i++)
        if (t->calls[i].start_ns >= e->start_ns)
            add(&s->bytes, t->calls[i].bytes);
    t->n_steps++;
    t->last_step_end_ns = e->end_ns;
    t->n_pending = t->n_calls = 0;
}

void reduce_event(struct reducer *d, const struct event *e)
{
    if (e->end_ns < e->start_ns)
        return;
    if (e->kind == EVENT_STEP && (e->end_ns == e->start_ns || e->end_ns - e->start_ns > RUN_MAX_STEP_NS))
        return;
    if (e->is_beside && e->kind == EVENT_PHASE && e->category == CAT_COMM) {
        keep_call(d, e->is_observed ? &d->flights : &d->beside, (struct call){e->start_ns, e->end_ns, e->bytes});
        return;
    }
    struct track *t = track_of(d, e->track);
    if (e->kind == EVENT_STEP && t->n_steps && e->start_ns <= t->steps[t->n_steps - 1].start_ns)
        return; /* encloses steps: a larger unit under the same name */
    switch (e->kind) {
    case EVENT_STEP:
        add_step(d, t, e);
        break;
    case EVENT_PHASE:
        add_phase(d, t, e);
        if (e->category == CAT_COMM && waits(e->name) && !(e->is_observed && is_between_two(e->name)))
            add_call(d, t, e);
        break;
    case EVENT_VALIDATION:
        forget_inside(t, e->start_ns);
        if (t->n_steps)
            add(&t->tail_validation_ns, e->end_ns - e->start_ns);
        break;
    case EVENT_NONE:
        break;
    }
    /* Outermost ranges end whatever came before them; on tracks that never see a step this bounds the memory. */
    if (e->depth == 0 && e->kind != EVENT_STEP) {
        if (t->n_steps) {
            count_outside(t, INT64_MAX);
            t->n_calls = 0;
        }
        t->n_pending = 0;
    }
}

static const struct track *best_track(const struct reducer *d)
{
    const struct track *best = NULL;
    for (size_t i = 0; i < d->n_tracks; i++)
        if (d->tracks[i]->n_steps && (!best || d->tracks[i]->n_steps > best->n_steps))
            best = d->tracks[i];
    return best;
}

static int compare_call(const void *a, const void *b)
{
    const struct call *x = a, *y = b;
    return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

/* Length of [from, to) that the step's own collectives do not cover. */
static int64_t hidden_part(const struct track *t, const struct step_record *s, int64_t from, int64_t to)
{
    int64_t hidden = to - from;
    for (size_t k = s->first_collective; k < s->first_collective + s->n_collectives; k++) {
        int64_t b = t->collective_start[k], e = b + t->collectives[k].dur_ns;
        int64_t lo = b > from ? b : from, hi = e < to ? e : to;
        if (hi > lo)
            hidden -= hi - lo;
    }
    return hidden > 0 ? hidden : 0; /* only of a trace that lies do calls of one thread overlap */
}

/* All communication that is not of track t, in order of its start.                          gives (arena); shape: (*n)
 */
static struct call *calls_of_others(struct reducer *d, const struct track *t, size_t *n)
{
    const struct track *beside = d->beside.n_calls ? &d->beside : &d->flights;
    size_t cap = 0;
    struct call *calls = NULL;
    *n = 0;
    for (size_t i = 0; i <= d->n_tracks; i++) {
        const struct track *other = i < d->n_tracks ? d->tracks[i] : beside;
        for (size_t k = 0; other != t && k < other->n_calls; k++) {
            calls = arena_grow(&d->arena, calls, *n, &cap, sizeof *calls);
            calls[(*n)++] = other->calls[k];
        }
    }
    if (*n)
        qsort(calls, *n, sizeof *calls, compare_call);
    return calls;
}

/* Communication beside the step's own track during a step, beyond what that track waited for. */
static void find_hidden(struct reducer *d, const struct track *t)
{
    size_t n;
    struct call *calls = calls_of_others(d, t, &n);
    if (n == 0)
        return;
    size_t s = 0;
    int64_t done = INT64_MIN; /* union: time before this is counted */
    for (size_t i = 0; i < n; i++) {
        int64_t from = calls[i].start_ns > done ? calls[i].start_ns : done;
        while (s < t->n_steps && t->steps[s].start_ns + t->steps[s].step_ns <= from)
            s++;
        for (size_t k = s; k < t->n_steps && t->steps[k].start_ns < calls[i].end_ns; k++) {
            int64_t step_end = t->steps[k].start_ns + t->steps[k].step_ns;
            int64_t lo = from > t->steps[k].start_ns ? from : t->steps[k].start_ns;
            int64_t hi = calls[i].end_ns < step_end ? calls[i].end_ns : step_end;
            if (hi > lo)
                t->steps[k].hidden_comm_ns += hidden_part(t, &t->steps[k], lo, hi);
        }
        if (calls[i].end_ns > done)
            done = calls[i].end_ns;
    }
}

static void copy_phases(const struct reducer *d, const struct track *t, struct dcr_arena *a, struct reduced *out)
{
    out->phases = dcr_arena_alloc(a, RUN_MAX_PHASES * sizeof *out->phases);
    out->n_phases = 0;
    for (int i = 0; i < d->n_phases; i++) {
        const struct column *c = &t->phases[i];
        if (c->n == 0)
            continue;
        struct run_phase *p = &out->phases[out->n_phases++];
        p->name = text_clean(a, d->phases[i].name);
        p->category = d->phases[i].category;
        p->ns = dcr_arena_alloc(a, t->n_steps * sizeof *p->ns);
        memcpy(p->ns, c->ns, c->n * sizeof *p->ns);
    }
}

int reduce_finish(struct reducer *d, struct dcr_arena *a, struct reduced *out)
{
    const struct track *t = best_track(d);
    if (!t || t->n_steps <= out->n_steps)
        return 0;
    find_hidden(d, t);
    out->n_steps = t->n_steps;
    out->steps = dcr_arena_alloc(a, t->n_steps * sizeof *t->steps);
    memcpy(out->steps, t->steps, t->n_steps * sizeof *t->steps);
    out->n_collectives = t->n_collectives;
    out->collectives = NULL;
    if (t->n_collectives) {
        out->collectives = dcr_arena_alloc(a, t->n_collectives * sizeof *t->collectives);
        memcpy(out->collectives, t->collectives, t->n_collectives * sizeof *t->collectives);
    }
    copy_phases(d, t, a, out);
    memcpy(out->outside_ns, t->outside_ns, sizeof out->outside_ns);
    out->validation_ns = t->validation_ns;
    out->wall_ns = t->last_step_end_ns - t->steps[0].start_ns;
    return 1;
}

uint64_t reduce_overflow(const struct reducer *d)
{
    return d->overflow;
}

uint64_t reduce_looks(const struct reducer *d)
{
    return d->track_of.n_looks;
}

void reduce_free(struct reducer *d)
{
    if (!d)
        return;
    dcr_map_release(&d->track_of);
    struct dcr_arena a = d->arena;
    dcr_arena_release(&a);
}
