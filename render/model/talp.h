/* talp.h - POP's hybrid model as DLB's TALP reports it: and which efficiencies are the factors of another one
 * (docs/metrics.md, POP). */
#ifndef RENDER_MODEL_TALP_H
#define RENDER_MODEL_TALP_H

/* Name, key of TALP's JSON, title, and the efficiency that it is a factor of. Two trees: the host's under Parallel, the
 * devices' under GPU. */
#define TALP_EFFICIENCIES(X)                                                               \
    X(PARALLEL, "parallelEfficiency", "Parallel", NONE)                                    \
    X(MPI, "mpiParallelEfficiency", "MPI", PARALLEL)                                       \
    X(MPI_COMMUNICATION, "mpiCommunicationEfficiency", "MPI communication", MPI)           \
    X(MPI_BALANCE, "mpiLoadBalance", "MPI load balance", MPI)                              \
    X(MPI_BALANCE_IN, "mpiLoadBalanceIn", "MPI load balance within nodes", MPI_BALANCE)    \
    X(MPI_BALANCE_OUT, "mpiLoadBalanceOut", "MPI load balance between nodes", MPI_BALANCE) \
    X(OPENMP, "ompParallelEfficiency", "OpenMP", PARALLEL)                                 \
    X(OPENMP_BALANCE, "ompLoadBalance", "OpenMP load balance", OPENMP)                     \
    X(OPENMP_SCHEDULING, "ompSchedulingEfficiency", "OpenMP scheduling", OPENMP)           \
    X(OPENMP_SERIALISATION, "ompSerializationEfficiency", "OpenMP serialisation", OPENMP)  \
    X(OFFLOAD, "deviceOffloadEfficiency", "Device offload", PARALLEL)                      \
    X(GPU, "gpuParallelEfficiency", "GPU", NONE)                                           \
    X(GPU_BALANCE, "gpuLoadBalance", "GPU load balance", GPU)                              \
    X(GPU_COMMUNICATION, "gpuCommunicationEfficiency", "GPU communication", GPU)           \
    X(GPU_ORCHESTRATION, "gpuOrchestrationEfficiency", "GPU orchestration", GPU)

/* Column of the parallel efficiency that follows from the times of a report: useful time / (useful time + time lost in
 * MPI, OpenMP and the GPU's runtime) (DLB 3.6, perf_metrics.c), summed over CPUs. */
#define TALP_BY_TIMES "Parallel by its times"

enum talp_efficiency {
    TALP_NONE = -1,
#define X(name, key, title, parent) TALP_##name,
    TALP_EFFICIENCIES(X)
#undef X
        N_TALP
};

/** talp_key, talp_title - the name in the JSON; in a column and a sentence. talp_parent: the efficiency that it is a
 *  factor of, TALP_NONE for the root of a tree. */
const char *talp_key(enum talp_efficiency e);
const char *talp_title(enum talp_efficiency e);
enum talp_efficiency talp_parent(enum talp_efficiency e);

/** talp_clean - values that DLB did not compute become -1 (n/a), shape of v: (N_TALP), ratios, -1 = not in the file.
 *  DLB writes 0 for a factor of a programming model that did not run, although no factor of an efficiency above 0 can
 *  be 0. It also writes 0 for the devices' tree without GPUs (n_gpus 0; -1 = not stated). */
void talp_clean(double *v, double n_gpus);

/** talp_lowest_factor - the factor of `of` with the lowest ratio, on a tie the first; TALP_NONE: none is known. */
enum talp_efficiency talp_lowest_factor(const double *v, enum talp_efficiency of);

/** talp_product - product of the known factors of `of`; -1: none is known. */
double talp_product(const double *v, enum talp_efficiency of);

/** talp_agrees - 1: `of` and the product of its factors can be equal, each value being rounded to two decimals, or
 *  one of the two is not known. */
int talp_agrees(const double *v, enum talp_efficiency of);

#endif
