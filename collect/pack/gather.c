/* gather.c - gathers the files of the spool and of adopted folders, and decides which member each one becomes. Links
 * and other things that are not plain files are never followed or packed, only listed. */
#include "collect/drain/drain.h"
#include "collect/pack/parts.h"

#include "collect/record/spool_layout.h"
#include "lib/base/fs.h"
#include "lib/archive/foreign.h"
#include "lib/archive/member.h"
#include "lib/archive/rank.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_DEPTH = 16 };

/* ---- names ------------------------------------------------------------------------------------ */

/* Checkpoints are large and private to the program, and do not help to explain its speed. */
static int is_checkpoint(const char *name)
{
    static const char *const ends[] = {".ckpt", ".pt", ".pth", ".safetensors"};
    if (strncmp(name, "checkpoint", 10) == 0 || strstr(name, "/checkpoint"))
        return 1;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (dcr_ends_with(name, ends[i]))
            return 1;
    return 0;
}

/* ---- walking ---------------------------------------------------------------------------------- */

static int is_same(const char *path, const struct stat *file)
{
    struct stat st;
    return stat(path, &st) == 0 && st.st_dev == file->st_dev && st.st_ino == file->st_ino;
}

/* The old archive, which is replaced, may lie in the folder that is packed. A results folder inside the spool is
 * gathered once, by pack_adopt. */
static int is_elsewhere(const struct pack *p, const struct stat *st)
{
    int is_adopted = 0;
    for (size_t i = 0; i < p->request->n_adopt && S_ISDIR(st->st_mode); i++)
        is_adopted |= is_same(p->request->adopt[i], st);
    return is_adopted || (S_ISREG(st->st_mode) && is_same(p->request->output, st));
}

typedef void (*file_fn)(struct pack *p, const char *name, const char *path, const struct stat *st);

static void add_spool_file(struct pack *p, const char *name, const char *path, const struct stat *st);

static int begins(const char *name, const char *beginning)
{
    return strncmp(name, beginning, strlen(beginning)) == 0;
}

static int is_spool_entry(const char *name)
{
    return strcmp(name, SPOOL_LAUNCHER) == 0 || dcr_name_number(name, strlen(name), "rank") >= 0 ||
           begins(name, SPOOL_HOST_PREFIX);
}

/* The spool may be a folder with other files. Files that no collector wrote do not belong to the run unless they are
 * adopted. */
static int is_foreign(const struct pack *p, const char *name)
{
    return p->is_watched && !is_spool_entry(name) && strcmp(name, SPOOL_LAUNCHER_DIR) != 0 &&
           strcmp(name, DCR_CALIBRATION) != 0 && !begins(name, DRAIN_LEFT_PREFIX) && !dcr_ends_with(name, ".partial");
}

/* Such a link holds a fact for describe.c. It is not packed. */
static int is_link_of_rank(const char *name)
{
    return begins(name, DCR_RANK_LINK) || begins(name, SPOOL_END_LINK) || begins(name, SPOOL_RAISED_LINK);
}

/* Call f for every plain file below dir, names sorted; name is relative to the first dir.
 *  errors   dir itself cannot be listed; errno is the reason */
static int walk(struct pack *p, const char *dir, const char *prefix, int depth, file_fn f, struct dcr_err *err)
{
    char **names = NULL;
    size_t n = 0;
    int rc = dcr_list_dir(dir, &names, &n, err);
    for (size_t i = 0; i < n; i++) {
        char path[PATH_MAX], name[PATH_MAX];
        struct stat st;
        int a = snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        int b = snprintf(name, sizeof name, "%s%s", prefix, names[i]);
        if (a < 0 || (size_t)a >= sizeof path || b < 0 || (size_t)b + 2 >= sizeof name) {
            pack_leave_out(p, names[i], 0, "the name is too long");
            continue;
        }
        if (lstat(path, &st) != 0)
            continue; /* another process removed it meanwhile */
        int is_dir = S_ISDIR(st.st_mode), is_file = S_ISREG(st.st_mode);
        if (is_elsewhere(p, &st) || (S_ISLNK(st.st_mode) && depth == 0 && is_link_of_rank(names[i]))) {
            continue;
        } else if (depth == 0 && f == add_spool_file && is_foreign(p, names[i])) {
            pack_leave_out(p, path, is_file ? st.st_size : 0,
                           "no collector wrote it; --adopt packs what the program left");
        } else if (is_dir && depth < MAX_DEPTH) {
            memcpy(name + b, "/", 2);
            if (walk(p, path, name, depth + 1, f, NULL) != 0)
                pack_leave_unread(p, path, 0);
        } else if (is_file) {
            f(p, name, path, &st);
        } else {
            pack_leave_out(p, path, 0, is_dir ? "folders are nested too deeply" : "not a plain file");
        }
    }
    dcr_free_names(names, n);
    return rc;
}

