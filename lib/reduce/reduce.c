/* reduce.c - see reduce.h. Each track has one pending list of the ranges since the last step, cut so that they do not
 * overlap. A step takes its share of them, and the list starts empty again. */
#include "lib/reduce/reduce_inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PENDING = 1000000, MAX_CALLS = 4000000 };

struct reducer *reduce_new(void)
{
    struct dcr_arena a = {0};
    struct reducer *d = dcr_arena_alloc(&a, sizeof *d);
    d->arena = a;
    d->until_ns = INT64_MAX;
    return d;
}

void reduce_until(struct reducer *d, int64_t until_ns)
{
    d->until_ns = until_ns;
}

static struct track *track_of(struct reducer *d, uint32_t id)
{
    uint32_t at;
    if (d->last && d->last->id == id)
        return d->last;
    if (dcr_map_get(&d->track_of, id, &at))
        return d->last = d->tracks[at];
    dcr_map_set(&d->track_of, id, (uint32_t)d->n_tracks);
    d->tracks = arena_grow(&d->arena, d->tracks, d->n_tracks, &d->tracks_cap, sizeof *d->tracks);
    struct track *t = dcr_arena_alloc(&d->arena, sizeof *t);
    t->id = id;
    t->last_step_end_ns = t->end_before_ns = t->optimizer_ns = t->summed_ns = INT64_MIN;
    t->every = 1;
    d->tracks[d->n_tracks++] = t;
    return d->last = t;
}

/* Index of the phase of that name and category. A new phase is made if there is room; else -1. */
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
        last->maker == g.maker && last->file == g.file) {
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

/* Does the inner range count as time of the outer one? See enum event_maker. */
static int is_absorbed(const struct segment *inner, const struct event *e)
{
    int is_file = inner->maker == EVENT_BY_RECORDER && inner->category == CAT_IO;
    return inner->maker > e->maker && (inner->category == e->category || is_file);
}

/* File calls inside loading count as loading but form a separate phase, because waiting for a disk and decoding are two
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

static void add_loading(struct reducer *d, struct track *t, uint32_t file, int64_t ns)
{
    if (file == 0)
        return;
    while (t->n_loading < file) {
        t->loading_ns = arena_grow(&d->arena, t->loading_ns, t->n_loading, &t->loading_cap, sizeof *t->loading_ns);
        t->loading_ns[t->n_loading++] = 0;
    }
    reduce_add(&t->loading_ns[file - 1], ns);
}

/* Gives e's category the parts of [e.start, e.end) that no earlier (inner) range took. */
static void add_phase(struct reducer *d, struct track *t, const struct event *e)
{
    size_t first = t->n_pending;
    while (first > 0 && t->pending[first - 1].end_ns > e->start_ns)
        first--;
    size_t n_inner = t->n_pending - first;
    struct segment own = {e->start_ns, e->end_ns, e->category, phase_of(d, e), e->maker, e->file};
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
            inner[i].maker = EVENT_BY_PROGRAM;
            add_loading(d, t, inner[i].file, inner[i].end_ns - inner[i].start_ns);
            inner[i].file = 0;
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
            reduce_add(&bytes, t->calls[t->n_calls].bytes);
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
        reduce_add(&t->tail_ns[t->pending[i].category], end - t->pending[i].start_ns);
    }
}

/* Sums over many collectives stay within 64 bits. */
static int64_t at_most_a_step(int64_t ns)
{
    return ns < RUN_MAX_STEP_NS ? ns : RUN_MAX_STEP_NS;
}

