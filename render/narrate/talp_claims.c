/* talp_claims.c - see talp_claims.h. Which efficiency is a factor of which: render/model/talp.h. */
#include "render/narrate/talp_claims.h"

#include "render/analyse/analyse.h"
#include "render/model/talp.h"
#include "render/model/cells.h"
#include "render/say/format.h"

#include <math.h>

/* The region that stands for a report: 'Global', else the one that took longest. */
struct region {
    const struct foreign_table *table;
    size_t row;
    double v[N_TALP]; /* -1 where the table has no such column or no number in it (render/import/talp.c) */
    double by_times;  /* parallel efficiency, from the times of the file; -1 not known */
    double cpus, instructions, elapsed_s, useful_s;
};

static double named(const struct foreign_table *t, size_t row, const char *title)
{
    int c = table_column(t, title);
    return c < 0 ? -1 : table_value(t, row, c);
}

static int region_at(const struct foreign_table *t, size_t row, struct region *g)
{
    *g = (struct region){.table = t,
                         .row = row,
                         .by_times = named(t, row, TALP_BY_TIMES),
                         .cpus = named(t, row, "CPUs"),
                         .instructions = named(t, row, "Instructions"),
                         .elapsed_s = table_value(t, row, 1),
                         .useful_s = table_value(t, row, 2)};
    for (int e = 0; e < N_TALP; e++)
        g->v[e] = named(t, row, talp_title((enum talp_efficiency)e));
    return g->v[TALP_PARALLEL] >= 0;
}

static int region_of(const struct foreign_table *t, struct region *g)
{
    size_t longest = 0;
    if (t->kind != FOREIGN_TALP || table_rows(t) == 0)
        return 0;
    for (size_t i = 1; i < table_rows(t); i++)
        if (strcmp(table_cell(t, longest, 0), "Global") != 0 &&
            (strcmp(table_cell(t, i, 0), "Global") == 0 || table_value(t, i, 1) > table_value(t, longest, 1)))
            longest = i;
    return region_at(t, longest, g);
}

/* Do the times of a file contradict its efficiency by more than rounding? */
static int is_contradicted(const struct region *g)
{
    return g->by_times >= 0 && fabs(g->by_times - g->v[TALP_PARALLEL]) > 0.0101;
}

/* Of the host. */
static double efficiency(const struct region *g)
{
    return is_contradicted(g) && g->by_times < g->v[TALP_PARALLEL] ? g->by_times : g->v[TALP_PARALLEL];
}

static int is_of_gpus(const struct region *g)
{
    return g->v[TALP_GPU] >= 0 && g->v[TALP_GPU] < efficiency(g);
}

/* What it is ranked by: host or GPUs, whichever lose more. */
static double lowest_of(const struct region *g)
{
    return is_of_gpus(g) ? g->v[TALP_GPU] : efficiency(g);
}

/* Where no report as a whole is below `enough`. */
struct hidden {
    int is_below, is_costly; /* below, and costs more than `matters` of the report's time: the one that costs most */
    struct region lowest, costliest;
};

static void look_into(const struct foreign_table *t, double enough, double matters, double *most, struct hidden *h)
{
    struct region whole, g;
    if (!region_of(t, &whole))
        return;
    for (size_t row = 0; row < table_rows(t); row++) {
        if (!region_at(t, row, &g) || !(g.elapsed_s > 0) || lowest_of(&g) >= enough)
            continue;
        if (!h->is_below || lowest_of(&g) < lowest_of(&h->lowest))
            h->lowest = g;
        h->is_below = 1;
        double cost = (1 - lowest_of(&g)) * g.elapsed_s / whole.elapsed_s;
        if (cost <= matters || cost <= *most)
            continue;
        *most = cost;
        h->costliest = g;
        h->is_costly = 1;
    }
}

/* The reports of a run, n of them in all; *worst: the one with the lowest efficiency of its host. Where that is enough
 * in all, what in them is not, a region or the GPUs, if it costs enough; h: what is below, NULL not wanted. */
static int worst_of(const struct report *rep, const struct run *r, struct region *worst, struct hidden *h)
{
    int n = 0;
    for (int i = 0; i < r->n_tables; i++) {
        struct region g;
        if (!region_of(&r->tables[i], &g))
            continue;
        if (n++ == 0 || efficiency(&g) < efficiency(worst))
            *worst = g;
    }
    struct hidden in = {0};
    double most = 0;
    for (int i = 0; i < r->n_tables && n > 0 && efficiency(worst) >= rep->thresholds.efficiency; i++)
        look_into(&r->tables[i], rep->thresholds.efficiency, rep->thresholds.loss_matters, &most, &in);
    if (in.is_costly)
        *worst = in.costliest;
    if (h)
        *h = in;
    return n;
}

