/* reduce_finish.c - the steps of the best track, with what lies beside it: see reduce.h. */
#include "lib/reduce/reduce_inside.h"

#include "lib/base/text.h"

#include <stdlib.h>
#include <string.h>

static struct track *best_track(const struct reducer *d)
{
    struct track *best = NULL;
    for (size_t i = 0; i < d->n_tracks; i++)
        if (d->tracks[i]->n_steps && (!best || d->tracks[i]->n_seen > best->n_seen))
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
    return hidden > 0 ? hidden : 0; /* only in a damaged trace do calls of one thread overlap */
}

/* All communication outside of track t, in order of its start.                          gives (arena); shape: (*n) */
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

/* Adds communication that ran beside the step's own track and that the track did not wait for. */
static void find_hidden(struct reducer *d, const struct track *t, struct reduced *out)
{
    size_t n;
    struct call *calls = calls_of_others(d, t, &n);
    for (size_t i = 0; i < d->n_tracks; i++) /* their sums do not tell when the single calls were */
        out->is_hidden_unknown |= d->tracks[i] != t && d->tracks[i]->summed_ns != INT64_MIN;
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
            if (hi > lo && t->steps[k].is_summed)
                out->is_hidden_unknown = 1;
            else if (hi > lo)
                reduce_hide(&t->steps[k], hidden_part(t, &t->steps[k], lo, hi));
        }
        if (calls[i].end_ns > done)
            done = calls[i].end_ns;
    }
}

static void copy_phases(const struct reducer *d, const struct track *t, struct dcr_arena *a, struct reduced *out)
{
    int number[RUN_MAX_PHASES] = {0};
    out->phases = dcr_arena_alloc(a, RUN_MAX_PHASES * sizeof *out->phases);
    out->n_phases = 0;
    for (int i = 0; i < d->n_phases; i++) {
        const struct column *c = &t->phases[i];
        if (c->n == 0)
            continue;
        number[i] = out->n_phases;
        struct run_phase *p = &out->phases[out->n_phases++];
        p->name = text_clean(a, d->phases[i].name);
        p->category = d->phases[i].category;
        p->ns = dcr_arena_alloc(a, t->n_steps * sizeof *p->ns);
        memcpy(p->ns, c->ns, c->n * sizeof *p->ns);
    }
    out->n_stretches = 0;
    out->stretches = dcr_arena_alloc(a, (t->n_stretches ? t->n_stretches : 1) * sizeof *out->stretches);
    for (size_t i = 0; i < t->n_stretches; i++) {
        struct phase_stretch s = t->stretches[i];
        if (t->phases[s.phase].n == 0) /* its step was left out */
            continue;
        s.phase = number[s.phase];
        out->stretches[out->n_stretches++] = s;
    }
}

/* Leaves out the last step if its exchange of gradients is missing, because its whole backward pass would count as
 * compute. */
static void leave_out_last(struct track *t, struct reduced *out)
{
    t->n_seen--;
    t->seen_ns -= t->steps[t->n_steps - 1].step_ns;
    reduce_cut(t, t->n_steps - 1);
    t->last_step_end_ns = t->end_before_ns;
    for (int c = 0; c < N_CATEGORIES; c++)
        t->outside_ns[c] -= t->gap_ns[c];
    t->validation_ns -= t->gap_validation_ns;
    out->is_last_left_out = 1;
}

int reduce_finish(struct reducer *d, struct dcr_arena *a, struct reduced *out)
{
    struct track *t = best_track(d);
    if (!t || t->n_seen <= (out->seen.every ? out->seen.n : (int64_t)out->n_steps))
        return 0;
    out->is_last_left_out = 0;
    if (t->n_exchanged && t->n_exchanged < t->n_seen)
        leave_out_last(t, out);
    reduce_drop_last(t);
    out->seen = t->every > 1 ? (struct steps_seen){t->every, t->n_seen, t->seen_ns} : (struct steps_seen){0};
    out->track = t->id;
    out->is_by_hook = t->is_by_hook;
    out->is_hidden_unknown = 0;
    find_hidden(d, t, out);
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
    out->n_loading = t->n_loading;
    out->loading_ns = dcr_arena_alloc(a, (t->n_loading ? t->n_loading : 1) * sizeof *out->loading_ns);
    if (t->n_loading)
        memcpy(out->loading_ns, t->loading_ns, t->n_loading * sizeof *out->loading_ns);
    out->wall_ns = t->last_step_end_ns - t->steps[0].start_ns;
    return 1;
}
