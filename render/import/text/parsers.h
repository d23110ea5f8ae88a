/* parsers.h - one pair of functions a format: *_is tells it by the beginning of the file (decompressed, without
 * byte-order mark and leading space; head[n] is readable), *_read puts its content into the run. A format is added as a
 * line here and one in the table of import.c. Inside render/import only.
 *
 * *_read: s is from its first byte; DCR_FAIL with a sentence that names s->name when the file is broken: nothing of it
 * is kept then. */
#ifndef RENDER_IMPORT_TEXT_PARSERS_H
#define RENDER_IMPORT_TEXT_PARSERS_H

#include "lib/base/stream.h"
#include "render/model/build.h"

/* X(what it is, name of the functions, in words) */
#define IMPORT_FORMATS(X)                                            \
    X(IMPORT_RUN, ddp_scaling, "results of a scaling benchmark")     \
    X(IMPORT_PART, nsys_sqlite, "nsys export")                       \
    X(IMPORT_PART, nsys_gpu_csv, "nsys trace of a GPU")              \
    X(IMPORT_PART, nsys_api_csv, "nsys trace of calls")              \
    X(IMPORT_PART, nsys_nvtx_csv, "nsys trace of ranges")            \
    X(IMPORT_PART, nsys_proj_csv, "nsys trace of ranges on the GPU") \
    X(IMPORT_PART, nsys_exec_csv, "nsys trace of kernels")           \
    X(IMPORT_PART, nsys_mpi_csv, "nsys trace of MPI")                \
    X(IMPORT_PART, ncu_csv, "table of ncu")                          \
    X(IMPORT_PART, smi_dmon, "log of nvidia-smi dmon")               \
    X(IMPORT_PART, nvidia_smi, "log of nvidia-smi")                  \
    X(IMPORT_PART, dcgm, "log of DCGM")                              \
    X(IMPORT_PART, nccl_tests, "log of nccl-tests")                  \
    X(IMPORT_PART, talp, "TALP report")                              \
    X(IMPORT_PART, sacct, "table of sacct")                          \
    X(IMPORT_PART, sacct_json, "accounting of sacct")                \
    X(IMPORT_PART, memory_timeline, "memory timeline of PyTorch")    \
    X(IMPORT_PART, chrome, "trace of a profiler")                    \
    X(IMPORT_PART, nsys_sums, "nsys summary")

#define X(kind, name, words)                   \
    int name##_is(const char *head, size_t n); \
    int name##_read(struct run *r, struct dcr_stream *s, struct dcr_err *err) DCR_MUST_CHECK;
IMPORT_FORMATS(X)
#undef X

#endif
