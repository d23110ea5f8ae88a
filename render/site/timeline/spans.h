/* spans.h - the named ranges of one run for the timeline, because the model only keeps sums. Those of native and Chrome
 * traces are collected while these are read for their numbers; those of other tools are read again from the archive.
 * Memory has a bound: beyond it the shortest ranges are left out and counted, or, in a large trace of another tool,
 * joined with their neighbours. */
#ifndef RENDER_SITE_TIMELINE_SPANS_H
#define RENDER_SITE_TIMELINE_SPANS_H

#include "lib/base/arena.h"
#include "lib/base/map.h"
#include "lib/base/stream.h"
#include "lib/trace/trace.h"
#include "render/model/run.h"
#include "render/model/watch.h"
#include "render/read/inputs.h"

#include <stdbool.h>

#define SPANS_MAX ((size_t)1 << 21)      /* 64 MB */
#define SPANS_IN_FULL ((size_t)1000000)  /* of a trace of another tool */
#define SPANS_OF_LARGE ((size_t)1 << 18) /* of such a trace with more ranges */
#define SPAN_BLOCK 0x80000000u           /* with a colour, in place of a name: several short ranges drawn as one */
#define SPAN_LONGEST 5
#define SPAN_FOREIGN_TRACKS 512 /* of one file */

enum track_kind { TRACK_THREAD, TRACK_HOST, TRACK_STREAM }; /* the last two: of a trace of another tool */

struct span {
    int64_t start_ns, dur_ns; /* since the first range of the run */
    uint64_t bytes;           /* 0 = not stated; for a SPAN_BLOCK, the number of its ranges */
    uint32_t name, row;       /* index into names, or SPAN_BLOCK | colour; rows count through all tracks */
};

enum span_colour { SPAN_STEP = N_CATEGORIES, SPAN_VALIDATION, SPAN_PLAIN, N_SPAN_COLOURS };

struct span_name {
    const char *name, *category, *domain;
    int colour;              /* enum category or enum span_colour */
    int64_t count, total_ns; /* of all ranges except those left out; joined ranges were counted when they were joined */
    int64_t joined_ns;       /* the longest range that was joined; < 0: none */
    uint32_t joined_file;    /* the trace of that range */
    struct span longest[SPAN_LONGEST]; /* longest ranges drawn separately, longest first; dur_ns < 0: none */
};

/* One thread of one rank, or a track beside its threads. Row of depth d: first_row + d. */
struct span_track {
    int rank, node;
    uint32_t id;    /* Linux thread id */
    bool is_beside; /* ranges of the process, operations in flight, those of other tools: they may overlap, so rows are
                       lanes */
    enum track_kind kind;
    int64_t device, stream; /* of a TRACK_STREAM */
    const char *name;       /* of the thread or stream, "" none */
    uint32_t first_row, n_rows;
    uint32_t file; /* which trace of the run */
};

/* A file of a run; for a native trace, also what aligns its ranges with those of others. */
struct span_file {
    const char *name;    /* of the member; NULL: a trace of another tool */
    const char *foreign; /* name of a trace of another tool, if it was collected; else NULL */
    struct dct_info info;
};

/* Texts that were recently seen at these addresses. */
enum { SPANS_RECENT = 64 };
struct span_recent {
    const char *domain, *category, *name; /* name NULL: free */
    uint32_t key;
};

struct spans {
    struct dcr_arena arena;
    struct span *span; /* ascending row, then start */
    size_t n, cap;
    struct span_name *names;
    size_t n_names, names_cap;
    struct span_track *tracks; /* ascending rank, threads in order of appearance */
    size_t n_tracks, tracks_cap;
    struct dcr_map track_of; /* index, until spans_finish */
    struct dcr_map name_of;  /* index */
    size_t last_track;
    uint32_t n_rows;
    int64_t total_ns; /* end of the last range */
    int64_t least_ns; /* ranges shorter than this were left out; 0: none */
    uint64_t n_left_out;
    int64_t joined_ns; /* ranges shorter than this are drawn together with their neighbours; 0: none */
    uint64_t n_joined, n_blocks;
    struct span_block *blocks; /* by track, while ranges are joined; NULL: they are not */
    int n_hosts; /* hosts with traces; several are aligned by their wall clocks, except those with a measured clock */
    int n_measured_hosts;
    int64_t clock_error_ns; /* the largest clock error of the measured ones */
    int64_t n_device_ops;   /* operations of GPUs among the ranges */
    bool is_aligned;        /* files without a common moment begin together */
    uint64_t n_trackless;   /* left out, because they are on more streams and threads than SPAN_FOREIGN_TRACKS */
    struct span_file *files;
    size_t n_files, files_cap;
    struct span_recent recent[SPANS_RECENT];
};

