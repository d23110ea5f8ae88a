/* memory_counters.c - see memory_counters.h. */
#include "render/metrics/memory_counters.h"

#include "render/metrics/readings.h"

#include <math.h>
#include <string.h>

enum { LINE_BYTES = 64 }; /* a cache line of Intel's processors */

/* The first node whose processor counts misses of another cache under this name, NULL = none. */
static const struct run_node *other_cache(const struct run *a)
{
    for (int i = 0; i < a->nodes_len; i++)
        if (!strstr(a->nodes[i].cpu_model, "Intel"))
            return &a->nodes[i];
    return NULL;
}

/* -1 = they were not counted throughout. */
static double misses_per_ns(const struct run_rank *k)
{
    struct reading_window w = window_of_steps(k);
    if (k->n_delays < 2)
        return -1;
    if (w.to == w.from)
        w = (struct reading_window){k->delays[0].t_ns, k->delays[k->n_delays - 1].t_ns};
    if (!readings_cover(k->delays, k->n_delays, w))
        return -1;
    for (int i = 0; i < k->n_delays; i++)
        if (k->delays[i].misses < 0)
            return -1;
    return (double)(reading_at(k->delays, k->n_delays, w.to).misses -
                    reading_at(k->delays, k->n_delays, w.from).misses) /
           (double)(w.to - w.from);
}

struct reason missed_gb_per_s(const struct run *a, double *out)
{
    const struct run_node *other = other_cache(a);
    *out = 0;
    if (!a->ranks_len || !a->nodes_len)
        return REASON(NO_COUNTS);
    if (other)
        return REASON(COUNTS_OTHER_CACHE, slot_name(*other->cpu_model ? other->cpu_model : "this processor"));
    for (int i = 0; i < a->ranks_len; i++) {
        double rate = misses_per_ns(&a->ranks[i]);
        if (rate < 0)
            return REASON(MISSES_NOT_COUNTED);
        *out += rate * LINE_BYTES; /* bytes per nanosecond are GB/s */
    }
    return REASON(NONE);
}

/* Bytes per nanosecond, which are GB/s; -1 = the readings do not cover the window. */
static double moved_per_ns(const struct run_node *n, struct reading_window w)
{
    if (n->n_memory > 1 && w.to == w.from)
        w = (struct reading_window){n->memory[0].t_ns, n->memory[n->n_memory - 1].t_ns};
    if (!readings_cover(n->memory, n->n_memory, w))
        return -1;
    if (w.to > n->memory[n->n_memory - 1].t_ns) /* the last reading may be missing */
        w.to = n->memory[n->n_memory - 1].t_ns;
    struct run_reading from = reading_at(n->memory, n->n_memory, w.from), to = reading_at(n->memory, n->n_memory, w.to);
    return (double)(to.read_bytes - from.read_bytes + to.written_bytes - from.written_bytes) / (double)(w.to - w.from);
}

/* The steps of the first rank on this machine. NULL = no rank is on it. */
static const struct run_rank *rank_on(const struct run *a, int machine)
{
    for (int i = 0; i < a->nodes_len; i++)
        for (int k = 0; k < a->ranks_len && run_machine_of(a, i) == machine; k++)
            if (a->ranks[k].node == a->nodes[i].node)
                return &a->ranks[k];
    return NULL;
}

double controllers_gb_per_s(const struct run *a)
{
    double sum = 0;
    int n = 0;
    for (int i = 0; i < a->nodes_len; i++) {
        const struct run_rank *k = run_machine_of(a, i) == i ? rank_on(a, i) : NULL;
        if (!k)
            continue;
        double rate = moved_per_ns(&a->nodes[i], window_of_steps(k));
        if (rate < 0)
            return -1;
        sum += rate;
        n++;
    }
    return n ? sum : -1;
}

/* ---- by phase -------------------------------------------------------------------------------------------------- */

struct sums {
    double ns;
    double cycles, instructions, stalled, misses; /* NAN = not counted throughout */
};

