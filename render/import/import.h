/* import.h - reads files of other tools, told apart by their content, into a run. There is one parser per format;
 * import.c chooses. A file that cannot be read is named with the reason, and the other files are still read. */
#ifndef RENDER_IMPORT_IMPORT_H
#define RENDER_IMPORT_IMPORT_H

#include "lib/base/stream.h"
#include "render/model/build.h"

/* What a file is, told from its beginning. */
enum import_kind {
    IMPORT_NONE = 0, /* unknown */
    IMPORT_PART,     /* evidence of a run: a trace, a monitor ... */
    IMPORT_RUN,      /* a whole run by itself: the result of one benchmark */
};
/** import_kind - s: from its first byte; some of it is consumed. Damaged compressed data are IMPORT_PART, so that the
 *  reader can say what is wrong. */
enum import_kind import_kind(struct dcr_stream *s);

/* The rank and job of a Chrome trace, by its distributedInfo, and its GPU. For an export of nsys, the time of its
 * recording. */
struct import_job {
    int is_trace;
    char model[64];           /* of the first GPU, cut to fit; "" = not stated */
    int64_t rank, world_size; /* -1 = not said near the beginning or the end */
    int is_end_unread;        /* the job may be stated at the end, which is too far away to be read */
    int is_nsys;
    int64_t begin_ns, end_ns; /* of the recording of nsys, since 1970: import_job_recorded; end 0 = not known */
};
/** import_job - as import_kind, and fills out; IMPORT_NONE for damaged compressed data. Looks only at the beginning of
 *  plain data, and also at the end of compressed data that are not large. In large ones the job is found by reading
 *  them (import_job_of). */
enum import_kind import_job(struct dcr_stream *s, struct import_job *out);
/** import_job_end - the rank that a trace states in its last bytes, where distributedInfo follows the events, if it
 *  states none at its beginning. out: as import_job made it; left alone if it has a rank or is not of a trace */
enum { IMPORT_END_BYTES = 1 << 16 };
void import_job_end(struct import_job *out, const char *bytes, size_t n);

/** import_job_recorded - begin_ns and end_ns of an export of nsys, which stand somewhere in its database.
 *  fd       borrows; of the whole file */
void import_job_recorded(struct import_job *out, int fd);

/** import_foreign - one file of another tool.
 *  r        gets its content: traces, monitors ...
 *  name     name of the file in the report
 *  s        borrows; from its first byte; plain or gzip
 *  errors   of kind DCR_ERR_NO_EVIDENCE: what was not understood is plainly no evidence (no_evidence.h); also marked,
 *           without a sentence, when DCR_END is returned
 *  returns  0 when it was understood; DCR_END when nothing here knows this kind of file (nothing was added); DCR_FAIL:
 * a known kind, but broken: the sentence says where (nothing was added); DCR_FATAL as of the stream */
int import_foreign(struct run *r, const char *name, struct dcr_stream *s, struct dcr_err *err) DCR_MUST_CHECK;

/* A trace that is not part of a run yet. Zero to begin with. */
struct trace_ahead {
    struct foreign_trace trace; /* texts and arrays in arena */
    struct dcr_arena arena;
    const struct run_watch *watch;
    void *watched; /* what the watcher made of the single operations; NULL = nothing */
};

/** import_trace_ahead - the slow part of import_foreign for a Chrome trace; needs no run, so any thread may call it.
 *  watch    of the run that the trace belongs to; may be NULL
 *  returns  as import_foreign; DCR_END also when the file is of another kind */
int import_trace_ahead(struct trace_ahead *t, const struct run_watch *watch, const char *name, struct dcr_stream *s,
                       struct dcr_err *err) DCR_MUST_CHECK;
/** import_trace_add - the rest of import_foreign: adds the trace to the run, which owns all of it from now on. */
void import_trace_add(struct run *r, struct trace_ahead *t);
/** import_job_of - the job that a trace states anywhere in the file. The trace was read. */
void import_job_of(struct import_job *out, const struct trace_ahead *t);
/** import_trace_free - whether it was added or not. */
void import_trace_free(struct trace_ahead *t);

#endif
