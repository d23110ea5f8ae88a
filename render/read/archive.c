/* archive.c - run_read: members of a tar to their parsers, and the checks that make the result worth believing. */
#include "render/read/read.h"

#include "lib/cores.h"
#include "lib/hash.h"
#include "lib/member.h"
#include "lib/tar.h"
#include "render/import/import.h"
#include "render/read/ahead.h"
#include "render/read/members.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct reading {
    struct run *run;
    const char *path;
    struct manifest manifest;
    struct step_rows *rows;
    size_t members_cap;
    const char *metrics_member; /* the one metrics.csv there may be */
    int is_second_metrics;      /* the member being read is a further metrics.csv */
    int is_folder;              /* plain files, not an archive: what nobody knows is named */
    const char *first_unknown;  /* of those */
    int n_unknown, n_foreign;   /* files that nothing knows; files of other tools that were understood */
    int n_failed;               /* files that were left out */
    struct dcr_err first_failure;
    struct ahead *ahead; /* traces being read by other threads, NULL none; of them, the file being read */
    size_t ahead_at;
    int folder_nodes; /* "4node/..." in member names of an archive packed by hand, 0 = none */
};

/* ---- members ------------------------------------------------------------------------------------ */

/* The leading number of "4node/run_17/metrics.csv" or "4node-20310425.tar", 0 when the text is not of that form. */
static int nodes_of_name(const char *name)
{
    char *end;
    if (!isdigit((unsigned char)name[0]))
        return 0;
    long n = strtol(name, &end, 10);
    return strncmp(end, "node", 4) == 0 && n >= 1 && n <= RUN_MAX_NODE ? (int)n : 0;
}

/* The same of any folder on a path: "results/4node/run_17". */
static int nodes_in_path(const char *path)
{
    int n = nodes_of_name(path);
    for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/'))
        n = nodes_of_name(slash + 1) ? nodes_of_name(slash + 1) : n;
    return n;
}

static int is_optional(enum dcr_role role)
{
    return role == DCR_ROLE_TRACE || role == DCR_ROLE_SUMMARY || role == DCR_ROLE_CPU_MONITOR ||
           role == DCR_ROLE_GPU_MONITOR || role == DCR_ROLE_NET_MONITOR || role == DCR_ROLE_DISK_MONITOR ||
           role == DCR_ROLE_PROCESS_MONITOR || role == DCR_ROLE_CLOCK_MONITOR || role == DCR_ROLE_METADATA_TEXT ||
           role == DCR_ROLE_CALIBRATION || role == DCR_ROLE_FOREIGN || role == DCR_ROLE_LOG || role == DCR_ROLE_OTHER;
}

/* A summary stands for a trace that is not there; beside its trace it says nothing new. */
static int read_summary(struct reading *g, const char *name, int rank, struct dcr_stream *s, struct dcr_err *err)
{
    char trace[4400];
    if (!g->run->has_manifest) {
        run_add_gap(g->run,
                    "Summaries of traces were not read: without a manifest nobody knows which traces they stand for.");
        return 0;
    }
    if (dcr_trace_name(name, trace, sizeof trace) == 0 && manifest_find(&g->manifest, trace))
        return 0;
    return summary_member_read(g->run, rank, s, err);
}

/* A program's own JSON or log, kept with the run, large enough to be taken for a trace until it was read? */
static int is_no_trace(const struct reading *g, enum dcr_role role, int rc, const struct dcr_err *err)
{
    return rc == DCR_FAIL && g->run->has_manifest && role != DCR_ROLE_FOREIGN && err && err->kind == DCR_ERR_NO_TRACE;
}

/* Evidence of other tools, known by what it holds. Of what nobody knows only that is named which somebody meant for us.
 */
static int read_foreign(struct reading *g, const char *name, enum dcr_role role, struct dcr_stream *s,
                        struct dcr_err *err)
{
    dcr_cores_work(-1); /* waits, or is counted there */
    int rc = g->ahead ? ahead_take(g->ahead, g->ahead_at, g->run, err) : DCR_END;
    dcr_cores_work(1);
    rc = rc == DCR_END ? import_foreign(g->run, name, s, err) : rc;
    g->n_foreign += rc == 0;
    if (is_no_trace(g, role, rc, err))
        return 0;
    if (rc != DCR_END)
        return rc;
    if ((g->is_folder || role == DCR_ROLE_FOREIGN) && g->n_unknown++ == 0)
        g->first_unknown = dcr_arena_strdup(&g->run->arena, name);
    return 0;
}