/* "OpenMP with 0.94 (in it OpenMP load balance with 0.95)"; NULL: no factor that is known is below 1. */
static const char *lowest_text(struct report *rep, const double *v, enum talp_efficiency of)
{
    enum talp_efficiency e = talp_lowest_factor(v, of);
    if (e == TALP_NONE || v[e] >= 1)
        return NULL;
    const char *inner = lowest_text(rep, v, e);
    return report_text(rep, "%s with %.2f%s", talp_title(e), v[e], inner ? report_text(rep, " (in it %s)", inner) : "");
}

/* What is no factor of the host's efficiency, and a product that is not it. */
static const char *about(struct report *rep, const struct region *g)
{
    const double *v = g->v;
    const char *text = "";
    if (!talp_agrees(v, TALP_PARALLEL))
        text = report_text(
            rep,
            "Its factors multiply to %.2f, which differs from %.2f by more than rounding: DLB does not measure "
            "them against the same time.",
            talp_product(v, TALP_PARALLEL), v[TALP_PARALLEL]);
    if (is_contradicted(g))
        text = report_text(rep,
                           "%s%sThat is useful time over useful and lost time (MPI, OpenMP, the GPU's runtime): the "
                           "file contradicts itself, and its factors explain nothing.",
                           text, *text ? " " : "");
    const char *inner = lowest_text(rep, v, TALP_GPU);
    if (v[TALP_GPU] >= 0)
        text = report_text(rep,
                           "%s%sThat is the side of the host; on the side of the GPUs, no factor of it, the parallel "
                           "efficiency is %.2f%s%s.",
                           text, *text ? " " : "", v[TALP_GPU], inner ? "; its lowest factor is " : "",
                           inner ? inner : "");
    struct region whole;
    if (region_of(g->table, &whole) && whole.row != g->row)
        text = report_text(rep, "%s%sRegion '%s', which hides it, has %.2f.", text, *text ? " " : "",
                           table_cell(whole.table, whole.row, 0), efficiency(&whole));
    return text;
}

/* ---- two reports of one program ------------------------------------------------------------------- */

/* The same regions in the same order, on other numbers of CPUs. Nothing in the files says more. */
static int may_scale(const struct region *a, const struct region *b)
{
    if (!(a->cpus > 0 && b->cpus > a->cpus && a->elapsed_s > 0 && b->elapsed_s > 0 && a->useful_s > 0 &&
          b->useful_s > 0) ||
        table_rows(a->table) != table_rows(b->table) || strcmp(a->table->columns, b->table->columns) != 0)
        return 0;
    for (size_t i = 0; i < table_rows(a->table); i++)
        if (strcmp(table_cell(a->table, i, 0), table_cell(b->table, i, 0)) != 0)
            return 0;
    return 1;
}

/* TALP's own rule: with fewer than 0.75 instructions a CPU the work did not grow with the CPUs. */
static const char *scaling_text(struct report *rep, const struct region *a, const struct region *b)
{
    double cpus = b->cpus / a->cpus, work = b->instructions / a->instructions;
    int is_known = a->instructions > 0 && b->instructions > 0, is_weak = work >= 0.75 * cpus;
    if (!is_known)
        return "";
    double speed = a->elapsed_s / b->elapsed_s * (is_weak ? cpus : 1), computation = a->useful_s / b->useful_s;
    return report_text(
        rep,
        "If '%s' and '%s' are of one program: from %g to %g CPUs it scaled %s (%.2f times the instructions), elapsed "
        "time went from %.3g to %.3g s, which is an efficiency of %.2f; computation scaling is %.2f, parallel "
        "efficiency went from %.2f to %.2f%s.",
        a->table->file, b->table->file, a->cpus, b->cpus, is_weak ? "weakly" : "strongly", work, a->elapsed_s,
        b->elapsed_s, speed / cpus, computation * (is_weak ? cpus : 1), efficiency(a), efficiency(b),
        is_contradicted(a) || is_contradicted(b) ? " by their times" : "");
}

/* Of each report and the next larger one that may be of its program. */
static const char *scaling_of(struct report *rep, const struct run *r)
{
    const char *text = "";
    for (int i = 0; i < r->n_tables; i++) {
        struct region a, b, next = {.cpus = 0};
        for (int k = 0; k < r->n_tables && region_of(&r->tables[i], &a); k++)
            if (region_of(&r->tables[k], &b) && may_scale(&a, &b) && (!(next.cpus > 0) || b.cpus < next.cpus))
                next = b;
        const char *one = next.cpus > 0 ? scaling_text(rep, &a, &next) : "";
        text = report_text(rep, "%s%s%s", text, *text && *one ? " " : "", one);
    }
    return text;
}

