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
        return p->n_nodes > 1 && rep->unit != COUNTS_GPUS ? NETWORK_BETWEEN : NETWORK_INSIDE;
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

static const char *where_words(enum network net)
{
    return net == NETWORK_BETWEEN ? "measured within one node, while these runs cross nodes"
                                  : "measured between nodes, while these runs stay within one";
}

static void add_curve(struct curves *c, int n_ranks, const struct run_allreduce_point *points, int n_points,
                      int is_across)
{
    if (c->n < MAX_CURVES)
        c->list[c->n++] = (struct curve){n_ranks, points, n_points, is_across};
}

/* All-reduces of one archive's calibration that are of this network and were measured by themselves. */
static struct curves calibration_of_run(struct report *rep, const struct run *r, enum network net)
{
    struct curves c = {.of = report_text(rep, "the calibration in %s", r->archive), .because = ""};
    if (!r->calibration)
        return c;
    if (!r->calibration->n_allreduce)
        c.because = *r->calibration->no_allreduce
                        ? report_text(rep, "%s has none: %s", c.of, r->calibration->no_allreduce)
                        : report_text(rep, "%s has none", c.of);
    for (int i = 0; i < r->calibration->n_allreduce; i++) {
        const struct run_allreduce *a = &r->calibration->allreduce[i];
        const char *out = a->disturbed && *a->disturbed       ? "disturbed by other work"
                          : a->ranks_share_cores              ? "measured by ranks that shared cores"
                          : is_elsewhere(net, a->n_nodes > 1) ? where_words(net)
                                                              : NULL;
        if (!out)
            add_curve(&c, a->n_ranks, a->points, a->n_points, a->n_nodes > 1);
        else
            c.because = report_text(rep, "%s%s those of %d ranks were %s",
                                    *c.because ? c.because : report_text(rep, "of %s", c.of), *c.because ? "," : "",
                                    a->n_ranks, out);
    }
    return c;
}

struct curves network_calibrated(struct report *rep, const struct series *s, enum network net)
{
    struct curves best = {.because = ""};
    for (int i = s->n_points - 1; i >= 0; i--)
        for (int k = 0; k < s->points[i].n_runs; k++) {
            struct curves c = calibration_of_run(rep, rep->runs[s->points[i].runs[k]].run, net);
            if (c.n > best.n || (best.n == 0 && !*best.because))
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
    struct curves c = {.of = "", .because = ""};
    int n_tests = 0, n_used = 0;
    for (int i = 0; i < rep->n_runs; i++)
        n_tests += rep->runs[i].run->n_tests;
    const struct run_collective_test **used = dcr_arena_alloc(&rep->arena, (size_t)(n_tests + 1) * sizeof *used);
    for (int i = 0; i < rep->n_runs; i++)
        for (int k = 0; k < rep->runs[i].run->n_tests; k++) {
            const struct run_collective_test *t = &rep->runs[i].run->tests[k];
            if (strcmp(t->collective, "all_reduce") != 0 || t->n_points == 0)
                continue;
            const char *out = t->n_ranks < 2                    ? "written without a list of its ranks"
                              : is_elsewhere(net, t->is_across) ? where_words(net)
                                                                : NULL;
            if (out) {
                c.because =
                    report_text(rep, "%s%sthe log '%s' was %s", c.because, *c.because ? ", " : "", t->file, out);
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
