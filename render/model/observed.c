/* observed.c - sums of calls that the recorder saw without names from the program: MPI calls, calls on files. */
#include "render/model/build.h"

#include <stdlib.h>
#include <string.h>

/* Limits sums to 63 bits, because a damaged file may hold any numbers. */
static uint64_t plus(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) || sum > INT64_MAX ? INT64_MAX : sum;
}

static void add(struct dct_io *sum, const struct dct_io *calls)
{
    sum->n = plus(sum->n, calls->n);
    sum->bytes = plus(sum->bytes, calls->bytes);
    sum->ns = plus(sum->ns, calls->ns);
    uint64_t max = plus(calls->max_ns, 0);
    sum->max_ns = max > sum->max_ns ? max : sum->max_ns;
}

int run_is_timed(const struct dct_io *calls)
{
    return calls->ns > 0 || calls->n == 0;
}

int run_is_mpi_frame(const char *name)
{
    return strncmp(name, "MPI_Init", 8) == 0 || strcmp(name, "MPI_Finalize") == 0;
}

void run_observe_mpi(struct run *r, const char *name, const struct dct_io *calls)
{
    const char *clean = NULL;
    for (int i = 0; i < r->n_mpi_calls; i++)
        if (strcmp(r->mpi_calls[i].name, name) == 0) {
            add(&r->mpi_calls[i].sum, calls);
            return;
        }
    if (r->n_mpi_calls == RUN_MAX_MPI_CALLS)
        return;
    clean = run_text(r, name);
    r->mpi_calls = arena_grow(&r->arena, r->mpi_calls, (size_t)r->n_mpi_calls, &r->mpi_cap, sizeof *r->mpi_calls);
    r->mpi_calls[r->n_mpi_calls] = (struct run_mpi_call){.name = clean};
    add(&r->mpi_calls[r->n_mpi_calls++].sum, calls);
}

void run_observe_before(struct run *r, struct run_rank *k, const struct run_rank_call *call)
{
    int i = 0;
    while (i < k->n_calls && strcmp(k->calls[i].name, call->name) != 0)
        i++;
    if (i == RUN_MAX_MPI_CALLS)
        return;
    if (i == k->n_calls) {
        k->calls = arena_grow(&r->arena, k->calls, (size_t)i, &k->calls_cap, sizeof *k->calls);
        k->calls[k->n_calls++] = (struct run_rank_call){.name = run_text(r, call->name)};
    }
    k->calls[i].n = plus(k->calls[i].n, call->n);
    k->calls[i].ns = (int64_t)plus((uint64_t)k->calls[i].ns, (uint64_t)call->ns);
    k->calls[i].before_ns = (int64_t)plus((uint64_t)k->calls[i].before_ns, (uint64_t)call->before_ns);
}

void run_observe_file(struct run *r, const char *name, int kind, const struct dct_io *calls)
{
    if (kind < 0 || kind >= DCT_N_IO || calls->n == 0)
        return;
    for (int i = 0; i < r->n_files; i++)
        if (strcmp(r->files[i].name, name) == 0) {
            add(&r->files[i].sum[kind], calls);
            return;
        }
    if (r->n_files == RUN_MAX_FILES - 1 && strcmp(name, RUN_OTHER_FILES) != 0) {
        run_observe_file(r, RUN_OTHER_FILES, kind, calls);
        return;
    }
    r->files = arena_grow(&r->arena, r->files, (size_t)r->n_files, &r->files_cap, sizeof *r->files);
    r->files[r->n_files] = (struct run_file){.name = run_text(r, name)};
    add(&r->files[r->n_files++].sum[kind], calls);
}

static int descending(uint64_t a, uint64_t b)
{
    return a > b ? -1 : a < b;
}

static int compare_mpi(const void *a, const void *b)
{
    const struct run_mpi_call *x = a, *y = b;
    int order = descending(x->sum.ns, y->sum.ns);
    return order ? order : strcmp(x->name, y->name);
}

static uint64_t time_of(const struct run_file *f)
{
    return plus(plus(f->sum[DCT_IO_READ].ns, f->sum[DCT_IO_WRITE].ns), f->sum[DCT_IO_OTHER].ns);
}

static int compare_file(const void *a, const void *b)
{
    const struct run_file *x = a, *y = b;
    int order = descending(time_of(x), time_of(y));
    return order ? order : strcmp(x->name, y->name);
}

void run_sort_observed(struct run *r)
{
    if (r->n_mpi_calls)
        qsort(r->mpi_calls, (size_t)r->n_mpi_calls, sizeof *r->mpi_calls, compare_mpi);
    if (r->n_files)
        qsort(r->files, (size_t)r->n_files, sizeof *r->files, compare_file);
}
