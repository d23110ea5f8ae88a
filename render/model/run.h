/* run.h - one run as the rest of the renderer sees it: read once from its archive, reduced while reading. Memory grows
 * with ranks, steps and collectives, not with events. Only sums are computed here: statistics and judgements are in
 * render/metrics and render/findings. Filled by render/read, never changed afterwards.
 *
 * All times are integer nanoseconds of the host's monotonic clock. Every sum is of one host's times. If times of
 * different hosts are shown together (timeline, charts of monitors), render/model/clocks.h puts them on one axis. Text
 * and arrays belong to the run's arena and live until run_free. */
#ifndef RENDER_MODEL_RUN_H
#define RENDER_MODEL_RUN_H

#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "lib/archive/format.h"
#include "render/model/calibration.h"
#include "render/model/clocks.h"
#include "render/model/foreign.h"
#include "render/model/kernel_counts.h"
#include "render/model/phrase.h"
#include "lib/reduce/reduce.h"
#include "lib/trace/trace.h"

#include <stddef.h>
#include <stdint.h>

enum step_source { STEPS_NONE = 0, STEPS_TRACE, STEPS_CSV };

/* A sampled quantity, reduced while reading. The series is decimated by doubling the bucket, at most
 * RUN_MAX_POINTS points; t_s counts from the first sample of the file. */
#define RUN_MAX_POINTS 512
struct sampled {
    int64_t n;      /* samples with a value; 0 = not measured */
    int64_t n_zero; /* of these, samples that read 0 */
    double sum, min, max;
    double first, last; /* of counters */
    int n_points;
    double *t_s, *value; /* shape (n_points) */
    /* filling only */
    double t0, point_t, point_sum;
    int64_t in_point, per_point;
};

/* Counters at a moment, on the clock of the steps; thinned out while reading. */
struct run_reading {
    int64_t t_ns;
    union {
        int64_t run_delay_ns;
        int64_t sent_bytes;
        int64_t written_bytes; /* to memory */
    };
    union {
        int64_t cpu_ns; /* -1 = not measured */
        int64_t received_bytes;
        int64_t read_bytes; /* from memory */
    };
    int64_t own_ns; /* of a rank: both times, of its first process only; -1 = not measured */
    int64_t misses; /* of a rank: of the last-level cache, since its start; -1 = not counted */
};
#define RUN_MAX_READINGS 512

/* Counters of a rank's processor since its start; -1 = not counted. Stalled: the core waited for data or units. Not
 * thinned out, because the time between two must fit into a phase; the first ones are kept. */
struct counter_reading {
    int64_t t_ns;
    int64_t cycles, instructions, stalled_cycles, misses;
};
#define RUN_MAX_COUNTER_READINGS 4096

struct run_gpu {
    int gpu_id;
    struct sampled utilization_percent, memory_used_mb, memory_total_mb, power_w, temperature_c, sm_clock_mhz;
    struct sampled sm_clock_max_mhz;       /* the highest clock that the GPU states; most monitors do not ask for it */
    struct sampled pcie_mb_s, nvlink_mb_s; /* both directions, between two samples */
};

/* One interface (net: in = received, out = sent) or device (disk: in = read, out = written); bytes over the run. */
struct run_traffic {
    const char *name;
    int64_t in_bytes, out_bytes;
    double seconds;
};

/* An emulated node: a part of one machine, with a separate link. */
struct node_share {
    int has;                /* 0: the node is not emulated, or ranks of one host stand in for it */
    double cores;           /* 0 = not limited: it has no separate share of the cores */
    int64_t period_us;      /* of the quota that sets the share; 0 = not recorded */
    int64_t link_bit_per_s; /* each direction; 0 = not shaped */
    int is_default;         /* the default by the machine's number of cores, not a user's choice */
};

/* What the collector states about one of its recorders or monitors; all zero = the archive does not state it. */
enum recorder_state {
    RECORDER_UNSAID = 0,
    RECORDER_OK,
    RECORDER_NOTHING, /* it ran and saw nothing */
    RECORDER_ABSENT,
    RECORDER_NOT_AVAILABLE,
    RECORDER_OTHER
};
struct recorder {
    enum recorder_state state;
    const char *text;    /* as in the archive; NULL or "" of RECORDER_UNSAID */
    const char *because; /* the reason: the text without its first words; NULL or "" of OK and UNSAID */
    int is_no_gpu;       /* of RECORDER_NOTHING: the program used no GPU */
};

