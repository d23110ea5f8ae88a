/* parts.h - the steps of packing and their shared data. Called by pack.c only, in this order: gather (find the files)
 * -> describe (nodes, ranks, metadata, completeness) -> write (hash, manifest, tar). */
#ifndef COLLECT_PACK_PARTS_H
#define COLLECT_PACK_PARTS_H

#include "collect/pack/archive.h"
#include "collect/pack/pack.h"
#include "lib/base/arena.h"

#include <jansson.h>
#include <stdint.h>

struct pack_rank {
    int rank, node;
    json_t *record;   /* rank.json, or NULL */
    const char *host; /* "" unknown */
    long pid;         /* 0 unknown */
    uint64_t n_events, n_dropped;
    const char *first_trace; /* of the oldest process that recorded, with its host and clocks; NULL none */
    char first_host[64];
    int64_t first_mono_ns, first_real_ns;
    int64_t own_real_ns; /* begin of the newest trace of that process */
    long own_pid;        /* of the process that the launcher started, by the samples; 0 = not sampled */
    int64_t exit_ns;     /* the end of its exit(); 0 = it did not call exit(), or nobody saw it */
    int exit_status;     /* the status it gave to exit() */
};

struct pack_host {
    const char *name;
    json_t *facts; /* host.json, or NULL */
    int node;
};

struct pack {
    const struct pack_request *request;
    struct dcr_arena arena;
    struct archive_member *members;
    size_t n_members, cap_members;
    struct pack_rank *ranks; /* ascending */
    size_t n_ranks, cap_ranks;
    struct pack_host *hosts;
    size_t n_hosts, cap_hosts;
    json_t *launcher;             /* launcher.json, or NULL */
    const char *launcher_monitor; /* file, or NULL */
    json_t *metadata;             /* content of job_metadata.json */
    json_t *reasons;              /* array of sentences: why the run is incomplete */
    json_t *not_packed;           /* array of {name, size, reason} */
    json_t *missing;              /* array of words for the closing lines */
    int is_spool;                 /* one of our spools, not a results folder */
    int is_watched;               /* a spool with a collector's record in it */
    int is_emulated;
    int has_no_rank; /* the launcher failed and stands for the one rank of the archive */
    int n_unknown;   /* files of unknown kind */
    int n_unread;    /* files of the spool that could not be read */
    int n_sparse;    /* files left out because they are mostly holes */
    int n_nodes;     /* 0 unknown */
    int n_traces, n_traces_packed;
    int n_empty;         /* empty traces */
    int n_unread_traces; /* traces without a summary */
    int is_copied;       /* every file is copied before it is read, because a process still writes into the spool */
    int has_changed;     /* packing failed because a file had changed between two readings */
    int made_fd;         /* summaries made here, one after the other, in a file without a name; -1 none */
    int64_t made_bytes;
    uint64_t n_events, n_dropped;     /* named by the program */
    uint64_t n_mpi_calls, n_io_calls; /* observed by the recorder */
    json_t *trace_notes;              /* array: sentences of the recorder */
    int n_gpu_cut;                    /* traces whose process ended before CUPTI had delivered everything */
    double started_s;                 /* 0 unknown */
    int64_t mtime;
};

/* ---- gather.c ---- */
int pack_gather(struct pack *p, struct dcr_err *err) DCR_MUST_CHECK;
/** pack_adopt - adds files of a folder with the program's results. A missing folder is a reason for an incomplete run,
 * not an error. */
int pack_adopt(struct pack *p, const char *dir, struct dcr_err *err) DCR_MUST_CHECK;

/* ---- members.c ---- */
/** pack_add - adds a member; name, path and bytes are copied.
 *  returns  borrows, until the next one is added; NULL: it goes to not_packed, for instance because its name is taken
 */
struct archive_member *pack_add(struct pack *p, const char *name, const char *path, const char *bytes,
                                enum dcr_role role, int node, int rank);