static void close_collective(struct reducer *d, struct track *t, const struct call *c)
{
    t->collectives =
        arena_grow(&d->arena, t->collectives, t->n_collectives, &t->collectives_cap, sizeof *t->collectives);
    t->collective_start =
        arena_grow(&d->arena, t->collective_start, t->n_collectives, &t->starts_cap, sizeof *t->collective_start);
    t->since.dur_ns = at_most_a_step(c->end_ns - c->start_ns);
    for (int k = 0; k < N_CATEGORIES; k++)
        t->since.since_ns[k] = k == CAT_COMM ? 0 : at_most_a_step(t->since.since_ns[k]);
    t->since.outside_ns = at_most_a_step(t->since.outside_ns);
    t->collectives[t->n_collectives] = t->since;
    t->collective_start[t->n_collectives++] = c->start_ns;
    memset(&t->since, 0, sizeof t->since);
    memset(t->after_pass_ns, 0, sizeof t->after_pass_ns);
}

/* Adds [start, end) of one category to the running "since the last collective", closing the collectives that end in
 * it. A collective is closed when time passes its end. */
static void pass_time(struct reducer *d, struct track *t, size_t *next_call, int64_t start, int64_t end,
                      enum category c)
{
    while (*next_call < t->n_calls && t->calls[*next_call].end_ns <= start)
        close_collective(d, t, &t->calls[(*next_call)++]);
    if (c == CAT_COMM)
        return;
    t->since.since_ns[c] += end - start;
    t->after_pass_ns[c] += end - start;
}

/* Time of a phase in a step. */
static void add_phase_time(struct reducer *d, struct track *t, int phase, size_t step, int64_t ns)
{
    if (phase < 0)
        return;
    struct column *c = &t->phases[phase];
    while (c->n <= step) {
        c->ns = arena_grow(&d->arena, c->ns, c->n, &c->cap, sizeof *c->ns);
        c->ns[c->n++] = 0;
    }
    c->ns[step] += ns;
}

static void keep_stretch(struct reducer *d, struct track *t, int phase, int64_t from, int64_t to)
{
    if (phase < 0 || to - from < REDUCE_STRETCH_NS || t->n_stretches == REDUCE_MAX_STRETCHES)
        return;
    t->stretches = arena_grow(&d->arena, t->stretches, t->n_stretches, &t->stretches_cap, sizeof *t->stretches);
    t->stretches[t->n_stretches++] = (struct phase_stretch){from, to, phase};
}

static void keep_first(struct track *t, size_t n_steps, size_t n_collectives)
{
    t->n_steps = n_steps;
    t->n_collectives = n_collectives;
    for (int k = 0; k < RUN_MAX_PHASES; k++)
        t->phases[k].n = t->phases[k].n < n_steps ? t->phases[k].n : n_steps;
}

void reduce_cut(struct track *t, size_t n)
{
    keep_first(t, n, t->steps[n].first_collective);
}

/* All ranks must keep the same steps, wherever they begin, so the first step of each group of `every` step numbers is
 * kept. If numbers restart with each epoch they do not show the order, so every `every`-th step is kept instead. */
static int is_kept(const struct track *t, const struct step_record *before, const struct step_record *s, int64_t order)
{
    return t->is_by_order ? order % t->every == 0 : before->step / t->every != s->step / t->every;
}

void reduce_drop_last(struct track *t)
{
    size_t n = t->n_steps;
    if (n > 1 && !is_kept(t, &t->steps[n - 2], &t->steps[n - 1], t->n_seen - 1))
        reduce_cut(t, n - 1);
}

/* Keeps about half of the steps that were kept so far. */
static void thin(struct track *t)
{
    size_t n = 0, n_collectives = 0;
    t->every *= 2;
    for (size_t i = 0; i < t->n_steps; i++) {
        struct step_record s = t->steps[i];
        if (n && !is_kept(t, &t->steps[n - 1], &s, (int64_t)i * (t->every / 2)))
            continue;
        if (s.n_collectives) {
            memmove(&t->collectives[n_collectives], &t->collectives[s.first_collective],
                    s.n_collectives * sizeof *t->collectives);
            memmove(&t->collective_start[n_collectives], &t->collective_start[s.first_collective],
                    s.n_collectives * sizeof *t->collective_start);
        }
        for (int k = 0; k < RUN_MAX_PHASES; k++)
            if (i < t->phases[k].n)
                t->phases[k].ns[n] = t->phases[k].ns[i];
        s.first_collective = (uint32_t)n_collectives;
        n_collectives += s.n_collectives;
        t->steps[n++] = s;
    }
    keep_first(t, n, n_collectives);
}

