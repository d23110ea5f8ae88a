/* kineto_counters.c - see kineto_counters.h. */
#include "render/import/kineto/kineto_counters.h"

#include "render/import/text/json_window.h"
#include "render/import/ncu/ncu_counters.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Counts only "smsp__..." (the units of multiprocessors), because "sm__..." counts the same work once more. */
static double flop_of(const char *counter)
{
    return strncmp(counter, "smsp__", 6) == 0 ? ncu_flop_of(counter) : 0;
}

/* The sum of that name; names beyond the limit share the last one. */
static struct range_sum *sum_of(struct range_sum *list, int *n, struct dcr_arena *arena, const char *name, size_t len)
{
    for (int i = 0; i < *n; i++)
        if (list[i].len == len && memcmp(list[i].name, name, len) == 0)
            return &list[i];
    static const char other[] = "(other names)";
    if (*n == RANGE_NAMES - 1) {
        name = other;
        len = sizeof other - 1;
    }
    if (*n < RANGE_NAMES)
        list[(*n)++] = (struct range_sum){.name = dcr_arena_strndup(arena, name, len), .len = len};
    return &list[*n - 1];
}

void kineto_counters_add(struct range_counters **all, struct dcr_arena *arena, struct kineto_text name,
                         const struct kineto_raw *e)
{
    if (!*all)
        *all = dcr_arena_alloc(arena, sizeof **all);
    struct range_counters *c = *all;
    struct range_sum *kernel = sum_of(c->kernels, &c->n_kernels, arena, name.p, name.n);
    char key[128];
    c->n_ranges++;
    kernel->n++;
    if (!e->args)
        return;
    const char *p = e->args + 1;
    for (struct json_pair pair; json_next_pair(&p, e->args_end, &pair);) {
        char *behind;
        double v = strtod(pair.value, &behind);
        if (behind > pair.value && isfinite(v) && fabs(v) < 1e30) {
            size_t n = json_unescape(pair.key, pair.n, key, sizeof key);
            struct range_sum *s = sum_of(c->counters, &c->n_counters, arena, key, n);
            s->n++;
            s->sum += v;
            kernel->sum += flop_of(s->name) * v;
            c->has_flop |= flop_of(s->name) > 0;
        }
    }
}

static int compare(const void *a, const void *b)
{
    const struct range_sum *x = a, *y = b;
    return x->sum != y->sum ? (x->sum < y->sum ? 1 : -1) : strcmp(x->name, y->name);
}

static void counters_tables(struct run *r, const struct foreign_trace *t)
{
    struct range_counters *c = t->counters;
    if (!c)
        return;
    struct foreign_table *f =
        run_add_table(r, t->file, FOREIGN_KINETO, "counters of its ranges (CUPTI), which say nothing of time",
                      "Counter|#Ranges with it|#Sum|#Mean of a range");
    for (int i = 0; i < c->n_counters; i++) {
        const struct range_sum *s = &c->counters[i];
        size_t n = strlen(s->name);
        int is_sum = n > 4 && strcmp(s->name + n - 4, ".sum") == 0;
        table_add(r, f, "%s", s->name);
        table_add(r, f, "%lld", (long long)s->n);
        if (is_sum)
            table_add(r, f, "%.0f", s->sum);
        else
            table_add(r, f, "n/a");
        table_add(r, f, "%.6g", s->sum / (double)s->n);
    }
    if (!c->has_flop)
        return;
    qsort(c->kernels, (size_t)c->n_kernels, sizeof *c->kernels, compare);
    f = run_add_table(r, t->file, FOREIGN_KINETO,
                      "floating-point operations of its kernels by those counters: adds, products, and twice the fused "
                      "ones, of FP16 twice that (two values an instruction), of all precisions that were counted; "
                      "work of tensor cores is not in them. FLOP/s are not known, because the ranges have no times of "
                      "their own",
                      "Kernel|#Ranges|#FLOP|#FLOP of a range");
    for (int i = 0; i < c->n_kernels; i++) {
        table_add(r, f, "%s", c->kernels[i].name);
        table_add(r, f, "%lld", (long long)c->kernels[i].n);
        table_add(r, f, "%.0f", c->kernels[i].sum);
        table_add(r, f, "%.6g", c->kernels[i].sum / (double)c->kernels[i].n);
    }
}

/* GPUs have separate pages for this. */
static void memory_table(struct run *r, const struct foreign_trace *t)
{
    const struct device_memory *m = &t->host_memory;
    if (!m->n)
        return;
    struct foreign_table *f = run_add_table(
        r, t->file, FOREIGN_KINETO,
        m->is_driver ? "memory of the host that PyTorch allocated, without what was there before the trace"
                     : "memory of the host that PyTorch allocated",
        "Memory|#Events|#Peak, MB|#At the end, MB|#Growth a step, MB");
    table_add(r, f, "host");
    table_add(r, f, "%lld", (long long)m->n);
    table_add(r, f, "%.6g", (double)m->peak_allocated / 1e6);
    table_add(r, f, "%.6g", (double)m->last_allocated / 1e6);
    if (m->has_growth)
        table_add(r, f, "%.3g", m->growth_bytes_per_step / 1e6);
    else
        table_add(r, f, "n/a: fewer than three steps with events");
}

void kineto_tables(struct run *r, const struct foreign_trace *t)
{
    counters_tables(r, t);
    memory_table(r, t);
}
