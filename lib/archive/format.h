/* format.h - what the writer (collect/) and the reader (render/) of a run archive must agree on.
 * The prose is docs/FORMAT.md. Plain types only: this header is also included by the injected library,
 * which links nothing but libc. */
#ifndef DCR_FORMAT_H
#define DCR_FORMAT_H

#include <stdint.h>

/* ---- archive members ------------------------------------------------------------------------ */

#define DCR_ARCHIVE_FORMAT "dcreport-run"
#define DCR_ARCHIVE_VERSION 2 /* 1: the manifest had no checksum of itself; still read */

#define DCR_MANIFEST "manifest.json"
#define DCR_METADATA "job_metadata.json"
#define DCR_METADATA_TEXT "job_metadata.txt"
#define DCR_METRICS "metrics.csv"
#define DCR_STEPS "steps.csv"
#define DCR_CALIBRATION "calibration.json"

/* What `dccollect calibrate` writes. */
#define DCR_CALIBRATION_FORMAT "dcreport-calibration"
#define DCR_CALIBRATION_VERSION 1

/* Roles of members in the manifest. X(enumerator, role text) */
#define DCR_ROLES(X)                                                                                              \
    X(DCR_ROLE_METADATA, "metadata")           /* job_metadata.json: program, machines and settings of the run */ \
    X(DCR_ROLE_METADATA_TEXT, "metadata-text") /* the same as text for people */                                  \
    X(DCR_ROLE_METRICS, "metrics")             /* metrics.csv */                                                  \
    X(DCR_ROLE_STEPS, "steps")                 /* steps.csv, whole or one per rank */                             \
    X(DCR_ROLE_CPU_MONITOR, "cpu-monitor")                                                                        \
    X(DCR_ROLE_GPU_MONITOR, "gpu-monitor")                                                                        \
    X(DCR_ROLE_NET_MONITOR, "net-monitor")                                                                        \
    X(DCR_ROLE_DISK_MONITOR, "disk-monitor")                                                                      \
    X(DCR_ROLE_MEMORY_MONITOR, "memory-monitor") /* bytes through a node's memory controllers */                  \
    X(DCR_ROLE_CLOCK_MONITOR, "clock-monitor")   /* how far a node's clock is from that of rank 0's */            \
    X(DCR_ROLE_PROCESS_MONITOR, "process-monitor")                                                                \
    X(DCR_ROLE_TRACE, "trace")             /* native trace, rank<r>/trace-<pid>.dct */                            \
    X(DCR_ROLE_SUMMARY, "summary")         /* sums of a trace: lib/reduce/summary.h */                            \
    X(DCR_ROLE_RANK, "rank")               /* rank<r>/rank.json: how this rank began and ended */                 \
    X(DCR_ROLE_CALIBRATION, "calibration") /* calibration.json: what the machine can do */                        \
    X(DCR_ROLE_LOG, "log")                                                                                        \
    X(DCR_ROLE_FOREIGN, "foreign") /* files of other tools, unchanged */                                          \
    X(DCR_ROLE_OTHER, "other")

enum dcr_role {
#define X(id, text) id,
    DCR_ROLES(X)
#undef X
        DCR_N_ROLES
};

/* ---- faults ------------------------------------------------------------------------------------ */
/* `dccollect verify` and dcreport find the same faults, and say them alike. */
#define DCR_WRONG_CHECKSUM "'%.200s' has the wrong checksum; copy or pack it again"
#define DCR_WRONG_SIZE "'%.200s' has %lld bytes, but the manifest says %lld; copy or pack it again"
#define DCR_NOT_IN_ARCHIVE "'%.200s' is in the manifest, but not in the archive; copy or pack it again"
#define DCR_LISTED_TWICE "the manifest lists '%.200s' twice; pack the run again"
#define DCR_NAMELESS_ENTRY "an entry of the manifest has no name; pack the run again"
#define DCR_NO_MEMBERS "cannot trust '%s': the manifest lists no members; pack the run again"
#define DCR_NAME_A_FOLDER "name a folder with archives, or a run"