/** spans_read - all ranges of the traces of a run: its own, and of other tools' the operations of GPUs by stream and
 * the operators and ranges of the host by thread.
 *  in       what the run was read from
 *  s        gives; release with spans_release, also after failure. n == 0: there is no readable trace
 *  errors   DCR_FAIL: the archive cannot be read any more */
int spans_read(struct spans *s, const struct input *in, const struct run *run, struct dcr_err *err) DCR_MUST_CHECK;
/** spans_trace, spans_event, spans_trace_end - a native trace while it is read: its beginning, every event, its end
 * (the reader is still open). Ranges have the times of the trace's own clock until spans_place.
 *  returns  the number of the file, for the two others */
uint32_t spans_trace(struct spans *s, const char *member, const struct dct_info *info);
void spans_event(struct spans *s, uint32_t file, const struct dct_event *e);
void spans_trace_end(struct spans *s, uint32_t file, struct dct_reader *t);
/** spans_may_leave_out - ranges of that thread that are shorter than the returned time need not be given to
 *  spans_event, but only counted in n_left_out, until the next one that is given; 0: none. */
static inline int64_t spans_may_leave_out(const struct spans *s, uint32_t file, uint32_t *thread)
{
    const struct span_track *last = s->n_tracks ? &s->tracks[s->last_track] : NULL;
    if (!last || last->file != file || last->is_beside)
        return 0;
    *thread = last->id;
    return s->least_ns;
}
/** spans_leaves_out - a short form of spans_event for ranges that are left out, which are nearly all of a large trace.
 *  returns  false: it may not be left out; call spans_event */
static inline bool spans_leaves_out(struct spans *s, uint32_t file, const struct dct_event *e)
{
    int64_t dur_ns = e->end_ns - e->start_ns;
    if (dur_ns >= s->least_ns || dur_ns < 0 || e->kind != DCT_PUSH || e->start_ns < 0 || e->end_ns > RUN_MAX_TIME_NS)
        return false;
    const struct span_track *last = &s->tracks[s->last_track];
    if (last->file != file || last->id != e->track || last->is_beside)
        return false;
    s->n_left_out++;
    return true;
}
/** spans_place - all files are read: native traces get their ranks, and the clocks of hosts are aligned. Before
 * spans_align and spans_finish. */
void spans_place(struct spans *s, const struct run *run);
/** spans_settle - the three steps: place, align if there are several tools, finish. */
void spans_settle(struct spans *s, const struct run *run);
/** spans_watch - collects the same while runs are read (render/model/watch.h), as long as all of them together fit into
 * SPANS_MAX. */
extern const struct run_watch spans_watch;
/** spans_take - the ranges collected for the run, settled; call it once.
 *  s        gives; release with spans_release
 *  returns  false: they were not collected, or not all of them: use spans_read */
bool spans_take(struct spans *s, const struct run *run);
/** spans_read_foreign - one trace of another tool, known to the run by this name; adds to s. Inside spans_read.c and
 * tests. */
int spans_read_foreign(struct spans *s, const struct run *run, struct dcr_stream *in,
                       struct dcr_err *err) DCR_MUST_CHECK;
/** spans_align - tracks of files that share no moment with the first file begin when that one does. */
void spans_align(struct spans *s);
/** spans_start, spans_add, spans_finish - the same step by step, for tests and other sources. spans_add keeps its own
 * copies; track from spans_track; times on any one clock, spans_finish makes them begin at 0, sorts, and packs the
 * lanes. */
void spans_start(struct spans *s);
size_t spans_track(struct spans *s, int rank, int node, uint32_t file, uint32_t id, bool is_beside);
void spans_add(struct spans *s, size_t track, int depth, const char *domain, const char *category, const char *name,
               int64_t start_ns, int64_t end_ns, uint64_t bytes);
void spans_finish(struct spans *s);
/** spans_add_stable - as spans_add, for texts that keep their addresses until spans_forget, so that most need not be
 *  compared. */
void spans_add_stable(struct spans *s, size_t track, int depth, const char *domain, const char *category,
                      const char *name, int64_t start_ns, int64_t end_ns, uint64_t bytes);
void spans_forget(struct spans *s);
/** spans_colour - the colour of a range or a block of ranges: enum category or enum span_colour. */
int spans_colour(const struct spans *s, const struct span *p);
/** spans_join - from now on keeps at most SPANS_OF_LARGE ranges, on at most SPAN_FOREIGN_TRACKS tracks without depth.
 *  Ranges too short for that are joined with their neighbours on the track. Until spans_join_end, once all have been
 *  added. */
void spans_join(struct spans *s);
void spans_join_end(struct spans *s);
void spans_release(struct spans *s);

#endif
