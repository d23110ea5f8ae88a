/* clocks.c - see clocks.h. */
#include "render/model/clocks.h"

#include "render/model/run.h"

#include <string.h>

const struct dcr_clock *run_clock_of(const struct run *r, const char *host)
{
    for (int i = 0; i < r->nodes_len; i++)
        if (r->nodes[i].clock.n && strncmp(r->nodes[i].host, host, DCR_HOST_NAME) == 0)
            return &r->nodes[i].clock;
    return NULL;
}

int run_node_ahead(const struct run *r, const struct run_node *n, double t_s, double *ahead_s)
{
    *ahead_s = 0;
    if (n->clock.n && t_s >= 0 && t_s < 1e9) {
        *ahead_s = (double)dcr_clock_offset(&n->clock, (int64_t)(t_s * 1e9)) / 1e9;
        return 0;
    }
    for (int i = 0; i < r->nodes_len; i++)
        if (r->nodes[i].clock.n && strcmp(r->nodes[i].clock.reference, n->host) == 0)
            return 0;
    return -1;
}