/* ---- our own spool ---------------------------------------------------------------------------- */

/* A record that was being replaced during a power failure is no reason to refuse the rest. */
static json_t *read_record(struct pack *p, const char *path)
{
    json_error_t why;
    json_t *o = json_load_file(path, JSON_REJECT_DUPLICATES, &why);
    if (json_is_object(o))
        return o;
    struct stat st;
    if (stat(path, &st) == 0 && st.st_size > 0)
        pack_reason(p, "the record '%s' cannot be read: %s", path, o ? "no JSON object" : why.text);
    json_decref(o);
    return NULL;
}

static void add_host_file(struct pack *p, const char *name, const char *path)
{
    const char *slash = strchr(name, '/');
    size_t prefix = strlen(SPOOL_HOST_PREFIX);
    char *host_name = dcr_arena_strndup(&p->arena, name + prefix, (size_t)(slash - name) - prefix);
    struct pack_host *host = pack_host_at(p, host_name);
    if (strcmp(slash + 1, SPOOL_HOST) == 0) {
        host->facts = read_record(p, path);
        return;
    }
    /* The member's name needs the node's number, which describe.c assigns later. */
    int node, rank;
    struct archive_member *m = pack_add(p, name, path, NULL, dcr_role_of(slash + 1, &node, &rank), -1, -1);
    if (m)
        m->host = host->name;
}

/* The name of a trace or summary whose process left its rank by a link: below that rank, if no other file has that
 * name. */
static const char *name_by_link(struct pack *p, const char *name, const char *path)
{
    const char *file = strchr(name, '/');
    const char *prefix = file && begins(file, "/summary-") ? "/summary-" : "/trace-";
    char spool[PATH_MAX], there[PATH_MAX];
    if (!file || !begins(file, prefix))
        return name;
    size_t root = strlen(path) - strlen(name);
    memcpy(spool, path, root);
    spool[root] = '\0';
    int rank = rank_by_link(spool, strtol(file + strlen(prefix), NULL, 10));
    int n = rank < 0 ? 0 : snprintf(there, sizeof there, "%srank%d%s", spool, rank, file);
    return n > 0 && (size_t)n < sizeof there && access(there, F_OK) != 0 ? dcr_arena_strdup(&p->arena, there + root)
                                                                         : name;
}

/* The number of an older piece of a trace ("rank0/trace-7.dct.12"), 0 = another file; *n: length of the trace's own
 * name. */
static uint32_t piece_of(const char *name, size_t *n)
{
    const char *dot = strrchr(name, '.');
    *n = dot ? (size_t)(dot - name) : 0;
    int k = *n > 4 && strncmp(dot - 4, ".dct", 4) == 0 ? dcr_name_number(dot, strlen(dot), ".") : 0;
    return k > 0 ? (uint32_t)k : 0;
}

/* Names come sorted: the newest piece, which has the trace's name, comes first. */
static void add_piece(struct pack *p, const char *name, uint32_t number, const char *path)
{
    struct archive_member *m = pack_member_named(p, name);
    if (!m) {
        pack_reason(p, "'%s' is a piece of a trace whose newest piece is missing; it is not packed", path);
        return;
    }
    uint32_t end = m->first_piece + m->n_pieces;
    if (!m->n_pieces)
        m->first_piece = number, end = number + 1;
    m->first_piece = number < m->first_piece ? number : m->first_piece;
    end = number >= end ? number + 1 : end;
    m->n_pieces = end - m->first_piece;
}

static void add_spool_file(struct pack *p, const char *name, const char *path, const struct stat *st)
{
    int node, rank;
    size_t n_name;
    name = name_by_link(p, name, path);
    enum dcr_role role = dcr_role_of(name, &node, &rank);
    uint32_t piece = piece_of(name, &n_name);
    if (piece) {
        add_piece(p, dcr_arena_strndup(&p->arena, name, n_name), piece, path);
    } else if (strcmp(name, SPOOL_LAUNCHER) == 0) {
        p->launcher = read_record(p, path);
    } else if (begins(name, DRAIN_LEFT_PREFIX)) {
        return; /* drain_rescue reports a collector that still records */
    } else if (strcmp(name, SPOOL_LAUNCHER_DIR "/process_monitor.csv") == 0) {
        p->launcher_monitor = dcr_arena_strdup(&p->arena, path);
    } else if (dcr_ends_with(name, ".partial")) {
        pack_leave_out(p, path, st->st_size, "a file that was being written");
    } else if (begins(name, SPOOL_HOST_PREFIX) && strchr(name, '/')) {
        add_host_file(p, name, path);
    } else {
        struct pack_rank *r = rank >= 0 ? pack_rank_at(p, rank) : NULL;
        if (r && role == DCR_ROLE_RANK) {
            json_decref(r->record);
            r->record = read_record(p, path);
            if (!r->record)
                return;
        }
        pack_add(p, name, path, NULL, role, node, rank);
    }
}