void pack_reason(struct pack *p, const char *fmt, ...) DCR_PRINTF(2, 3);
/** pack_bytes - of the members of this role together; DCR_N_ROLES: of all members. */
int64_t pack_bytes(const struct pack *p, enum dcr_role role);
/** pack_member_named, pack_host_named - NULL when there is none. */
struct archive_member *pack_member_named(const struct pack *p, const char *name);
struct pack_host *pack_host_named(const struct pack *p, const char *name);
/** pack_rank_at, pack_host_at - made when missing. */
struct pack_rank *pack_rank_at(struct pack *p, int rank);
struct pack_host *pack_host_at(struct pack *p, const char *name);
/** pack_leave_out - lists a file that does not become a member under not_packed. */
void pack_leave_out(struct pack *p, const char *name, int64_t size, const char *reason);
/** pack_leave_unread - the same for a file that could not be read; errno is the reason. If the file is in the spool,
 * the run is incomplete. */
void pack_leave_unread(struct pack *p, const char *path, int64_t size);

/** pack_copy - replaces files that are still being written, and traces in pieces, by copies without a name;
 * pack_copy_release closes them. Members that are already copies stay. A copy of a trace that still grows ends where it
 * was copied, as after a crash. */
int pack_copy(struct pack *p, struct dcr_err *err) DCR_MUST_CHECK;
void pack_copy_release(struct pack *p);

/* ---- summarize.c ---- */
/** pack_traces - reads every trace (or the summary that its node has already made): counts, losses, notes. Adds
 * summaries, and removes traces that were not requested from the archive. */
int pack_traces(struct pack *p, struct dcr_err *err) DCR_MUST_CHECK;

/* ---- describe.c ---- */
int pack_describe(struct pack *p, struct dcr_err *err) DCR_MUST_CHECK;
/** pack_first_record - the record that stands for the run: the launcher's, else the lowest rank's; NULL when there is
 * none. */
const json_t *pack_first_record(const struct pack *p);

/* ---- ended.c ---- */
/** pack_status_of - how a rank below the launcher ended: its exit status, or minus the number of a signal.
 *  is_known  gets 0 if nothing told it; then returns 0 */
int pack_status_of(const struct pack *p, const struct pack_rank *r, int *is_known);
/** pack_may_be_cause - can this rank be why the run ended? Not if its exit status differs from the launcher's and its
 *  parent did not tell it: another rank may have ended it. */
int pack_may_be_cause(const struct pack *p, const struct pack_rank *r);
/** pack_process_of - process id of a rank by the first of its samples; 0 = it was not sampled. */
long pack_process_of(const struct pack *p, int rank);
/** pack_first_to_end - the rank with the first exception, or that had ended while all others ran, apart from those that
 *  ended well; NULL: not known. */
const struct pack_rank *pack_first_to_end(const struct pack *p);

/* ---- judge.c ---- */
/** pack_judge - finds reasons why the run is incomplete, from the records of the program and of the ranks. If one spool
 * holds processes of two runs, also adds "several_runs" of the metadata. */
void pack_judge(struct pack *p);
/** pack_recorded - "collector" of the metadata o: what was recorded, and why other things were not. */
void pack_recorded(const struct pack *p, const json_t *record, json_t *o);

/* ---- nodes.c ---- */
/** pack_assign_nodes - numbers nodes, ranks and their members; sets p->n_nodes, p->is_emulated. */
void pack_assign_nodes(struct pack *p);
/** pack_node_object - one entry of the metadata's "nodes". gives */
json_t *pack_node_object(struct pack *p, int node);
/** pack_check_emulation - refuses --emulate-nodes if a rank already ran in an emulated node. Call after the ranks have
 * their records. */
int pack_check_emulation(const struct pack *p, struct dcr_err *err) DCR_MUST_CHECK;
/** pack_node_kind - "machines", "one-kernel", "emulated" or "unknown", from the array of all node objects. */
const char *pack_node_kind(const struct pack *p, const json_t *nodes);

/** pack_json_text - string member of an object, "" when there is none. */
static inline const char *pack_json_text(const json_t *o, const char *key)
{
    const char *text = json_string_value(json_object_get(o, key));
    return text ? text : "";
}

static inline json_int_t pack_json_int(const json_t *o, const char *key, json_int_t absent)
{
    const json_t *v = json_object_get(o, key);
    return json_is_integer(v) ? json_integer_value(v) : absent;
}

/** pack_json_copy - copies a member of one object into another, if present. */
static inline void pack_json_copy(json_t *to, const json_t *from, const char *key)
{
    json_t *v = json_object_get(from, key);
    if (v)
        json_object_set(to, key, v);
}

/* ---- manifest.c ---- */
int pack_write(struct pack *p, struct dcr_err *err) DCR_MUST_CHECK;

#endif