struct run_node {
    int node;
    int is_of_samples; /* made for a GPU monitor's samples, which need not say where they were taken */
    const char *host, *boot_id, *cpu_model, *kernel; /* "" = not recorded */
    const char *gpu_model, *gpu_driver;              /* of the first GPU; "" = none, or not recorded */
    int cores, cores_allowed;                        /* 0 = not recorded */
    double cores_quota;                              /* cores that its cgroup's CPU quota allows; 0 = none known */
    struct node_share share;
    int64_t memory_bytes; /* 0 = not recorded */
    struct dcr_clock clock;
    struct recorder gpu_monitor, cpu_monitor;
    struct sampled cpu_percent, memory_percent, memory_used_gb, iowait_percent, steal_percent, runnable;
    /* Between two samples: time in which a task waited for a processor, memory or I/O (PSI, "some"); faults. */
    struct sampled psi_cpu_percent, psi_memory_percent, psi_io_percent, faults_per_s, major_faults_per_s;
    int64_t throttled_ns, nr_throttled; /* growth over the run; -1 = not measured */
    double monitor_seconds;             /* span of the CPU monitor */
    struct run_reading *busy; /* cpu_ns: mean time for which its cores were busy; run_delay_ns: time for which a quota
                                 had stopped it, -1 not measured. shape (n_busy) */
    int n_busy;
    struct run_gpu *gpus;
    int n_gpus;
    struct run_traffic *net, *disk;
    int n_net, n_disk;
    struct run_reading *wire; /* bytes on all its wires since boot. shape (n_wire) */
    int n_wire;
    struct run_reading *memory; /* bytes through its memory controllers. shape (n_memory) */
    int n_memory;
};

/* A blocking collective of MPI on one rank: calls, time inside, and time outside of MPI since the collective before. */
struct run_rank_call {
    const char *name;
    uint64_t n;
    int64_t ns, before_ns;
};

/* Ranges of one name that is neither that of a step nor of a known phase, over the whole run. */
struct run_own_range {
    const char *name;
    int64_t ns;      /* sum of their durations */
    int64_t self_ns; /* the same without the ranges inside */
};
#define RUN_MAX_OWN_RANGES 32

struct run_rank {
    int rank, node;                  /* node -1 = unknown */
    const char *host, *cpus_allowed; /* "0-1,4": the cores it may run on; "" = not recorded */
    int exit_status, signal;         /* exit_status -1 = unknown, or ended by the signal */
    enum step_source source;
    struct step_record *steps; /* ascending step number */
    size_t n_steps, n_warmup;  /* n_warmup: steps at the start that the analysis leaves out */
    struct steps_seen seen;    /* set if the trace has more steps than are kept */
    struct collective *collectives;
    size_t n_collectives;
    struct run_phase *phases; /* in order of appearance; names beyond RUN_MAX_PHASES are not kept */
    int n_phases;
    struct phase_stretch *stretches; /* of struct reduced. shape (n_stretches) */
    size_t n_stretches;
    int64_t outside_ns[N_CATEGORIES]; /* between the first step's start and the last one's end, not in steps */
    int64_t validation_ns;            /* part of the time outside steps */
    int64_t wall_ns;                  /* first step start to last step end */
    int n_step_processes; /* processes of the rank that named steps in traces; its steps are those of step_pid */
    int64_t step_pid, n_steps_of_others;
    /* The program's own range names in the trace of the steps: only the longest, longest first. shape (n_own_ranges) */
    struct run_own_range *own_ranges;
    int n_own_ranges;
    int64_t own_self_ns;       /* self_ns of all such names, also of those that are not kept; -1 = not known */
    int64_t bare_step_ns;      /* time of the step ranges that no range inside has; -1 = not known */
    int64_t loading_ranges_ns; /* named ranges of data loading, summed over all threads */
    uint64_t n_dropped, n_bad_blocks, n_missing_blocks, n_unmatched, n_open; /* losses of its traces */
    uint64_t n_dropped_known; /* part of n_dropped that sums by name and call include all the same */
    uint64_t n_dropped_gpu;   /* part of n_dropped: GPU activity that CUPTI lost */
    int64_t lost_from_ns; /* since when events are missing, on the clock of the steps; 0 = none are missing, -1 = not
                             known */
    int has_step_sums;    /* the sums of its steps include all events that were lost */
    int is_torn;
    struct dct_window window; /* time in which its calls were recorded; for several processes the longest window */
    uint64_t n_inconsistent;  /* steps.csv rows whose phases did not fit into the step */
    const char *trace_notes;  /* the recorder's own sentences, "" none */
    const char *ended_in;     /* the innermost range that its trace never closed, "" none */
    int is_by_hook, is_last_left_out, is_hidden_unknown; /* of struct reduced */
    int is_renumbered; /* its trace's step numbers did not ascend, so they count from 0 in order of time */
    /* process monitor; -1 = not measured */
    int64_t cpu_ns, run_delay_ns, peak_rss_bytes, involuntary_switches;
    /* Reading inside data loading on the thread of the steps: calls that are events, and shorter calls on the same
     * files. Only sums of the shorter calls are known, so they are shared out in proportion to the events. */
    int64_t loading_events_ns, loading_short_ns;
    int64_t mpi_ns;  /* inside MPI calls except MPI_Init and MPI_Finalize; 0 = none recorded */
    int64_t file_ns; /* inside calls on files; those of several threads each count */
    int64_t
        file_short_ns; /* of the process with the steps: calls too short to be events, so their steps are not known */
    double process_seconds;
    int64_t watched_from_ns, watched_to_ns; /* its first and last sample, on the clock of the steps; 0 = not known */
    /* Processor's counters over the samples; -1 = not counted. Stalled: the core waited for data or units. */
    int64_t cycles, instructions, llc_misses, stalled_cycles, task_clock_ns;
    struct recorder counters;   /* recorder of the cycles */
    struct run_reading *delays; /* the same counters over time. shape (n_delays) */
    int n_delays;
    struct counter_reading *counts; /* none if cycles were not counted. shape (n_counts) */
    size_t n_counts;
    /* The kernel's totals of reads and writes by the rank's processes, at the end or when last seen: files, pipes,
     * sockets, terminals. No read calls = not recorded, since every program reads. own_bytes of them were written by
     * the recorder. */
    int64_t io[DCT_N_IO_TOTALS], own_bytes;
    struct run_rank_call *calls; /* those whose before_ns is known. shape (n_calls) */
    int n_calls;
    size_t calls_cap;    /* filling only */
    int64_t monitor_pid; /* first of the rank's processes, 0 = not stated */
    int most_processes;  /* largest number of its processes at one time; 0 = not stated */
};

