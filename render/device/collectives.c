/* collectives.c - see collectives.h. */
#include "render/device/collectives.h"

#include "render/model/build.h"

#include <stdio.h>

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* "_allgather_base", "all_gather", "ALLGATHER" all hold "allgather" once '_' is left out. */
static int is_like(const char *name, const char *word)
{
    char plain[64];
    size_t n = 0;
    for (; *name && n + 1 < sizeof plain; name++)
        if (*name != '_' && *name != '-')
            plain[n++] = *name;
    plain[n] = '\0';
    return strcasestr(plain, word) != NULL;
}

double collective_bus_factor(const char *name, int64_t n_ranks)
{
    double n = (double)n_ranks;
    if (n_ranks < 2)
        return 1;
    if (is_like(name, "allreduce"))
        return 2 * (n - 1) / n;
    return is_like(name, "reducescatter") || is_like(name, "allgather") || is_like(name, "alltoall") ? (n - 1) / n : 1;
}

void collectives_add(struct collective_kinds *k, struct dcr_arena *arena, const struct device_op *op)
{
    char name[64];
    int64_t bytes = is_like(op->collective, "allgather") && op->out_bytes > 0 ? op->out_bytes : op->in_bytes;
    struct device_collective *c = NULL;
    snprintf(name, sizeof name, "%s", op->collective);
    for (size_t i = 0; i < k->n && !c; i++)
        if (k->list[i].device == op->device && k->list[i].bytes == bytes && k->list[i].n_ranks == op->group_size &&
            strcmp(k->list[i].name, name) == 0)
            c = &k->list[i];
    if (!c) {
        if (k->n == COLLECTIVES_MAX)
            return;
        k->list = arena_grow(arena, k->list, k->n, &k->cap, sizeof *k->list);
        c = &k->list[k->n++];
        *c = (struct device_collective){.name = text_clean(arena, name),
                                        .device = op->device,
                                        .bytes = bytes,
                                        .n_ranks = op->group_size,
                                        .min_ns = op->dur_ns};
    }
    c->n++;
    c->min_ns = op->dur_ns < c->min_ns ? op->dur_ns : c->min_ns;
    if (__builtin_add_overflow(c->sum_ns, op->dur_ns, &c->sum_ns))
        c->sum_ns = INT64_MAX;
}

static int compare(const void *a, const void *b)
{
    const struct device_collective *x = a, *y = b;
    if (x->sum_ns != y->sum_ns)
        return x->sum_ns > y->sum_ns ? -1 : 1;
    int c = strcmp(x->name, y->name);
    return c                      ? c
           : x->bytes != y->bytes ? (x->bytes < y->bytes ? -1 : 1)
                                  : (x->n_ranks > y->n_ranks) - (x->n_ranks < y->n_ranks);
}

struct device_collective *collectives_of(const struct collective_kinds *k, int64_t device, struct dcr_arena *arena,
                                         int *n_out)
{
    struct device_collective *out = dcr_arena_alloc(arena, (k->n + 1) * sizeof *out);
    *n_out = 0;
    for (size_t i = 0; i < k->n; i++) {
        if (k->list[i].device != device)
            continue;
        struct device_collective *c = &out[(*n_out)++];
        *c = k->list[i];
        c->name = dcr_arena_strdup(arena, c->name);
        if (c->min_ns > 0 && c->bytes > 0) {
            c->algbw_gb_s = (double)c->bytes / (double)c->min_ns; /* bytes per ns are decimal GB per s */
            c->busbw_gb_s = c->algbw_gb_s * collective_bus_factor(c->name, c->n_ranks);
        }
    }
    if (*n_out)
        qsort(out, (size_t)*n_out, sizeof *out, compare);
    return out;
}
