/* jobs.c - see jobs.h. */
#include "render/read/jobs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A file of the input. */
struct member {
    char *name;
    size_t folder_len; /* of its name */
    const struct import_job *job;
    struct trace_ahead *trace;
    int is_split;  /* it moves from this input to another run */
    size_t leader; /* the first member of its run */
    size_t input;  /* input of its run; only for a leader */
};

static int order(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

/* Do both state their rank, with one size, on GPUs of one model? */
static int is_like(const struct member *a, const struct member *b)
{
    return a->job->rank >= 0 && b->job->rank >= 0 && a->job->world_size == b->job->world_size &&
           strcmp(a->job->model, b->job->model) == 0;
}

static int compare_folders(const struct member *a, const struct member *b)
{
    return a->folder_len != b->folder_len ? order((int64_t)a->folder_len, (int64_t)b->folder_len)
                                          : memcmp(a->name, b->name, a->folder_len);
}

/* May the next one be of the run of the first? It may if both are ranks of one run and no rank comes twice, or if it is
 * a recording of nsys that began before the others had ended. until: when the last of those so far ended; the next
 * one's end moves it. */
static int goes_on(const struct member *first, int64_t *until, const struct member *next)
{
    if (!first->job->is_nsys || !next->job->is_nsys)
        return is_like(first, next);
    int is_meanwhile = next->job->begin_ns < *until;
    if (is_meanwhile && next->job->end_ns > *until)
        *until = next->job->end_ns;
    return is_meanwhile;
}

static int by_rank(const void *x, const void *y)
{
    const struct member *a = *(struct member *const *)x, *b = *(struct member *const *)y;
    int c = order(a->job->rank, b->job->rank);
    c = c ? c : order(a->job->begin_ns, b->job->begin_ns);
    return c ? c : (a > b) - (a < b); /* in the order found */
}

/* Traces in one folder follow each other, by rank. */
static int by_place(const void *x, const void *y)
{
    const struct member *a = *(struct member *const *)x, *b = *(struct member *const *)y;
    int c = compare_folders(a, b);
    c = c ? c : order(a->job->world_size, b->job->world_size);
    c = c ? c : strcmp(a->job->model, b->job->model);
    return c ? c : by_rank(x, y);
}

static int has_rank_twice(struct member *const *sorted, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (sorted[i]->job->rank >= 0 && sorted[i]->job->rank == sorted[i - 1]->job->rank)
            return 1;
    return 0;
}

/* Every rank once, all of one size, in any folders. */
static int may_be_one(struct member **traces, size_t n)
{
    qsort(traces, n, sizeof *traces, by_rank); /* recordings of nsys by their begin */
    int64_t until = n ? traces[0]->job->end_ns : 0;
    for (size_t i = 1; i < n; i++)
        if (!goes_on(traces[0], &until, traces[i]))
            return 0;
    return !has_rank_twice(traces, n);
}

/* Finds a leader for every trace. Traces in one folder share one, unless a rank comes twice; else each is its own
 * leader. */
static void find_leaders(struct member **traces, size_t n, const struct member *list)
{
    qsort(traces, n, sizeof *traces, by_place);
    for (size_t i = 0, end; i < n; i = end) {
        size_t first = (size_t)(traces[i] - list);
        int64_t until = traces[i]->job->end_ns;
        for (end = i + 1;
             end < n && compare_folders(traces[i], traces[end]) == 0 && goes_on(traces[i], &until, traces[end]); end++)
            if ((size_t)(traces[end] - list) < first)
                first = (size_t)(traces[end] - list);
        int is_one = !has_rank_twice(traces + i, end - i);
        for (size_t k = i; k < end; k++)
            traces[k]->leader = is_one ? first : (size_t)(traces[k] - list);
    }
}

static void add(struct inputs *x, size_t input, const struct member *m)
{
    struct input *in = &x->list[input];
    in->names = arena_grow(&x->arena, in->names, in->n_names, &in->names_cap, sizeof *in->names);
    in->ready = arena_grow(&x->arena, in->ready, in->n_names, &in->ready_cap, sizeof *in->ready);
    in->ready[in->n_names] = m->trace;
    in->names[in->n_names++] = m->name;
}

/* The name of a run: its folder if it has several traces and is the folder's only run, else its first trace. */
static const char *path_of(struct inputs *x, const char *root, const struct member *first, int is_folder)
{
    size_t len = is_folder ? first->folder_len : strlen(first->name), size = strlen(root) + len + 2;
    char *path = dcr_arena_alloc(&x->arena, size);
    snprintf(path, size, "%s%s%.*s", root, len && *root ? "/" : "", (int)len, first->name);
    return path;
}

/* For recordings of nsys: does another run have its first one in this one's folder? */
static int has_neighbour(const struct member *list, size_t n, size_t which)
{
    for (size_t i = 0; i < n && list[which].job->is_nsys; i++)
        if (i != which && list[i].is_split && list[i].leader == i && compare_folders(&list[i], &list[which]) == 0)
            return 1;
    return 0;
}

/* The runs, in the order of their first traces. */
static void add_runs(struct inputs *x, const char *root, struct member *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!list[i].is_split)
            continue;
        struct member *first = &list[list[i].leader];
        if (first == &list[i]) {
            x->list = arena_grow(&x->arena, x->list, x->n, &x->cap, sizeof *x->list);
            first->input = x->n++;
            x->list[first->input] = (struct input){.root = root};
        }
        add(x, first->input, &list[i]);
    }
    for (size_t i = 0; i < n; i++)
        if (list[i].is_split && list[i].leader == i)
            x->list[list[i].input].path =
                path_of(x, root, &list[i], x->list[list[i].input].n_names > 1 && !has_neighbour(list, n, i));
}

void jobs_split(struct inputs *x, size_t input, const struct known_file *files)
{
    const struct input in = x->list[input];
    struct member *list = dcr_arena_alloc(&x->arena, (in.n_names + 1) * sizeof *list);
    struct member **traces = dcr_arena_alloc(&x->arena, (in.n_names + 1) * sizeof(struct member *));
    size_t n_known = 0, n_traces = 0, first = x->n;
    int has_chrome = 0;
    for (size_t i = 0; i < in.n_names; i++)
        has_chrome |= files[i].job.is_trace;
    for (size_t i = 0; i < in.n_names; i++) {
        const char *slash = strrchr(in.names[i], '/');
        list[i] = (struct member){.name = in.names[i],
                                  .folder_len = slash ? (size_t)(slash - in.names[i]) : 0,
                                  .job = &files[i].job,
                                  .trace = files[i].trace};
        list[i].is_split = has_chrome ? files[i].job.is_trace : files[i].job.end_ns > 0;
        if (list[i].is_split)
            traces[n_traces++] = &list[i];
        else
            n_known += files[i].kind == IMPORT_PART;
    }
    if (may_be_one(traces, n_traces)) {
        x->list[input].ready = dcr_arena_alloc(&x->arena, (in.n_names + 1) * sizeof *in.ready);
        for (size_t i = 0; i < in.n_names; i++)
            x->list[input].ready[i] = files[i].trace;
        return;
    }
    find_leaders(traces, n_traces, list);
    add_runs(x, in.root, list, in.n_names);
    x->list[input].n_names = 0;
    x->list[input].ready = NULL;
    x->list[input].ready_cap = 0;
    for (size_t i = 0; i < in.n_names; i++) /* files that are no evidence by themselves go with the first run */
        if (!list[i].is_split)
            add(x, n_known ? input : first, &list[i]);
}
