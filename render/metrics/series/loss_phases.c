/* loss_phases.c - which named phase of a part lost the time that the part lost. Sums to the part exactly. See series.h.
 */
#include "render/metrics/known.h"
#include "render/metrics/series/series.h"
#include "render/metrics/stats.h"
#include "render/metrics/steps.h"

#include <string.h>

enum { PHASES_OF_PART = 40 }; /* further ones count as time in no phase; a part of our trainer has at most four */

/* One range holds both the transfer and the waiting for it, so communication is one part here. */
static enum part part_of_category(enum category c)
{
    static const enum part of[N_CATEGORIES] = {
        [CAT_COMPUTE] = PART_COMPUTE, [CAT_COMM] = PART_TRANSFER, [CAT_DATA] = PART_DATA,
        [CAT_IO] = PART_IO,           [CAT_COPY] = PART_COPY,     [CAT_OTHER] = PART_OTHER};
    return of[c];
}

static int64_t of_part(const int64_t *part_ns, enum part p)
{
    return part_ns[p] + (p == PART_TRANSFER ? part_ns[PART_WAIT] : 0);
}

/* Whole ranges include what lies inside them, so they do not sum to a part. */
static int is_in_part(const struct phase_result *p, enum part part)
{
    return !p->is_whole && *p->name && part_of_category(p->category) == part;
}

static int has_phases(const struct report *rep, const struct series *s)
{
    for (int i = 0; i < s->n_points; i++)
        for (int k = 0; k < s->points[i].n_runs; k++) {
            const struct run_result *r = &rep->runs[s->points[i].runs[k]];
            int n = 0;
            for (int q = 0; q < r->n_phases; q++)
                n += !r->phases[q].is_whole;
            if (n == 0)
                return 0;
        }
    return 1;
}

static struct series_phase *phase_of(struct series *s, enum part part, const char *name)
{
    for (int i = 0; i < s->n_phases; i++)
        if (s->phases[i].part == part && strcmp(s->phases[i].name, name) == 0)
            return &s->phases[i];
    return NULL;
}

static void add_phase(struct report *rep, struct series *s, size_t *cap, enum part part, const char *name)
{
    int n = 0;
    for (int i = 0; i < s->n_phases; i++)
        n += s->phases[i].part == part;
    if (phase_of(s, part, name) || (*name && n == PHASES_OF_PART))
        return;
    s->phases = arena_grow(&rep->arena, s->phases, (size_t)s->n_phases, cap, sizeof *s->phases);
    s->phases[s->n_phases++] = (struct series_phase){
        .name = name,
        .part = part,
        .ns = dcr_arena_alloc(&rep->arena, (size_t)s->n_points * sizeof(int64_t)),
        .lost_ns = dcr_arena_alloc(&rep->arena, (size_t)(s->n_losses + 1) * sizeof(int64_t)),
    };
}

/* Part by part: the phases of all points, then the time in no phase. */
static void name_phases(struct report *rep, struct series *s)
{
    size_t cap = 0;
    for (int part = 0; part < N_PARTS; part++) {
        if (part == PART_WAIT)
            continue;
        for (int i = s->n_points - 1; i >= 0; i--)
            for (int k = 0; k < s->points[i].n_runs; k++) {
                const struct run_result *r = &rep->runs[s->points[i].runs[k]];
                for (int q = 0; q < r->n_phases; q++)
                    if (is_in_part(&r->phases[q], (enum part)part))
                        add_phase(rep, s, &cap, (enum part)part, r->phases[q].name);
            }
        add_phase(rep, s, &cap, (enum part)part, "");
    }
}

/* Phases [from, to) are those of a part. Sums over the steps, ranks and repetitions of a point, then their mean step,
 * which sums to that of the part. Phases that hold more than their part do not tell how it is made up. This happens if
 * communication beside other work was cut from the part.  returns  0: these do */
