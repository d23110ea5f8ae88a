/* talp.h - POP's hybrid model as DLB's TALP reports it: which efficiencies multiply to which (docs/metrics.md, POP). */
#ifndef RENDER_MODEL_TALP_H
#define RENDER_MODEL_TALP_H

/* Name, key of TALP's JSON, what it is called, of what it is a factor. Two trees: the host's under Parallel, the
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

/* Column of the parallel efficiency that the times of a report make: useful time / useful time and time lost in MPI,
 * OpenMP and the GPU's runtime (DLB 3.6, perf_metrics.c), summed over CPUs. */
#define TALP_BY_TIMES "Parallel by its times"

enum talp_efficiency {
    TALP_NONE = -1,
#define X(name, key, title, parent) TALP_##name,
    TALP_EFFICIENCIES(X)
#undef X
        N_TALP
};

/** talp_key, talp_title - of the JSON; of a column and a sentence. talp_parent: of what it is a factor, TALP_NONE of
 *  the root of a tree. */
const char *talp_key(enum talp_efficiency e);
const char *talp_title(enum talp_efficiency e);
enum talp_efficiency talp_parent(enum talp_efficiency e);

/** talp_clean - what DLB did not compute becomes -1 (n/a), shape of v: (N_TALP), ratios, -1 = not in the file. It
 *  writes 0 for a factor of a programming model that did not run, which no factor of an efficiency above 0 can be; and
 *  for the devices' tree where there are no GPUs (n_gpus 0; -1 = not said). */
void talp_clean(double *v, double n_gpus);

/** talp_lowest_factor - the factor of `of` with the lowest ratio, the first of equal ones; TALP_NONE: none is known. */
enum talp_efficiency talp_lowest_factor(const double *v, enum talp_efficiency of);

/** talp_product - of the known factors of `of`; -1: none is known. */
double talp_product(const double *v, enum talp_efficiency of);

/** talp_agrees - 1: `of` and the product of its factors can be equal, each value being rounded to two decimals, or
 *  one of the two is not known. */
int talp_agrees(const double *v, enum talp_efficiency of);

#endif
