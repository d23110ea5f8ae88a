/* calibration.c - see calibration.h. */
#include "render/model/calibration.h"

#include "render/model/run.h"

#include <string.h>

const struct run_node_calibration *run_calibration_of(const struct run *r, int node)
{
    const char *host = NULL;
    for (int i = 0; i < r->nodes_len; i++)
        if (r->nodes[i].node == node)
            host = r->nodes[i].host;
    for (int i = 0; host && *host && r->calibration && i < r->calibration->n_nodes; i++)
        if (strcmp(r->calibration->nodes[i].host, host) == 0)
            return &r->calibration->nodes[i];
    return NULL;
}

const struct run_allreduce *run_allreduce_of(const struct run *r, int n_ranks)
{
    for (int i = 0; r->calibration && i < r->calibration->n_allreduce; i++)
        if (r->calibration->allreduce[i].n_ranks == n_ranks &&
            (!r->calibration->allreduce[i].disturbed || !*r->calibration->allreduce[i].disturbed))
            return &r->calibration->allreduce[i];
    return NULL;
}

double run_allreduce_ns(const struct run_allreduce *a, double bytes)
{
    const struct run_allreduce_point *p = a->points, *last = &a->points[a->n_points - 1];
    if (bytes <= (double)p->bytes)
        return (double)p->median_ns;
    if (bytes >= (double)last->bytes)
        return (double)last->median_ns * bytes / (double)last->bytes;
    while (bytes > (double)p[1].bytes)
        p++;
    double part = (bytes - (double)p->bytes) / (double)(p[1].bytes - p->bytes);
    return (double)p->median_ns + part * (double)(p[1].median_ns - p->median_ns);
}
