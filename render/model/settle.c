/* settle.c - the end of reading: counts of arrays that were not allocated become 0, and everything is sorted. */
#include "render/model/build.h"

#include <stdlib.h>
#include <string.h>

static int compare_rank(const void *a, const void *b)
{
    return ((const struct run_rank *)a)->rank - ((const struct run_rank *)b)->rank;
}

static int compare_node(const void *a, const void *b)
{
    return ((const struct run_node *)a)->node - ((const struct run_node *)b)->node;
}

static int compare_pair(const void *a, const void *b)
{
    return strcmp(((const struct run_pair *)a)->key, ((const struct run_pair *)b)->key);
}

static int compare_traffic(const void *a, const void *b)
{
    return strcmp(((const struct run_traffic *)a)->name, ((const struct run_traffic *)b)->name);
}

static int compare_gpu(const void *a, const void *b)
{
    return ((const struct run_gpu *)a)->gpu_id - ((const struct run_gpu *)b)->gpu_id;
}

static int compare_member(const void *a, const void *b)
{
    return strcmp(((const struct run_member *)a)->name, ((const struct run_member *)b)->name);
}

/* qsort(NULL, 0, ...) is undefined, and an array here may be NULL and empty. */
static void sort(void *base, size_t n, size_t size, int (*compare)(const void *, const void *))
{
    if (n > 1)
        qsort(base, n, size, compare);
}

void run_sort(struct run *r)
{
    run_sort_observed(r);
    run_sort_ranges(r);
    run_sort_traces(r);
    sort(r->ranks, (size_t)r->ranks_len, sizeof *r->ranks, compare_rank);
    sort(r->nodes, (size_t)r->nodes_len, sizeof *r->nodes, compare_node);
    sort(r->environment, (size_t)r->n_environment, sizeof *r->environment, compare_pair);
    sort(r->labels, (size_t)r->n_labels, sizeof *r->labels, compare_pair);
    sort(r->members, r->n_members, sizeof *r->members, compare_member);
    for (int i = 0; i < r->nodes_len; i++) {
        struct run_node *n = &r->nodes[i];
        sort(n->gpus, (size_t)n->n_gpus, sizeof *n->gpus, compare_gpu);
        sort(n->net, (size_t)n->n_net, sizeof *n->net, compare_traffic);
        sort(n->disk, (size_t)n->n_disk, sizeof *n->disk, compare_traffic);
    }
}

void run_settle(struct run *r)
{
    for (int i = 0; i < r->nodes_len; i++) {
        struct run_node *n = &r->nodes[i];
        n->n_gpus = n->gpus ? n->n_gpus : 0;
        n->n_net = n->net ? n->n_net : 0;
        n->n_disk = n->disk ? n->n_disk : 0;
        n->n_busy = n->busy ? n->n_busy : 0;
        n->n_wire = n->wire ? n->n_wire : 0;
    }
    for (int i = 0; i < r->n_traces; i++)
        if (!r->traces[i].devices)
            r->traces[i].n_devices = 0;
    r->n_mpi_calls = r->mpi_calls ? r->n_mpi_calls : 0;
    r->n_files = r->files ? r->n_files : 0;
    r->ranges.n_names = r->ranges.list ? r->ranges.n_names : 0;
    r->n_epochs = r->epochs ? r->n_epochs : 0;
}
