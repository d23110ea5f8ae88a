/* foreign.h - what one file of another tool said, reduced while reading. */
#ifndef RENDER_MODEL_FOREIGN_H
#define RENDER_MODEL_FOREIGN_H

#include "lib/reduce.h"
#include "render/model/device.h"

/* A trace of one process. */
struct foreign_trace {
    const char *file;
    const char *kind;         /* "Kineto trace", "nsys SQLite export" ... */
    int64_t rank, world_size; /* -1 = not said */
    int64_t n_events;         /* of any kind */
    int64_t n_unusable;       /* operations without a time that can be read */
    struct reduced steps;     /* of the rank; n_steps 0 = the trace marks none */
    struct run_device *devices;
    int n_devices;
    int64_t n_mallocs, n_frees, n_syncs; /* calls of the runtime; of a trace that records them */
    int64_t n_calls;                     /* all calls of the runtime; 0 = not recorded */
};

/* Numbers of a file that are shown as they are: results of a benchmark, of another analysis, accounting. */
struct foreign_table {
    const char *file, *kind; /* "nccl-tests log" ... */
    const char *caption;     /* what the rows are, window and units */
    const char *columns;     /* "Name|#Mean, ms": # = numbers */
    int n_columns;
    const char **cells; /* shape (n_cells): rows of n_columns */
    size_t n_cells, cells_cap;
    int64_t n_left_out; /* rows beyond FOREIGN_MAX_ROWS */
};
enum { FOREIGN_MAX_ROWS = 200 };

#endif
