/* foreign.h - the content of one file of another tool, reduced while reading. */
#ifndef RENDER_MODEL_FOREIGN_H
#define RENDER_MODEL_FOREIGN_H

#include "lib/reduce/reduce.h"
#include "render/model/device.h"
#include "render/model/kernel_counts.h"

/* The kind of file of another tool that a trace or a table comes from. X(id, words in report.json and on pages) */
#define FOREIGN_KINDS(X)                                      \
    X(FOREIGN_KINETO, "Kineto trace")                         \
    X(FOREIGN_CUPTI, "CUPTI activity in the trace of a rank") \
    X(FOREIGN_NSYS_SQLITE, "nsys SQLite export")              \
    X(FOREIGN_NSYS_GPU_CSV, "nsys GPU trace (CSV)")           \
    X(FOREIGN_NSYS_API_CSV, "nsys API trace (CSV)")           \
    X(FOREIGN_NSYS_NVTX_CSV, "nsys NVTX trace (CSV)")         \
    X(FOREIGN_NSYS_MPI_CSV, "nsys MPI trace (CSV)")           \
    X(FOREIGN_NSYS_SUMMARY, "nsys summary (CSV)")             \
    X(FOREIGN_NCU, "ncu kernels (CSV)")                       \
    X(FOREIGN_MEMORY_TIMELINE, "PyTorch memory timeline")     \
    X(FOREIGN_DCGM, "DCGM activity")                          \
    X(FOREIGN_NCCL_TESTS, "nccl-tests log")                   \
    X(FOREIGN_SACCT, "sacct table")                           \
    X(FOREIGN_TALP, "TALP report")
enum foreign_kind {
    FOREIGN_UNKNOWN = 0,
#define X(id, words) id,
    FOREIGN_KINDS(X)
#undef X
};
/** foreign_kind_words - "" of FOREIGN_UNKNOWN. */
const char *foreign_kind_words(enum foreign_kind k);
/** foreign_is_nsys - is it a trace or a table of Nsight Systems, in any format? */
int foreign_is_nsys(enum foreign_kind k);

/* What the host named: operators of a framework (cpu_op), its annotations, NVTX ranges. X(id, key) */
#define OPERATOR_KINDS(X)                                                                       \
    X(OPERATOR_OP, "operator")                                                                  \
    X(OPERATOR_RANGE, "range")                                                                  \
    X(OPERATOR_PROCESS, "process") /* a range that belongs to no thread: nothing nests in it */ \
    X(OPERATOR_STEP, "step")       /* its self time is what nothing inside names */
enum operator_kind {
#define X(id, key) id,
    OPERATOR_KINDS(X)
#undef X
        N_OPERATOR_KINDS
};
/** operator_kind_key - "operator" ... as in report.json. */
const char *operator_kind_key(enum operator_kind k);

/* All operators of one name and kind. */
struct host_operator {
    const char *name;
    enum operator_kind kind;
    int64_t n, total_ns, self_ns; /* self: without the operators and ranges inside it on its thread; -1 = not known */
    int64_t min_ns, max_ns;       /* of the durations; -1 = not known */
    const char *place, *function; /* the line with most of its self time; NULL = not known */
};
struct host_operators {
    struct host_operator *list; /* by self time, longest first, steps last        shape: (n_names) */
    int n_names;
    int64_t n; /* operators and ranges in all; 0 = the trace has none */
};

/* A line of the program: where the innermost function outside of libraries begins. */
struct code_line {
    const char *place, *function; /* "train.py:12", "main" */
    const char *module;           /* class of the innermost torch.nn.Module; "" = none */
    int64_t idle_ns;              /* time in which GPUs waited for the host; or as is_unnamed says */
};
struct code_lines {
    int has_stacks;
    int is_unnamed;         /* no GPU: times are the parts of the steps that no operator or range names */
    struct code_line *list; /* by idle time, longest first                        shape: (n) */
    int n;
    int64_t idle_ns, known_ns; /* time that all GPUs of the trace waited for the host, or unnamed time of its steps; and
                                  the part with a line */
};