/* ---- notes ------------------------------------------------------------------------------------- */
/* Sentences in a trace (DCT_NOTE) that the packer looks for. */
#define DCR_GPU_NOTE "GPU activity is recorded"
#define DCR_GPU_WHOLE_NOTE "GPU activity was handed over up to the exit"
/* Beginning of the recorder's note that it stopped for lack of room. */
#define DCR_STOP_NOTE "recording stopped: "
/* A summary made by a collector that did not see the end of the trace. */
#define DCR_SUMS_END_NOTE "the collector ended first: the sums end before the newest events"
/* A process that no launcher gave a rank may tell its own by a link in the spool: "rank-of-<pid>" -> "<rank>". The
 * monitors and pack read it. */
#define DCR_RANK_LINK "rank-of-"

/* ---- CSV columns ---------------------------------------------------------------------------- */
/* X(name, unit). Readers go by name and accept missing and further columns. Empty cell = not measured. */

/* clang-format would rearrange these lists with each change. */
/* clang-format off */

/* Per epoch. The first eleven names are kept from files of earlier users. In existing files data_load_time_sec and
 * compute_time_sec are means per step of unknown definition; ours are sums over the epoch on rank 0. Errors (MAE, RMSE)
 * are in the data's own unit (mph). The test columns are filled, on request, in epochs whose validation was the best so
 * far. */
#define DCR_METRICS_COLUMNS(X)                                                                                    \
    X("epoch", "1")                                                                                               \
    X("train_loss", "mph") X("val_loss", "mph") X("val_mae", "mph") X("val_rmse", "mph") X("epoch_time_sec", "s") \
        X("throughput_samples_per_sec", "1/s") X("data_load_time_sec", "s") X("compute_time_sec", "s")            \
            X("gpu_util_avg", "%") X("cpu_util_avg", "%") X("communication_time_sec", "s")                        \
                X("checkpoint_time_sec", "s") X("validation_time_sec", "s") X("learning_rate", "1")               \
                    X("grad_norm", "1") X("val_mae_15min", "mph") X("val_mae_30min", "mph") X("val_mae_60min", "mph") \
                        X("test_mae_15min", "mph") X("test_mae_30min", "mph") X("test_mae_60min", "mph")              \
                            X("test_rmse_15min", "mph") X("test_rmse_30min", "mph") X("test_rmse_60min", "mph")       \
                                X("test_mape_15min", "%") X("test_mape_30min", "%") X("test_mape_60min", "%")

/* Per step and rank; times are CLOCK_MONOTONIC nanoseconds of the rank's host. `step` counts optimiser
 * steps from 0 over the whole training. Phase columns are durations inside the step and need not sum to step_ns. */
#define DCR_STEPS_COLUMNS(X)                                                                                  \
    X("epoch", "1")                                                                                           \
    X("step", "1") X("rank", "1") X("start_ns", "ns") X("step_ns", "ns") X("data_ns", "ns") X("h2d_ns", "ns") \
        X("forward_ns", "ns") X("backward_ns", "ns") X("allreduce_ns", "ns") X("optimizer_ns", "ns")          \
            X("checkpoint_ns", "ns") X("samples", "1") X("allreduce_bytes", "bytes") X("loss", "mph") \
                X("allreduce_inflight_ns", "ns")

/* Monitors. timestamp = Unix seconds with milliseconds; t_ns = CLOCK_MONOTONIC, the clock of the traces. */
#define DCR_CPU_MONITOR_COLUMNS(X)                                                                                   \
    X("timestamp", "s")                                                                                              \
    X("cpu_percent", "%") X("memory_percent", "%") X("memory_used_gb", "GB") X("memory_total_gb", "GB")              \
        X("t_ns", "ns") X("iowait_percent", "%") X("steal_percent", "%") X("runnable", "1") X("ctxt_per_sec", "1/s") \
            X("throttled_ns", "ns") X("nr_throttled", "1") X("page_faults", "1") X("major_faults", "1")              \
                X("psi_cpu_some_ns", "ns") X("psi_memory_some_ns", "ns") X("psi_memory_full_ns", "ns")               \
                    X("psi_io_some_ns", "ns") X("psi_io_full_ns", "ns")
