/* calibration.h - the peak rates of the machine, as `dccollect calibrate` measured them: the ceilings for rooflines and
 * limits. Filled by render/read/calibration.c from calibration.json (docs/FORMAT.md), never changed afterwards. */
#ifndef RENDER_MODEL_CALIBRATION_H
#define RENDER_MODEL_CALIBRATION_H

#include <stddef.h>
#include <stdint.h>

struct run;

/* Repetitions of one measurement. Other programs only slow them down, so max is the ceiling; the median is typical. */
struct run_measured {
    int n; /* 0 = not measured */
    double median, min, max;
};

struct run_node_calibration {
    const char *host;
    int cores;                      /* number that all ranks of the node together may use */
    struct run_measured flop_one;   /* arithmetic, one core alone             unit: GFLOP/s */
    struct run_measured flop_all;   /* all cores at once                      unit: GFLOP/s, all together */
    int64_t memory_array_bytes;     /* of one array, 0 = not known */
    struct run_measured memory_one; /* one core                               unit: GB/s */
    struct run_measured memory_all; /* all cores                              unit: GB/s, all together */
    const char *disturbed; /* why the values for cores and memory are no ceilings: other work ran on the machine; "" or
                              NULL = none was seen */
};

struct run_allreduce_point {
    int64_t bytes;
    int n;
    int64_t median_ns, min_ns, max_ns; /* of the slowest rank */
};

struct run_allreduce {
    int n_ranks, n_nodes;
    const char *disturbed;              /* as of nodes */
    int ranks_share_cores;              /* more ranks than cores on a node: mostly waiting for a core */
    int64_t latency_ns;                 /* median of the smallest size */
    double algbw_gb_per_s;              /* bytes / median, best over sizes */
    double busbw_gb_per_s;              /* algbw * 2 (n - 1) / n */
    struct run_allreduce_point *points; /* ascending bytes; shape (n_points) */
    int n_points;
};

struct run_calibration {
    int64_t measured_s; /* Unix seconds */
    struct run_node_calibration *nodes;
    int n_nodes;
    const char *mpi_library;         /* "" = not known */
    struct run_allreduce *allreduce; /* ascending n_ranks */
    int n_allreduce;
    const char *no_allreduce; /* why there is none; "" = there is one, or the reason is unknown */
};

/* One test of an nccl-tests log: a collective between GPUs over message sizes. */
struct run_collective_test {
    const char *file, *collective; /* "all_reduce"; "" = its log does not say */
    int n_ranks, is_across; /* number of devices that the log lists, 0 = none; is_across: they are on several hosts */
    double busbw_gb_per_s, busbw_bytes; /* the best, and the size it was reached at */
    struct run_allreduce_point *points; /* ascending bytes; time in place, else out of place; shape (n_points) */
    int n_points;
};

/** run_calibration_of - the measurements on the host of that node of the run; NULL when there are none. */
const struct run_node_calibration *run_calibration_of(const struct run *r, int node);

#endif