/* A counter that shares its unit is scaled, so it may go back a little. */
static void add_counter(double *sum, int64_t from, int64_t to)
{
    *sum += from < 0 || to < 0 ? NAN : (double)to - (double)from;
}

static void add_pair(struct sums *s, const struct counter_reading *from, const struct counter_reading *to)
{
    s->ns += (double)to->t_ns - (double)from->t_ns;
    add_counter(&s->cycles, from->cycles, to->cycles);
    add_counter(&s->instructions, from->instructions, to->instructions);
    add_counter(&s->stalled, from->stalled_cycles, to->stalled_cycles);
    add_counter(&s->misses, from->misses, to->misses);
}

/* A ratio of two sums; -1 = one of them is not known. */
static double rate_of(double sum, double of, double most)
{
    double rate = of > 0 ? sum / of : NAN;
    return !(rate >= 0) ? -1 : rate < most ? rate : most;
}

static struct phase_counters rates_of(const struct run *a, const char *name, const struct sums *s)
{
    return (struct phase_counters){.name = name,
                                   .ns = s->ns < 9e18 ? (int64_t)s->ns : INT64_MAX,
                                   .instructions_per_cycle = rate_of(s->instructions, s->cycles, INFINITY),
                                   .stalled_ratio = rate_of(s->stalled, s->cycles, 1),
                                   .missed_gb_per_s =
                                       other_cache(a) ? -1 : rate_of(s->misses * LINE_BYTES, s->ns, INFINITY)};
}

static int phase_number(struct counted_phases *c, const char *name)
{
    for (int i = 0; i < c->n; i++)
        if (strcmp(c->phases[i].name, name) == 0)
            return i;
    if (c->n == RUN_MAX_PHASES)
        return -1;
    c->phases[c->n] = (struct phase_counters){.name = name};
    return c->n++;
}

/* Pairs of readings that lie completely in a stretch. Both are in order of time. */
static void add_rank(struct counted_phases *c, struct sums *whole, struct sums *of, const struct run_rank *k)
{
    struct reading_window w = window_of_steps(k);
    size_t s = 0;
    for (size_t i = 1; i < k->n_counts; i++) {
        const struct counter_reading *from = &k->counts[i - 1], *to = &k->counts[i];
        if (to->t_ns <= from->t_ns || (w.to > w.from && (from->t_ns < w.from || to->t_ns > w.to)))
            continue;
        add_pair(whole, from, to);
        while (s < k->n_stretches && k->stretches[s].to_ns < to->t_ns)
            s++;
        if (s == k->n_stretches || k->stretches[s].from_ns > from->t_ns)
            continue;
        int p = phase_number(c, k->phases[k->stretches[s].phase].name);
        if (p >= 0)
            add_pair(&of[p], from, to);
    }
}

struct counted_phases counters_by_phase(struct dcr_arena *arena, const struct run *a)
{
    struct counted_phases c = {.phases = dcr_arena_alloc(arena, RUN_MAX_PHASES * sizeof *c.phases)};
    struct sums whole = {0}, of[RUN_MAX_PHASES] = {{0}};
    int has_steps = 0, has_stretches = 0;
    for (int i = 0; i < a->ranks_len; i++) {
        has_steps |= a->ranks[i].n_steps > 0;
        has_stretches |= a->ranks[i].n_stretches > 0;
    }
    for (int i = 0; i < a->ranks_len; i++) /* ranks without steps do other work */
        if (!has_steps || a->ranks[i].n_steps)
            add_rank(&c, &whole, of, &a->ranks[i]);
    c.whole = rates_of(a, "", &whole);
    c.has = whole.cycles > 0;
    for (int i = 0; i < c.n; i++)
        c.phases[i] = rates_of(a, c.phases[i].name, &of[i]);
    c.why = c.n             ? REASON(NONE)
            : has_stretches ? REASON(PHASES_TOO_SHORT)
            : has_steps     ? REASON(PHASES_NOT_TIMED)
                            : REASON(MEMORY_NO_STEPS);
    return c;
}