#define DCR_GPU_MONITOR_COLUMNS(X)                                                                    \
    X("timestamp", "s")                                                                               \
    X("gpu_id", "1") X("utilization_gpu", "%") X("utilization_memory", "%") X("memory_used_mb", "MB") \
        X("memory_total_mb", "MB") X("temperature", "C") X("power_draw_w", "W") X("t_ns", "ns")       \
            X("sm_clock_mhz", "MHz") X("throttle_reasons", "bits") X("pcie_tx_bytes", "bytes")        \
                X("pcie_rx_bytes", "bytes") X("nvlink_tx_bytes", "bytes") X("nvlink_rx_bytes", "bytes") \
                    X("ecc_corrected", "1") X("ecc_uncorrected", "1")
#define DCR_NET_MONITOR_COLUMNS(X) \
    X("timestamp", "s")            \
    X("t_ns", "ns") X("interface", "") X("rx_bytes", "bytes") X("tx_bytes", "bytes") X("on_wire", "1")
#define DCR_DISK_MONITOR_COLUMNS(X) \
    X("timestamp", "s") X("t_ns", "ns") X("device", "") X("read_bytes", "bytes") X("write_bytes", "bytes")
/* Bytes through all memory controllers of the node, since the monitor began. */
#define DCR_MEMORY_MONITOR_COLUMNS(X) \
    X("timestamp", "s") X("t_ns", "ns") X("read_bytes", "bytes") X("write_bytes", "bytes")
/* offset_ns is added to times of this node; it is wrong by at most error_ns */
#define DCR_CLOCK_MONITOR_COLUMNS(X) \
    X("timestamp", "s") X("t_ns", "ns") X("offset_ns", "ns") X("error_ns", "ns") X("reference", "")
#define DCR_PROCESS_MONITOR_COLUMNS(X)                                                                                 \
    X("timestamp", "s")                                                                                                \
    X("t_ns", "ns") X("rank", "1") X("pid", "1") X("user_ns", "ns") X("system_ns", "ns") X("rss_bytes", "bytes")       \
        X("read_bytes", "bytes") X("write_bytes", "bytes") X("voluntary_switches", "1") X("involuntary_switches", "1") \
            X("run_delay_ns", "ns") X("minor_faults", "1") X("major_faults", "1") X("cycles", "1") X("instructions", "1") \
                X("llc_misses", "1") X("stalled_cycles", "1") X("task_clock_ns", "ns") X("own_cpu_ns", "ns") X("own_run_delay_ns", "ns") \
                    X("processes", "1") X("read_chars", "bytes") X("write_chars", "bytes") X("read_calls", "1") \
                        X("write_calls", "1")

/* clang-format on */

/* ---- native trace (.dct) -------------------------------------------------------------------- */
/* A file is a sequence of blocks of equal size (file header's block_bytes); block 0 starts with the file header.
 * A block belongs to one thread ("track"). It is written in place through a shared mapping, so that the kernel
 * keeps every slot already stored when the process dies. Little endian. */

#define DCT_MAGIC 0x0a31544344524344ull /* "DCRDCT1\n" */
#define DCT_VERSION 3                   /* 3: in pieces; 1: DCT_POP and DCT_END carried no payload; all are read */
#define DCT_WHOLE_VERSION 2             /* version of a trace in one piece, so that earlier readers can read it */
#define DCT_OLDEST_VERSION 1            /* oldest version that is read */
#define DCT_BLOCK_BYTES 65536u          /* default */
#define DCT_SLOT_BYTES 16u

/* Counters of /proc/<pid>/io: reads and writes on files, pipes, sockets and terminals by system calls of the process
 * and of children that it has waited for. X(enumerator, name in /proc, column of the process monitor) */
