/* talp_claims.c - see talp_claims.h. Which efficiency is a factor of which: render/model/talp.h. */
#include "render/findings/talp_claims.h"

#include "render/model/talp.h"
#include "render/model/cells.h"
#include "render/say/say.h"

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

/* Efficiency of the host. */
static double efficiency(const struct region *g)
{
    return is_contradicted(g) && g->by_times < g->v[TALP_PARALLEL] ? g->by_times : g->v[TALP_PARALLEL];
}

static int is_of_gpus(const struct region *g)
{
    return g->v[TALP_GPU] >= 0 && g->v[TALP_GPU] < efficiency(g);
}

/* The efficiency that ranks a region: that of its GPUs or of its host. */
static double lowest_of(const struct region *g)
{
    return is_of_gpus(g) ? g->v[TALP_GPU] : efficiency(g);
}

/* Is a more inefficient than b? A file that contradicts itself comes after all others. */
static int is_worse(const struct region *a, const struct region *b)
{
    return is_contradicted(a) != is_contradicted(b) ? is_contradicted(b) : efficiency(a) < efficiency(b);
}

/* For reports that are all above `enough` as a whole. */
struct hidden {
    int is_below, is_costly; /* below, and costs more than `matters` of the report's time: the one that costs most */
    struct region lowest, costliest;
};

