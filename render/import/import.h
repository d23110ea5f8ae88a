/* import.h - files of other tools, told apart by what is in them, into a run. One parser per format; import.c chooses.
 * Whatever a file holds: it is read, or it is named with the reason, and the rest goes on. */
#ifndef RENDER_IMPORT_IMPORT_H
#define RENDER_IMPORT_IMPORT_H

#include "lib/base/stream.h"
#include "render/model/build.h"

/* What a file is, told from its beginning. */
enum import_kind {
    IMPORT_NONE = 0, /* nothing that is known here */
    IMPORT_PART,     /* evidence of a run: a trace, a monitor ... */
    IMPORT_RUN,      /* a whole run by itself: the result of one benchmark */
};
/** import_kind - s: from its first byte; some of it is consumed. Damaged compressed data are IMPORT_PART,
 *  so that who reads them can say what is wrong. */
enum import_kind import_kind(struct dcr_stream *s);

/* Which rank of which job a Chrome trace is of, by its distributedInfo; and on what. Of an export of nsys, when it was
 * recorded. */
struct import_job {
    int is_trace;
    char model[64];           /* of the first GPU, as far as it fits; "" = not said */
    int64_t rank, world_size; /* -1 = not said near the beginning or the end */
    int is_end_unread;        /* it may be said at the end, which is too far away to be looked at */
    int is_nsys;
    int64_t begin_ns, end_ns; /* of the recording of nsys, since 1970: import_job_recorded; end 0 = not known */
};
/** import_job - import_kind, and that; of damaged compressed data IMPORT_NONE. Of plain data their beginning is looked
 *  at alone, of compressed ones that are not large the end too; of large ones it is found by reading them
 *  (import_job_of). */
enum import_kind import_job(struct dcr_stream *s, struct import_job *out);
/** import_job_end - what a trace that says no rank at its beginning says in its last bytes, where its distributedInfo
 *  stands behind the events. out: as import_job made it; left alone when it says a rank, or is of no trace */
enum { IMPORT_END_BYTES = 1 << 16 };
void import_job_end(struct import_job *out, const char *bytes, size_t n);

/** import_job_recorded - begin_ns and end_ns of an export of nsys, which stand somewhere in its database.
 *  fd       borrows; of the whole file */
void import_job_recorded(struct import_job *out, int fd);

/** import_foreign - one file of another tool.
 *  r        gets what it says: traces, monitors ...
 *  name     how the report calls the file
 *  s        borrows; from its first byte; plain or gzip
 *  errors   of kind DCR_ERR_NO_EVIDENCE: what was not understood is plainly no evidence (no_evidence.h); also marked,
 *           without a sentence, when DCR_END is returned
 *  returns  0 when it was understood; DCR_END when nothing here knows this kind of file (nothing was added); DCR_FAIL:
 * a known kind, but broken: the sentence says where (nothing was added); DCR_FATAL as of the stream */
int import_foreign(struct run *r, const char *name, struct dcr_stream *s, struct dcr_err *err) DCR_MUST_CHECK;

/* A trace of which a run is not made yet. Zero to begin with. */
struct trace_ahead {
    struct foreign_trace trace; /* texts and arrays in arena */
    struct dcr_arena arena;
    const struct run_watch *watch;
    void *watched; /* what it made of the single operations; NULL = nothing */
};

/** import_trace_ahead - the slow part of import_foreign for a Chrome trace; needs no run, so any thread may call it.
 *  watch    of the run that the trace belongs to; may be NULL
 *  returns  as import_foreign; DCR_END also when the file is of another kind */
int import_trace_ahead(struct trace_ahead *t, const struct run_watch *watch, const char *name, struct dcr_stream *s,
                       struct dcr_err *err) DCR_MUST_CHECK;
/** import_trace_add - and the rest: into the run, which owns all of it from now on. */
void import_trace_add(struct run *r, struct trace_ahead *t);
/** import_job_of - what the trace that was read says of its job, wherever it stands in the file. */
void import_job_of(struct import_job *out, const struct trace_ahead *t);
/** import_trace_free - of one that was not added, or was. */
void import_trace_free(struct trace_ahead *t);

#endif
