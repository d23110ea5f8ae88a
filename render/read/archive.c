/* archive.c - run_read, run_read_files: hand members of a tar, or plain files, to their parsers. finish.c checks the
 * result. */
#include "render/read/read.h"

#include "lib/base/cores.h"
#include "lib/base/fs.h"
#include "lib/base/hash.h"
#include "lib/archive/member.h"
#include "lib/archive/tar.h"
#include "render/import/import.h"
#include "render/read/reading.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- members ------------------------------------------------------------------------------------ */

/* The same for any folder on a path: "results/4node/run_17". */
static int nodes_in_path(const char *path)
{
    int n = reading_nodes(path);
    for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/'))
        n = reading_nodes(slash + 1) ? reading_nodes(slash + 1) : n;
    return n;
}

static int is_optional(enum dcr_role role)
{
    return role == DCR_ROLE_TRACE || role == DCR_ROLE_SUMMARY || role == DCR_ROLE_CPU_MONITOR ||
           role == DCR_ROLE_GPU_MONITOR || role == DCR_ROLE_NET_MONITOR || role == DCR_ROLE_DISK_MONITOR ||
           role == DCR_ROLE_MEMORY_MONITOR || role == DCR_ROLE_PROCESS_MONITOR || role == DCR_ROLE_CLOCK_MONITOR ||
           role == DCR_ROLE_METADATA_TEXT || role == DCR_ROLE_CALIBRATION || role == DCR_ROLE_FOREIGN ||
           role == DCR_ROLE_LOG || role == DCR_ROLE_OTHER;
}

/* The summary of a trace that follows, of which only the newest events are kept. */
static int keep_past(struct reading *g, const char *trace, struct dcr_stream *s, struct dcr_err *err)
{
    struct past *p = dcr_arena_alloc(&g->run->arena, sizeof *p);
    *p = (struct past){.trace = trace, .next = g->past};
    int rc = summary_read(&p->summary, &g->run->arena, s, err);
    if (rc == 0)
        g->past = p;
    return rc;
}

static const struct summary *past_of(const struct reading *g, const char *trace)
{
    const struct past *p = g->past;
    while (p && strcmp(p->trace, trace) != 0)
        p = p->next;
    return p ? &p->summary : NULL;
}

/* A summary replaces a missing trace. Beside its trace it adds nothing. */
static int read_summary(struct reading *g, const char *name, int rank, struct dcr_stream *s, struct dcr_err *err)
{
    char trace[4400];
    const struct manifest_member *of = NULL;
    if (!g->run->has_manifest) {
        run_add_gap(g->run, PHRASE(SUMMARIES_UNREAD));
        return 0;
    }
    if (dcr_trace_name(name, trace, sizeof trace) == 0)
        of = manifest_find(&g->manifest, trace);
    if (of)
        return of->is_cut ? keep_past(g, of->name, s, err) : 0;
    return summary_member_read(g->run, rank, s, err);
}

/* Is it a program's own JSON or log, kept with the run, and so large that it was taken for a trace until it was read?
 */
static int is_no_trace(const struct reading *g, enum dcr_role role, int rc, const struct dcr_err *err)
{
    return rc == DCR_FAIL && g->run->has_manifest && role != DCR_ROLE_FOREIGN &&
           (err->kind == DCR_ERR_NO_TRACE || err->kind == DCR_ERR_NO_EVIDENCE);
}

/* A README, a log of the program ... in the folder: listed, but nothing is missing without it. */
static int is_none(struct reading *g, const char *name, enum dcr_role role, int rc, const struct dcr_err *err)
{
    if (!rc || err->kind != DCR_ERR_NO_EVIDENCE || !g->is_folder || role == DCR_ROLE_FOREIGN)
        return 0;
    if (g->n_none++ == 0)
        g->first_none = dcr_arena_strdup(&g->run->arena, name);
    if (rc == DCR_FAIL && !*g->why_none.text)
        g->why_none = *err;
    return g->is_none = 1;
}

