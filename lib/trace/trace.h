/* trace.h - read a native trace (.dct) as a stream of events, in memory that depends on the number of names and open
 * ranges, not on the number of events. The reader tolerates a torn tail and damaged blocks and counts what it skipped.
 * The format is lib/archive/format.h and docs/FORMAT.md. Used by dccollect (pack, verify) and dcreport. */
#ifndef DCR_TRACE_H
#define DCR_TRACE_H

#include "lib/base/buf.h"
#include "lib/archive/format.h"
#include "lib/base/stream.h"

/* When calls and ranges were recorded, if a window was requested (--steps, --delay ...): the values of the file header,
 * limited to 0..INT64_MAX / 4. */
struct dct_window {
    int64_t until_ns;          /* latest time at which it closes; 0 = no window, or an earlier writer */
    int64_t first_ns, last_ns; /* when it first opened and last closed; 0 = never */
    int64_t closed_ns;         /* total length of the closed pieces */
    int64_t since_ns;          /* start of the open piece; 0 = none is open */
};

struct dct_info {
    int rank, node; /* -1 unknown */
    uint32_t pid;
    char host[65];
    int64_t mono_ns, real_ns;
    int64_t incomplete_ns; /* events from this time on may be missing; 0 = none is missing, or not recorded */
    struct dct_window window;
    int has_step_sums;           /* the writer wrote DCT_GAPs: sums of steps include dropped events */
    int64_t unsummed_ns;         /* except sums of steps that end after this time; 0 = no exception */
    uint64_t n_dropped_beside;   /* part of the dropped events: process ranges, operations in flight */
    uint64_t n_dropped_gpu;      /* part of the dropped events: GPU activity that CUPTI lost */
    int64_t own_bytes;           /* bytes that the recorder itself wrote by system calls; 0 = not recorded */
    int64_t io[DCT_N_IO_TOTALS]; /* the kernel's totals of the process at exit(); 0 = not recorded */
    int64_t exit_ns;             /* the end of its exit(); 0 = it was killed or called _exit(), or not recorded */
    int exit_status;             /* that it gave to exit(), 0 to 255 */
    int64_t n_blocks_before;     /* blocks that the recorder removed for newer ones (--keep ring); 0 = the trace is
                                  * whole */
    uint32_t n_pieces;           /* headers read so far: values of a later one replace those of an earlier one */
};

/** dct_unsummed_ns - steps that end after this time have incomplete sums; 0 = all are complete. */
int64_t dct_unsummed_ns(const struct dct_info *info);

/** dct_recorded_until - the time after which steps are incomplete, because the window closed or their sums are
 * incomplete. Includes DCT_CLOCK_ERROR_NS, since event times may be ahead of the clock that closed the window.
 *  returns  INT64_MAX = complete to its end */
int64_t dct_recorded_until(const struct dct_info *info);

/* One range, mark or span, delivered when it is complete. Text borrows until dct_close. */
struct dct_event {
    int kind;    /* DCT_PUSH (a closed range), DCT_START (a closed process range), DCT_MARK, DCT_SPAN, DCT_FILE */
    int is_open; /* never closed: the data ended, or a part of the track is lost; end_ns is then the last known time */
    uint32_t track;
    int depth;            /* of a DCT_PUSH or DCT_SPAN: number of enclosing ranges on its track, all domains */
    const char *domain;   /* "" = default */
    const char *category; /* "" = none; "#7" when the program gave category 7 no name */
    const char *name;     /* "" = none */
    int64_t start_ns, end_ns;
    int payload_type; /* DCT_PAYLOAD_* */
    uint32_t color;   /* 0xRRGGBB, 0 = none */
    uint64_t payload; /* bits of the value */
    const void *raw;  /* DCT_PAYLOAD_RAW: `payload` bytes, valid until the next call; else NULL. The payload of a
                       * range's end follows that of its beginning */
    const char *file; /* DCT_PAYLOAD_FILE: its name; else "" */
    uint64_t bytes;   /* DCT_SPAN */
    struct dct_io io[DCT_N_IO]; /* DCT_FILE */
};

/* Activity of a GPU or its runtime (DCT_GPU). Text borrows until dct_close. */
struct dct_gpu_event {
    const char *name; /* kernel, function called, kind of copy ...; "" = none */
    int64_t start_ns, end_ns;
    uint64_t bytes;
    struct dct_gpu gpu;
    struct dct_kernel kernel; /* of DCT_GPU_KERNEL, else 0 */
};

