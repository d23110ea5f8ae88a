/* jobs.h - splits traces in one folder that are not of one job. Inside render/read. */
#ifndef RENDER_READ_JOBS_H
#define RENDER_READ_JOBS_H

#include "render/import/import.h"
#include "render/read/inputs.h"

/* What the beginning of a file states. */
struct known_file {
    enum import_kind kind;
    struct import_job job;
    struct trace_ahead *trace; /* NULL = not read yet */
};

/** jobs_read - reads those traces of an input whose job may be stated only at an end that is too far away. In large
 * compressed ones reaching it takes as long as reading them. Their files get trace, and the job that it states. Does
 * nothing for a single trace, which is no rank of several. A file that cannot be read is left as it is: reading it
 * for its run gives the error. Memory: all of them, reduced to steps, names and sums, stay in memory until their
 * runs take them, since only the last one tells which of them belong together. files as in jobs_split Test:
 * tests/integration/render_devices.sh */
void jobs_read(struct inputs *x, size_t input, struct known_file *files);
/** jobs_split - the Chrome traces of a folder that cannot be one of each rank of one run become separate runs, one for
 *  each set of ranks in one folder. They are appended to x and taken out of the input, which may be left without names.
 *  This uses what their beginnings state (distributedInfo, deviceProperties). Without Chrome traces the same for
 *  exports of nsys: those that were recorded at one time stay together. Other files stay together, too. Traces that may
 *  be one run are left alone. n log n in the names. Test: tests/unit/test_jobs.c, tests/integration/render_devices.sh
 *  files    shape (n_names of the input), as its names; borrows */
void jobs_split(struct inputs *x, size_t input, const struct known_file *files);

#endif
