/* network.c - see network.h. */
#include "render/metrics/series/network.h"

#include "render/model/calibration.h"

#include <string.h>

enum network network_of(const struct report *rep, const struct series_point *p)
{
    switch (rep->runs[p->runs[0]].run->node_kind) {
    case NODES_MACHINES:
    case NODES_ONE_KERNEL:
    case NODES_SHARES:
        return p->n_nodes > 1 && rep->unit == COUNTS_NODES ? NETWORK_BETWEEN : NETWORK_INSIDE;
    case NODES_EMULATED:
        return NETWORK_INSIDE;
    default:
        return NETWORK_ANY;
    }
}

static int is_elsewhere(enum network net, int is_across)
{
    return net != NETWORK_ANY && (net == NETWORK_BETWEEN) != is_across;
}

static void add_curve(struct curves *c, int n_ranks, const struct run_allreduce_point *points, int n_points,
                      int is_across)
{
    if (c->n < MAX_CURVES)
        c->list[c->n++] = (struct curve){n_ranks, points, n_points, is_across};
}

static void refuse(struct curves *c, struct reason why)
{
    if (!c->refused.code)
        c->refused = why;
}

/* All-reduces of one archive's calibration that are of this network and were measured alone. */
static struct curves calibration_of_run(struct report *rep, const struct run *r, enum network net)
{
    struct curves c = {.of = report_text(rep, "the calibration in %s", r->archive)};
    if (!r->calibration)
        return c;
    const struct slot of = slot_name(c.of);
    if (!r->calibration->n_allreduce)
        refuse(&c, *r->calibration->no_allreduce
                       ? REASON(REDUCE_NONE_BECAUSE, of, slot_name(r->calibration->no_allreduce))
                       : REASON(REDUCE_NONE_THERE, of));
    for (int i = 0; i < r->calibration->n_allreduce; i++) {
        const struct run_allreduce *a = &r->calibration->allreduce[i];
        const struct slot ranks = slot_count(a->n_ranks);
        if (a->disturbed && *a->disturbed)
            refuse(&c, REASON(REDUCE_DISTURBED, ranks, of));
        else if (a->ranks_share_cores)
            refuse(&c, REASON(REDUCE_SHARED_CORES, ranks, of));
        else if (is_elsewhere(net, a->n_nodes > 1))
            refuse(&c,
                   net == NETWORK_BETWEEN ? REASON(REDUCE_OF_ONE_NODE, ranks, of) : REASON(REDUCE_OF_NODES, ranks, of));
        else
            add_curve(&c, a->n_ranks, a->points, a->n_points, a->n_nodes > 1);
    }
    return c;
}

struct curves network_calibrated(struct report *rep, const struct series *s, enum network net)
{
    struct curves best = {.of = ""};
    for (int i = s->n_points - 1; i >= 0; i--)
        for (int k = 0; k < s->points[i].n_runs; k++) {
            struct curves c = calibration_of_run(rep, rep->runs[s->points[i].runs[k]].run, net);
            if (c.n > best.n || (best.n == 0 && !best.refused.code))
                best = c;
        }
    return best;
}

/* A log may hold several tests. */
static int is_first_of_log(const struct run_collective_test **tests, int n, const struct run_collective_test *t)
{
    for (int i = 0; i < n; i++)
        if (strcmp(tests[i]->file, t->file) == 0)
            return 0;
    return 1;
}

struct curves network_nccl_tested(struct report *rep, enum network net)
{
    struct curves c = {.of = ""};
    int n_tests = 0, n_used = 0;
    for (int i = 0; i < rep->n_runs; i++)
        n_tests += rep->runs[i].run->n_tests;
    const struct run_collective_test **used = dcr_arena_alloc(&rep->arena, (size_t)(n_tests + 1) * sizeof *used);
    for (int i = 0; i < rep->n_runs; i++)
        for (int k = 0; k < rep->runs[i].run->n_tests; k++) {
            const struct run_collective_test *t = &rep->runs[i].run->tests[k];
            if (strcmp(t->collective, "all_reduce") != 0 || t->n_points == 0)
                continue;
            const struct slot of = slot_name(report_text(rep, "the nccl-tests log '%s'", t->file));
            if (t->n_ranks < 2) {
                refuse(&c, REASON(REDUCE_NO_LIST, of));
                continue;
            }
            if (is_elsewhere(net, t->is_across)) {
                refuse(&c, net == NETWORK_BETWEEN ? REASON(REDUCE_OF_ONE_NODE, slot_count(t->n_ranks), of)
                                                  : REASON(REDUCE_OF_NODES, slot_count(t->n_ranks), of));
                continue;
            }
            add_curve(&c, t->n_ranks, t->points, t->n_points, t->is_across);
            if (is_first_of_log(used, n_used, t))
                c.of =
                    report_text(rep, "%s '%s'", *c.of ? report_text(rep, "%s,", c.of) : "the nccl-tests log", t->file);
            used[n_used++] = t;
        }
    return c;
}
