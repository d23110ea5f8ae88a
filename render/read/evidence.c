/* evidence.c - see evidence.h. */
#include "render/read/evidence.h"

#include "render/model/build.h"
#include "render/read/read.h"

#include <stdlib.h>
#include <string.h>

static int read_all(struct evidence *e, void (*progress)(const char *path), struct dcr_err *err)
{
    size_t n = 0, n_left = 0, n_runs = e->inputs.n;
    struct dcr_err first = {0}, one;
    const char **left = dcr_arena_alloc(&e->inputs.arena, (n_runs + 1) * sizeof *left);
    e->inputs.n = 0; /* whatever happens, as many runs as are there are freed */
    for (size_t i = 0; i < n_runs; i++) {
        const struct input x = e->inputs.list[i];
        if (progress)
            progress(x.path);
        one = (struct dcr_err){0};
        int rc = x.root ? run_read_files(&e->runs[n], x.path, x.root, x.names, x.n_names, &one)
                        : run_read(&e->runs[n], x.path, &one);
        if (rc == 0) {
            e->inputs.list[n++] = x;
            e->inputs.n = n;
            continue;
        }
        if (!x.is_found || rc == DCR_FATAL) {
            *err = one;
            if (!x.root && !is_archive_name(x.path) && strstr(one.text, "not a tar archive"))
                return dcr_err_set(
                    err, DCR_FAIL,
                    "cannot use '%s': no known kind of file, neither an archive of a run nor a whole file "
                    "of another tool; dcreport(1) lists the kinds",
                    x.path);
            return rc;
        }
        first = n_left ? first : one;
        left[n_left++] = dcr_arena_strdup(&e->inputs.arena, one.text);
    }
    for (size_t i = 0; n && i < n_left; i++)
        run_add_gap(e->runs[0], "Left out: %s.", left[i]);
    if (n == 0)
        *err = first;
    return n ? 0 : DCR_FAIL;
}

int evidence_read(struct evidence *e, char **paths, int n, void (*progress)(const char *path), struct dcr_err *err)
{
    int rc = inputs_find(&e->inputs, paths, n, err);
    if (rc)
        return rc;
    e->runs = calloc(e->inputs.n + 1, sizeof *e->runs);
    if (!e->runs)
        return dcr_err_set(err, DCR_FATAL, "out of memory");
    return read_all(e, progress, err);
}

void evidence_release(struct evidence *e)
{
    for (size_t i = 0; e->runs && i < e->inputs.n; i++)
        run_free(e->runs[i]);
    free(e->runs);
    inputs_release(&e->inputs);
    memset(e, 0, sizeof *e);
}
