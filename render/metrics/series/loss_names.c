/* loss_names.c - which operator, MPI call or collective takes longer than with ideal scaling. The names of a kind sum
 * exactly to all that was recorded of it. See series.h. */
#include "render/metrics/changes.h"
#include "render/metrics/series/series.h"
#include "render/metrics/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A name's sums over the ranks, steps and repetitions of each point. */
struct named {
    const char *name;
    int64_t *ns; /* shape (n_points) */
    double lost; /* of the last loss, not rounded */
};

struct table {
    struct report *rep;
    const struct series *s;
    struct named *rows;
    size_t n, cap;
    int64_t *steps; /* of all ranks and repetitions; shape (n_points) */
    int64_t all;    /* sum of all */
};

static struct named *row_of(struct table *t, const char *name)
{
    for (size_t i = 0; i < t->n; i++)
        if (strcmp(t->rows[i].name, name) == 0)
            return &t->rows[i];
    t->rows = arena_grow(&t->rep->arena, t->rows, t->n, &t->cap, sizeof *t->rows);
    struct named *row = &t->rows[t->n++];
    *row =
        (struct named){.name = name, .ns = dcr_arena_alloc(&t->rep->arena, (size_t)t->s->n_points * sizeof *row->ns)};
    return row;
}

static int64_t steps_of_ranks(const struct run *r)
{
    int64_t n = 0;
    for (int i = 0; i < r->ranks_len; i++)
        n += steps_of_all(r->ranks[i].steps, r->ranks[i].n_steps, &r->ranks[i].seen).n;
    return n;
}

/* A profiler may have recorded some of the steps and ranks only. Traces that mark no steps are taken to hold all. */
static int64_t steps_of_traces(const struct run *r, enum timed_names of)
{
    int64_t n = 0;
    for (int i = 0; i < r->n_traces; i++) {
        const struct foreign_trace *t = &r->traces[i];
        if (of == TIMED_OPERATORS ? t->operators.n_names == 0 : t->n_devices == 0)
            continue;
        if (t->steps.n_steps == 0)
            return steps_of_ranks(r);
        n += steps_of_all(t->steps.steps, t->steps.n_steps, &t->steps.seen).n;
    }
    return n ? n : steps_of_ranks(r);
}

/* returns  0, or -1 if the run did not record them */
static int add_run(struct table *t, int point, const struct run_result *r, enum timed_names of)
{
    const int64_t most = INT64_MAX / 4;
    struct name_time *list;
    int n = times_by_name(&t->rep->arena, r->run, of, &list), is_host = of == TIMED_OPERATORS || of == TIMED_RANGES;
    if (n == 0 && (is_host || r->n_ranks > 1)) /* a single rank has no other to communicate with */
        return -1;
    for (int i = 0; i < n; i++) {
        int64_t *sum = &row_of(t, list[i].name)->ns[point];
        if (list[i].ns > most - t->all) /* the sum would overflow */
            return -1;
        t->all += list[i].ns;
        *sum += list[i].ns;
    }
    int is_of_traces = of == TIMED_OPERATORS || of == TIMED_COLLECTIVES;
    t->steps[point] += is_of_traces ? steps_of_traces(r->run, of) : steps_of_ranks(r->run);
    return 0;
}

static int add_points(struct table *t, enum timed_names of)
{
    t->steps = dcr_arena_alloc(&t->rep->arena, (size_t)t->s->n_points * sizeof *t->steps);
    for (int i = 0; i < t->s->n_points; i++) {
        const struct series_point *p = &t->s->points[i];
        for (int k = 0; k < p->n_runs; k++)
            if (add_run(t, i, &t->rep->runs[p->runs[k]], of))
                return -1;
        if (t->steps[i] == 0)
            return -1;
    }
    return t->n ? 0 : -1;
}

/* Ideal scaling multiplies a time by num / den. */
static int64_t num_of(const struct series *s, const struct series_loss *l)
{
    return s->kind == SCALING_WEAK ? 1 : s->points[l->from].n_nodes;
}

static int64_t den_of(const struct series *s, const struct series_loss *l)
{
    return s->kind == SCALING_WEAK ? 1 : s->points[l->to].n_nodes;
}

static int by_loss(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    return x->lost != y->lost ? (x->lost < y->lost ? 1 : -1) : strcmp(x->name, y->name);
}

