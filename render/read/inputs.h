/* inputs.h - the inputs of the command line, as runs to read. An archive is a run, and so is a file of another tool.
 * A folder is searched. Each archive and each run folder in it (one with metrics.csv, job_metadata or manifest.json)
 * is a separate run. All other files together are one run, except traces that cannot be of one job (jobs.h). Called
 * by main(). */
#ifndef RENDER_READ_INPUTS_H
#define RENDER_READ_INPUTS_H

#include "lib/base/arena.h"
#include "lib/base/err.h"

#include <stddef.h>

struct trace_ahead;

struct input {
    const char *path; /* path of an archive; else the name of the run */
    const char *root; /* NULL: an archive */
    char **names;     /* shape (n_names), relative to root */
    size_t n_names, names_cap;
    struct trace_ahead **ready; /* shape (n_names): those of the files that were read already; NULL = none was */
    size_t ready_cap;
    int argument; /* index of the command line's input that it comes from */
    int is_found; /* found in a folder, not named directly: if it cannot be used, the rest still can */
};
struct inputs {
    struct dcr_arena arena;
    struct input *list;
    size_t n, cap;
    struct trace_ahead **held; /* those that were read already, of all inputs                shape (n_held) */
    size_t n_held, held_cap;
};

/** inputs_find - paths: borrows. out must be zero; release with inputs_release, also on failure.
 *  errors   DCR_FAIL: a folder that cannot be listed, or holds no files, or too many; a folder or a file of another
 *           tool that is named twice */
int inputs_find(struct inputs *out, char *const *paths, int n, struct dcr_err *err) DCR_MUST_CHECK;
void inputs_release(struct inputs *x);
/** is_archive_name - does the name end as an archive's, .tar or .tar.zst? */
int is_archive_name(const char *name);

#endif