#define DCT_IO_TOTALS(X)                          \
    X(DCT_IO_READ_CHARS, "rchar", "read_chars")   \
    X(DCT_IO_WRITE_CHARS, "wchar", "write_chars") \
    X(DCT_IO_READ_CALLS, "syscr", "read_calls")   \
    X(DCT_IO_WRITE_CALLS, "syscw", "write_calls")
enum dct_io_total {
#define X(id, kernel, column) id,
    DCT_IO_TOTALS(X)
#undef X
        DCT_N_IO_TOTALS
};

/* Event times come from the track's counter; they differ from CLOCK_MONOTONIC by at most this. */
#define DCT_CLOCK_ERROR_NS 2000

struct dct_file_header { /* 256 bytes (128 in traces of earlier writers); the rest of block 0 is zero */
    uint64_t magic;
    uint32_t version;
    uint32_t block_bytes;
    int32_t rank; /* -1 unknown */
    int32_t node; /* -1 unknown */
    uint32_t pid;
    uint32_t flags;           /* DCT_HAS_STEP_SUMS; 0 = an earlier writer */
    int64_t mono_ns, real_ns; /* CLOCK_MONOTONIC and CLOCK_REALTIME read together at the start */
    char host[64];
    uint64_t dropped;      /* events of threads that never got a block */
    int64_t incomplete_ns; /* events from this time on may be missing; 0 = none is missing, or an earlier writer */
    /* The window in which calls and ranges are recorded. All 0: no window, or an earlier writer. These are times of
     * CLOCK_MONOTONIC; event times differ from it by up to DCT_CLOCK_ERROR_NS. */
    int64_t window_first_ns, window_last_ns; /* when it first opened and last closed; 0 = never */
    int64_t window_closed_ns;                /* total length of the closed pieces */
    int64_t window_since_ns;                 /* start of the open piece; 0 = none is open */
    int64_t window_until_ns;                 /* latest time at which it closes; INT64_MAX = not known */
    uint64_t dropped_gpu;                    /* part of `dropped`: GPU activity that CUPTI lost, at any time */
    uint64_t own_bytes;                      /* bytes that the recorder itself wrote by system calls */
    uint64_t io[DCT_N_IO_TOTALS];            /* the kernel's totals of the process at exit(); 0 = not recorded */
    uint64_t blocks_before;  /* blocks of the pieces before this one (docs/FORMAT.md, Pieces); 0 = none */
    int64_t unsummed_ns;     /* DCT_GAPs lack dropped events of steps that end after this time; 0 = none */
    uint64_t dropped_beside; /* part of `dropped`: process ranges and operations in flight */
    int64_t exit_ns;         /* CLOCK_MONOTONIC at the end of exit(); 0 = it never got there, or an earlier writer */
    uint64_t exit_status;    /* as exit() got it, cut to a byte; only with exit_ns */
};

/* A flag of the file header: threads write DCT_GAPs, so that the sums of a step include its dropped events. */
#define DCT_HAS_STEP_SUMS 1u

#define DCT_BLOCK_MAGIC 0x4b4c4244u /* "DBLK" */
enum { DCT_BLOCK_OPEN = 1, DCT_BLOCK_SEALED = 2 };

struct dct_block_header { /* 48 bytes, then slots */
    uint32_t magic;
    uint32_t state;      /* OPEN: crc not yet valid, used_slots is; SEALED: crc covers the used slots */
    uint32_t track;      /* Linux thread id; 0: definitions */
    uint32_t used_slots; /* stored with release order after the slots themselves */
    uint64_t seq;        /* 0, 1, 2 ... within the track */
    uint64_t dropped;    /* events of this track dropped so far, exactly */
    uint32_t crc32c;     /* of used_slots * 16 bytes */
    uint32_t reserved[3];
};

/* One slot. An event is one slot plus n_extra following slots in the same block. */
struct dct_slot {
    uint8_t kind;
    uint8_t n_extra;
    uint16_t domain; /* id of a DCT_DOMAIN; 0 = the default domain */
    uint32_t name;   /* id of a DCT_STRING; 0 = none */
    int64_t t_ns;    /* CLOCK_MONOTONIC */
};

