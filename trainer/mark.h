/* mark.h - names for the phases of a run, for collectors and profilers. Only this file uses NVTX.
 *
 * With the NVTX headers the marks are NVTX push/pop ranges in the domain "dcrnn". Without them the library named by
 * NVTX_INJECTION64_PATH is opened and called directly through its own entry points, if it has them (collect/guest).
 * With neither, a mark costs one comparison. Any thread may mark: push and pop belong to the calling thread; another
 * thread may end a started range. */
#ifndef TRAINER_MARK_H
#define TRAINER_MARK_H

#include <stdint.h>

/* X(enumerator, name) */
#define MARK_CATEGORIES(X)         \
    X(MARK_CAT_STEP, "step")       \
    X(MARK_CAT_DATA, "data")       \
    X(MARK_CAT_COPY, "copy")       \
    X(MARK_CAT_COMPUTE, "compute") \
    X(MARK_CAT_COMM, "comm")       \
    X(MARK_CAT_IO, "io")           \
    X(MARK_CAT_VALIDATION, "validation")
enum mark_category {
#define X(id, name) id,
    MARK_CATEGORIES(X)
#undef X
        MARK_N_CATEGORIES
};

/* X(enumerator, name, category); docs/FORMAT.md explains the payload. */
#define MARK_RANGES(X)                                                                                      \
    X(MARK_EPOCH, "epoch", MARK_CAT_STEP)                         /* payload: epoch, from 1 */              \
    X(MARK_STEP, "step", MARK_CAT_STEP)                           /* payload: step, from 0 */               \
    X(MARK_DATA_LOAD, "data_load", MARK_CAT_DATA)                 /* payload: windows */                    \
    X(MARK_DECODE, "decode", MARK_CAT_DATA)                       /* payload: windows; a loader's worker */ \
    X(MARK_H2D, "h2d", MARK_CAT_COPY)                             /* payload: bytes; only with a device */  \
    X(MARK_FORWARD, "forward", MARK_CAT_COMPUTE)                  /* payload: windows */                    \
    X(MARK_BACKWARD, "backward", MARK_CAT_COMPUTE)                /* payload: windows */                    \
    X(MARK_ALL_REDUCE, "all_reduce", MARK_CAT_COMM)               /* payload: bytes; waited for */          \
    X(MARK_ALL_REDUCE_BUCKET, "all_reduce_bucket", MARK_CAT_COMM) /* payload: bytes; started */             \
    X(MARK_OPTIMIZER, "optimizer", MARK_CAT_COMPUTE)              /* payload: parameters */                 \
    X(MARK_CHECKPOINT, "checkpoint", MARK_CAT_IO)                 /* payload: bytes */                      \
    X(MARK_VALIDATION, "validation", MARK_CAT_VALIDATION)         /* payload: windows of this rank */
enum mark_range {
#define X(id, name, category) id,
    MARK_RANGES(X)
#undef X
        MARK_N_RANGES
};

/** mark_open - register domain, categories and names. Call it once, when no exec will follow. */
void mark_open(void);
/** mark_push, mark_pop - open a range, close the innermost. */
void mark_push(enum mark_range range, uint64_t payload);
void mark_pop(void);
/** mark_start, mark_end - a range of the process, for work beside that of the threads. Not nested.
 *  returns  the argument of mark_end */
uint64_t mark_start(enum mark_range range, uint64_t payload);
void mark_end(uint64_t id);
/** mark_way - how marks leave the process: "nvtx", "collector" or "none"; for program.json. */
const char *mark_way(void);

#endif