/** steps_of_all - number and summed time of all steps of a rank that kept n of them. The sum is at most INT64_MAX. */
struct steps_seen steps_of_all(const struct step_record *kept, size_t n, const struct steps_seen *seen);

/* Calls that the recorder saw by itself, summed over the ranks. MPI calls are by function: bytes as docs/FORMAT.md
 * says, time inside the call. Calls on files are by name: [DCT_IO_READ ...]. Names beyond the limit share one,
 * RUN_OTHER_FILES. */
struct run_mpi_call {
    const char *name;
    struct dct_io sum;
};
struct run_file {
    const char *name;
    struct dct_io sum[DCT_N_IO];
};
/** run_ended_badly - did a collector see that one of its processes failed or was told to end? */
int run_ended_badly(const struct run *a);
/** run_has_no_rank - did its launcher fail before a rank was seen? The archive's one rank is then the launcher. */
int run_has_no_rank(const struct run *a);
/** run_failed - did a collector see it end badly, and is there no epoch, no step in the program's own summary and no
 *  trace of another tool? Ranges may still name its steps. Test: tests/unit/test_failed.c */
int run_failed(const struct run *a);

/** run_is_timed - is the time of these calls known? Small calls of stdio are counted but not timed. The time of no
 *  calls is known: 0. */
int run_is_timed(const struct dct_io *calls);
#define RUN_MAX_MPI_CALLS 256
#define RUN_MAX_FILES 1024
#define RUN_OTHER_FILES "(other files)"

/* metrics.csv: one value per column of DCR_METRICS_COLUMNS, in that order; NAN = not measured. */
enum {
#define X(name, unit) +1
    RUN_N_METRICS = 0 DCR_METRICS_COLUMNS(X)
#undef X
};
struct run_epoch {
    double value[RUN_N_METRICS];
};
/** run_metric - index of a metrics.csv column, -1 when there is none of that name. */
int run_metric(const char *name);

struct run_pair {
    const char *key, *value;
};
#define RUN_NO_EVIDENCE "not evidence, left out" /* role of a file of no tool: a README, a log */
struct run_member {
    const char *name, *sha256;                 /* sha256 computed while reading */
    const char *role;                          /* the kind that it was read as */
    const char *columns_read, *columns_unread; /* for a table whose columns are known by their names; NULL = none */
    int64_t size_bytes;
};

