/* pack_copy.c - files that somebody still writes into are packed as copies: hashed, summarised and archived are then
 * the same bytes. */
#include "collect/pack/parts.h"

#include "lib/base/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

int pack_nameless(const struct pack *p, int *fd, struct dcr_err *err)
{
    char dir[PATH_MAX];
    const char *output = p->request->output, *slash = strrchr(output, '/');
    int n = slash ? (int)(slash - output) : 0;
    snprintf(dir, sizeof dir, "%.*s", slash && n == 0 ? 1 : slash ? n : 1, slash ? output : ".");
    *fd = dcr_open_nameless(dir);
    return *fd >= 0 ? DCR_OK : dcr_err_sys(err, DCR_FAIL, "cannot write in '%s'", dir);
}

static int copy_bytes(int from, int to, const char *path, struct dcr_err *err)
{
    static char piece[1 << 18];
    ssize_t k;
    while ((k = read(from, piece, sizeof piece)) != 0) {
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return dcr_err_sys(err, DCR_FAIL, "cannot read '%s'", path);
        for (ssize_t done = 0, w; done<k; done += w> 0 ? w : 0)
            if ((w = write(to, piece + done, (size_t)(k - done))) < 0 && errno != EINTR)
                return dcr_err_sys(err, DCR_FAIL, "cannot copy '%s' beside the archive", path);
    }
    return DCR_OK;
}

static int copy_member(struct pack *p, struct archive_member *m, struct dcr_err *err)
{
    char name[64];
    int from = open(m->path, O_RDONLY | O_CLOEXEC), to = -1;
    if (from < 0)
        return dcr_err_sys(err, DCR_FAIL, "cannot read '%s'", m->path);
    int rc = pack_nameless(p, &to, err);
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
    struct rlimit files; /* a descriptor each */
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
    for (size_t i = 0; i < p->n_members; i++) {
        struct archive_member *m = &p->members[i];
        int rc = m->path && !m->copy_fd ? copy_member(p, m, err) : DCR_OK;
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
