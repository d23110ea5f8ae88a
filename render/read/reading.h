/* reading.h - what is known of a run while its members are read (archive.c) and afterwards (finish.c). Inside these two
 * only. */
#ifndef RENDER_READ_READING_H
#define RENDER_READ_READING_H

#include "render/read/ahead.h"
#include "render/read/members.h"

/* The summary of a trace of which only the newest events are kept. */
struct past {
    const char *trace;
    struct summary summary;
    struct past *next;
};

struct reading {
    struct run *run;
    const char *path;
    struct manifest manifest;
    struct step_rows *rows;
    size_t members_cap;
    const char *metrics_member; /* the one metrics.csv there may be */
    int is_second_metrics;      /* the member being read is a further metrics.csv */
    int is_alone, is_table;     /* one plain file; it is a metrics.csv, whatever its name */
    int is_folder;              /* plain files, not an archive: unknown files are named */
    const char *first_unknown;  /* of those */
    int n_unknown, n_foreign;   /* unknown files; files of other tools that were understood */
    const char *first_none;     /* the first of a folder's files that are plainly no evidence */
    size_t n_none;              /* number of such files */
    struct dcr_err why_none;    /* of the first for which there is a sentence */
    int is_none;                /* the member being read is one */
    struct past *past;
    int n_ours;                     /* members that a collector or a training program wrote, metadata apart */
    int has_steps, has_cpu_monitor; /* there is such a file, whatever its content */
    int n_failed;                   /* files that were left out */
    struct dcr_err first_failure;
    struct ahead *ahead; /* traces being read by other threads, NULL none; index of the file being read */
    size_t ahead_at;
    int folder_nodes; /* "4node/..." in member names of an archive packed by hand, 0 = none */
};

/** reading_nodes - the number in the first part of a name like "4node/run_17/metrics.csv", "4node-20310425.tar" or
 *  "metrics-4node.csv"; 0 if there is none */
int reading_nodes(const char *name);
/** reading_check - check a member that was read against the manifest.                            errors  DCR_FAIL */
int reading_check(const struct reading *g, const char *name, int64_t size, const char *sha256,
                  struct dcr_err *err) DCR_MUST_CHECK;
/** reading_finish - all members were read: is it a run, and what does it lack?
 *  errors   DCR_FAIL; of kind DCR_ERR_NO_EVIDENCE when all files of a folder are plainly none */
int reading_finish(struct reading *g, struct dcr_err *err) DCR_MUST_CHECK;

#endif