/* Sums of the dropped events of one name (DCT_SUM). Text borrows until dct_close. */
struct dct_dropped {
    int kind; /* DCT_PUSH, DCT_START, DCT_MARK, DCT_SPAN or DCT_GPU; 0: all others, of any kind and name */
    const char *domain, *category, *name;
    uint64_t n, ns, bytes; /* at most INT64_MAX */
};

struct dct_loss {
    uint64_t n_dropped;        /* counted by the writer when memory or disk was full */
    uint64_t n_bad_blocks;     /* wrong checksum or structure: skipped; if still open, skipped from the first wrong slot
                                * on */
    uint64_t n_missing_blocks; /* gaps in a track's sequence numbers: lost blocks, or the bad ones */
    uint64_t n_open_blocks;    /* without a checksum, because the writer did not end normally */
    uint64_t n_unmatched_pops; /* pop without push */
    uint64_t n_open_ranges;    /* pushed or started, never closed */
    /* Recorded but not read, as dct_notes says. Ends of such process ranges count as unmatched. */
    uint64_t n_too_deep; /* pushed inside 16384 others of the thread */
    uint64_t n_too_many; /* pushed or started while 2^20 others of the process were open */
    int is_torn;         /* file ends inside a block */
};

struct dct_reader;

/* Ranges that a watcher can skip: of this thread, without inner ranges, shorter than shorter_ns and ending by
 * latest_ns. */
struct dct_leave_out {
    uint32_t track;
    int64_t shorter_ns, latest_ns; /* shorter_ns 0: all are needed */
    uint64_t n;                    /* how many were skipped */
};

/* A watcher gets the events of a trace while it is read for another purpose. */
struct dct_watch {
    void (*begin)(void *ctx, const struct dct_info *info);
    int (*event)(void *ctx, const struct dct_event *e); /* returns 1: enough, no more events are given */
    void (*end)(void *ctx, struct dct_reader *r); /* everything readable was read, or the watcher has enough; r is still
                                                   * open */
    void *ctx;
    struct dct_leave_out *leave_out; /* set by begin and event; skipping is optional, so such ranges may still be given.
                                      * NULL = give all */
};

/** dct_open - read the file header.
 *  s        borrows until dct_close
 *  out      gives; free with dct_close
 *  info     borrows until dct_close, for the headers of later pieces. may be NULL
 *  errors   DCR_FAIL: not a trace, or of a later version (the sentence says which). As an arena does, the reader ends
 *           the program where there is no memory */
int dct_open(struct dct_reader **out, struct dcr_stream *s, struct dct_info *info, struct dcr_err *err) DCR_MUST_CHECK;

/** dct_next - the next complete event, in file order (ordered by end within a track, tracks interleaved by block).
 *  Ranges still open at the end of the data come last.
 *  returns  0, DCR_END, or DCR_FATAL when the underlying stream fails
 *  cost     amortised constant per event; memory: names, open ranges (at most 2^20), one block */
int dct_next(struct dct_reader *r, struct dct_event *out, struct dcr_err *err) DCR_MUST_CHECK;

/* Gets what dct_next reads besides events. NULL = skipped. */
struct dct_listener {
    void (*gpu)(void *ctx, const struct dct_gpu_event *e);   /* in file order */
    void (*dropped)(void *ctx, const struct dct_dropped *d); /* at the end of a trace */
    /* Dropped ranges or calls of one thread, name and place, as one DCT_PUSH or DCT_SPAN, whose payload is its bytes.
     * It comes at its place among the thread's events, inner ones first. The sums for dropped include it. */
    void (*gap)(void *ctx, const struct dct_event *e);
    void *ctx;
};
/** dct_listen - sets the listener, or another one instead. A new reader has none. */
void dct_listen(struct dct_reader *r, struct dct_listener l);

/** dct_put_payload - appends the payload of the last event of dct_next, when it is DCT_PAYLOAD_RAW. It is written as
 * "field=value; field=value" by the schemas that the program registered before, else in hexadecimal
 * (lib/trace/payload.h). */
void dct_put_payload(struct dct_reader *r, const struct dct_event *e, struct dcr_buf *out);

/** dct_get_loss - what was not recorded or not readable; complete after DCR_END. */
void dct_get_loss(const struct dct_reader *r, struct dct_loss *out);

/** dct_notes - the writer's DCT_NOTE sentences, joined by newlines; "" when none. Valid after DCR_END. */
const char *dct_notes(struct dct_reader *r);

/** dct_thread_name - the program's name for the thread, "" when none. Valid after DCR_END. */
const char *dct_thread_name(struct dct_reader *r, uint32_t track);

void dct_close(struct dct_reader *r);

#endif
