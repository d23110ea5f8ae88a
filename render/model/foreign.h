/* foreign.h - what one file of another tool said, reduced while reading. */
#ifndef RENDER_MODEL_FOREIGN_H
#define RENDER_MODEL_FOREIGN_H

#include "render/model/device.h"

/* A trace of one process. */
struct foreign_trace {
    const char *file;
    const char *kind;         /* "Kineto trace", "nsys SQLite export" ... */
    int64_t rank, world_size; /* -1 = not said */
    int64_t n_events;         /* of any kind */
    int64_t n_unusable;       /* operations without a time that can be read */
    struct run_device *devices;
    int n_devices;
    int64_t n_mallocs, n_frees, n_syncs; /* calls of the runtime; of a trace that records them */
    int64_t n_calls;                     /* all calls of the runtime; 0 = not recorded */
};

#endif
