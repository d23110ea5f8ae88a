/* quota.c - CPU quotas of the nodes of runs that are compared: are they equal, and did the collector make them? Called
 * by caveats_cores.c. Test: tests/unit/test_cores.c */
#include "render/metrics/cores.h"

#include <math.h>

/* The kernel takes quotas in microseconds, so equal shares may differ by one of them. */
static int is_equal(double a, double b)
{
    return fabs(a - b) <= 0.01 * fmax(a, b);
}

/* For a node without a recorded quota: it may have none, or one that is not visible from inside. */
static double quota_of_node(const struct run_node *n)
{
    return n->cores_quota > 0 ? n->cores_quota : n->share.cores;
}

struct nodes {
    const struct run_node *first;
    int n_unlike, n_not_made;
};

static void add_run(struct nodes *all, const struct run *a)
{
    for (int i = 0; i < a->nodes_len; i++) {
        const struct run_node *n = &a->nodes[i];
        double quota = quota_of_node(n);
        all->first = all->first ? all->first : n;
        all->n_unlike += !(quota > 0) || !is_equal(quota, quota_of_node(all->first));
        all->n_not_made += !(n->share.cores > 0) || !is_equal(quota, n->share.cores);
    }
}

enum quota quota_of(const struct report *rep, int run)
{
    const struct run_result *r = &rep->runs[run];
    struct nodes all = {0};
    add_run(&all, r->run);
    const struct series *s = r->series >= 0 && rep->series ? &rep->series[r->series] : NULL;
    for (int i = 0; s && i < s->n_points; i++)
        for (int k = 0; k < s->points[i].n_runs; k++)
            add_run(&all, rep->runs[s->points[i].runs[k]].run);
    return !all.first || all.n_unlike ? QUOTA_UNEQUAL : all.n_not_made ? QUOTA_EQUAL : QUOTA_OF_NODES;
}

int has_shares(const struct run *a)
{
    for (int i = 0; i < a->nodes_len; i++)
        if (!(a->nodes[i].share.cores > 0))
            return 0;
    return a->nodes_len > 0;
}

int is_doubtful(const struct run_result *r)
{
    return r->shared.kind && !r->shared.is_equal;
}
