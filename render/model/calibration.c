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
