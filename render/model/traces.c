/* traces.c - the foreign traces of a run. Holds; computes nothing. */
#include "render/model/build.h"

#include <stdlib.h>
#include <string.h>

void run_add_trace(struct run *r, const struct foreign_trace *t)
{
    r->traces = arena_grow(&r->arena, r->traces, (size_t)r->n_traces, &r->traces_cap, sizeof *r->traces);
    struct foreign_trace *kept = &r->traces[r->n_traces++];
    *kept = *t;
    kept->file = run_text(r, t->file);
    for (int i = 0; i < kept->n_devices; i++)
        kept->devices[i].file = kept->file;
}

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct foreign_trace *)a)->file, ((const struct foreign_trace *)b)->file);
}

void run_sort_traces(struct run *r)
{
    if (r->n_traces > 1)
        qsort(r->traces, (size_t)r->n_traces, sizeof *r->traces, compare);
}