const char *talp_headline(struct report *rep, const struct run *r, const char **support)
{
    struct region g;
    int n = worst_of(rep, r, &g, NULL);
    if (n == 0)
        return "";
    const char *lowest = lowest_text(rep, g.v, TALP_PARALLEL), *scaling = scaling_of(rep, r), *more = about(rep, &g);
    *support = report_text(rep, "%s%s%s", more, *more && *scaling ? " " : "", scaling);
    const char *which =
        n == 1 ? ""
               : report_text(rep, "Of %d TALP reports '%s' has the lowest efficiency%s: ", n, g.table->file,
                             is_of_gpus(&g) ? report_text(rep, ", %.2f on the side of the GPUs", g.v[TALP_GPU]) : "");
    const char *region = table_cell(g.table, g.row, 0);
    if (is_contradicted(&g))
        return report_text(
            rep,
            "%s%sy the times in the file the parallel efficiency of region '%s' is %.2f (POP accepts 0.80 "
            "and above), where the file itself says %.2f.",
            which, n == 1 ? "B" : "b", region, g.by_times, g.v[TALP_PARALLEL]);
    which = n == 1 ? "By TALP" : report_text(rep, "%sby TALP", which);
    return report_text(rep, "%s the parallel efficiency of region '%s' is %.2f (POP accepts 0.80 and above)%s%s.",
                       which, region, g.v[TALP_PARALLEL], lowest ? "; its lowest factor is " : "",
                       lowest ? lowest : "");
}

/* ---- what to do ----------------------------------------------------------------------------------- */

static const char *const advice[N_TALP] = {
    [TALP_MPI] = "find which MPI calls take the time (trace them, dccollect run)",
    [TALP_MPI_COMMUNICATION] = "hide or shorten the messages: non-blocking calls beside computing, fewer and larger "
                               "messages, ranks that talk to each other on one node",
    [TALP_MPI_BALANCE] = "even out the work of the MPI ranks (another decomposition, dynamic distribution, DLB's LeWI)",
    [TALP_MPI_BALANCE_IN] = "even out the work of the ranks of a node (another decomposition, DLB's LeWI lends cores)",
    [TALP_MPI_BALANCE_OUT] = "even out the work between the nodes (another decomposition or placement of ranks)",
    [TALP_OPENMP] = "find what the threads wait for (a trace of one rank)",
    [TALP_OPENMP_BALANCE] = "even out the work of the threads (schedule(dynamic) or schedule(guided), collapse)",
    [TALP_OPENMP_SCHEDULING] = "give each thread larger pieces (schedule(static), larger chunks and tasks)",
    [TALP_OPENMP_SERIALISATION] =
        "move what runs outside parallel regions into them (fewer and longer regions, nowait)",
    [TALP_OFFLOAD] = "let the host wait less for the GPU's runtime: several streams, fewer synchronising calls, larger "
                     "kernels or CUDA graphs",
    [TALP_GPU_BALANCE] = "even out the work of the GPUs",
    [TALP_GPU_COMMUNICATION] = "copy less, or beside kernels: pinned memory, streams, data that stays on the GPU",
    [TALP_GPU_ORCHESTRATION] = "give the GPU work all the time: launch ahead in streams, larger kernels, CUDA graphs",
};

/* The innermost of the lowest factors of a tree; TALP_NONE: none is below 1. */
static enum talp_efficiency innermost(const double *v, enum talp_efficiency root)
{
    enum talp_efficiency found = TALP_NONE, e = root;
    while ((e = talp_lowest_factor(v, e)) != TALP_NONE && v[e] < 1)
        found = e;
    return found;
}

const char *talp_action(struct report *rep, const struct run *r, int *is_first)
{
    *is_first = 1;
    struct region g;
    struct hidden h;
    if (worst_of(rep, r, &g, &h) == 0)
        return NULL;
    int is_gpu = is_of_gpus(&g);
    enum talp_efficiency e = innermost(g.v, is_gpu ? TALP_GPU : TALP_PARALLEL);
    if (is_contradicted(&g))
        return report_text(rep,
                           "Measure '%s' again with a DLB that agrees with itself: its times make the "
                           "parallel efficiency %.2f where it says %.2f.",
                           g.table->file, g.by_times, g.v[TALP_PARALLEL]);
    if (e == TALP_NONE || !advice[e])
        return NULL;
    *is_first = lowest_of(&g) < rep->thresholds.efficiency;
    if (!*is_first)
        return report_text(
            rep,
            "Nothing needs to be done first: every parallel efficiency is %.2f or more%s. The lowest factor is %s with "
            "%.2f.",
            rep->thresholds.efficiency,
            h.is_below
                ? report_text(rep,
                              ", but of regions that cost at most %s of the time each (the lowest is '%s' with %.2f)",
                              fmt_percent(rep->thresholds.loss_matters).text,
                              table_cell(h.lowest.table, h.lowest.row, 0), lowest_of(&h.lowest))
                : "",
            talp_title(e), g.v[e]);
    char *what = dcr_arena_strdup(&rep->arena, advice[e]);
    *what = (char)(*what - 'a' + 'A');
    return report_text(rep, "%s: %s is %.2f in region '%s' of %.3g s, which costs up to %.3g s of it%s.", what,
                       talp_title(e), g.v[e], table_cell(g.table, g.row, 0), g.elapsed_s, (1 - g.v[e]) * g.elapsed_s,
                       is_gpu ? " on the side of the GPUs" : "");
}