/* ---- results folders of others ----------------------------------------------------------------- */

/* More than half of the file is holes. An archive would store them as zeros: gigabytes for a file of kilobytes. Few
 * blocks do not prove it: a compressing file system stores few although the file has no holes. */
static int is_sparse(const char *path, const struct stat *st)
{
    const int64_t most = INT64_C(64) << 20;
    if (st->st_size < most || (int64_t)st->st_blocks * 512 > st->st_size / 2)
        return 0;
    int64_t holes = st->st_size;
    off_t data, end = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    while (end >= 0 && (data = lseek(fd, end, SEEK_DATA)) >= 0) {
        end = lseek(fd, data, SEEK_HOLE);
        holes -= end - data;
    }
    int is_whole = errno == ENXIO; /* no more data; another error: the file system does not support SEEK_DATA */
    if (fd >= 0)
        close(fd);
    return is_whole && holes > most && holes > st->st_size / 2;
}

/* Adds a file of another tool. If its name does not identify it, its content may. */
static void add_recognised(struct pack *p, const char *name, const char *path, const struct stat *st,
                           enum dcr_role role, int node, int rank)
{
    const char *kind = NULL;
    if (role == DCR_ROLE_OTHER || role == DCR_ROLE_LOG || role == DCR_ROLE_FOREIGN) {
        kind = dcr_foreign_kind(dcr_foreign_of_file(path));
        role = kind ? DCR_ROLE_FOREIGN : role;
    }
    if (is_sparse(path, st)) {
        char why[200];
        snprintf(why, sizeof why,
                 "a sparse file: %.1f GB long with %.1f MB on disk; an archive would store its full length",
                 (double)st->st_size / 1e9, (double)st->st_blocks * 512 / 1e6);
        pack_leave_out(p, path, st->st_size, why);
        if (role != DCR_ROLE_OTHER && role != DCR_ROLE_LOG) /* evidence that the report does not need */
            pack_reason(p, "'%.300s' is not packed: %s", name, why);
        p->n_sparse++;
        return;
    }
    struct archive_member *m = pack_add(p, name, path, NULL, role, node, rank);
    if (m)
        m->kind = kind;
    p->n_unknown += m && role == DCR_ROLE_OTHER;
}

static void add_results_file(struct pack *p, const char *name, const char *path, const struct stat *st)
{
    int node, rank;
    if (is_checkpoint(name)) {
        pack_leave_out(p, path, st->st_size, "checkpoints are not packed");
        return;
    }
    if (strcmp(name, DCR_MANIFEST) == 0) {
        pack_leave_out(p, path, st->st_size, "the archive gets a manifest of its own");
        return;
    }
    enum dcr_role role = dcr_role_of(name, &node, &rank);
    if (rank >= 0)
        (void)pack_rank_at(p, rank);
    /* Monitors beside metrics.csv are those of the one node that wrote them. */
    if (node < 0 && role >= DCR_ROLE_CPU_MONITOR && role <= DCR_ROLE_MEMORY_MONITOR)
        node = 0;
    add_recognised(p, name, path, st, role, node, rank);
}

/* Is there any file of a run? If all are of unknown kind, this is the wrong folder. */
static int check_results(const struct pack *p, struct dcr_err *err)
{
    for (size_t i = 0; i < p->n_members; i++)
        if (p->members[i].role != DCR_ROLE_OTHER && p->members[i].role != DCR_ROLE_LOG)
            return DCR_OK;
    return dcr_err_set(
        err, DCR_FAIL,
        "'%.300s' does not look like the results of a run: of its %zu file%s ('%.200s'%s) none is "
        "metrics.csv, steps.csv, a monitor, a trace, or evidence of nsys, ncu, the PyTorch profiler, "
        "nvidia-smi, DCGM, nccl-tests, TALP, sacct or the DDP scaling benchmark; give the folder that holds such files",
        p->request->spool, p->n_members, p->n_members == 1 ? "" : "s", p->members[0].name,
        p->n_members > 1 ? " ..." : "");
}

