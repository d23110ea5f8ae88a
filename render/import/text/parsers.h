/* parsers.h - one pair of functions a format: *_is tells it by the beginning of the file (decompressed, without
 * byte-order mark and leading space; head[n] is readable), *_read puts what it says into the run. A format is added as
 * a line here and one in the table of import.c. Inside render/import only.
 *
 * *_read: s is from its first byte; DCR_FAIL with a sentence that names s->name when the file is broken: nothing of it
 * is kept then. */
#ifndef RENDER_IMPORT_TEXT_PARSERS_H
#define RENDER_IMPORT_TEXT_PARSERS_H

#include "lib/base/stream.h"
#include "render/model/build.h"

#define IMPORT_FORMATS(X)                                                 \
    X(IMPORT_RUN, ddp_scaling)      /* results of a scaling benchmark */  \
    X(IMPORT_PART, nsys_sqlite)     /* nsys export --type sqlite */       \
    X(IMPORT_PART, nsys_gpu_csv)    /* nsys stats, operations of a GPU */ \
    X(IMPORT_PART, nsys_api_csv)    /* nsys stats, calls */               \
    X(IMPORT_PART, nsys_nvtx_csv)   /* nsys stats, ranges */              \
    X(IMPORT_PART, nsys_mpi_csv)    /* nsys stats, calls of MPI */        \
    X(IMPORT_PART, ncu_csv)         /* ncu --csv */                       \
    X(IMPORT_PART, smi_dmon)        /* nvidia-smi dmon */                 \
    X(IMPORT_PART, nvidia_smi)      /* nvidia-smi --format=csv */         \
    X(IMPORT_PART, dcgm)            /* dcgmi dmon, DCGM exporter */       \
    X(IMPORT_PART, nccl_tests)      /* log of nccl-tests */               \
    X(IMPORT_PART, talp)            /* DLB's TALP JSON */                 \
    X(IMPORT_PART, sacct)           /* sacct */                           \
    X(IMPORT_PART, sacct_json)      /* sacct --json */                    \
    X(IMPORT_PART, memory_timeline) /* PyTorch's raw memory timeline */   \
    X(IMPORT_PART, chrome)          /* Kineto and other Chrome traces */  \
    X(IMPORT_PART, nsys_sums)       /* nsys stats, summaries */

#define X(kind, name)                          \
    int name##_is(const char *head, size_t n); \
    int name##_read(struct run *r, struct dcr_stream *s, struct dcr_err *err) DCR_MUST_CHECK;
IMPORT_FORMATS(X)
#undef X

#endif
