/* members.h - the parsers of the members of an archive, one per role. Each reads a stream into the run being built. A
 * DCR_FAIL of a parser that the report needs ends the run; others become gaps (see archive.c). */
#ifndef RENDER_READ_MEMBERS_H
#define RENDER_READ_MEMBERS_H

#include "lib/base/stream.h"
#include "lib/reduce/summary.h"
#include "render/model/build.h"

#include <jansson.h>

/* ---- manifest.c ---- */
struct manifest_member {
    int is_cut; /* a trace of which only the newest events are kept */
    const char *name, *sha256;
    enum dcr_role role;
    int node, rank; /* -1 = does not apply */
    int64_t size_bytes;
    int is_seen;
};
struct manifest {
    struct manifest_member *members; /* sorted by name */
    size_t n;
};
/** manifest_read - header facts go into r, members into m (arrays in r's arena).
 *  errors   DCR_FAIL: not JSON, another format or a later version, an impossible entry */
int manifest_read(struct run *r, struct manifest *m, struct dcr_stream *s, struct dcr_err *err) DCR_MUST_CHECK;
/** manifest_find - the entry of that name, NULL when not listed. */
struct manifest_member *manifest_find(const struct manifest *m, const char *name);

/* ---- metadata.c ---- */
int metadata_read(struct run *r, struct dcr_stream *s, struct dcr_err *err) DCR_MUST_CHECK;
/** metadata_text_read - "key: value" or "key=value" lines of earlier users' job_metadata.txt; only the numbers of nodes
 *  and tasks are used, and only when nothing better is known. */
int metadata_text_read(struct run *r, struct dcr_stream *s, struct dcr_err *err) DCR_MUST_CHECK;

/* ---- calibration.c ---- */
int calibration_read(struct run *r, struct dcr_stream *s, struct dcr_err *err) DCR_MUST_CHECK;

/* ---- tables.c ---- */
enum { METRICS_HEAD = 4096 };
/** metrics_is - are n bytes the beginning of a metrics.csv: a header with `epoch` first and at least one more of its
 *  columns? */
int metrics_is(const char *head, size_t n);
int metrics_read(struct run *r, struct dcr_stream *s, struct dcr_err *err) DCR_MUST_CHECK;

/* ---- steps.c ---- */
struct step_rows; /* steps.csv of all ranks, until they are turned into steps */
struct step_rows *step_rows_new(void);
int steps_read(struct run *r, struct step_rows *rows, int rank, struct dcr_stream *s,
               struct dcr_err *err) DCR_MUST_CHECK;
/** step_rows_finish - ranks without trace steps (or with fewer) get theirs from the table; ranks with trace steps get
 *  samples from it. Reports in gaps where the two disagree. */
void step_rows_finish(struct run *r, struct step_rows *rows);
void step_rows_free(struct step_rows *rows);

/* ---- monitors.c ---- */
int monitor_read(struct run *r, enum dcr_role role, int node, int rank, struct dcr_stream *s,
                 struct dcr_err *err) DCR_MUST_CHECK;

/* ---- trace.c ---- */
/** trace_read - a native trace into steps of its rank. rank -1: as the trace itself states.
 *  past     the summary of the whole trace, if only the newest events are kept: it gives times and counts. may be NULL
 */
int trace_read(struct run *r, int rank, const struct summary *past, struct dcr_stream *s,
               struct dcr_err *err) DCR_MUST_CHECK;

/** summary_member_read - the same from the summary of a trace that was not packed. */
int summary_member_read(struct run *r, int rank, struct dcr_stream *s, struct dcr_err *err) DCR_MUST_CHECK;

#endif