static void look_into(const struct foreign_table *t, double enough, double matters, double *most, struct hidden *h)
{
    struct region whole, g;
    if (!region_of(t, &whole) || is_contradicted(&whole))
        return;
    for (size_t row = 0; row < table_rows(t); row++) {
        if (!region_at(t, row, &g) || !(g.elapsed_s > 0) || lowest_of(&g) >= enough || is_contradicted(&g))
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

/* The reports of a run, n in all. *worst: the one with the lowest efficiency of its host, among those that do not
 * contradict themselves if there are any. If that is enough, *worst is a region or the GPUs in a report that are not,
 * if it costs enough; h: what is below, NULL = not wanted. */
static int worst_of(const struct report *rep, const struct run *r, struct region *worst, struct hidden *h)
{
    int n = 0;
    for (int i = 0; i < r->n_tables; i++) {
        struct region g;
        if (!region_of(&r->tables[i], &g))
            continue;
        if (n++ == 0 || is_worse(&g, worst))
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

/* The innermost of the lowest factors of a tree; TALP_NONE: none is below 1. */
static enum talp_efficiency innermost(const double *v, enum talp_efficiency root)
{
    enum talp_efficiency found = TALP_NONE, e = root;
    while ((e = talp_lowest_factor(v, e)) != TALP_NONE && v[e] < 1)
        found = e;
    return found;
}

static struct phrase factor(const double *v, enum talp_efficiency root)
{
    enum talp_efficiency e = innermost(v, root);
    return e == TALP_NONE ? PHRASE(NONE) : PHRASE(TALP_FACTOR, slot_name(talp_title(e)), slot_ratio(v[e]));
}

/* ---- two reports of one program ------------------------------------------------------------------- */

/* The same regions in the same order, on another number of CPUs. The files tell no more. */
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
static void say_scaling(struct said *out, const struct region *a, const struct region *b)
{
    double cpus = b->cpus / a->cpus, work = b->instructions / a->instructions;
    int is_known = a->instructions > 0 && b->instructions > 0, is_weak = work >= 0.75 * cpus;
    if (!is_known)
        return;
    double speed = a->elapsed_s / b->elapsed_s * (is_weak ? cpus : 1), computation = a->useful_s / b->useful_s;
    struct slot from = slot_count((int64_t)a->cpus), to = slot_count((int64_t)b->cpus), of = slot_ratio(speed / cpus);
    said_add(out, is_weak ? PHRASE(TALP_WEAK, from, to, of) : PHRASE(TALP_STRONG, from, to, of));
    said_add(out, PHRASE(TALP_COMPUTATION, slot_ratio(computation * (is_weak ? cpus : 1))));
}

/* Compares each report with the next larger one that may be of its program. */
static void say_all_scaling(struct said *out, const struct run *r)
{
    for (int i = 0; i < r->n_tables; i++) {
        struct region a, b, next = {.cpus = 0};
        for (int k = 0; k < r->n_tables && region_of(&r->tables[i], &a); k++)
            if (region_of(&r->tables[k], &b) && may_scale(&a, &b) && (!(next.cpus > 0) || b.cpus < next.cpus))
                next = b;
        if (next.cpus > 0)
            say_scaling(out, &a, &next);
    }
}

/* Number of reports that contradict themselves; *last: one of them. */
static int contradicted(const struct run *r, struct region *last)
{
    int n = 0;
    struct region g;
    for (int i = 0; i < r->n_tables; i++)
        if (region_of(&r->tables[i], &g) && is_contradicted(&g)) {
            *last = g;
            n++;
        }
    return n;
}

/* ---- what is found --------------------------------------------------------------------------------- */

static struct phrase headline(const struct report *rep, const struct region *g)
{
    struct slot region = slot_name(table_cell(g->table, g->row, 0)), enough = slot_ratio(rep->thresholds.efficiency);
    double host = efficiency(g);
    if (is_contradicted(g))
        return PHRASE(TALP_CONTRADICTS, region, slot_ratio(g->by_times), slot_ratio(g->v[TALP_PARALLEL]));
    if (is_of_gpus(g) && g->v[TALP_GPU] < rep->thresholds.efficiency)
        return PHRASE(TALP_GPU_LOW, region, slot_ratio(g->v[TALP_GPU]), enough);
    return host < rep->thresholds.efficiency ? PHRASE(TALP_LOW, region, slot_ratio(host), enough)
                                             : PHRASE(TALP_GOOD, region, slot_ratio(host));
}

static void say_reports(struct said *out, const struct report *rep, const struct run *r, const struct region *g, int n)
{
    const double *v = g->v;
    struct region whole;
    int is_gpu = is_of_gpus(g);
    *out = (struct said){.headline = headline(rep, g)};
    struct region wrong;
    int n_wrong = is_contradicted(g) ? 0 : contradicted(r, &wrong);
    const struct slot file = slot_name(g->table->file), others = slot_count(n_wrong);
    if (n > 1)
        said_add(out, !n_wrong           ? PHRASE(TALP_OF_REPORTS, file, slot_count(n))
                      : n - n_wrong == 1 ? PHRASE(TALP_WRONG_OTHERS, others)
                                         : PHRASE(TALP_OF_OTHERS, file, slot_count(n - n_wrong), others));
    if (is_contradicted(g))
        said_add(out, PHRASE(TALP_CONTRADICTS_WHY));
    else
        said_add(out, factor(v, is_gpu ? TALP_GPU : TALP_PARALLEL));
    if (out->headline.id == PHRASE_TALP_GPU_LOW)
        said_add(out, PHRASE(TALP_HOST, slot_ratio(efficiency(g))));
    else if (v[TALP_GPU] >= 0)
        said_add(out, PHRASE(TALP_GPUS, slot_ratio(v[TALP_GPU])));
    if (region_of(g->table, &whole) && whole.row != g->row)
        said_add(out,
                 PHRASE(TALP_HIDES, slot_name(table_cell(whole.table, whole.row, 0)), slot_ratio(efficiency(&whole))));
    if (!is_contradicted(g) && !talp_agrees(v, TALP_PARALLEL))
        said_add(out, PHRASE(TALP_PRODUCT, slot_ratio(talp_product(v, TALP_PARALLEL)), slot_ratio(v[TALP_PARALLEL])));
    say_all_scaling(out, r);
}

/* ---- what to do ----------------------------------------------------------------------------------- */

static const enum advice advice_of[N_TALP] = {
    [TALP_MPI] = ADVICE_TALP_MPI,
    [TALP_MPI_COMMUNICATION] = ADVICE_TALP_MPI_COMMUNICATION,
    [TALP_MPI_BALANCE] = ADVICE_TALP_MPI_BALANCE,
    [TALP_MPI_BALANCE_IN] = ADVICE_TALP_MPI_BALANCE_IN,
    [TALP_MPI_BALANCE_OUT] = ADVICE_TALP_MPI_BALANCE_OUT,
    [TALP_OPENMP] = ADVICE_TALP_OPENMP,
    [TALP_OPENMP_BALANCE] = ADVICE_TALP_OPENMP_BALANCE,
    [TALP_OPENMP_SCHEDULING] = ADVICE_TALP_OPENMP_SCHEDULING,
    [TALP_OPENMP_SERIALISATION] = ADVICE_TALP_OPENMP_SERIALISATION,
    [TALP_OFFLOAD] = ADVICE_TALP_OFFLOAD,
    [TALP_GPU_BALANCE] = ADVICE_TALP_GPU_BALANCE,
    [TALP_GPU_COMMUNICATION] = ADVICE_TALP_GPU_COMMUNICATION,
    [TALP_GPU_ORCHESTRATION] = ADVICE_TALP_GPU_ORCHESTRATION,
};

/* wrong: a report that contradicts itself, to be measured again if no other report needs anything; NULL = none */
static struct stepless_advice advise(const struct report *rep, const struct region *g, const struct hidden *h,
                                     const struct region *wrong)
{
    enum talp_efficiency e = innermost(g->v, is_of_gpus(g) ? TALP_GPU : TALP_PARALLEL);
    struct slot enough = slot_ratio(rep->thresholds.efficiency);
    if (wrong && (wrong == g || lowest_of(g) >= rep->thresholds.efficiency))
        return (struct stepless_advice){.first = ADVISE(TALP_MEASURE_AGAIN, slot_name(wrong->table->file)),
                                        .is_first = 1};
    if (lowest_of(g) >= rep->thresholds.efficiency && h->is_below)
        return (struct stepless_advice){
            .first = ADVISE(NOTHING_BUT_SMALL, enough, slot_percent(rep->thresholds.loss_matters)),
            .result = PHRASE(TALP_LOWEST_REGION, slot_name(table_cell(h->lowest.table, h->lowest.row, 0)),
                             slot_ratio(lowest_of(&h->lowest)))};
    if (lowest_of(g) >= rep->thresholds.efficiency)
        return (struct stepless_advice){.first = ADVISE(NOTHING_EFFICIENT, enough)};
    if (e == TALP_NONE || !advice_of[e])
        return (struct stepless_advice){.first = ADVISE(NOTHING_ONE_FILE)};
    return (struct stepless_advice){.first = {.id = advice_of[e]},
                                    .result = PHRASE(TALP_COSTS, slot_name(talp_title(e)),
                                                     slot_time((int64_t)((1 - g->v[e]) * g->elapsed_s * 1e9)),
                                                     slot_time((int64_t)(g->elapsed_s * 1e9))),
                                    .is_first = 1};
}

int talp_tell(struct report *rep, const struct run *r, struct said *out, struct stepless_advice *todo)
{
    struct region g;
    struct hidden h;
    int n = worst_of(rep, r, &g, &h);
    if (n == 0)
        return 0;
    say_reports(out, rep, r, &g, n);
    struct region other;
    const struct region *wrong = is_contradicted(&g) ? &g : contradicted(r, &other) ? &other : NULL;
    *todo = advise(rep, &g, &h, wrong);
    return 1;
}
