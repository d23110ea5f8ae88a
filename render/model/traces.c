/* traces.c - the foreign traces of a run. Holds; computes nothing. */
#include "render/model/build.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const why_lost[] = {
#define X(id, why) why,
    STEP_LOSSES(X)
#undef X
};

void run_add_trace(struct run *r, const struct foreign_trace *t)
{
    r->traces = arena_grow(&r->arena, r->traces, (size_t)r->n_traces, &r->traces_cap, sizeof *r->traces);
    struct foreign_trace *kept = &r->traces[r->n_traces++];
    *kept = *t;
    kept->file = run_text(r, t->file);
    for (int i = 0; i < kept->n_devices; i++)
        kept->devices[i].file = kept->file;
    if (t->n_unclosed > 0)
        run_add_gap(r, PHRASE(TRACE_UNCLOSED, slot_name(kept->file)),
                    t->is_last_cut ? PHRASE(TRACE_EVENTS_BUT_LAST, slot_count(t->n_unclosed))
                                   : PHRASE(TRACE_EVENTS, slot_count(t->n_unclosed)));
    if (t->n_damaged > 0)
        run_add_gap(r, PHRASE(TRACE_DAMAGED, slot_bytes((double)t->damaged_bytes), slot_count(t->n_damaged),
                              slot_name(kept->file)));
    if (t->why_rest)
        run_add_gap(r, PHRASE(TRACE_REST_UNREAD, slot_name(run_text(r, t->why_rest))));
    if (t->n_unusable > 0)
        run_add_gap(r, PHRASE(TRACE_UNTIMED, slot_things(t->n_unusable, "event"), slot_name(kept->file)));
    if (t->n_backward > 0)
        run_add_gap(r, PHRASE(TRACE_BACKWARD, slot_count(t->n_backward), slot_name(kept->file)),
                    PHRASE(COVERS_NO_TIME, slot_count(t->n_backward)));
    for (int i = 0; i < N_STEP_LOSSES; i++)
        if (t->n_lost_steps[i] > 0)
            run_add_gap(r, PHRASE(TRACE_STEPS_LEFT_OUT, slot_count(t->n_lost_steps[i]), slot_name(kept->file),
                                  slot_name(why_lost[i])));
    if (t->n_negative > 0)
        run_add_gap(r, PHRASE(TRACE_NEGATIVE, slot_count(t->n_negative), slot_name(kept->file)),
                    PHRASE(NEGATIVE_SUM, slot_count(t->n_negative)));
    if (t->n_unpaired > 0)
        run_add_gap(r, PHRASE(TRACE_UNPAIRED, slot_count(t->n_unpaired), slot_name(kept->file)),
                    PHRASE(UNPAIRED_MEANS));
}

struct foreign_table *run_add_table(struct run *r, const char *file, enum foreign_kind kind, const char *caption,
                                    const char *columns)
{
    r->tables = arena_grow(&r->arena, r->tables, (size_t)r->n_tables, &r->tables_cap, sizeof *r->tables);
    struct foreign_table *t = &r->tables[r->n_tables++];
    *t = (struct foreign_table){
        .file = run_text(r, file), .kind = kind, .caption = caption, .columns = columns, .n_columns = 1};
    for (const char *p = columns; *p; p++)
        t->n_columns += *p == '|';
    return t;
}

void table_add(struct run *r, struct foreign_table *t, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    if (t->n_cells + (size_t)t->n_left_out >= (size_t)FOREIGN_MAX_ROWS * (size_t)t->n_columns) {
        t->n_left_out++; /* cells here, rows in run_sort_traces */
        return;
    }
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    t->cells = arena_grow(&r->arena, t->cells, t->n_cells, &t->cells_cap, sizeof *t->cells);
    t->cells[t->n_cells++] = run_text(r, text);
}

/* Are these traces of one run: every rank once, all of one size? */
static int are_one_run(const struct run *r)
{
    const struct foreign_trace *first = NULL;
    for (int i = 0; i < r->n_traces; i++) {
        const struct foreign_trace *t = &r->traces[i];
        if (!t->steps.n_steps)
            continue;
        if (first && (t->rank < 0 || first->rank < 0 || t->world_size != first->world_size))
            return 0;
        if (first && t->is_rank_by_name && t->rank >= 0 && t->steps.n_steps != first->steps.n_steps)
            return 0;
        for (int k = 0; k < i; k++)
            if (r->traces[k].steps.n_steps && r->traces[k].rank == t->rank)
                return 0;
        first = t;
    }
    return 1;
}

void run_take_trace_steps(struct run *r)
{
    int n = 0;
    for (int i = 0; i < r->ranks_len; i++)
        if (r->ranks[i].n_steps)
            return;
    for (int i = 0; i < r->n_traces; i++)
        n += r->traces[i].steps.n_steps > 0;
    if (n > 1 && !are_one_run(r)) {
        run_add_gap(r, PHRASE(TRACES_OF_MANY, slot_count(n)), PHRASE(RUNS_APART));
        return;
    }
    for (int i = 0; i < r->n_traces; i++) {
        const struct foreign_trace *t = &r->traces[i];
        struct run_rank *k = t->steps.n_steps ? run_rank_at(r, t->rank >= 0 ? t->rank : 0) : NULL;
        if (k)
            run_take_steps(k, &t->steps);
    }
    int is_one = r->is_foreign && r->n_traces == 1 && r->traces[0].kind == FOREIGN_KINETO; /* one process */
    if (!r->n_ranks)
        r->n_ranks = n ? n : is_one;
}

int run_is_of_hosts(const struct run *r)
{
    int n_steps = 0;
    for (int i = 0; i < r->n_traces; i++) {
        if (r->traces[i].n_devices || r->traces[i].n_calls)
            return 0;
        n_steps += r->traces[i].steps.n_steps > 0;
    }
    return n_steps > 0;
}

static int compare_table(const void *a, const void *b)
{
    const struct foreign_table *x = a, *y = b;
    int c = strcmp(x->file, y->file);
    return c ? c : strcmp(x->caption, y->caption);
}

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct foreign_trace *)a)->file, ((const struct foreign_trace *)b)->file);
}

static int compare_kernel(const void *a, const void *b)
{
    const struct run_kernel_counts *x = a, *y = b;
    int c = strcmp(x->file, y->file);
    c = c ? c : (x->ns < y->ns) - (x->ns > y->ns);
    return c ? c : strcmp(x->kernel, y->kernel);
}

void run_sort_traces(struct run *r)
{
    if (r->n_kernels > 1)
        qsort(r->kernels, (size_t)r->n_kernels, sizeof *r->kernels, compare_kernel);
    if (r->n_traces > 1)
        qsort(r->traces, (size_t)r->n_traces, sizeof *r->traces, compare);
    if (r->n_tables > 1)
        qsort(r->tables, (size_t)r->n_tables, sizeof *r->tables, compare_table);
    for (int i = 0; i < r->n_tables; i++)
        r->tables[i].n_left_out /= r->tables[i].n_columns;
}

const char *foreign_kind_words(enum foreign_kind k)
{
    static const char *const words[] = {"",
#define X(id, words) words,
                                        FOREIGN_KINDS(X)
#undef X
    };
    return words[k];
}

int foreign_is_nsys(enum foreign_kind k)
{
    return k == FOREIGN_NSYS_SQLITE || k == FOREIGN_NSYS_GPU_CSV || k == FOREIGN_NSYS_API_CSV ||
           k == FOREIGN_NSYS_NVTX_CSV || k == FOREIGN_NSYS_MPI_CSV || k == FOREIGN_NSYS_SUMMARY;
}
