/* pop_nodes.c - POP's load balance as TALP splits it: within nodes, and between them. */
#include "render/metrics/breakdown/pop.h"

void pop_nodes(struct pop *p, const int64_t *useful, const int *node, int n)
{
    double most = 0; /* of the means of nodes */
    int n_nodes = 0, most_ranks = 0;
    if (!p->has)
        return;
    for (int i = 0; i < n; i++) {
        double sum = 0;
        int ranks = 0, is_first = 1;
        if (node[i] < 0) {
            p->in_nodes_why = p->between_nodes_why = REASON(NODES_OF_RANKS);
            return;
        }
        for (int k = 0; k < n; k++)
            if (node[k] == node[i]) {
                is_first &= k >= i;
                sum += (double)useful[k];
                ranks++;
            }
        n_nodes += is_first;
        most_ranks = ranks > most_ranks ? ranks : most_ranks;
        most = sum / ranks > most ? sum / ranks : most;
    }
    double mean = 0, max = 0;
    for (int i = 0; i < n; i++) {
        mean += (double)useful[i] / n;
        max = (double)useful[i] > max ? (double)useful[i] : max;
    }
    p->in_nodes_ratio = most / max;
    p->between_nodes_ratio = mean / most;
    p->node_max_ns = p->in_nodes_ratio * p->max_ns;
    p->has_in_nodes = most_ranks > 1;
    p->has_between_nodes = n_nodes > 1;
    p->in_nodes_why = most_ranks > 1 ? REASON(NONE) : REASON(ONE_RANK_A_NODE);
    p->between_nodes_why = n_nodes > 1 ? REASON(NONE) : REASON(ONE_NODE);
}