static int parse(struct reading *g, const char *name, enum dcr_role role, int node, int rank, struct dcr_stream *s,
                 struct dcr_err *err)
{
    struct run *r = g->run;
    switch (role) {
    case DCR_ROLE_METADATA:
        return metadata_read(r, s, err);
    case DCR_ROLE_METADATA_TEXT:
        return metadata_text_read(r, s, err);
    case DCR_ROLE_CALIBRATION:
        return calibration_read(r, s, err);
    case DCR_ROLE_METRICS:
        if (g->metrics_member && strcmp(g->metrics_member, DCR_METRICS) == 0) {
            g->is_second_metrics = 1; /* in the program's own folder, kept beside the one at the top */
            return 0;
        }
        if (g->metrics_member)
            return dcr_err_set(err, DCR_FAIL,
                               "cannot read '%s': it holds more than one run ('%s' and '%s'); pack each run folder by "
                               "itself",
                               g->path, g->metrics_member, name);
        g->metrics_member = dcr_arena_strdup(&r->arena, name);
        return metrics_read(r, s, err);
    case DCR_ROLE_STEPS:
        return steps_read(r, g->rows, rank, s, err);
    case DCR_ROLE_TRACE:
        return trace_read(r, rank, s, err);
    case DCR_ROLE_SUMMARY:
        return read_summary(g, name, rank, s, err);
    case DCR_ROLE_CPU_MONITOR:
    case DCR_ROLE_GPU_MONITOR:
    case DCR_ROLE_NET_MONITOR:
    case DCR_ROLE_DISK_MONITOR:
    case DCR_ROLE_PROCESS_MONITOR:
    case DCR_ROLE_CLOCK_MONITOR:
        return monitor_read(r, role, node, rank, s, err);
    case DCR_ROLE_FOREIGN:
    case DCR_ROLE_LOG:
    case DCR_ROLE_OTHER:
        return read_foreign(g, name, role, s, err);
    default:
        return 0;
    }
}

/* What the manifest says of a member that has passed; 0 or DCR_FAIL. */
static int check_member(const struct reading *g, const char *name, int64_t size, const char *sha256,
                        struct dcr_err *err)
{
    struct manifest_member *entry = manifest_find(&g->manifest, name);
    if (!entry)
        return 0;
    entry->is_seen = 1;
    if (entry->size_bytes != size)
        return dcr_err_set(err, DCR_FAIL,
                           "cannot trust '%s': member '%.200s' has %lld bytes, its manifest says %lld; copy or pack it "
                           "again",
                           g->path, name, (long long)size, (long long)entry->size_bytes);
    if (strcmp(entry->sha256, sha256) != 0)
        return dcr_err_set(err, DCR_FAIL,
                           "cannot trust '%s': member '%.200s' does not have the checksum of the manifest (SHA-256); "
                           "copy or pack it again",
                           g->path, name);
    return 0;
}

static void keep_member(struct reading *g, const char *name, enum dcr_role role, int64_t size, const char *sha256)
{
    static const char *const texts[] = {
#define X(id, text) text,
        DCR_ROLES(X)
#undef X
    };
    struct run *r = g->run;
    r->members = arena_grow(&r->arena, r->members, r->n_members, &g->members_cap, sizeof *r->members);
    r->members[r->n_members++] = (struct run_member){.name = dcr_arena_strdup(&r->arena, name),
                                                     .role = texts[role],
                                                     .sha256 = dcr_arena_strdup(&r->arena, sha256),
                                                     .size_bytes = size};
}

/* A copy of the metrics.csv at the top says nothing new; another one does, and is not used. */
static void check_second_metrics(struct reading *g, const char *name, const char *sha256)
{
    const struct run *r = g->run;
    for (size_t i = 0; g->is_second_metrics && i < r->n_members; i++)
        if (strcmp(r->members[i].name, DCR_METRICS) == 0 && strcmp(r->members[i].sha256, sha256) != 0)
            run_add_gap(g->run, "Member '%.200s' was not read: the metrics.csv at the top is used.", name);
    g->is_second_metrics = 0;
}