/* Readers keep a limited number of names and sum the others of a run as "(other names)" or similar. A name that is
 * missing at some point may be hidden in that sum. */
static int is_of_others(const char *name)
{
    return strncmp(name, "(other", 6) == 0;
}

static int is_everywhere(const struct table *t, const struct named *row)
{
    for (int i = 0; i < t->s->n_points; i++)
        if (row->ns[i] == 0)
            return 0;
    return 1;
}

/* The names that lost most come first; the others become one row. */
static void shorten(struct table *t)
{
    int has_others = 0, n_shown = 0;
    for (size_t i = 0; i < t->n; i++)
        has_others |= is_of_others(t->rows[i].name);
    const struct series_loss *l = &t->s->losses[t->s->n_losses - 1];
    double ratio = (double)num_of(t->s, l) / (double)den_of(t->s, l);
    for (size_t i = 0; i < t->n; i++) {
        struct named *row = &t->rows[i];
        row->lost = (double)row->ns[l->to] / (double)t->steps[l->to] -
                    ratio * (double)row->ns[l->from] / (double)t->steps[l->from];
        if (is_of_others(row->name) || (has_others && !is_everywhere(t, row)))
            row->lost = -HUGE_VAL;
        n_shown += row->lost > -HUGE_VAL;
    }
    qsort(t->rows, t->n, sizeof *t->rows, by_loss);
    n_shown = n_shown < SERIES_NAMES_SHOWN ? n_shown : SERIES_NAMES_SHOWN;
    if (t->n <= (size_t)n_shown + 1) /* if one name is left, it is shown itself */
        return;
    struct named *rest = &t->rows[n_shown];
    rest->name = "";
    for (size_t i = (size_t)n_shown + 1; i < t->n; i++)
        for (int k = 0; k < t->s->n_points; k++)
            rest->ns[k] += t->rows[i].ns[k];
    t->n = (size_t)n_shown + 1;
}

static void put_rows(struct table *t, struct series *s, enum series_names of, size_t *cap)
{
    int first = s->n_names, n = (int)t->n;
    int64_t *room = dcr_arena_alloc(&t->rep->arena, (size_t)n * sizeof *room);
    for (int i = 0; i < n; i++) {
        s->names = arena_grow(&t->rep->arena, s->names, (size_t)s->n_names, cap, sizeof *s->names);
        s->names[s->n_names++] =
            (struct series_name){.of = of,
                                 .name = t->rows[i].name,
                                 .ns = t->rows[i].ns,
                                 .lost_ns = dcr_arena_alloc(&t->rep->arena, (size_t)s->n_losses * sizeof(int64_t))};
    }
    for (int p = 0; p < s->n_points; p++) {
        for (int i = 0; i < n; i++)
            room[i] = t->rows[i].ns[p];
        apportion(room, n, 1, t->steps[p], room);
        for (int i = 0; i < n; i++)
            s->names[first + i].ns[p] = room[i];
    }
    for (int k = 0; k < s->n_losses; k++) {
        const struct series_loss *l = &s->losses[k];
        for (int i = 0; i < n; i++)
            room[i] = s->names[first + i].ns[l->from];
        apportion(room, n, num_of(s, l), den_of(s, l), room);
        for (int i = 0; i < n; i++)
            s->names[first + i].lost_ns[k] = s->names[first + i].ns[l->to] - room[i];
    }
}

/* returns  1: there is a row */
static int add_names(struct report *rep, struct series *s, enum series_names of, enum timed_names timed, size_t *cap)
{
    struct table t = {.rep = rep, .s = s};
    if (add_points(&t, timed))
        return 0;
    shorten(&t);
    put_rows(&t, s, of, cap);
    return 1;
}

/* Operators of a profiler divide the steps further than phases do. Ranges of native traces do not, because phases are
 * such ranges in the steps alone. */
void series_by_name(struct report *rep, struct series *s)
{
    size_t cap = 0;
    if (s->n_losses == 0)
        return;
    if (!add_names(rep, s, NAMES_OPERATORS, TIMED_OPERATORS, &cap) && s->n_phases == 0)
        add_names(rep, s, NAMES_OPERATORS, TIMED_RANGES, &cap);
    add_names(rep, s, NAMES_MPI, TIMED_MPI, &cap);
    add_names(rep, s, NAMES_COLLECTIVES, TIMED_COLLECTIVES, &cap);
}