/* Evidence of other tools, known by its content. Unknown files are named only if they were meant for dcreport. */
static int read_foreign(struct reading *g, const char *name, enum dcr_role role, struct dcr_stream *s,
                        struct dcr_err *err)
{
    dcr_cores_work(-1); /* waits, or is counted there */
    int rc = g->ahead ? ahead_take(g->ahead, g->ahead_at, g->run, err) : DCR_END;
    dcr_cores_work(1);
    rc = rc == DCR_END ? import_foreign(g->run, name, s, err) : rc;
    g->n_foreign += rc == 0;
    if (is_no_trace(g, role, rc, err) || is_none(g, name, role, rc, err))
        return 0;
    if (rc != DCR_END)
        return rc;
    if (!g->is_folder && role != DCR_ROLE_FOREIGN)
        return 0;
    g->run->told.role = "of no known kind, not read";
    if (g->n_unknown++ == 0)
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
            g->is_second_metrics = 1; /* it lies in the program's own folder, beside the one at the top */
            return 0;
        }
        if (g->metrics_member)
            return dcr_err_set(err, DCR_FAIL,
                               "cannot read '%s': it holds more than one run ('%s' and '%s'); pack each run folder by "
                               "itself",
                               g->path, g->metrics_member, name);
        g->metrics_member = dcr_arena_strdup(&r->arena, name);
        return metrics_read(r, s, err);
    case DCR_ROLE_STEPS: {
        int rc = steps_read(r, g->rows, rank, s, err);
        g->has_steps |= rc == 0;
        return rc;
    }
    case DCR_ROLE_TRACE:
        return trace_read(r, rank, past_of(g, name), s, err);
    case DCR_ROLE_SUMMARY:
        return read_summary(g, name, rank, s, err);
    case DCR_ROLE_CPU_MONITOR:
        g->has_cpu_monitor = 1;
        /* fall through */
    case DCR_ROLE_GPU_MONITOR:
    case DCR_ROLE_NET_MONITOR:
    case DCR_ROLE_DISK_MONITOR:
    case DCR_ROLE_MEMORY_MONITOR:
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
                                                     .role = g->is_none     ? RUN_NO_EVIDENCE
                                                             : r->told.role ? r->told.role
                                                                            : texts[role],
                                                     .columns_read = r->told.columns_read,
                                                     .columns_unread = r->told.columns_unread,
                                                     .sha256 = dcr_arena_strdup(&r->arena, sha256),
                                                     .size_bytes = size};
    g->is_none = 0;
}

/* A copy of the metrics.csv at the top adds nothing. Another one differs and is not used. */
static void check_second_metrics(struct reading *g, const char *name, const char *sha256)
{
    const struct run *r = g->run;
    for (size_t i = 0; g->is_second_metrics && i < r->n_members; i++)
        if (strcmp(r->members[i].name, DCR_METRICS) == 0 && strcmp(r->members[i].sha256, sha256) != 0)
            run_add_gap(g->run, PHRASE(METRICS_NESTED, slot_name(name)));
    g->is_second_metrics = 0;
}

/* Files that users put beside those of an unpacked archive are mostly no evidence (a README), and then nothing is
 * missing. */
static int is_beside(const struct reading *g, enum dcr_role role)
{
    return g->is_folder && (role == DCR_ROLE_OTHER || role == DCR_ROLE_LOG);
}

/* Was it written by a collector or a training program, and is it not a description of other files? */
static int is_of_a_collector(enum dcr_role role)
{
    return role != DCR_ROLE_OTHER && role != DCR_ROLE_LOG && role != DCR_ROLE_FOREIGN && role != DCR_ROLE_METADATA &&
           role != DCR_ROLE_METADATA_TEXT;
}