/* The last step stays until the next one comes because events between the two may belong to it. */
static void make_room(struct track *t)
{
    reduce_drop_last(t);
    while (t->every < INT64_MAX / 2 && t->n_steps > 1 &&
           (t->n_steps >= REDUCE_MAX_STEPS || t->n_collectives >= REDUCE_MAX_COLLECTIVES))
        thin(t);
}

/* Drops the collectives from `first` on: it is unknown which of them were lost and what came before each. */
static void forget_collectives(struct track *t, uint32_t first, int is_summed)
{
    t->n_collectives = first;
    if (is_summed)
        memset(&t->since, 0, sizeof t->since);
}

static void add_step(struct reducer *d, struct track *t, const struct event *e)
{
    int64_t number = e->number >= 0 ? e->number : t->n_seen;
    t->is_by_order |= t->n_steps && number <= t->steps[t->n_steps - 1].step;
    make_room(t);
    count_outside(t, e->start_ns);
    for (int c = 0; c < N_CATEGORIES; c++)
        reduce_add(&t->outside_ns[c], t->tail_ns[c]);
    reduce_add(&t->validation_ns, t->tail_validation_ns);
    memcpy(t->gap_ns, t->tail_ns, sizeof t->gap_ns);
    t->gap_validation_ns = t->tail_validation_ns;
    memset(t->tail_ns, 0, sizeof t->tail_ns);
    t->tail_validation_ns = 0;
    t->steps = arena_grow(&d->arena, t->steps, t->n_steps, &t->steps_cap, sizeof *t->steps);
    struct step_record *s = &t->steps[t->n_steps];
    memset(s, 0, sizeof *s);
    s->step = number;
    s->start_ns = e->start_ns;
    s->step_ns = e->end_ns - e->start_ns;
    s->samples = -1;
    s->first_collective = (uint32_t)t->n_collectives;
    if (t->n_steps && e->start_ns > t->last_step_end_ns)
        t->since.outside_ns += e->start_ns - t->last_step_end_ns;

    size_t call = 0;
    while (call < t->n_calls && t->calls[call].start_ns < e->start_ns)
        call++; /* outside the step */
    memset(t->after_pass_ns, 0, sizeof t->after_pass_ns);
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
        add_phase_time(d, t, g.phase, t->n_steps, to - from);
        keep_stretch(d, t, g.phase, from, to);
        pass_time(d, t, &call, from, to, g.category);
        if (g.phase >= 0 && g.category == CAT_COMPUTE && strcmp(d->phases[g.phase].name, "backward") == 0)
            memset(t->after_pass_ns, 0, sizeof t->after_pass_ns);
        at = to;
    }
    s->part_ns[CAT_OTHER] += e->end_ns - at;
    pass_time(d, t, &call, at, e->end_ns, CAT_OTHER);
    while (call < t->n_calls)
        close_collective(d, t, &t->calls[call++]);
    int is_summed = t->summed_ns >= e->start_ns;
    s->is_summed = is_summed || t->is_after_sum; /* the time before the first collective after a loss is unknown */
    t->is_after_sum = is_summed;
    if (s->is_summed)
        forget_collectives(t, s->first_collective, is_summed);
    s->n_collectives = (uint32_t)(t->n_collectives - s->first_collective);
    for (size_t i = 0; i < t->n_calls; i++)
        if (t->calls[i].start_ns >= e->start_ns)
            reduce_add(&s->bytes, t->calls[i].bytes);
    t->is_by_hook = e->maker == EVENT_BY_HOOK;
    t->n_steps++;
    t->n_seen++;
    reduce_add(&t->seen_ns, s->step_ns);
    t->end_before_ns = t->last_step_end_ns;
    t->last_step_end_ns = e->end_ns;
    t->n_pending = t->n_calls = 0;
}

