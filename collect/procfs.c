/* procfs.c - see procfs.h. */
#include "collect/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int procfs_read(const char *path, char *out, size_t n, struct dcr_err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return dcr_err_sys(err, DCR_FAIL, "cannot read '%s'", path);
    size_t used = 0;
    ssize_t k = 0;
    while (used + 1 < n && (k = read(fd, out + used, n - 1 - used)) > 0)
        used += (size_t)k;
    if (k < 0)
        dcr_err_sys(err, DCR_FAIL, "cannot read '%s'", path);
    close(fd);
    out[used] = '\0';
    return k < 0 ? DCR_FAIL : (int)used;
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

/* "some avg10=0.00 avg60=0.00 avg300=0.00 total=12345", microseconds */
int procfs_pressure(const char *path, const char *line, uint64_t *ns)
{
    char text[512], rest[200];
    if (procfs_read(path, text, sizeof text, NULL) <= 0)
        return -1;
    procfs_line(text, line, rest, sizeof rest);
    const char *total = strstr(rest, "total=");
    if (!total || total[6] < '0' || total[6] > '9')
        return -1;
    *ns = strtoull(total + 6, NULL, 10) * 1000;
    return 0;
}

/* ---- cgroups ---------------------------------------------------------------------------------- */

/* Mount point of the cpu controller: "cgroup2", or "cgroup" with cpu among its options. */
static int find_mount(const char *mounts, int v2, char *out, size_t n)
{
    char line[1024];
    for (const char *at = mounts; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL) {
        snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
        char *rest = line, *field[4] = {0};
        for (int i = 0; i < 4; i++)
            field[i] = strsep(&rest, " ");
        if (!field[3] || strcmp(field[2], v2 ? "cgroup2" : "cgroup") != 0)
            continue;
        int has_cpu = v2;
        for (char *o = field[3], *end; !has_cpu && o; o = end ? end + 1 : NULL) {
            end = strchr(o, ',');
            size_t len = end ? (size_t)(end - o) : strlen(o);
            has_cpu = len == 3 && strncmp(o, "cpu", 3) == 0;
        }
        if (!has_cpu)
            continue;
        snprintf(out, n, "%s", field[1]);
        return 0;
    }
    return -1;
}

/* This process's path below the mount: "0::/path" (v2) or "3:cpu,cpuacct:/path" (v1). */
static int find_path(const char *cgroup, int v2, char *out, size_t n)
{
    for (const char *at = cgroup; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL) {
        const char *first = strchr(at, ':'), *second = first ? strchr(first + 1, ':') : NULL;
        if (!second)
            return -1;
        size_t len = (size_t)(second - first - 1);
        int fits = v2 ? len == 0 : 0;
        for (const char *c = first + 1; !v2 && c < second && !fits; c += strcspn(c, ",:") + 1)
            fits = strncmp(c, "cpu", 3) == 0 && (c[3] == ',' || c[3] == ':');
        if (!fits)
            continue;
        snprintf(out, n, "%.*s", (int)strcspn(second + 1, "\n"), second + 1);
        return 0;
    }
    return -1;
}

static double quota_of(const char *dir, int v2)
{
    char path[640], text[128];
    if (v2) {
        snprintf(path, sizeof path, "%s/cpu.max", dir);
        if (procfs_read(path, text, sizeof text, NULL) <= 0 || strncmp(text, "max", 3) == 0)
            return 0;
        char *end;
        double quota = strtod(text, &end), period = strtod(end, NULL);
        return period > 0 ? quota / period : 0;
    }
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", dir);
    if (procfs_read(path, text, sizeof text, NULL) <= 0)
        return 0;
    double quota = strtod(text, NULL);
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", dir);
    if (quota <= 0 || procfs_read(path, text, sizeof text, NULL) <= 0)
        return 0;
    double period = strtod(text, NULL);
    return period > 0 ? quota / period : 0;
}

static void look_at_levels(struct cgroup_cpu *c, const char *mount, char *path, int v2)
{
    char dir[512];
    for (;;) {
        snprintf(dir, sizeof dir, "%s%s", mount, strcmp(path, "/") == 0 ? "" : path);
        char stat_path[640];
        snprintf(stat_path, sizeof stat_path, "%s/cpu.stat", dir);
        if (access(stat_path, R_OK) == 0)
            c->has_controller = 1;
        double quota = quota_of(dir, v2);
        if (quota > 0 && c->n_levels < 8 && strlen(stat_path) < sizeof c->stat_path[0]) {
            memcpy(c->stat_path[c->n_levels], stat_path, strlen(stat_path) + 1);
            c->is_v2[c->n_levels++] = v2;
            if (c->quota_cores == 0 || quota < c->quota_cores)
                c->quota_cores = quota;
        }
        char *slash = strrchr(path, '/');
        if (!slash || path[1] == '\0')
            return;
        slash[slash == path] = '\0';
    }
}

void cgroup_cpu_find(struct cgroup_cpu *c)
{
    static const size_t mounts_bytes = 256 << 10;
    *c = (struct cgroup_cpu){0};
    char cgroup[8192], mount[256], path[256];
    char *mounts = malloc(mounts_bytes);
    if (mounts && procfs_read("/proc/self/mounts", mounts, mounts_bytes, NULL) > 0 &&
        procfs_read("/proc/self/cgroup", cgroup, sizeof cgroup, NULL) > 0)
        for (int v2 = 0; v2 <= 1; v2++)
            if (find_mount(mounts, v2, mount, sizeof mount) == 0 && find_path(cgroup, v2, path, sizeof path) == 0)
                look_at_levels(c, mount, path, v2);
    free(mounts);
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
