/* cores.c - on how many cores the ranks of a machine may run, all of them together. */
#include "render/metrics/cores.h"

#include "lib/base/cores.h"
#include "render/say/say.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

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

int threads_told(const struct run *a)
{
    if (a->program.threads > 0)
        return (int)a->program.threads;
    long n = 0;
    for (int i = 0; i < a->n_environment; i++)
        if (strcmp(a->environment[i].key, "OMP_NUM_THREADS") == 0)
            n = strtol(a->environment[i].value, NULL, 10); /* of nested levels the first */
    return n > 0 && n < DCR_MAX_CPUS ? (int)n : 0;
}

/* The ranks of a node and the cores on which all of them may run. Emulated nodes share those of their machine. */
struct crew {
    int ranks, cores; /* cores < 0: not known */
};

static struct crew crew_of(const struct run_result *r, const struct run_node *n)
{
    const struct run *a = r->run;
    int is_shared = run_is_one_machine(a), all = is_shared ? cores_of_all(a) : 0, here = 0;
    struct crew c = {.cores = n->cores_allowed ? n->cores_allowed : n->cores};
    c.cores = all > c.cores ? all : c.cores;
    if (c.cores <= 0)
        return (struct crew){.cores = -1};
    for (int k = 0; k < a->ranks_len; k++)
        here += a->ranks[k].node == n->node;
    c.ranks = is_shared && n->share.cores <= 0 ? r->n_ranks : here;
    if (n->share.cores > 0) /* cores that its quota allows */
        c.cores = (int)n->share.cores;
    return c;
}

int cores_unused(const struct run_result *r)
{
    int threads = r->run->program.threads > 0 ? (int)r->run->program.threads : 1, least = -1;
    for (int i = 0; i < r->run->nodes_len; i++) {
        struct crew c = crew_of(r, &r->run->nodes[i]);
        if (c.cores < 0 || c.ranks <= 0)
            return -1;
        int left = c.cores > c.ranks * threads ? c.cores - c.ranks * threads : 0;
        least = least < 0 || left < least ? left : least;
    }
    return least;
}

int cores_each(const struct run_result *r)
{
    int least = INT_MAX;
    for (int i = 0; i < r->run->nodes_len; i++) {
        struct crew c = crew_of(r, &r->run->nodes[i]);
        int each = c.cores > 0 && c.ranks > 0 ? c.cores / c.ranks : 0;
        least = each < least ? each : least;
    }
    for (int i = 0; i < r->run->ranks_len; i++) { /* bound ranks: to cores of their own, or all of a node to the same */
        const struct run_rank *k = &r->run->ranks[i];
        int same = 0;
        if (i > 0 && k[-1].node == k->node && strcmp(k[-1].cpus_allowed, k->cpus_allowed) == 0)
            continue; /* counted with the rank before */
        int bound = cores_of_rank(k);
        for (int j = 0; j < r->run->ranks_len; j++)
            same += r->run->ranks[j].node == k->node && strcmp(r->run->ranks[j].cpus_allowed, k->cpus_allowed) == 0;
        int each = bound > same ? bound / same : 1;
        least = bound > 0 && each < least ? each : least;
    }
    return r->run->nodes_len ? least : 0;
}

int are_threads_few(const struct run_result *r)
{
    int threads = threads_told(r->run);
    return threads > 0 && threads <= cores_each(r);
}

int are_threads_many(const struct run_result *r, double own_ready)
{
    const double apart = 0.5; /* at most 1.33 were ready with one thread that computes, at least 1.99 with two */
    int each = cores_each(r), loaders = r->run->program.loader_workers > 0 ? (int)r->run->program.loader_workers : 0;
    return !are_threads_few(r) && own_ready - loaders >= (each > 0 ? each : 1) + apart;
}

void shared_with_others(struct report *rep, struct run_result *r)
{
    r->shared.has_neighbours = 1;
    r->shared.said.id = PHRASE_CORES_SHARED_WITH_OTHERS;
    r->shared.because = say_phrase(&rep->arena, &r->shared.said);
}