/* First extra slot of events that carry attributes. */
struct dct_attr {
    uint32_t category;     /* id of a DCT_CATEGORY in the event's domain; 0 = none */
    uint32_t payload_type; /* low 8 bits: DCT_PAYLOAD_*; upper 24: the colour as 0xRRGGBB, 0 = none */
    uint64_t payload;      /* bits of the value */
};
enum {
    DCT_PAYLOAD_NONE = 0,
    DCT_PAYLOAD_U64,
    DCT_PAYLOAD_I64,
    DCT_PAYLOAD_F64,
    DCT_PAYLOAD_RAW, /* payload = bytes in the slots after the attr: an NVTX extended payload, see struct dct_raw */
    DCT_PAYLOAD_MPI, /* low half: size of the communicator; high half: peer or root in it as int32, -1 = none */
    DCT_PAYLOAD_FILE /* id of a DCT_STRING: the file that an I/O call was about */
};

/* Raw payloads: this slot for each item, then the bytes of it that are kept, padded to whole slots. */
struct dct_raw {
    uint64_t schema; /* number of a DCT_SCHEMA, or NVTX's own number of a predefined type */
    uint32_t size;   /* bytes of the item */
    uint32_t kept;   /* bytes that follow, less than size when the item was cut */
};
#define DCT_MAX_RAW 2048u /* of all items of an event, headers and padding included */

/* Domains of the spans that the writer observes by itself, and their categories. A span of category DCT_IN_FLIGHT lasts
 * from a non-blocking operation's call to its completion and is not time of the thread. */
#define DCT_DOMAIN_MPI "mpi"
#define DCT_DOMAIN_IO "io"
#define DCT_IN_FLIGHT "in flight"

/* Domain of the ranges that the hook in PyTorch makes (collect/python/dcreport_torch.py), and the categories that only
 * it uses: a part of the loop, which is a step if an optimiser steps in it, and a time that the library measured
 * itself. */
#define DCT_DOMAIN_PYTORCH "PyTorch"
#define DCT_CATEGORY_BATCH "batch of PyTorch"
#define DCT_CATEGORY_EXCHANGE "exchange of PyTorch"

/* First extra slot of a SPAN. */
struct dct_span {
    int64_t dur_ns;
    uint64_t bytes;
};

/* Activity of a GPU or its runtime, from CUPTI. First slots of a GPU event, after its span. */
struct dct_gpu {
    uint8_t activity;   /* DCT_GPU_* */
    uint8_t detail;     /* copy: 1 HtoD, 2 DtoH, 8 DtoD, 10 PtoP ...; memory: 1 allocated, 2 freed; sync: its type */
    uint16_t registers; /* per thread of a kernel */
    uint32_t device;    /* of calls: the Linux thread id */
    uint32_t context;   /* of calls: what they returned */
    uint32_t stream;
    uint32_t correlation; /* equal for a call and the operation that it started; 0 = none */
    uint32_t graph;       /* id of the CUDA graph that contains it; 0 = none */
    uint64_t node;        /* in that graph; memory: address */
};
/* Further slots of a kernel. */
struct dct_kernel {
    uint32_t grid[3], block[3];
    uint32_t static_shared, dynamic_shared; /* bytes per block */
};
/* X(enumerator, category) */
#define DCT_GPU_ACTIVITIES(X)                                                        \
    X(DCT_GPU_KERNEL, "kernel")                                                      \
    X(DCT_GPU_MEMCPY, "memcpy")                                                      \
    X(DCT_GPU_MEMSET, "memset")                                                      \
    X(DCT_GPU_MEMORY, "memory")     /* allocated or freed */                         \
    X(DCT_GPU_RUNTIME, "runtime")   /* call of the runtime, on the host */           \
    X(DCT_GPU_DRIVER, "driver")     /* call of the driver, on the host */            \
    X(DCT_GPU_SYNC, "sync")         /* the host waits for a stream, event, device */ \
    X(DCT_GPU_OVERHEAD, "overhead") /* time spent on observing or compiling */