/* The content of program.json; "" or -1 = not stated. */
struct run_program {
    const char *name, *version, *model, *precision, *backend, *blas, *dataset, *allreduce_dtype;
    const char *mpi, *cuda, *nccl; /* libraries and versions */
    int64_t parameters, threads, global_batch, local_batch, n_sensors, allreduce_bytes_per_step, seed;
    int64_t accumulate;                           /* micro-batches of a step */
    int64_t loader_workers;                       /* threads of a rank that make batches */
    double flop_per_step, traffic_bytes_per_step; /* all ranks together; traffic: between caches and memory */
    const char *kernels_best;                     /* better kernels that this processor runs; "" = none known */
    double kernels_best_ratio;                    /* time of computing a batch with them / with those of the run */
    int dataset_is_generated, strong_scaling, allreduce_is_overlapped;
    double allreduce_early_ratio; /* share of the gradients that are final before the backward pass ends */
    int64_t backward_left_looks;  /* number of times that messages are moved on in the rest of the pass */
    double backward_left_ratio;   /* share of the backward pass that is left then */
    int batch_is_label;           /* global_batch comes from the label of that name, because program.json lacks it */
};

/* What a node count counts: GPUs if runs on one machine scale over GPUs, ranks if runs without steps do. X(id, word) */
#define COUNTED_UNITS(X)    \
    X(COUNTS_NODES, "node") \
    X(COUNTS_GPUS, "GPU")   \
    X(COUNTS_RANKS, "rank")
enum counted_unit {
#define X(id, word) id,
    COUNTED_UNITS(X)
#undef X
};
/** counted_word - "node", "GPU". */
const char *counted_word(enum counted_unit c);

/* A run with only a summary: a few numbers over all its steps, no phases. n_steps 0 = there is none. Importers of
 * benchmark results fill it beside program.global_batch, n_ranks and n_nodes (what the runs scale over: then `unit`
 * says what that is). */
struct run_summary {
    const char *source; /* "DDP scaling results": in prose */
    int64_t n_steps, mean_ns, stdev_ns, p50_ns, p95_ns;
    double throughput;                    /* samples per second, all ranks; 0 = not said */
    double straggler_ratio;               /* slowest rank's mean step / fastest's; 0 = not said */
    int slowest_rank;                     /* -1 = not said */
    const char *series;                   /* what else must be equal for runs of one series ("strong"), "" nothing */
    double clock_max_mhz, clock_mean_mhz; /* SM clock; 0 = not said */
};

/* NODES_EMULATED: ranks of one host stand in for nodes. NODES_SHARES are emulated too: each is a part of one machine
 * with a separate host name and monitors (run_node.share). */
enum node_kind { NODES_UNKNOWN = 0, NODES_MACHINES, NODES_ONE_KERNEL, NODES_EMULATED, NODES_SHARES };

/* Why a run is incomplete, by its collector: a process failed, it was told to end, or there is another reason. */
enum ending_kind {
    ENDING_OTHER = 0,
    ENDING_FAILED,
    ENDING_TOLD,   /* from outside, by a signal that asks it to end */
    ENDING_FIRST,  /* this rank had ended while all others ran; how is not known */
    ENDING_NO_RANK /* its launcher failed, and there is no sign of a rank */
};
struct run_ending {
    const char *text; /* the collector's sentence */
    enum ending_kind kind;
    int rank;                          /* -1 = the program as a whole */
    int status, signal, may_be_signal; /* 0 = not said; the last is what the status may mean */
};

struct run_gap {
    struct phrase said[NOTE_PHRASES];
};