static int read_member(struct reading *g, struct dcr_tar_member *m, struct dcr_err *err)
{
    struct run *r = g->run;
    char sha256[DCR_SHA256_HEX], shown[8448];
    int node, rank, is_manifest = strcmp(m->name, DCR_MANIFEST) == 0;
    enum dcr_role role = dcr_role_of(m->name, &node, &rank);
    const struct manifest_member *entry = manifest_find(&g->manifest, m->name);
    if (entry) {
        role = entry->role;
        node = entry->node >= 0 ? entry->node : node;
        rank = entry->rank >= 0 ? entry->rank : rank;
    } else if (r->has_manifest && !is_manifest) {
        run_add_gap(r, "Member '%.200s' is not in the manifest and was not read.", m->name);
        role = DCR_ROLE_OTHER;
    }
    if (!g->folder_nodes)
        g->folder_nodes = nodes_of_name(m->name);
    struct dcr_hashed h;
    snprintf(shown, sizeof shown, "%s: %s", r->archive, m->name);
    struct dcr_stream s = {m->stream.read, m->stream.ctx, shown};
    int is_hashed = !g->is_folder || r->has_manifest || is_manifest; /* else nobody has a checksum to compare */
    if (is_hashed)
        s = dcr_stream_hashed(&h, &m->stream, shown);
    struct dcr_err parse_err = {0}, stream_err = {0};
    dcr_cores_work(1);
    int rc = is_manifest ? manifest_read(r, &g->manifest, &s, &parse_err)
                         : parse(g, m->name, role, node, rank, &s, &parse_err);
    int drained = is_hashed ? dcr_stream_drain(&s, &stream_err) : 0;
    dcr_cores_work(-1);
    sha256[0] = '\0';
    if (is_hashed)
        dcr_sha256_finish(h.hash, sha256);
    int64_t n_bytes = is_hashed ? h.n_bytes : m->size_bytes;
    if (drained) { /* a cut or damaged tar explains whatever the parser thought */
        if (err)
            *err = stream_err;
        return DCR_FAIL;
    }
    if (is_manifest)
        r->manifest_sha256 = dcr_arena_strdup(&r->arena, sha256);
    else if (check_member(g, m->name, n_bytes, sha256, err))
        return DCR_FAIL;
    if (rc && rc != DCR_FATAL && !is_manifest && is_optional(role)) {
        run_add_gap(r, "Left out: %s.", parse_err.text);
        if (g->n_failed++ == 0)
            g->first_failure = parse_err;
        rc = 0;
    }
    if (rc) {
        if (err)
            *err = parse_err;
        return DCR_FAIL;
    }
    check_second_metrics(g, m->name, sha256);
    keep_member(g, m->name, is_manifest ? DCR_ROLE_OTHER : role, n_bytes, sha256);
    return 0;
}

/* ---- afterwards ----------------------------------------------------------------------------------- */

static int check_manifest(struct reading *g, struct dcr_err *err)
{
    for (size_t i = 0; i < g->run->n_members; i++) { /* again for members that came before the manifest */
        const struct run_member *m = &g->run->members[i];
        if (check_member(g, m->name, m->size_bytes, m->sha256, err))
            return DCR_FAIL;
    }
    for (size_t i = 0; i < g->manifest.n; i++)
        if (!g->manifest.members[i].is_seen)
            return dcr_err_set(err, DCR_FAIL,
                               "cannot trust '%s': its manifest lists '%.200s', which is not in it; copy or pack it "
                               "again",
                               g->path, g->manifest.members[i].name);
    return 0;
}

/* Several boot ids: machines; one: nodes on one kernel. Only when the archive itself does not say. */
static void guess_node_kind(struct run *r)
{
    if (r->node_kind != NODES_UNKNOWN || r->nodes_len < 2)
        return;
    int n_equal = 0;
    for (int i = 0; i < r->nodes_len; i++) {
        if (!*r->nodes[i].boot_id)
            return;
        for (int k = 0; k < i; k++)
            n_equal += strcmp(r->nodes[i].boot_id, r->nodes[k].boot_id) == 0;
    }
    r->node_kind = n_equal ? NODES_ONE_KERNEL : NODES_MACHINES;
}