static int read_member(struct reading *g, struct dcr_tar_member *m, struct dcr_err *err)
{
    struct run *r = g->run;
    char sha256[DCR_SHA256_HEX], shown[8448];
    int node, rank, is_manifest = strcmp(m->name, DCR_MANIFEST) == 0, is_read = !is_manifest, n_foreign = g->n_foreign;
    enum dcr_role role = dcr_role_of(m->name, &node, &rank);
    if (g->is_table)
        role = DCR_ROLE_METRICS;
    const struct manifest_member *entry = manifest_find(&g->manifest, m->name);
    if (entry) {
        role = entry->role;
        node = entry->node >= 0 ? entry->node : node;
        rank = entry->rank >= 0 ? entry->rank : rank;
    } else if (r->has_manifest && !is_manifest && !is_beside(g, role)) {
        run_add_gap(r, PHRASE(MEMBER_UNLISTED, slot_name(m->name)));
        role = DCR_ROLE_OTHER;
        is_read = 0;
    }
    g->n_ours += is_read && is_of_a_collector(role);
    if (!g->folder_nodes && strchr(m->name, '/'))
        g->folder_nodes = reading_nodes(m->name);
    struct dcr_hashed h;
    snprintf(shown, sizeof shown, "%s: %s", r->archive, m->name);
    struct dcr_stream s = {m->stream.read, m->stream.ctx, shown};
    int is_hashed = !g->is_folder || r->has_manifest || is_manifest; /* else there is no checksum to compare with */
    if (is_hashed)
        s = dcr_stream_hashed(&h, &m->stream, shown);
    struct dcr_err parse_err = {0}, stream_err = {0};
    r->told = (struct run_member){0};
    dcr_cores_work(1);
    int rc = is_manifest ? manifest_read(r, &g->manifest, &s, &parse_err)
             : is_read   ? parse(g, m->name, role, node, rank, &s, &parse_err)
                         : 0;
    if (r->has_manifest && !is_manifest && !entry && g->n_foreign > n_foreign)
        run_add_gap(r, PHRASE(FILE_UNLISTED, slot_name(m->name)), PHRASE(FILE_UNLISTED_READ));
    int drained = is_hashed ? dcr_stream_drain(&s, &stream_err) : 0;
    dcr_cores_work(-1);
    sha256[0] = '\0';
    if (is_hashed)
        dcr_sha256_finish(h.hash, sha256);
    int64_t n_bytes = is_hashed ? h.n_bytes : m->size_bytes;
    if (drained) { /* a cut or damaged tar explains any failure of the parser */
        if (err)
            *err = stream_err;
        return DCR_FAIL;
    }
    if (is_manifest)
        r->manifest_sha256 = dcr_arena_strdup(&r->arena, sha256);
    else if (reading_check(g, m->name, n_bytes, sha256, err))
        return DCR_FAIL;
    if (rc && rc != DCR_FATAL && !is_manifest && is_optional(role)) {
        char said[sizeof parse_err.text];
        dcr_err_sentences(&parse_err, said, sizeof said);
        run_add_gap(r, PHRASE(LEFT_OUT_FILE, slot_name(said)));
        r->told = (struct run_member){.role = "not read"};
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

/* ---- archives and folders -------------------------------------------------------------------------- */

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
    if (rc != DCR_END || (rc = reading_finish(&g, err)))
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
        rc = dcr_err_file(err, DCR_FAIL, "cannot read '%s'", path);
    } else {
        char head[METRICS_HEAD];
        ssize_t n = g->is_alone ? pread(fd, head, sizeof head, 0) : 0;
        g->is_table = n > 0 && metrics_is(head, (size_t)n);
        struct dcr_tar_member m = {.name = name, .size_bytes = st.st_size, .stream = dcr_stream_fd(&fd, name)};
        rc = read_member(g, &m, err);
    }
    if (fd >= 0)
        close(fd);
    free(path);
    return rc;
}

int run_read_files(struct run **out, const char *label, const char *root, char *const *names,
                   struct trace_ahead *const *ready, size_t n, struct dcr_err *err)
{
    struct reading g = begin(label);
    g.is_folder = 1;
    g.is_alone = n == 1;
    g.folder_nodes = g.is_alone && reading_nodes(dcr_last_part(label)) ? 0 : nodes_in_path(label);
    int rc = 0;
    *out = NULL;
    for (int pass = 0; pass < 2; pass++) {     /* the manifest first, as in an archive */
        if (pass == 1 && !g.run->has_manifest) /* with a manifest, every byte is needed for a checksum */
            g.ahead = ahead_start(root, names, ready, n, g.run->watched ? g.run->watch : NULL);
        for (size_t i = 0; i < n && !rc; i++) {
            g.ahead_at = i;
            if ((strcmp(names[i], DCR_MANIFEST) == 0) == (pass == 0))
                rc = read_plain(&g, root, names[i], err);
        }
    }
    ahead_end(g.ahead);
    if (!rc && !(rc = reading_finish(&g, err))) {
        *out = g.run;
        g.run = NULL;
    }
    step_rows_free(g.rows);
    run_free(g.run);
    return rc;
}