static int fill_point(const struct report *rep, struct series *s, int from, int to, int point, int64_t *room)
{
    const struct series_point *p = &s->points[point];
    enum part part = s->phases[from].part;
    int64_t total = 0, named = 0;
    memset(room, 0, (size_t)(to - from) * sizeof *room);
    for (int k = 0; k < p->n_runs; k++) {
        const struct run_result *r = &rep->runs[p->runs[k]];
        for (int64_t step = 0; step < r->n_counted; step++)
            total += of_part(r->step_part_ns[step], part);
        for (int q = 0; q < r->n_phases; q++) {
            const struct series_phase *is =
                is_in_part(&r->phases[q], part) ? phase_of(s, part, r->phases[q].name) : NULL;
            if (!is)
                continue;
            named += r->phases[q].total_ns;
            room[is - &s->phases[from]] += r->phases[q].total_ns;
        }
    }
    room[to - from - 1] = total - named;
    if (named > total)
        return 0;
    int64_t mean = of_part(p->part_ns, part);
    apportion(room, to - from, total ? mean : 0, total ? total : 1, room);
    for (int i = from; i < to; i++)
        s->phases[i].ns[point] = room[i - from];
    return 1;
}

static void put_in_none(struct series *s, int from, int to, int point)
{
    for (int i = from; i < to; i++)
        s->phases[i].ns[point] = 0;
    s->phases[to - 1].ns[point] = of_part(s->points[point].part_ns, s->phases[from].part);
}

static void fill_loss(struct series *s, int from, int to, int loss, int64_t *room)
{
    const struct series_loss *l = &s->losses[loss];
    enum part part = s->phases[from].part;
    int64_t before = of_part(s->points[l->from].part_ns, part);
    int64_t ideal = of_part(s->points[l->to].part_ns, part) - of_part(l->part_ns, part);
    for (int i = from; i < to; i++)
        room[i - from] = s->phases[i].ns[l->from];
    apportion(room, to - from, before ? ideal : 0, before ? before : 1, room);
    for (int i = from; i < to; i++)
        s->phases[i].lost_ns[loss] = s->phases[i].ns[l->to] - room[i - from];
}

static int is_empty(const struct series *s, const struct series_phase *p)
{
    for (int i = 0; i < s->n_points; i++)
        if (p->ns[i])
            return 0;
    return 1;
}

void series_phases(struct report *rep, struct series *s)
{
    if (s->n_losses == 0 || !has_phases(rep, s))
        return;
    name_phases(rep, s);
    int64_t *room = dcr_arena_alloc(&rep->arena, (size_t)s->n_phases * sizeof *room);
    for (int from = 0, to; from < s->n_phases; from = to) {
        for (to = from + 1; to < s->n_phases && s->phases[to].part == s->phases[from].part;)
            to++;
        int fits = 1;
        for (int i = 0; i < s->n_points; i++)
            fits &= fill_point(rep, s, from, to, i, room);
        for (int i = 0; i < s->n_points && !fits; i++)
            put_in_none(s, from, to, i);
        for (int i = 0; i < s->n_losses; i++)
            fill_loss(s, from, to, i, room);
    }
    int n = 0;
    for (int i = 0; i < s->n_phases; i++)
        if (!is_empty(s, &s->phases[i]))
            s->phases[n++] = s->phases[i];
    s->n_phases = n;
}

const struct series_phase *phase_that_lost(const struct series *s, int loss, enum part part)
{
    const struct series_loss *l = &s->losses[loss];
    const struct series_phase *most = NULL;
    int n = 0;
    for (int i = 0; i < s->n_phases; i++) {
        const struct series_phase *p = &s->phases[i];
        if (p->part != part || !*p->name || p->ns[l->from] <= 0)
            continue;
        n++;
        if (!most || p->lost_ns[loss] > most->lost_ns[loss])
            most = p;
    }
    return n > 1 && 2 * most->lost_ns[loss] > of_part(l->part_ns, part) ? most : NULL;
}

/* What the ideal part of a phase grew by; -1 = it was not recorded at both points. */
static double growth_of(const struct series *s, int loss, const char *name, double *ideal_ns)
{
    const struct series_loss *l = &s->losses[loss];
    for (int i = 0; i < s->n_phases; i++) {
        const struct series_phase *p = &s->phases[i];
        *ideal_ns = (double)(p->ns[l->to] - p->lost_ns[loss]);
        if (p->part == PART_COMPUTE && strcmp(p->name, name) == 0 && *ideal_ns > 0)
            return (double)p->lost_ns[loss] / *ideal_ns;
    }
    return -1;
}

int64_t lost_beside_exchange(const struct series *s, int loss)
{
    double ideal_ns, forward = growth_of(s, loss, "forward", &ideal_ns);
    double backward = growth_of(s, loss, "backward", &ideal_ns);
    double beyond = backward - (forward > 0 ? forward : 0);
    return forward > -1 && beyond > 0 ? (int64_t)(beyond * ideal_ns) : 0;
}
