/* jobs.h - traces that lie in one folder and are not of one job. Inside render/read. */
#ifndef RENDER_READ_JOBS_H
#define RENDER_READ_JOBS_H

#include "render/import/import.h"
#include "render/read/inputs.h"

/* What the beginning of a file says. */
struct known_file {
    enum import_kind kind;
    struct import_job job;
    struct trace_ahead *trace; /* NULL = not read yet */
};

/** jobs_read - read those traces of an input whose end alone may say of which job they are and is too far away to be
 *  looked at (of large compressed ones it takes as long as reading them): their files get trace, and what it says.
 *  Nothing when there is one trace only, which is no rank of several. A file that cannot be read is left as it is: who
 *  reads it for its run says why. Memory: all of them, reduced to steps, names and sums, stay in memory until their
 * runs take them, since only the last one tells which of them belong together. files    as in jobs_split Test:
 * tests/integration/render_devices.sh */
void jobs_read(struct inputs *x, size_t input, struct known_file *files);
/** jobs_split - the Chrome traces of a folder that cannot be one of each rank of one run become runs of their own, each
 *  rank set of one folder one: appended to x, and taken out of the input, which may be left without names. By what
 *  their beginnings say (distributedInfo, deviceProperties). Without Chrome traces the same for exports of nsys: those
 *  that were recorded at one time stay together. Other files stay together, too. Traces that may be one run are
 * left alone. n log n in the names. Test: tests/unit/test_jobs.c, tests/integration/render_devices.sh
 *  files    shape (n_names of the input), as its names; borrows */
void jobs_split(struct inputs *x, size_t input, const struct known_file *files);

#endif