/* Gradient accumulation in a trace. */
struct accumulation {
    int64_t micro_batches; /* of an optimiser step; 1 = there is none; 0 = not known */
    int64_t steps_between; /* number of marked steps that make an optimiser step; 0 = a marked step is one */
    const char *by;        /* what was counted: "backward passes"; NULL = nothing */
    struct reason why;     /* when micro_batches is 0 */
};

/* Steps that a trace marks but that were left out, by reason. X(id, reason) */
#define STEP_LOSSES(X)                                                                \
    X(STEP_LOST_TIME, "their times do not ascend, or cannot be those of a step")      \
    X(STEP_LOST_OVERLAP, "they overlap the step before")                              \
    X(STEP_LOST_COVERED, "the GPU still worked for the steps before when they ended") \
    X(STEP_LOST_MANY, "the trace marks more than are read")
enum step_loss {
#define X(id, why) id,
    STEP_LOSSES(X)
#undef X
        N_STEP_LOSSES
};

/* What the ranges of a hardware profiler counted, by counter and by kernel. */
enum { RANGE_NAMES = 200 };
struct range_sum {
    const char *name;
    size_t len;
    int64_t n;  /* ranges */
    double sum; /* of the counter; for a kernel FLOP */
};
struct range_counters {
    int64_t n_ranges;
    struct range_sum counters[RANGE_NAMES], kernels[RANGE_NAMES];
    int n_counters, n_kernels;
    int has_flop; /* counters of floating-point instructions are among them */
};

/* A trace of one process. */
struct foreign_trace {
    const char *file;
    enum foreign_kind kind;
    int64_t rank, world_size; /* -1 = not said */
    const char *first_model;  /* of the first GPU that the file describes, used or not; NULL, "" = none */
    int64_t n_events;         /* of any kind */
    int64_t n_unclosed;       /* events of a list that is the file and lacks its ']'; 0 = it does not */
    int is_last_cut;          /* the file ends inside one more event, which is left out */
    int64_t n_damaged;        /* places between events that could not be read */
    int64_t damaged_bytes;    /* of these */
    const char *why_rest;     /* why the rest could not be read, a sentence; NULL = it could */
    int lacks_kernels;        /* some were lost, or are CUDA graphs that count as one launch each */
    int64_t n_negative;       /* operations of negative duration: they count, but cover no time */
    int64_t n_unusable;       /* events without a usable time */
    int64_t n_backward;       /* calls and ranges of the host that end before they begin */
    int64_t n_unpaired;       /* beginnings without an end, ends without a beginning */
    int64_t n_lost_steps[N_STEP_LOSSES];
    struct reduced steps; /* of the rank; n_steps 0 = the trace marks none */
    int is_by_optimizer;  /* no range marks the steps, so they are taken from runs of the optimiser */
    int is_last_step_cut; /* of steps of a host: the recording ended in the last one, which is left out */
    int is_rank_by_name;  /* the trace has no place for a rank, so the rank comes from the file's name, if that has one
                           */
    struct accumulation accumulation;
    struct host_operators operators;
    struct code_lines code;
    struct run_kernel_counts *work; /* of operators, by the shapes of their inputs, longest first */
    int n_work;
    struct device_memory host_memory; /* of the framework's allocator; n 0 = not recorded, or there is a GPU */
    struct run_device *devices;
    int n_devices;
    int64_t n_mallocs, n_frees, n_syncs; /* calls of the runtime; of a trace that records them */
    int64_t n_calls;                     /* all calls of the runtime; 0 = not recorded */
    struct range_counters *counters;     /* NULL = the trace has none */
};

/* Numbers of a file that are shown unchanged: results of a benchmark, of another analysis, accounting. */
struct foreign_table {
    const char *file;
    enum foreign_kind kind;
    const char *caption; /* what the rows are, window and units */
    const char *columns; /* "Name|#Mean, ms": # = numbers */
    int n_columns;
    const char **cells; /* shape (n_cells): rows of n_columns */
    size_t n_cells, cells_cap;
    int64_t n_left_out; /* rows beyond FOREIGN_MAX_ROWS */
};
enum { FOREIGN_MAX_ROWS = 200 };

#endif