/* Takes time off the end of the phase's last stretch since start_ns. */
static void shorten_stretch(struct track *t, int phase, int64_t start_ns, int64_t ns)
{
    for (size_t i = t->n_stretches; i-- > 0 && t->stretches[i].from_ns >= start_ns;) {
        struct phase_stretch *s = &t->stretches[i];
        if (s->phase != phase)
            continue;
        s->to_ns -= ns;
        if (s->to_ns - s->from_ns < REDUCE_STRETCH_NS)
            memmove(s, s + 1, (--t->n_stretches - i) * sizeof *s);
        return;
    }
}

void reduce_hide(struct step_record *s, int64_t ns)
{
    int64_t rest = s->step_ns - s->hidden_comm_ns;
    s->hidden_comm_ns += ns < rest ? ns : rest;
}

/* Takes the exchange of gradients in the last step's backward pass, which the library timed and reported later. The
 * time that the pass waited for it becomes communication: one collective, the last of its step. source:
 * docs/metrics.md, PyTorch under the collector */
static void add_exchange(struct reducer *d, struct track *t, const struct event *e)
{
    struct event backward = {.category = CAT_COMPUTE, .name = "backward"},
                 exchange = {.category = CAT_COMM, .name = "all_reduce"};
    int from = phase_of(d, &backward), to = phase_of(d, &exchange);
    if (t->n_steps == 0 || e->number < 0 || from < 0 || to < 0)
        return;
    size_t last = t->n_steps - 1;
    struct step_record *s = &t->steps[last];
    if (e->is_beside) {
        reduce_hide(s, e->number);
        return;
    }
    struct column *pass = &t->phases[from];
    int64_t passed = last < pass->n ? pass->ns[last] : 0, ns = e->number < passed ? e->number : passed;
    if (passed <= 0) /* the program's own range took the time of the pass */
        return;
    t->n_exchanged = t->n_seen;
    shorten_stretch(t, from, s->start_ns, ns);
    add_phase_time(d, t, from, last, -ns);
    add_phase_time(d, t, to, last, ns);
    s->part_ns[CAT_COMPUTE] -= ns;
    s->part_ns[CAT_COMM] += ns;
    t->since.since_ns[CAT_COMPUTE] -= ns < t->since.since_ns[CAT_COMPUTE] ? ns : t->since.since_ns[CAT_COMPUTE];
    if (s->is_summed) /* this collective would be the step's only one */
        return;
    /* What the rank did after the pass, such as validation, makes it late to the next exchange. */
    struct call call = {t->last_step_end_ns - ns, t->last_step_end_ns, 0};
    int64_t after[N_CATEGORIES];
    memcpy(after, t->after_pass_ns, sizeof after);
    for (int c = 0; c < N_CATEGORIES; c++)
        t->since.since_ns[c] -= after[c] < t->since.since_ns[c] ? after[c] : t->since.since_ns[c];
    close_collective(d, t, &call);
    memcpy(t->since.since_ns, after, sizeof after);
    s->n_collectives++;
}

/* Batches were taken for steps but turned out to be parts of steps. */
static void forget_batches(struct reducer *d)
{
    for (size_t i = 0; i < d->n_tracks; i++) {
        struct track *t = d->tracks[i];
        if (t->n_steps == 0)
            continue;
        t->n_steps = t->n_collectives = t->n_pending = t->n_calls = t->n_loading = t->n_stretches = 0;
        t->validation_ns = t->tail_validation_ns = 0;
        t->n_exchanged = t->n_seen = t->seen_ns = 0;
        t->is_by_order = 0;
        t->every = 1;
        t->last_step_end_ns = t->end_before_ns = INT64_MIN;
        memset(t->outside_ns, 0, sizeof t->outside_ns);
        memset(t->tail_ns, 0, sizeof t->tail_ns);
        memset(&t->since, 0, sizeof t->since);
        for (int k = 0; k < d->n_phases; k++)
            t->phases[k].n = 0;
    }
}