/* Does the folder hold a collector's record? */
static int is_watched(const char *spool, const char *entry)
{
    char path[PATH_MAX];
    struct stat st;
    int n =
        snprintf(path, sizeof path, "%s/%s%s", spool, entry, strcmp(entry, SPOOL_LAUNCHER) == 0 ? "" : "/" SPOOL_RANK);
    return n > 0 && (size_t)n < sizeof path && is_spool_entry(entry) && lstat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* A folder that was unpacked from an archive by tar is refused, because packing it as evidence would lose its nodes. */
static int check_unpacked(const struct pack *p, struct dcr_err *err)
{
    char path[PATH_MAX];
    const char *dir = p->request->spool;
    if (snprintf(path, sizeof path, "%s/" DCR_MANIFEST, dir) >= (int)sizeof path)
        return DCR_OK;
    json_t *o = json_load_file(path, 0, NULL);
    int is_unpacked = strcmp(pack_json_text(o, "format"), DCR_ARCHIVE_FORMAT) == 0;
    json_decref(o);
    return is_unpacked
               ? dcr_err_set(
                     err, DCR_FAIL,
                     "'%s' is an unpacked run archive; put it together again with `(cd %s; find . -type f ! -path "
                     "./" DCR_MANIFEST " | LC_ALL=C sort | tar -cf - " DCR_MANIFEST " -T -) >%s`",
                     dir, dir, p->request->output)
               : DCR_OK;
}

int pack_gather(struct pack *p, struct dcr_err *err)
{
    char **names = NULL;
    size_t n = 0;
    int rc = dcr_list_dir(p->request->spool, &names, &n, err);
    for (size_t i = 0; i < n; i++) {
        p->is_spool |= is_spool_entry(names[i]);
        p->is_watched |= is_watched(p->request->spool, names[i]);
    }
    dcr_free_names(names, n);
    if (rc)
        return rc;
    rc = check_unpacked(p, err);
    if (rc)
        return rc;
    if (n == 0)
        return dcr_err_set(err, DCR_FAIL,
                           "nothing to pack: '%s' is empty; give the folder of `dccollect run --spool`, "
                           "or one of results",
                           p->request->spool);
    rc = walk(p, p->request->spool, "", 0, p->is_spool ? add_spool_file : add_results_file, err);
    if (rc == 0 && !p->is_spool && p->n_members > 0)
        rc = check_results(p, err);
    if (rc || p->n_members > 0 || p->launcher)
        return rc;
    if (p->request->n_adopt == 0)
        return dcr_err_set(
            err, DCR_FAIL,
            "nothing to pack: '%s' holds no evidence of a run; give the folder of `dccollect run --spool`",
            p->request->spool);
    /* If mpirun fails before the first rank, its messages lie among the program's results: an incomplete run. */
    p->is_spool = 1;
    return DCR_OK;
}

/* ---- results of the program ---------------------------------------------------------------------- */

static void adopt_file(struct pack *p, const char *name, const char *path, const struct stat *st)
{
    int node, rank, r;
    char target[PATH_MAX];
    snprintf(target, sizeof target, "%s", name);
    size_t len = strlen(name);
    if (is_checkpoint(name) || dcr_ends_with(name, ".partial")) {
        pack_leave_out(p, path, st->st_size, "checkpoints and unfinished files are not packed");
        return;
    }
    /* Files of an earlier run in the same folder are older. File systems may round times to two seconds. */
    if (p->started_s > 0 && (double)st->st_mtime < p->started_s - 2) {
        pack_leave_out(p, path, st->st_size, "older than the run");
        return;
    }
    if (len > 4 && dcr_ends_with(name, ".csv") && (r = dcr_name_number(name, len - 4, "steps-rank")) >= 0)
        snprintf(target, sizeof target, "rank%d/" DCR_STEPS, r);
    else if (!strchr(name, '/') && (dcr_ends_with(name, ".log") || dcr_ends_with(name, ".txt")) &&
             strcmp(name, DCR_METADATA_TEXT) != 0 && strcmp(name, "sacct_summary.txt") != 0)
        snprintf(target, sizeof target, "log/%s", name);
    enum dcr_role role = dcr_role_of(target, &node, &rank);
    add_recognised(p, target, path, st, role, node, rank);
}

int pack_adopt(struct pack *p, const char *dir, struct dcr_err *err)
{
    struct stat st;
    if (stat(dir, &st) != 0 || !S_ISDIR(st.st_mode)) {
        pack_reason(p, "the program's results are not there: no folder '%s'; check the name given to --adopt", dir);
        return DCR_OK;
    }
    return walk(p, dir, "", 0, adopt_file, err);
}
