/* members.c - the lists that packing fills: members, ranks, hosts, reasons and files left out. Also copies of files
 * that are still being written, so that the same bytes are hashed, summarised and archived. */
#include "collect/pack/parts.h"

#include "lib/archive/tar.h"
#include "lib/base/fs.h"
#include "lib/base/json_string.h"
#include "lib/trace/trace_end.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- lists ------------------------------------------------------------------------------------- */

void pack_reason(struct pack *p, const char *fmt, ...)
{
    char line[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    json_array_append_new(p->reasons, json_string_kept(line));
}

void pack_leave_out(struct pack *p, const char *name, int64_t size, const char *reason)
{
    json_array_append_new(p->not_packed, json_pack("{s:o, s:I, s:o}", "name", json_string_kept(name), "size",
                                                   (json_int_t)size, "reason", json_string_kept(reason)));
}

void pack_leave_unread(struct pack *p, const char *path, int64_t size)
{
    const char *spool = p->request->spool, *why = strerror(errno);
    size_t n = strlen(spool);
    pack_leave_out(p, path, size, why);
    if (!p->is_spool || strncmp(path, spool, n) != 0 || path[n] != '/')
        return;
    pack_reason(p, "'%s' could not be read: %s", path + n + 1, why);
    p->n_unread++;
}

int64_t pack_bytes(const struct pack *p, enum dcr_role role)
{
    int64_t bytes = 0;
    for (size_t i = 0; i < p->n_members; i++)
        bytes += role == DCR_N_ROLES || p->members[i].role == role ? p->members[i].size : 0;
    return bytes;
}

struct archive_member *pack_member_named(const struct pack *p, const char *name)
{
    for (size_t i = 0; i < p->n_members; i++)
        if (strcmp(p->members[i].name, name) == 0)
            return &p->members[i];
    return NULL;
}

static int has_name(const char *name)
{
    json_t *text = json_string(name);
    json_decref(text);
    return text && dcr_tar_name_is_safe(name);
}

static int is_readable(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    return fd >= 0 && close(fd) == 0;
}

struct archive_member *pack_add(struct pack *p, const char *name, const char *path, const char *bytes,
                                enum dcr_role role, int node, int rank)
{
    struct stat st = {0};
    if (path && lstat(path, &st) != 0)
        return NULL;
    int64_t size = path ? st.st_size : (int64_t)strlen(bytes);
    /* One file with an odd name among the results must not cost the archive. */
    if (!has_name(name)) {
        pack_leave_out(p, path ? path : name, size,
                       "its name has control characters, backslashes or bytes that are not UTF-8");
        return NULL;
    }
    if (path && !is_readable(path)) {
        pack_leave_unread(p, path, size);
        return NULL;
    }
    if (pack_member_named(p, name)) {
        pack_leave_out(p, path ? path : name, size, "another file has this name in the archive");
        return NULL;
    }
    p->members = arena_grow(&p->arena, p->members, p->n_members, &p->cap_members, sizeof *p->members);
    p->members[p->n_members] = (struct archive_member){
        .name = dcr_arena_strdup(&p->arena, name),
        .path = path ? dcr_arena_strdup(&p->arena, path) : NULL,
        .bytes = bytes ? dcr_arena_strdup(&p->arena, bytes) : NULL,
        .size = size,
        .role = role,
        .node = node,
        .rank = rank,
        .is_monitor = p->is_spool && role >= DCR_ROLE_CPU_MONITOR && role <= DCR_ROLE_PROCESS_MONITOR,
    };
    return &p->members[p->n_members++];
}

struct pack_rank *pack_rank_at(struct pack *p, int rank)
{
    size_t i = 0;
    while (i < p->n_ranks && p->ranks[i].rank < rank)
        i++;
    if (i < p->n_ranks && p->ranks[i].rank == rank)
        return &p->ranks[i];
    p->ranks = arena_grow(&p->arena, p->ranks, p->n_ranks, &p->cap_ranks, sizeof *p->ranks);
    memmove(&p->ranks[i + 1], &p->ranks[i], (p->n_ranks - i) * sizeof *p->ranks);
    p->ranks[i] = (struct pack_rank){.rank = rank, .node = -1, .host = ""};
    p->n_ranks++;
    return &p->ranks[i];
}

struct pack_host *pack_host_named(const struct pack *p, const char *name)
{
    for (size_t i = 0; i < p->n_hosts; i++)
        if (strcmp(p->hosts[i].name, name) == 0)
            return &p->hosts[i];
    return NULL;
}

struct pack_host *pack_host_at(struct pack *p, const char *name)
{
    struct pack_host *host = pack_host_named(p, name);
    if (host)
        return host;
    p->hosts = arena_grow(&p->arena, p->hosts, p->n_hosts, &p->cap_hosts, sizeof *p->hosts);
    p->hosts[p->n_hosts] = (struct pack_host){.name = dcr_arena_strdup(&p->arena, name), .node = -1};
    return &p->hosts[p->n_hosts++];
}

/* ---- copies ------------------------------------------------------------------------------------ */

static int copy_bytes(int from, int to, const char *path, struct dcr_err *err)
{
    static char piece[1 << 18];
    ssize_t k;
    while ((k = read(from, piece, sizeof piece)) != 0) {
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return dcr_err_file(err, DCR_FAIL, "cannot read '%s'", path);
        if (dcr_write_all(to, piece, (size_t)k) != 0)
            return dcr_err_sys(err, DCR_FAIL, "cannot copy '%s' beside the archive", path);
    }
    return DCR_OK;
}

/* Copies the older pieces of a trace. A collector that still writes may have removed the first of them since they were
 * listed, or renamed the newest one. That one is open here and is not copied twice. */
static int copy_older(const struct archive_member *m, int newest, int to, struct dcr_err *err)
{
    enum { MORE = 64 }; /* room for pieces that appear meanwhile */
    char path[PATH_MAX + 16];
    int rc = DCR_OK;
    int64_t end = dct_blocks_before(newest);
    for (uint32_t i = m->first_piece; end && rc == 0 && i < m->first_piece + m->n_pieces + MORE; i++) {
        snprintf(path, sizeof path, "%s.%" PRIu32, m->path, i);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            continue;
        if (dct_blocks_before(fd) < end)
            rc = copy_bytes(fd, to, path, err);
        close(fd);
    }
    return rc;
}

static int copy_member(struct pack *p, struct archive_member *m, struct dcr_err *err)
{
    char name[64];
    int from = open(m->path, O_RDONLY | O_CLOEXEC), to = -1;
    if (from < 0)
        return dcr_err_file(err, DCR_FAIL, "cannot read '%s'", m->path);
    int rc = archive_nameless(p->request->output, &to, err);
    if (rc == 0 && m->role == DCR_ROLE_TRACE)
        rc = copy_older(m, from, to, err);
    if (rc == 0)
        rc = copy_bytes(from, to, m->path, err);
    close(from);
    if (rc) {
        if (to >= 0)
            close(to);
        return rc;
    }
    snprintf(name, sizeof name, "/proc/self/fd/%d", to);
    m->path = dcr_arena_strdup(&p->arena, name);
    m->copy_fd = to;
    return DCR_OK;
}

int pack_copy(struct pack *p, struct dcr_err *err)
{
    struct rlimit files; /* each copy needs a descriptor */
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
    for (size_t i = 0; i < p->n_members; i++) {
        struct archive_member *m = &p->members[i];
        int is_due = p->is_copied || m->n_pieces;
        int rc = is_due && m->path && !m->copy_fd ? copy_member(p, m, err) : DCR_OK;
        if (rc)
            return rc;
    }
    return DCR_OK;
}

void pack_copy_release(struct pack *p)
{
    for (size_t i = 0; i < p->n_members; i++)
        if (p->members[i].copy_fd > 0)
            close(p->members[i].copy_fd);
}