static void find_sizes(struct reading *g)
{
    struct run *r = g->run;
    if (!r->n_nodes && r->has_metadata && r->nodes_len)
        r->n_nodes = r->nodes_len;
    if (!r->n_nodes && g->folder_nodes) {
        r->n_nodes = g->folder_nodes;
        run_add_gap(r, "The number of nodes (%d) is taken from a folder name; nothing in the archive confirms it.",
                    r->n_nodes);
    }
    if (!r->n_nodes && nodes_of_name(r->archive)) {
        r->n_nodes = nodes_of_name(r->archive);
        run_add_gap(r, "The number of nodes (%d) is taken from the archive's file name; nothing in it confirms that.",
                    r->n_nodes);
    }
    int n_with_steps = 0;
    for (int i = 0; i < r->ranks_len; i++)
        n_with_steps += r->ranks[i].n_steps > 0;
    if (!r->n_ranks)
        r->n_ranks = r->has_metadata ? r->ranks_len : n_with_steps;
}

/* "run.tar" -> "run"; the id of a run that has none of its own. */
static const char *id_of_archive(struct run *r)
{
    size_t n = strlen(r->archive);
    static const char *const ends[] = {".tar.zst",          ".tar.gz",        ".tgz",     ".tar",
                                       ".pt.trace.json.gz", ".pt.trace.json", ".json.gz", ".json",
                                       ".sqlite",           ".csv",           ".txt"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t k = strlen(ends[i]);
        if (n > k && strcmp(r->archive + n - k, ends[i]) == 0) {
            n -= k;
            break;
        }
    }
    return dcr_arena_strndup(&r->arena, r->archive, n);
}

static int all_zero_or_absent(const struct run *r, const char *column)
{
    int m = run_metric(column);
    for (size_t i = 0; i < r->n_epochs; i++)
        if (!isnan(r->epochs[i].value[m]) && r->epochs[i].value[m] != 0)
            return 0;
    return 1;
}

static void forget_column(struct run *r, const char *column)
{
    int m = run_metric(column), had_value = 0;
    for (size_t i = 0; i < r->n_epochs; i++) {
        had_value |= !isnan(r->epochs[i].value[m]);
        r->epochs[i].value[m] = NAN;
    }
    if (had_value)
        run_add_gap(r, "metrics.csv has %s = 0 in every epoch and there is no monitor of it: that is not measured.",
                    column);
}

static void name_gaps(struct run *r)
{
    int n_steps = 0, n_gpus = 0, n_cpu = 0;
    for (int i = 0; i < r->ranks_len; i++)
        n_steps += r->ranks[i].n_steps > 0;
    for (int i = 0; i < r->nodes_len; i++) {
        n_gpus += r->nodes[i].n_gpus;
        n_cpu += r->nodes[i].cpu_percent.n > 0;
    }
    if (!r->has_manifest)
        run_add_gap(r, "There is no manifest.json: nothing could be checked against sizes and checksums.");
    if (!r->has_metadata)
        run_add_gap(r, "There is no job_metadata.json: command, hosts and environment are unknown.");
    if (!n_steps)
        run_add_gap(r,
                    "No steps were recorded (no steps.csv, no trace with step ranges): where the time of a step goes "
                    "is unknown.");
    if (!r->has_metrics)
        run_add_gap(r, "There is no metrics.csv: losses and epochs are unknown.");
    if (!n_cpu)
        run_add_gap(r, "There is no CPU monitor: CPU and memory use are unknown.");
    if (r->n_ranks && n_steps && n_steps < r->n_ranks)
        run_add_gap(r, "Steps were recorded on %d of %d ranks.", n_steps, r->n_ranks);
    if (!n_gpus && all_zero_or_absent(r, "gpu_util_avg"))
        forget_column(r, "gpu_util_avg");
    if (!n_cpu && all_zero_or_absent(r, "cpu_util_avg"))
        forget_column(r, "cpu_util_avg");
}

