/* own_ranges.c - which of the program's own names covers unnamed time. See breakdown_inside.h. Archives hold the ranges
 * of a name only as a sum over the whole run, so a name is given only if other sums confirm that it lies in the steps'
 * unnamed time. */
#include "render/metrics/breakdown/breakdown_inside.h"

#include <string.h>

/* Unnamed time to be explained. unit: ns per step */
struct unnamed {
    double all;  /* whole unnamed time that ranges of one name may take */
    double more; /* the part to explain */
};

static double n_steps_of(const struct run_rank *k)
{
    return (double)steps_of_all(k->steps, k->n_steps, &k->seen).n;
}

/* Times of a name over the whole run. is_known: 0 = the name may be one that was not kept */
struct named {
    double ns, self_ns;
    int is_known;
};

static struct named named(const struct run_rank *k, const char *name)
{
    struct named n = {.is_known = k->n_own_ranges < RUN_MAX_OWN_RANGES};
    for (int i = 0; i < k->n_own_ranges; i++)
        if (strcmp(k->own_ranges[i].name, name) == 0) {
            n.ns += (double)k->own_ranges[i].ns;
            n.self_ns += (double)k->own_ranges[i].self_ns;
            n.is_known = 1;
        }
    return n;
}

/* Mean time of a name in a step, if all of its ranges lie in steps. */
static double time_of(const struct run_rank *k, const char *name)
{
    return named(k, name).ns / n_steps_of(k);
}

static int is_known_everywhere(const struct grid *g, const char *name)
{
    for (int r = 0; r < g->n_ranks; r++)
        if (!named(g->ranks[r], name).is_known)
            return 0;
    return 1;
}

/* Are the sums of all ranks whole, and of the events that the steps were made of? */
static int are_known(const struct grid *g)
{
    for (int r = 0; r < g->n_ranks; r++) {
        const struct run_rank *k = g->ranks[r];
        if (k->source != STEPS_TRACE || !k->own_ranges || k->bare_step_ns < 0 || k->own_self_ns < 0 ||
            k->lost_from_ns || k->n_steps == 0)
            return 0;
    }
    return 1;
}

/* The unnamed time of a step that is in ranges: not that of the step range alone. */
static double owned_of(const struct run_result *out, const struct grid *g, int r)
{
    double owned =
        (double)out->ranks[r].part_ns[PART_OTHER] - (double)g->ranks[r]->bare_step_ns / n_steps_of(g->ranks[r]);
    return owned > 0 ? owned : 0;
}

/* Least time of a name in the unnamed time of a step: what the ranges of all other names cannot cover, wherever they
 * lie. */
static double least_of(const struct run_result *out, const struct grid *g, int r, const char *name)
{
    const struct run_rank *k = g->ranks[r];
    return owned_of(out, g, r) - ((double)k->own_self_ns - named(k, name).self_ns) / n_steps_of(k);
}

/* Does a name that takes `ns` a step explain most of it, by its sum (`more`) and for certain (`least`)? A range around
 * known phases takes more than all unnamed time. */
static int explains(const struct unnamed *u, double ns, double more, double least)
{
    const double exact = 1.1; /* of sums over all steps, with short known phases and calls inside */
    return u->more > 0 && 2 * least > u->more && 2 * more > u->more && ns <= exact * u->all;
}

static double mean_of_others(const struct grid *g, int late, const char *name)
{
    double sum = 0;
    for (int r = 0; r < g->n_ranks; r++)
        sum += r != late ? time_of(g->ranks[r], name) : 0;
    return sum / (g->n_ranks - 1);
}

/* share: of all waiting, what is for unnamed time of the late rank */
static void explain_late(struct run_result *out, const struct grid *g, int late, double share)
{
    double others = 0, most = 0;
    for (int r = 0; r < g->n_ranks; r++)
        others += r != late ? (double)out->ranks[r].part_ns[PART_OTHER] / (g->n_ranks - 1) : 0;
    const double all = (double)out->ranks[late].part_ns[PART_OTHER];
    const struct unnamed u = {all, all - others};
    for (int i = 0; i < g->ranks[late]->n_own_ranges; i++) {
        const char *name = g->ranks[late]->own_ranges[i].name;
        double ns = time_of(g->ranks[late], name), rest = mean_of_others(g, late, name), more = ns - rest;
        if (!is_known_everywhere(g, name) || !explains(&u, ns, more, least_of(out, g, late, name) - rest) ||
            more <= most)
            continue;
        most = more;
        out->late_range =
            (struct own_range){name, (int64_t)ns, (int64_t)rest, share * (more < u.more ? more / u.more : 1)};
    }
}

static void explain_unnamed(struct run_result *out, const struct grid *g)
{
    const double n = g->n_ranks, all = (double)out->part_ns[PART_OTHER];
    const struct unnamed u = {all, all};
    int most = 0; /* only its names are tried: those of all ranks would take quadratic time */
    for (int r = 1; r < g->n_ranks; r++)
        most = out->ranks[r].part_ns[PART_OTHER] > out->ranks[most].part_ns[PART_OTHER] ? r : most;
    for (int i = 0; i < g->ranks[most]->n_own_ranges; i++) {
        const char *name = g->ranks[most]->own_ranges[i].name;
        double ns = 0, least = 0;
        for (int k = 0; k < g->n_ranks; k++) {
            ns += time_of(g->ranks[k], name) / n;
            least += least_of(out, g, k, name) / n;
        }
        if (is_known_everywhere(g, name) && explains(&u, ns, ns, least) && (int64_t)ns > out->unnamed_range.ns)
            out->unnamed_range = (struct own_range){.name = name, .ns = (int64_t)ns};
    }
}

void breakdown_own_ranges(struct run_result *out, const struct grid *g, const struct sums *s)
{
    int late = -1;
    double causes = 0;
    if (!are_known(g))
        return;
    explain_unnamed(out, g);
    for (int r = 0; r < g->n_ranks; r++)
        late = out->straggler.has && out->ranks[r].rank == out->straggler.rank ? r : late;
    for (int c = 0; c < N_CATEGORIES; c++)
        causes += s->cause[c];
    if (late >= 0 && g->n_ranks > 1 && 2 * s->rank_unnamed[late] > causes)
        explain_late(out, g, late, s->rank_unnamed[late] / causes);
}
