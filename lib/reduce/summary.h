/* summary.h - the content of a native trace in short: the steps of its rank, the observed calls, and per name counts,
 * sums, extremes, a sketch of the durations and the time covered. It is made by reading the trace once and written as
 * lines of JSON into the archive (docs/FORMAT.md, Summaries), so that a report needs no full trace. The renderer takes
 * its numbers from this struct in both cases, so they are the same. */
#ifndef DCR_SUMMARY_H
#define DCR_SUMMARY_H

#include "lib/base/arena.h"
#include "lib/base/buf.h"
#include "lib/reduce/reduce.h"
#include "lib/trace/trace.h"

#define DCR_SUMMARY_FORMAT "dcreport-summary"
#define DCR_SUMMARY_VERSION 1

/* Sketch of durations: a histogram with 32 buckets per power of two. A bucket is at most 1/32 of its lower end wide, so
 * that its middle is wrong by less than 1.6 %. Adding counts merges two sketches; the result does not depend on the
 * order. */
#define SKETCH_SUB_BITS 5
#define SKETCH_BUCKETS ((64 - SKETCH_SUB_BITS) << SKETCH_SUB_BITS)
/** sketch_bucket - bucket of a duration, 0 .. SKETCH_BUCKETS - 1; negative durations count as 0. */
int sketch_bucket(int64_t ns);
/** sketch_low - the smallest duration of a bucket; sketch_low(SKETCH_BUCKETS) is above all. */
uint64_t sketch_low(int bucket);

/* All ranges (or marks, or observed calls) of one name. */
struct name_sum {
    const char *domain, *category, *name;
    int kind; /* DCT_PUSH, DCT_START, DCT_MARK or DCT_SPAN */
    uint64_t n;
    int64_t sum_ns, min_ns, max_ns;
    int64_t self_ns;  /* of DCT_PUSH: time without the ranges inside on the same thread; -1 = unknown, or another
                       * kind */
    int64_t union_ns; /* time in which at least one was open, over all threads; -1 = too many to tell */
    uint64_t bytes;   /* of spans */
    struct sketch_bucket_count {
        int bucket;
        uint64_t n;
    } * sketch; /* buckets that are not empty, ascending                                          shape: (n_sketch) */
    int n_sketch;
};

/* Calls of MPI by function, calls on files by name and kind. */
struct observation {
    const char *name;
    int kind; /* -1: MPI; else DCT_IO_READ ... */
    struct dct_io sum;
    uint64_t event_ns;   /* part of sum.ns in calls that are events by themselves: the recorder only sums shorter
                          * ones */
    uint64_t loading_ns; /* part of event_ns: reading inside data loading, on the thread of the steps; 0 when unknown */
    int64_t before_ns; /* of a blocking collective of MPI: time of its thread outside of MPI since the one before; -1 =
                        * unknown, or of other calls */
};

struct summary {
    struct dct_info info;
    struct dct_loss loss;
    const char *notes;    /* the writer's sentences, "" none */
    const char *ended_in; /* the innermost range of a thread that was never closed, "" none or unknown */
    uint64_t n_events, n_mpi_calls, n_io_calls; /* named by the program; observed beside them */
    uint64_t n_gpu_events;                      /* only counted: a summary does not hold the activity of GPUs */
    uint64_t n_dropped_known;                   /* dropped events that the sums below include */
    uint64_t n_overflow;                        /* ranges that were skipped: one step held more than a million */
    struct reduced steps;
    int is_loading_unknown; /* read from a summary without event_ns and loading_ns of its files */
    /* These two include dropped events if the recorder kept sums of them. */
    struct observation *observed; /* in order of first appearance */
    size_t n_observed;
    struct name_sum *names; /* by domain, category, name, kind; the last may be SUMMARY_OTHER_NAMES */
    size_t n_names;
    /* Of the trace that this was made from, "" and 0 when unknown. */
    const char *trace_name;
    int64_t trace_bytes;
    uint32_t fingerprint;
};
#define SUMMARY_MAX_NAMES 4096
#define SUMMARY_OTHER_NAMES "(other names)"

/* What to keep of names: all of struct name_sum; or only counts, sums and extremes, which a report shows. */
enum summary_names { SUMMARY_NAMES, SUMMARY_NAME_SUMS };

/** summary_io_kind - what a call on a file does, by its name: DCT_IO_READ, DCT_IO_WRITE or DCT_IO_OTHER. Test:
 *  tests/unit/test_rules.c */
int summary_io_kind(const char *name);
/** summary_is_collective - does a call of this name block, and make the ranks of a communicator wait for each other?
 *  Test: tests/unit/test_narrate.c */
int summary_is_collective(const char *name);

/** summary_of_trace - read a trace to its end, and keep all of its names.
 *  out         texts and arrays in a; trace_name and fingerprint are left to the caller
 *  errors      DCR_FAIL: not a trace; DCR_FATAL: the stream
 *  cost        as dct_next; memory: steps, names, and 16 bytes per range up to 64 MB */
int summary_of_trace(struct summary *out, struct dcr_arena *a, struct dcr_stream *s,
                     struct dcr_err *err) DCR_MUST_CHECK;

/** summary_of_trace_apart - the same in a separate process whose memory is bounded, so that a trace that is damaged or
 * too large costs the caller neither its memory nor its life. The bound is a quarter of the machine's memory, and at
 * most half of what a limit on the address space leaves.
 *  errors      DCR_FAIL also when memory is short; the sentence says so */
int summary_of_trace_apart(struct summary *out, struct dcr_arena *a, struct dcr_stream *s,
                           struct dcr_err *err) DCR_MUST_CHECK;

/** summary_bound_memory - for a process that only makes a summary: sets the bound above from now on. If it is exceeded,
 * the process aborts without a core file. */
void summary_bound_memory(void);

/* For callers that need the GPU activity and phases of steps. Both are called in file order. */
struct summary_listener {
    void (*gpu)(void *ctx, const struct dct_gpu_event *e); /* see dct_listen */
    void (*phase)(void *ctx, const struct event *e);       /* EVENT_PHASE; its name stays valid while this trace is
                                                            * read */
    void *ctx;
};
/** summary_of_trace_with_gpu - the same, with a listener; NULL = none.
 *  watch    sees every event too, once the trace is open; NULL = none */
int summary_of_trace_with_gpu(struct summary *out, struct dcr_arena *a, struct dcr_stream *s, enum summary_names keep,
                              const struct summary_listener *listener, const struct dct_watch *watch,
                              struct dcr_err *err) DCR_MUST_CHECK;

/** summary_write - append the lines to a buffer. */
void summary_write(const struct summary *sum, struct dcr_buf *out);

/** summary_read - reads the lines back. Nothing in them is trusted.
 *  errors   DCR_FAIL: another format, a wrong line (the sentence has its number), no last line */
int summary_read(struct summary *out, struct dcr_arena *a, struct dcr_stream *s, struct dcr_err *err) DCR_MUST_CHECK;

/** summary_fingerprint - a checksum over the block headers of a trace file, and over the whole of blocks that are still
 * open: it changes when anything is written. size counts the bytes that were ever used (trace_end.h).
 *  errors   DCR_FAIL: it is no trace; DCR_FATAL: out of memory */
int summary_fingerprint(int fd, int64_t *size, uint32_t *crc) DCR_MUST_CHECK;

#endif
