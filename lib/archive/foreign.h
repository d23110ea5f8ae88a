/* foreign.h - which tool left a file, told by what the file holds and not by its name. The packer writes the answer
 * into the manifest. */
#ifndef DCR_FOREIGN_H
#define DCR_FOREIGN_H

#include <stddef.h>

/* X(enumerator, kind in the manifest, in words) */
#define DCR_FOREIGN_KINDS(X)                                                         \
    X(DCR_FOREIGN_KINETO, "kineto", "PyTorch profiler (Kineto) trace")               \
    X(DCR_FOREIGN_CHROME, "chrome-trace", "Chrome trace")                            \
    X(DCR_FOREIGN_NSYS_REPORT, "nsys-report", "Nsight Systems report (needs nsys)")  \
    X(DCR_FOREIGN_NSYS_SQLITE, "nsys-sqlite", "Nsight Systems export")               \
    X(DCR_FOREIGN_NSYS_CSV, "nsys-csv", "Nsight Systems table")                      \
    X(DCR_FOREIGN_NCU_REPORT, "ncu-report", "Nsight Compute report (needs ncu)")     \
    X(DCR_FOREIGN_NCU_CSV, "ncu-csv", "Nsight Compute table")                        \
    X(DCR_FOREIGN_NVIDIA_SMI, "nvidia-smi", "nvidia-smi log")                        \
    X(DCR_FOREIGN_DCGM, "dcgm", "DCGM log")                                          \
    X(DCR_FOREIGN_NCCL_TESTS, "nccl-tests", "nccl-tests log")                        \
    X(DCR_FOREIGN_PERF, "perf-data", "perf record")                                  \
    X(DCR_FOREIGN_TALP, "talp", "TALP report")                                       \
    X(DCR_FOREIGN_DDP_SCALING, "ddp-scaling", "result of the DDP scaling benchmark") \
    X(DCR_FOREIGN_SACCT, "sacct", "table of Slurm's accounting")

enum dcr_foreign {
    DCR_FOREIGN_UNKNOWN = 0,
#define X(id, kind, words) id,
    DCR_FOREIGN_KINDS(X)
#undef X
        DCR_N_FOREIGN
};

/** dcr_foreign_kind - "kineto" ...; NULL for DCR_FOREIGN_UNKNOWN. */
const char *dcr_foreign_kind(enum dcr_foreign what);
/** dcr_foreign_words - the same for people; "" for DCR_FOREIGN_UNKNOWN. */
const char *dcr_foreign_words(enum dcr_foreign what);

/* As much of a file's beginning as is looked at. */
#define DCR_FOREIGN_HEAD 65536

/** dcr_foreign_of_head - the first n bytes of a file, decompressed. name: tells reports whose format only their own
 * tool knows, by their ending. */
enum dcr_foreign dcr_foreign_of_head(const char *head, size_t n, const char *name);

/** dcr_foreign_of_file - of a plain or gzip-compressed file; DCR_FOREIGN_UNKNOWN also when it cannot be read. */
enum dcr_foreign dcr_foreign_of_file(const char *path);

#endif
