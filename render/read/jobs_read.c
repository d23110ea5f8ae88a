/* jobs_read.c - see jobs.h: traces that must be read to know their job. They are read once: the result goes to the run
 * they belong to (ahead.h). */
#include "render/model/watch.h"
#include "render/read/ahead.h"
#include "render/read/jobs.h"

/* Which files must be read; same order as the input's names. returns  their number */
static size_t unread(const struct input *in, const struct known_file *files, char **names, size_t *at)
{
    size_t n = 0, n_traces = 0;
    for (size_t i = 0; i < in->n_names; i++) {
        n_traces += files[i].job.is_trace != 0;
        if (!files[i].job.is_end_unread)
            continue;
        names[n] = in->names[i];
        at[n++] = i;
    }
    return n_traces > 1 ? n : 0;
}

void jobs_read(struct inputs *x, size_t input, struct known_file *files)
{
    const struct input *in = &x->list[input];
    char **names = dcr_arena_alloc(&x->arena, (in->n_names + 1) * sizeof *names);
    size_t *at = dcr_arena_alloc(&x->arena, (in->n_names + 1) * sizeof *at), n = unread(in, files, names, at);
    struct trace_ahead **none = n ? dcr_arena_alloc(&x->arena, n * sizeof(struct trace_ahead *)) : NULL;
    struct ahead *a = n ? ahead_start(in->root, names, none, n, run_watched_by()) : NULL;
    for (size_t i = 0; a && i < n; i++) {
        struct trace_ahead *t = dcr_arena_alloc(&x->arena, sizeof *t);
        if (ahead_trace(a, i, t))
            continue;
        x->held = arena_grow(&x->arena, x->held, x->n_held, &x->held_cap, sizeof *x->held);
        x->held[x->n_held++] = files[at[i]].trace = t;
        import_job_of(&files[at[i]].job, t);
    }
    ahead_end(a);
}
