/* jobs.c - see jobs.h. */
#include "render/read/jobs.h"

#include "lib/stream.h"
#include "render/import/import.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A file of the input, and what its beginning says. */
struct member {
    char *name;
    size_t folder_len; /* of its name */
    enum import_kind kind;
    struct import_job job;
    int is_taken;
};

static void look(struct inputs *x, const struct input *in, struct member *m)
{
    size_t n = strlen(in->root) + strlen(m->name) + 2;
    char *path = dcr_arena_alloc(&x->arena, n);
    snprintf(path, n, "%s%s%s", in->root, *in->root ? "/" : "", m->name);
    const char *slash = strrchr(m->name, '/');
    m->folder_len = slash ? (size_t)(slash - m->name) : 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    struct dcr_stream s = dcr_stream_fd(&fd, path);
    m->kind = import_job(&s, &m->job);
    close(fd);
}

/* Both say their rank, of one size, on GPUs of one model. */
static int is_like(const struct member *a, const struct member *b)
{
    return a->job.rank >= 0 && b->job.rank >= 0 && a->job.world_size == b->job.world_size &&
           strcmp(a->job.model, b->job.model) == 0;
}

/* In one folder too: ranks of one run, unless a rank comes twice. */
static int is_beside(const struct member *a, const struct member *b)
{
    return is_like(a, b) && a->folder_len == b->folder_len && memcmp(a->name, b->name, a->folder_len) == 0;
}

static int are_ranks(const struct member *list, size_t n, const struct member *of)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            if (list[i].job.is_trace && list[k].job.is_trace && is_beside(&list[i], of) && is_beside(&list[k], of) &&
                list[i].job.rank == list[k].job.rank)
                return 0;
    return 1;
}

/* Every rank once, of one size, wherever the files lie. */
static int may_be_one(const struct member *list, size_t n)
{
    const struct member *first = NULL;
    for (size_t i = 0; i < n; i++) {
        if (!list[i].job.is_trace)
            continue;
        if (first && !is_like(first, &list[i]))
            return 0;
        for (size_t k = 0; k < i; k++)
            if (list[k].job.is_trace && list[k].job.rank == list[i].job.rank)
                return 0;
        first = first ? first : &list[i];
    }
    return 1;
}

static void add(struct inputs *x, size_t input, const char *name)
{
    struct input *in = &x->list[input];
    in->names = arena_grow(&x->arena, in->names, in->n_names, &in->names_cap, sizeof *in->names);
    in->names[in->n_names++] = dcr_arena_strdup(&x->arena, name);
}

/* A run of the trace m and those beside it, called by their folder; of m alone, by its file. */
static void add_run(struct inputs *x, size_t from, struct member *list, size_t n, struct member *m)
{
    const char *root = x->list[from].root;
    int with_others = m->job.rank >= 0 && are_ranks(list, n, m), n_names = 0;
    size_t at = x->n;
    x->list = arena_grow(&x->arena, x->list, x->n, &x->cap, sizeof *x->list);
    x->list[x->n++] = (struct input){.root = root};
    for (size_t i = 0; i < n; i++) {
        if (!list[i].job.is_trace || list[i].is_taken || (&list[i] != m && !(with_others && is_beside(m, &list[i]))))
            continue;
        add(x, at, list[i].name);
        list[i].is_taken = 1;
        n_names++;
    }
    size_t len = n_names > 1 ? m->folder_len : strlen(m->name);
    size_t size = strlen(root) + len + 2;
    char *path = dcr_arena_alloc(&x->arena, size);
    snprintf(path, size, "%s%s%.*s", root, len && *root ? "/" : "", (int)len, m->name);
    x->list[at].path = path;
}

void jobs_split(struct inputs *x, size_t input)
{
    const struct input in = x->list[input];
    struct member *list = dcr_arena_alloc(&x->arena, (in.n_names + 1) * sizeof *list);
    size_t n_known = 0, first = x->n;
    for (size_t i = 0; i < in.n_names; i++) {
        list[i] = (struct member){.name = in.names[i]};
        look(x, &in, &list[i]);
        n_known += !list[i].job.is_trace && list[i].kind == IMPORT_PART;
    }
    if (may_be_one(list, in.n_names))
        return;
    for (size_t i = 0; i < in.n_names; i++)
        if (list[i].job.is_trace && !list[i].is_taken)
            add_run(x, input, list, in.n_names, &list[i]);
    x->list[input].n_names = 0;
    for (size_t i = 0; i < in.n_names; i++) /* what is no evidence by itself is named with the first of them */
        if (!list[i].is_taken)
            add(x, n_known ? input : first, list[i].name);
}