enum dct_gpu_activity {
#define X(id, text) id,
    DCT_GPU_ACTIVITIES(X)
#undef X
        DCT_N_GPU
};

/* Calls of one kind on one file, summed. */
struct dct_io {
    uint64_t n, bytes, ns, max_ns;
};
enum { DCT_IO_READ = 0, DCT_IO_WRITE, DCT_IO_OTHER /* open, close, sync ... */, DCT_N_IO };

/* Last slot of a DCT_SUM or DCT_GAP. kind: DCT_PUSH, DCT_START, DCT_MARK, DCT_SPAN or DCT_GPU (category: its activity).
 * In a DCT_GAP the second byte of kind counts the dropped ranges that were open around it. */
struct dct_sum {
    uint32_t category, kind;
    uint64_t n;
};

/* Track of events that belong to the whole process (DCT_FILE, DCT_SUM), written when it ends. */
#define DCT_TRACK_PROCESS 0xffffffffu

enum dct_kind {
    DCT_NONE = 0,  /* never written; ends a damaged block */
    DCT_PUSH = 1,  /* [attr] range opened on this thread */
    DCT_POP = 2,   /* [attr] innermost range of this thread and domain closed; name 0; attr: a raw payload */
    DCT_START = 3, /* [attr, id] process range opened; the last extra slot holds its 64-bit id in t_ns' place */
    DCT_END = 4,   /* [attr, id] process range closed, any thread; attr: a raw payload */
    DCT_MARK = 5,  /* [attr] */
    DCT_SPAN = 6,  /* [span, attr] complete interval, observed without the program naming it: MPI, I/O */
    DCT_FILE = 7,  /* [dct_io x 3] calls on the file `name` that were too short to be spans; t_ns = first use */
    DCT_GPU = 8,   /* [span, dct_gpu, kernel's dct_kernel] what a GPU or its runtime did; on any track, in any order */
    DCT_SUM = 9,   /* [span, dct_sum] time and bytes of dropped events of one name; t_ns = when the first was dropped */
    DCT_GAP = 10,  /* [span, dct_sum] sum of events of this thread, of one name and inside the same ranges, that were
                    * dropped since the thread's previous event. Their time is given as one piece that begins at t_ns.
                    * Events further inside come first. Without extra slots: a push that follows may have a time from
                    * t_ns on */
    /* definitions; n_extra slots of text (16 bytes each, NUL padded); t_ns = text length in bytes */
    DCT_STRING = 16,   /* name = the id defined */
    DCT_DOMAIN = 17,   /* domain = the id defined */
    DCT_CATEGORY = 18, /* domain, name = the id defined (program's own numbering) */
    DCT_THREAD = 19,   /* name of the thread `name` (Linux thread id) */
    DCT_NOTE = 20,     /* a sentence for people: why something is missing */
    DCT_SCHEMA =
        21 /* domain, name = low half of the ID of a payload schema or enumeration; text: lib/trace/payload.h */
};
#define DCT_MAX_TEXT (255u * DCT_SLOT_BYTES)

_Static_assert(sizeof(struct dct_file_header) == 256, "file header");
_Static_assert(sizeof(struct dct_block_header) == 48, "block header");
_Static_assert(sizeof(struct dct_slot) == DCT_SLOT_BYTES, "slot");
_Static_assert(sizeof(struct dct_attr) == DCT_SLOT_BYTES, "attr");
_Static_assert(sizeof(struct dct_span) == DCT_SLOT_BYTES, "span");
_Static_assert(sizeof(struct dct_raw) == DCT_SLOT_BYTES, "raw");
_Static_assert(sizeof(struct dct_sum) == DCT_SLOT_BYTES, "sum");
_Static_assert(sizeof(struct dct_gpu) == 2 * DCT_SLOT_BYTES, "gpu");
_Static_assert(sizeof(struct dct_kernel) == 2 * DCT_SLOT_BYTES, "kernel");
_Static_assert(sizeof(struct dct_io) == 2 * DCT_SLOT_BYTES, "io");

#endif