/* A batch counts as a step until a step of another name is found. If that first step encloses batches, it lost their
 * content, so it is left out and counting begins after it. returns  1 when e is to be taken */
static int is_wanted_step(struct reducer *d, const struct track *t, const struct event *e)
{
    size_t n = t->n_steps;
    if (e->is_batch ? d->has_steps : n && d->has_steps && e->start_ns <= t->steps[n - 1].start_ns)
        return 0; /* it encloses steps: a larger unit of the same name */
    if (e->is_batch)
        return !n || e->start_ns > t->steps[n - 1].start_ns;
    int is_emptied = !d->has_steps && n && e->start_ns <= t->steps[n - 1].start_ns;
    if (!d->has_steps)
        forget_batches(d);
    d->has_steps = 1;
    return !is_emptied;
}

static void take_event(struct reducer *d, const struct event *e)
{
    if (e->kind == EVENT_STEP &&
        (e->end_ns == e->start_ns || e->end_ns - e->start_ns > RUN_MAX_STEP_NS || e->end_ns > d->until_ns))
        return;
    if (e->is_beside && e->kind == EVENT_PHASE && e->category == CAT_COMM) {
        keep_call(d, e->maker == EVENT_BY_RECORDER ? &d->flights : &d->beside,
                  (struct call){e->start_ns, e->end_ns, e->bytes});
        return;
    }
    struct track *t = track_of(d, e->track);
    if (e->kind == EVENT_STEP && !is_wanted_step(d, t, e))
        return;
    switch (e->kind) {
    case EVENT_STEP:
        add_step(d, t, e);
        break;
    case EVENT_PHASE:
        add_phase(d, t, e);
        if (e->maker == EVENT_BY_HOOK && e->name && strcmp(e->name, "optimizer") == 0)
            t->optimizer_ns = e->start_ns;
        if (e->category != CAT_COMM || (e->maker == EVENT_BY_RECORDER && reduce_is_between_two(e->name)))
            break;
        if (reduce_waits(e->name))
            add_call(d, t, e);
        if (e->is_sum)
            t->summed_ns = e->start_ns;
        break;
    case EVENT_VALIDATION:
        forget_inside(t, e->start_ns);
        if (t->n_steps)
            reduce_add(&t->tail_validation_ns, e->end_ns - e->start_ns);
        break;
    case EVENT_EXCHANGE:
        add_exchange(d, t, e);
        break;
    case EVENT_BATCH: /* see take_batch */
    case EVENT_NONE:
        break;
    }
    /* An outermost range ends everything before it. On tracks that never see a step this bounds the memory. */
    if (e->depth == 0 && e->kind != EVENT_STEP) {
        if (t->n_steps) {
            count_outside(t, INT64_MAX);
            t->n_calls = 0;
        }
        t->n_pending = 0;
    }
}

/* Decides at its end whether a batch was a step. If the program marks steps or batches itself, those of the hook are
 * ignored. */
static void take_batch(struct reducer *d, const struct event *e)
{
    const struct track *t = track_of(d, e->track);
    struct event batch = *e;
    if (d->has_steps || (t->n_steps && !t->is_by_hook))
        return;
    batch.kind = t->optimizer_ns >= e->start_ns ? EVENT_STEP : EVENT_NONE;
    batch.is_batch = 1;
    take_event(d, &batch);
}

void reduce_event(struct reducer *d, const struct event *e)
{
    if (e->end_ns < e->start_ns)
        return;
    if (e->kind == EVENT_BATCH)
        take_batch(d, e);
    else
        take_event(d, e);
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
