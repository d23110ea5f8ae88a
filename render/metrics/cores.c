/* cores.c - on how many cores the ranks of a machine may run, all of them together. */
#include "render/metrics/cores.h"

#include "lib/base/cores.h"
#include "render/say/say.h"

#include <stdlib.h>

int cores_of_all(const struct run *a)
{
    unsigned char set[DCR_MAX_CPUS] = {0};
    int n = 0;
    for (int i = 0; i < a->ranks_len; i++) {
        if (!*a->ranks[i].cpus_allowed)
            return 0;
        dcr_add_cpus(set, a->ranks[i].cpus_allowed);
    }
    for (int i = 0; i < DCR_MAX_CPUS; i++)
        n += set[i];
    return n;
}

int cores_of_rank(const struct run_rank *k)
{
    unsigned char set[DCR_MAX_CPUS] = {0};
    int n = 0;
    dcr_add_cpus(set, k->cpus_allowed);
    for (int i = 0; i < DCR_MAX_CPUS; i++)
        n += set[i];
    return n;
}

int cores_unused(const struct run_result *r)
{
    const struct run *a = r->run;
    int threads = a->program.threads > 0 ? (int)a->program.threads : 1, least = -1;
    int is_shared = run_is_one_machine(a);
    for (int i = 0; i < a->nodes_len; i++) {
        const struct run_node *n = &a->nodes[i];
        int cores = n->cores_allowed ? n->cores_allowed : n->cores, ranks = is_shared ? r->n_ranks : 0;
        int all = is_shared ? cores_of_all(a) : 0;
        cores = all > cores ? all : cores;
        for (int k = 0; k < a->ranks_len && !is_shared; k++)
            ranks += a->ranks[k].node == n->node;
        if (cores <= 0 || ranks <= 0)
            return -1;
        if (n->share.cores > 0) { /* cores that its quota allows */
            cores = (int)n->share.cores;
            for (int k = ranks = 0; k < a->ranks_len; k++)
                ranks += a->ranks[k].node == n->node;
        }
        int left = cores > ranks * threads ? cores - ranks * threads : 0;
        least = least < 0 || left < least ? left : least;
    }
    return least;
}

void shared_with_others(struct report *rep, struct run_result *r)
{
    r->shared.has_neighbours = 1;
    r->shared.said.id = PHRASE_CORES_SHARED_WITH_OTHERS;
    r->shared.because = say_phrase(&rep->arena, &r->shared.said);
}
