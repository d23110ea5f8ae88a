/* ahead.h - the traces of other tools among the files of a folder, read by as many threads as there are cores while the
 * run is put together in order. With one file for each rank, reading takes as long as the files of one core. Inside
 * render/read only. Test: tests/integration/render_devices.sh */
#ifndef RENDER_READ_AHEAD_H
#define RENDER_READ_AHEAD_H

#include "render/import/import.h"

struct ahead;

/** ahead_start - begin with the first of the files. root, names: borrows, until ahead_end; as run_read_files.
 *  ready    traces that were read already: taken over, not read again; else NULL. shape (n); NULL = none
 *  watch    of the run, NULL = no watcher
 *  returns  gives; NULL = it is not worth it (one core, one file, none ready) or there is no memory: files are read one
 * by one */
struct ahead *ahead_start(const char *root, char *const *names, struct trace_ahead *const *ready, size_t n,
                          const struct run_watch *watch);
/** ahead_take - the result for file i. Call once for each file, ascending.
 *  returns  0: its trace is in the run; DCR_END: read it as any other file; else as import_foreign */
int ahead_take(struct ahead *a, size_t i, struct run *r, struct dcr_err *err) DCR_MUST_CHECK;
/** ahead_trace - the same, for a run that does not exist yet: 0, and out has the result, which the caller frees. */
int ahead_trace(struct ahead *a, size_t i, struct trace_ahead *out) DCR_MUST_CHECK;
/** ahead_end - NULL is fine. */
void ahead_end(struct ahead *a);

#endif