struct run {
    struct dcr_arena arena;
    const char *archive; /* file name without folder */
    const char *run_id, *config_hash;
    const char *manifest_sha256; /* of manifest.json, which holds all other hashes; "" = no manifest */
    const char *files_sha256;   /* without a manifest: of the file, or of the list of files (files_hash.h); "" = none */
    const char *files_unhashed; /* why there is none: "not a plain file"; "" = not needed, or there is one */
    size_t n_files_hashed;
    int has_manifest, has_metadata, has_metrics;
    int is_complete;            /* 0: the endings state why */
    struct run_ending *endings; /* shape (n_endings), in the collector's order */
    int n_endings;
    int n_nodes; /* 0 = unknown */
    int n_ranks; /* 0 = unknown */
    enum node_kind node_kind;
    const char **command;
    int n_command;
    const char *git_commit; /* of the code that ran; "" = not recorded */
    int git_changed;        /* the code had changes that are in no commit; -1 = not known */
    const char **libraries; /* names, without folders, of libraries that any rank had loaded, each once */
    int n_libraries;
    struct run_pair *limits; /* soft: number or "unlimited" */
    int n_limits;
    double started_s, ended_s;                 /* Unix seconds; 0 = unknown */
    const char *told_to_end;                   /* "SIGTERM": it or a rank was told to end; "" = none, or unknown */
    int64_t told_ns;                           /* when, CLOCK_MONOTONIC of the host that was told; 0 = unknown */
    const struct run_calibration *calibration; /* NULL = the machine was not measured; render/model/calibration.h */
    const char *scheduler, *job_id, *collector_version;
    int64_t collector_cpu_ns; /* processor time of its collectors; 0 = not recorded */
    struct recorder nvtx, mpi, io, cuda;
    int n_cut_traces, n_unsummed_traces; /* traces that keep only the newest events; those among them that have no sums
                                            of all events */
    int64_t events_from_step;            /* the first step for which all of them have events; -1 = none */
    int has_gpu_untold;                  /* GPUs worked, but the archive has no trace of them */
    int has_host_steps; /* steps may show no more than enqueueing, because the GPU's work was not recorded as a whole */
    struct run_program program;
    struct run_summary summary;
    enum counted_unit unit;                /* what n_nodes counts */
    struct run_pair *environment, *labels; /* sorted by key */
    int n_environment, n_labels;
    struct run_node *nodes; /* ascending node; at least one entry per monitor folder seen */
    int nodes_len;
    struct run_rank *ranks; /* ascending rank */
    int ranks_len;
    struct run_mpi_call *mpi_calls; /* by time, longest first */
    struct run_file *files;         /* the same */
    int n_mpi_calls, n_files;
    struct host_operators ranges; /* of native traces, all ranks together */
    struct run_epoch *epochs;
    size_t n_epochs;
    struct run_member *members; /* sorted by name */
    size_t n_members;
    struct run_member told;       /* what its reader states about the file that is being read */
    struct foreign_trace *traces; /* GPU traces of other tools, by file name */
    struct foreign_table *tables; /* by file name */
    int n_traces, n_tables;
    struct run_collective_test *tests; /* of nccl-tests logs, as they were read; render/model/calibration.h */
    int n_tests;
    struct run_kernel_counts *kernels; /* of profilers of kernels: by file, then by time, longest first */
    int n_kernels;
    int has_window; /* its traces were to hold only a part of the run: --steps, --delay, --duration, --capture-range */
    int is_foreign; /* made only of other tools' files, so files of our archives are not missing */
    struct run_gap *gaps; /* what is missing in this archive and why it matters */
    int n_gaps;
    const struct run_watch *watch; /* gets single ranges while the traces are read (render/model/watch.h) */
    void *watched;                 /* its result; NULL = no watcher. Freed with the run */
    size_t ranks_cap, nodes_cap, gaps_cap, mpi_cap, files_cap, traces_cap, tables_cap, ranges_cap, tests_cap,
        kernels_cap; /* filling only */
};

/** run_is_one_machine - do all nodes share the cores and the memory of one machine? */
int run_is_one_machine(const struct run *r);
/** run_is_on_one_host - did only processors of one host take part, without a network or a shaped link between them? */
int run_is_on_one_host(const struct run *r);
/** run_machine_of - the index of the first node on the same machine as nodes[i]. Emulated nodes, and nodes on one
 * kernel, are one machine, whose peak rates and memory controllers count once. */
int run_machine_of(const struct run *r, int i);
/** run_all_steps - how many steps each rank made if all ranks kept n of them (steps_of_all). */
double run_all_steps(const struct run *r, int64_t n);

/** run_node_steal - mean share of a node's CPU time that other virtual machines took; 0 = none, or not recorded. */
double run_node_steal(const struct run_node *n);
/** run_is_of_hosts - are its traces of hosts? They have steps, and no operation of a GPU or call to one. */
int run_is_of_hosts(const struct run *r);
/** run_add_gap - note in up to NOTE_PHRASES sentences that something is missing: run_add_gap(r, PHRASE(NO_MANIFEST)).
 * The same is kept once. Names in slots are copied. */
#define run_add_gap(r, ...) run_put_gap(r, (const struct phrase[NOTE_PHRASES]){__VA_ARGS__})
void run_put_gap(struct run *r, const struct phrase said[NOTE_PHRASES]);
/** run_free - NULL is fine. */
void run_free(struct run *r);

#endif
