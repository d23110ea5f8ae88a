/* shapework.c - see shapework.h. */
#include "render/device/shapework.h"

#include "render/device/optable.h"
#include "render/model/build.h"

#include <stdlib.h>
#include <string.h>

struct call {
    int64_t thread, start_ns, end_ns;
    struct shape_work work;
    int64_t kernel_ns, n_kernels;
    uint32_t name; /* index */
};

struct shape_log {
    struct dcr_arena arena;
    struct optable names;
    struct call *calls;
    size_t n, cap;
    int is_settled, is_too_many;
};

struct shape_log *shape_log_new(void)
{
    return calloc(1, sizeof(struct shape_log));
}

void shape_log_free(struct shape_log *l)
{
    if (!l)
        return;
    optable_release(&l->names);
    dcr_arena_release(&l->arena);
    free(l);
}

void shape_log_add(struct shape_log *l, int64_t thread, const char *name, size_t len, const struct shape_work *w,
                   int64_t start_ns, int64_t end_ns)
{
    if (w->flop == 0 || end_ns < start_ns)
        return;
    if (l->n == SHAPED_CALLS_MAX) {
        l->is_too_many = 1;
        return;
    }
    l->calls = arena_grow(&l->arena, l->calls, l->n, &l->cap, sizeof *l->calls);
    l->calls[l->n++] = (struct call){.thread = thread,
                                     .start_ns = start_ns,
                                     .end_ns = end_ns,
                                     .work = *w,
                                     .name = optable_entry(&l->names, 0, OP_COMPUTE, name, len)->index};
}

/* By thread and start. Of calls that begin together, the outermost comes first. */
static int compare_call(const void *a, const void *b)
{
    const struct call *x = a, *y = b;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    if (x->end_ns != y->end_ns)
        return x->end_ns > y->end_ns ? -1 : 1;
    return (x->name > y->name) - (x->name < y->name);
}

void shape_log_settle(struct shape_log *l)
{
    size_t k = 0;
    if (l->is_settled)
        return;
    l->is_settled = 1;
    if (l->n > 1)
        qsort(l->calls, l->n, sizeof *l->calls, compare_call);
    for (size_t i = 0; i < l->n; i++) {
        const struct call *c = &l->calls[i];
        struct call *around =
            k && l->calls[k - 1].thread == c->thread && c->start_ns < l->calls[k - 1].end_ns ? &l->calls[k - 1] : NULL;
        if (!around)
            l->calls[k++] = *c;
        else if (around->work.flop < 0 && c->work.flop > 0)
            *around = *c;
    }
    l->n = k;
}

void shape_log_kernel(struct shape_log *l, int64_t thread, int64_t launch_ns, int64_t dur_ns)
{
    size_t lo = 0, hi = l->n; /* calls before lo begin no later than the launch */
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        const struct call *c = &l->calls[mid];
        if (c->thread < thread || (c->thread == thread && c->start_ns <= launch_ns))
            lo = mid + 1;
        else
            hi = mid;
    }
    struct call *c = lo ? &l->calls[lo - 1] : NULL;
    if (!c || c->thread != thread || launch_ns >= c->end_ns)
        return;
    c->kernel_ns += dur_ns > 0 ? dur_ns : 0;
    c->n_kernels++;
}

static struct run_kernel_counts *row_of(struct run_kernel_counts *rows, int *n, const struct name_entry *name,
                                        const char *format, struct dcr_arena *arena)
{
    for (int i = 0; i < *n; i++)
        if (strcmp(rows[i].kernel, name->text) == 0 && strcmp(rows[i].format, format) == 0)
            return &rows[i];
    rows[*n] = (struct run_kernel_counts){
        .file = "", .kernel = text_clean(arena, name->text), .counted = format, .format = format, .missing = ""};
    return &rows[(*n)++];
}

static void add_call(struct run_kernel_counts *r, const struct call *c, int has_gpu)
{
    r->n++;
    if (r->ns >= 0)
        r->ns = has_gpu && !c->n_kernels ? -1 : r->ns + (double)(has_gpu ? c->kernel_ns : c->end_ns - c->start_ns);
    if (r->flop >= 0)
        r->flop = c->work.flop < 0 ? -1 : r->flop + (double)c->work.flop;
    if (r->bytes >= 0)
        r->bytes = c->work.bytes < 0 ? -1 : r->bytes + (double)c->work.bytes;
}

/* Longest first; rows without a time come last. */
static int compare_row(const void *a, const void *b)
{
    const struct run_kernel_counts *x = a, *y = b;
    int c = (x->ns < y->ns) - (x->ns > y->ns);
    c = c ? c : strcmp(x->kernel, y->kernel);
    return c ? c : strcmp(x->format, y->format);
}

int shape_log_finish(struct shape_log *l, int has_gpu, struct dcr_arena *arena, struct run_kernel_counts **out, int *n)
{
    enum { FORMATS = 8 };
    *n = 0;
    if (l->is_too_many)
        return 0;
    shape_log_settle(l);
    *out = dcr_arena_alloc(arena, (l->names.n * FORMATS + 1) * sizeof **out);
    for (size_t i = 0; i < l->n; i++) {
        const struct call *c = &l->calls[i];
        add_call(row_of(*out, n, l->names.entries[c->name], c->work.format, arena), c, has_gpu);
    }
    for (int i = 0; i < *n; i++) {
        struct run_kernel_counts *r = &(*out)[i];
        r->flop_why = r->flop < 0 ? REASON(SHAPES_UNTOLD) : REASON(NONE);
        r->bytes_why = r->bytes < 0 ? REASON(TYPES_UNTOLD) : REASON(NONE);
    }
    if (*n > 1)
        qsort(*out, (size_t)*n, sizeof **out, compare_row);
    return 1;
}
