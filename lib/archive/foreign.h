/* foreign.h - tells which tool wrote a file, by its content and not by its name. The packer writes the answer into the
 * manifest. */
#ifndef DCR_FOREIGN_H
#define DCR_FOREIGN_H

#include <stddef.h>

/* X(enumerator, kind in the manifest) */
#define DCR_FOREIGN_KINDS(X)                  \
    X(DCR_FOREIGN_KINETO, "kineto")           \
    X(DCR_FOREIGN_CHROME, "chrome-trace")     \
    X(DCR_FOREIGN_NSYS_REPORT, "nsys-report") \
    X(DCR_FOREIGN_NSYS_SQLITE, "nsys-sqlite") \
    X(DCR_FOREIGN_NSYS_CSV, "nsys-csv")       \
    X(DCR_FOREIGN_NCU_REPORT, "ncu-report")   \
    X(DCR_FOREIGN_NCU_CSV, "ncu-csv")         \
    X(DCR_FOREIGN_NVIDIA_SMI, "nvidia-smi")   \
    X(DCR_FOREIGN_DCGM, "dcgm")               \
    X(DCR_FOREIGN_NCCL_TESTS, "nccl-tests")   \
    X(DCR_FOREIGN_PERF, "perf-data")          \
    X(DCR_FOREIGN_TALP, "talp")               \
    X(DCR_FOREIGN_DDP_SCALING, "ddp-scaling") \
    X(DCR_FOREIGN_SACCT, "sacct")

enum dcr_foreign {
    DCR_FOREIGN_UNKNOWN = 0,
#define X(id, kind) id,
    DCR_FOREIGN_KINDS(X)
#undef X
        DCR_N_FOREIGN
};

/** dcr_foreign_kind - "kineto" ...; NULL for DCR_FOREIGN_UNKNOWN. */
const char *dcr_foreign_kind(enum dcr_foreign what);

/* Number of bytes at the beginning of a file that are looked at. */
#define DCR_FOREIGN_HEAD 65536

/** dcr_foreign_of_head - judges the first n bytes of a file, decompressed. name: its ending identifies reports whose
 * format only their own tool can read. */
enum dcr_foreign dcr_foreign_of_head(const char *head, size_t n, const char *name);

/** dcr_foreign_of_file - judges a plain or gzip-compressed file; DCR_FOREIGN_UNKNOWN also when it cannot be read. */
enum dcr_foreign dcr_foreign_of_file(const char *path);

#endif
