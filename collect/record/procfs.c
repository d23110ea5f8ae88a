/* procfs.c - see procfs.h. */
#include "collect/record/procfs.h"

#include "lib/base/cgroup.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* enough: a first read of fewer bytes was the whole file. The kernel returns at most a page at a time. */
static int fill(int fd, const char *path, char *out, size_t n, size_t enough, struct dcr_err *err)
{
    size_t used = 0;
    ssize_t k = 0;
    while (fd >= 0 && used + 1 < n && (k = pread(fd, out + used, n - 1 - used, (off_t)used)) > 0) {
        used += (size_t)k;
        if (used < enough)
            break;
    }
    out[used] = '\0';
    return fd < 0 || k < 0 ? dcr_err_sys(err, DCR_FAIL, "cannot read '%s'", path) : (int)used;
}

int procfs_read(const char *path, char *out, size_t n, struct dcr_err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC), rc = fill(fd, path, out, n, 0, err);
    if (fd >= 0)
        close(fd);
    return rc;
}

int procfs_reread(int *fd, const char *path, char *out, size_t n, struct dcr_err *err)
{
    if (*fd < 0)
        *fd = open(path, O_RDONLY | O_CLOEXEC);
    return fill(*fd, path, out, n, 1024, err);
}

static const char *find_line(const char *text, const char *key)
{
    size_t n = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, n) == 0 && strchr(": \t\n", line[n]))
            return line + n;
    }
    return NULL;
}

int procfs_field(const char *text, const char *key, uint64_t *out)
{
    const char *at = find_line(text, key);
    if (!at)
        return -1;
    at += strspn(at, ": \t");
    if (*at < '0' || *at > '9')
        return -1;
    *out = strtoull(at, NULL, 10);
    return 0;
}

void procfs_line(const char *text, const char *key, char *out, size_t n)
{
    const char *at = find_line(text, key);
    out[0] = '\0';
    if (!at || n == 0)
        return;
    at += strspn(at, ": \t");
    size_t len = strcspn(at, "\n");
    while (len && (at[len - 1] == ' ' || at[len - 1] == '\t'))
        len--;
    snprintf(out, n, "%.*s", (int)len, at);
}

int procfs_stat(const char *text, struct procfs_stat *out)
{
    /* The command's name is in parentheses and may hold any character, even parentheses. */
    const char *at = strrchr(text, ')');
    return at && sscanf(at + 1,
                        " %c %d %*d %*d %*d %*d %*u %" SCNu64 " %*u %" SCNu64 " %*u %" SCNu64 " %" SCNu64
                        " %*d %*d %*d %*d %*d %*d %" SCNu64 " %*u %" SCNd64,
                        &out->state, &out->parent, &out->minor, &out->major, &out->user, &out->system, &out->begun,
                        &out->rss) == 8
               ? 0
               : -1;
}

/* "some avg10=0.00 avg60=0.00 avg300=0.00 total=12345", microseconds */
int procfs_pressure(const char *text, const char *line, uint64_t *ns)
{
    char rest[200];
    procfs_line(text, line, rest, sizeof rest);
    const char *total = strstr(rest, "total=");
    if (!total || total[6] < '0' || total[6] > '9')
        return -1;
    *ns = strtoull(total + 6, NULL, 10) * 1000;
    return 0;
}

/* ---- cgroups ---------------------------------------------------------------------------------- */

static void take_level(void *ctx, const char *dir, int is_v2, double quota_cores)
{
    struct cgroup_cpu *c = ctx;
    char stat_path[640];
    int n = snprintf(stat_path, sizeof stat_path, "%s/cpu.stat", dir);
    if (n < 0 || (size_t)n >= sizeof stat_path)
        return;
    if (access(stat_path, R_OK) == 0)
        c->has_controller = 1;
    if (!(quota_cores > 0) || c->n_levels >= 8 || (size_t)n >= sizeof c->stat_path[0])
        return;
    memcpy(c->stat_path[c->n_levels], stat_path, (size_t)n + 1);
    c->is_v2[c->n_levels++] = is_v2;
    if (c->quota_cores == 0 || quota_cores < c->quota_cores)
        c->quota_cores = quota_cores;
}

void cgroup_cpu_find(struct cgroup_cpu *c)
{
    *c = (struct cgroup_cpu){0};
    dcr_cgroup_cpu(take_level, c);
}

int cgroup_cpu_throttled(const struct cgroup_cpu *c, uint64_t *throttled_ns, uint64_t *n, struct dcr_err *err)
{
    *throttled_ns = *n = 0;
    if (!c->has_controller)
        return dcr_err_set(err, DCR_FAIL, "no cpu controller of cgroups is visible");
    for (int i = 0; i < c->n_levels; i++) {
        char text[1024];
        uint64_t count = 0, time = 0;
        int k = procfs_read(c->stat_path[i], text, sizeof text, err);
        if (k < 0)
            return k;
        if (procfs_field(text, "nr_throttled", &count) != 0 ||
            procfs_field(text, c->is_v2[i] ? "throttled_usec" : "throttled_time", &time) != 0)
            return dcr_err_set(err, DCR_FAIL, "'%s' does not count throttling", c->stat_path[i]);
        *n += count;
        *throttled_ns += c->is_v2[i] ? time * 1000 : time;
    }
    return DCR_OK;
}
