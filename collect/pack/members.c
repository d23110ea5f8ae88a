/* members.c - the lists that packing fills: members, ranks, hosts, reasons, what is left out. See parts.h. */
#include "collect/pack/parts.h"

#include "lib/base/json_string.h"
#include "lib/archive/tar.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void pack_reason(struct pack *p, const char *fmt, ...)
{
    char line[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    json_array_append_new(p->reasons, json_string_kept(line));
}

/* Room for one more item; the program ends on exhausted memory as the arena does. */
static void *grow(void *items, size_t n, size_t *cap, size_t item)
{
    if (n < *cap)
        return items;
    *cap = *cap ? 2 * *cap : 32;
    void *bigger = realloc(items, *cap * item);
    if (!bigger)
        abort();
    return bigger;
}

void pack_leave_out(struct pack *p, const char *name, int64_t size, const char *reason)
{
    json_t *o = json_object();
    json_object_set_new(o, "name", json_string_kept(name));
    json_object_set_new(o, "size", json_integer(size));
    json_object_set_new(o, "reason", json_string_kept(reason));
    json_array_append_new(p->not_packed, o);
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

void pack_add(struct pack *p, const char *name, const char *path, const char *bytes, enum dcr_role role, int node,
              int rank)
{
    struct stat st = {0};
    if (path && lstat(path, &st) != 0)
        return;
    int64_t size = path ? st.st_size : (int64_t)strlen(bytes);
    /* One odd file among the results must not cost the archive. */
    if (!has_name(name)) {
        pack_leave_out(p, path ? path : name, size,
                       "its name has control characters, backslashes or bytes that are not UTF-8");
        return;
    }
    if (path && !is_readable(path)) {
        pack_leave_unread(p, path, size);
        return;
    }
    for (size_t i = 0; i < p->n_members; i++)
        if (strcmp(p->members[i].name, name) == 0) {
            pack_leave_out(p, path ? path : name, size, "another file has this name in the archive");
            return;
        }
    p->members = grow(p->members, p->n_members, &p->cap_members, sizeof *p->members);
    p->members[p->n_members++] = (struct archive_member){
        .name = dcr_arena_strdup(&p->arena, name),
        .path = path ? dcr_arena_strdup(&p->arena, path) : NULL,
        .bytes = bytes ? dcr_arena_strdup(&p->arena, bytes) : NULL,
        .size = size,
        .role = role,
        .node = node,
        .rank = rank,
    };
}

struct pack_rank *pack_rank_at(struct pack *p, int rank)
{
    size_t i = 0;
    while (i < p->n_ranks && p->ranks[i].rank < rank)
        i++;
    if (i < p->n_ranks && p->ranks[i].rank == rank)
        return &p->ranks[i];
    p->ranks = grow(p->ranks, p->n_ranks, &p->cap_ranks, sizeof *p->ranks);
    memmove(&p->ranks[i + 1], &p->ranks[i], (p->n_ranks - i) * sizeof *p->ranks);
    p->ranks[i] = (struct pack_rank){.rank = rank, .node = -1, .host = ""};
    p->n_ranks++;
    return &p->ranks[i];
}

struct pack_host *pack_host_at(struct pack *p, const char *name)
{
    for (size_t i = 0; i < p->n_hosts; i++)
        if (strcmp(p->hosts[i].name, name) == 0)
            return &p->hosts[i];
    p->hosts = grow(p->hosts, p->n_hosts, &p->cap_hosts, sizeof *p->hosts);
    p->hosts[p->n_hosts] = (struct pack_host){.name = dcr_arena_strdup(&p->arena, name), .node = -1};
    return &p->hosts[p->n_hosts++];
}
