/* cgroup.c - see cgroup.h. Used by cores.c and the collector. Test: tests/unit/test_lib.c */
#include "lib/base/cgroup.h"

#include <mntent.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 4096 };

double dcr_cgroup_quota(const char *text)
{
    char *end;
    double quota = strtod(text, &end), period = end > text ? strtod(end, NULL) : 0; /* "-1" is no quota */
    return quota > 0 && period > 0 ? quota / period : 0;
}

static int copy(const char *text, char *out, size_t n)
{
    int k = snprintf(out, n, "%s", text);
    return k < 0 || (size_t)k >= n ? -1 : 0;
}

int dcr_cgroup_mount(FILE *mounts, int is_v2, char *out, size_t n)
{
    struct mntent m;
    char line[2 * PATH_BYTES];
    while (getmntent_r(mounts, &m, line, sizeof line))
        if (strcmp(m.mnt_type, is_v2 ? "cgroup2" : "cgroup") == 0 && (is_v2 || hasmntopt(&m, "cpu")))
            return copy(m.mnt_dir, out, n);
    return -1;
}

int dcr_cgroup_path(FILE *cgroup, int is_v2, char *out, size_t n)
{
    char *line = NULL;
    size_t cap = 0;
    int rc = -1;
    while (rc != 0 && getline(&line, &cap, cgroup) > 0) {
        char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;
        if (!path)
            continue;
        *path++ = '\0';
        path[strcspn(path, "\n")] = '\0';
        const struct mntent like = {.mnt_opts = list + 1}; /* names separated by commas, too */
        if (is_v2 ? !list[1] : hasmntopt(&like, "cpu") != NULL)
            rc = copy(path, out, n);
    }
    free(line);
    return rc;
}

static double quota_of(const char *dir, int is_v2)
{
    static const char *const files[2][2] = {{"cpu.cfs_quota_us", "cpu.cfs_period_us"}, {"cpu.max", NULL}};
    char text[256] = "", path[2 * PATH_BYTES + 32];
    size_t n = 0;
    for (int i = 0; i < 2 && files[is_v2][i]; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, files[is_v2][i]);
        FILE *f = fopen(path, "re");
        if (!f)
            return 0;
        n += fread(text + n, 1, sizeof text - 1 - n, f);
        fclose(f);
    }
    return dcr_cgroup_quota(text);
}

void dcr_cgroup_cpu(void (*level)(void *ctx, const char *dir, int is_v2, double quota_cores), void *ctx)
{
    char mount[PATH_BYTES], path[PATH_BYTES], dir[2 * PATH_BYTES];
    FILE *mounts = fopen("/proc/self/mounts", "re"), *cgroup = fopen("/proc/self/cgroup", "re");
    for (int is_v2 = 0; is_v2 <= 1 && mounts && cgroup; is_v2++) {
        rewind(mounts);
        rewind(cgroup);
        if (dcr_cgroup_mount(mounts, is_v2, mount, sizeof mount) != 0 ||
            dcr_cgroup_path(cgroup, is_v2, path, sizeof path) != 0)
            continue;
        for (char *slash = path; slash;) {
            slash = strrchr(path, '/');
            if (slash && !slash[1])
                *slash = '\0'; /* the root, "/" */
            snprintf(dir, sizeof dir, "%s%s", mount, path);
            level(ctx, dir, is_v2, quota_of(dir, is_v2));
            slash = strrchr(path, '/');
            if (slash)
                *slash = '\0';
        }
    }
    if (mounts)
        fclose(mounts);
    if (cgroup)
        fclose(cgroup);
}