/* The members have passed: is it a run, and what does it lack? */
static int finish(struct reading *g, struct dcr_err *err)
{
    struct run *r = g->run;
    int rc = r->has_manifest ? check_manifest(g, err) : 0;
    if (rc)
        return rc;
    if (r->n_members == (size_t)r->has_manifest)
        return dcr_err_set(err, DCR_FAIL, "cannot use '%s': the %s holds no files", g->path,
                           g->is_folder ? "folder" : "archive");
    step_rows_finish(r, g->rows);
    int is_ours = r->has_metrics || r->has_metadata || r->has_manifest || r->ranks_len > 0;
    run_take_trace_steps(r);
    find_sizes(g);
    guess_node_kind(r);
    if (!*r->run_id)
        r->run_id = id_of_archive(r);
    if (!is_ours && g->n_foreign == 0) {
        if (g->n_failed && err)
            *err = g->first_failure;
        if (g->n_failed)
            return DCR_FAIL;
        if (g->is_folder)
            return dcr_err_set(
                err, DCR_FAIL,
                "cannot use '%s': it holds no run, and nothing here knows what '%.200s'%s; the manual lists the "
                "kinds of files",
                r->archive, g->first_unknown ? g->first_unknown : "", g->n_unknown > 1 ? " and others are" : " is");
        return dcr_err_set(
            err, DCR_FAIL,
            "cannot use '%s': it holds no metrics.csv, no steps and no trace; is it the archive of a run?", g->path);
    }
    if (g->n_unknown)
        run_add_gap(r, "%d %s not read, since nothing here knows that kind of file: '%.200s'%s.", g->n_unknown,
                    g->n_unknown == 1 ? "file was" : "files were", g->first_unknown,
                    g->n_unknown > 1 ? " and others" : "");
    r->is_foreign = !is_ours;
    if (is_ours)
        name_gaps(r);
    run_sort(r);
    return 0;
}

static struct reading begin(const char *path)
{
    return (struct reading){.run = run_new(path), .path = path, .rows = step_rows_new()};
}

int run_read(struct run **out, const char *path, struct dcr_err *err)
{
    struct reading g = begin(path);
    struct dcr_tar_reader *tar = NULL;
    struct dcr_tar_member member;
    *out = NULL;
    int rc = dcr_tar_open(&tar, path, err);
    if (rc)
        goto out;
    while ((rc = dcr_tar_next(tar, &member, err)) == 0)
        if ((rc = read_member(&g, &member, err)))
            goto out;
    if (rc != DCR_END || (rc = finish(&g, err)))
        goto out;
    *out = g.run;
    g.run = NULL;
out:
    dcr_tar_close(tar);
    step_rows_free(g.rows);
    run_free(g.run);
    return rc;
}

/* One plain file as if it were a member. */
static int read_plain(struct reading *g, const char *root, const char *name, struct dcr_err *err)
{
    char *path = NULL;
    struct stat st;
    if (asprintf(&path, "%s%s%s", root, *root ? "/" : "", name) < 0)
        return dcr_err_set(err, DCR_FATAL, "out of memory reading '%s'", name);
    int fd = open(path, O_RDONLY | O_CLOEXEC), rc;
    if (fd < 0 || fstat(fd, &st) != 0) {
        rc = dcr_err_sys(err, DCR_FAIL, "cannot read '%s'", path);
    } else {
        struct dcr_tar_member m = {.name = name, .size_bytes = st.st_size, .stream = dcr_stream_fd(&fd, name)};
        rc = read_member(g, &m, err);
    }
    if (fd >= 0)
        close(fd);
    free(path);
    return rc;
}

int run_read_files(struct run **out, const char *label, const char *root, char *const *names, size_t n,
                   struct dcr_err *err)
{
    struct reading g = begin(label);
    g.is_folder = 1;
    g.folder_nodes = nodes_in_path(label);
    int rc = 0;
    *out = NULL;
    for (int pass = 0; pass < 2; pass++) {     /* the manifest first, as in an archive */
        if (pass == 1 && !g.run->has_manifest) /* with it every byte is needed for a checksum */
            g.ahead = ahead_start(root, names, n, g.run->watched ? g.run->watch : NULL);
        for (size_t i = 0; i < n && !rc; i++) {
            g.ahead_at = i;
            if ((strcmp(names[i], DCR_MANIFEST) == 0) == (pass == 0))
                rc = read_plain(&g, root, names[i], err);
        }
    }
    ahead_end(g.ahead);
    if (!rc && !(rc = finish(&g, err))) {
        *out = g.run;
        g.run = NULL;
    }
    step_rows_free(g.rows);
    run_free(g.run);
    return rc;
}
