/* cores.c - see cores.h. Test: tests/unit/test_lib.c */
#include "lib/cores.h"

#include <limits.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int dcr_cores_of_quota(const char *text)
{
    char *end;
    double quota = strtod(text, &end), period = end > text ? strtod(end, NULL) : 0;
    if (!(quota > 0) || !(period > 0))
        return 0;
    double cores = quota / period;
    return cores >= INT_MAX ? 0 : (int)cores + (cores > (double)(int)cores);
}

/* The first line of a file of one. returns  0; -1: it cannot be read */
static int line_of(const char *dir, const char *name, char *out, int n)
{
    char path[4352];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "re");
    int rc = f && fgets(out, n, f) ? 0 : -1;
    if (f)
        fclose(f);
    return rc;
}

static int quota_of(const char *dir)
{
    char text[128], period[64];
    if (line_of(dir, "cpu.max", text, 64) == 0)
        return dcr_cores_of_quota(text);
    if (line_of(dir, "cpu.cfs_quota_us", text, 64) != 0 || line_of(dir, "cpu.cfs_period_us", period, 64) != 0)
        return 0;
    strncat(text, period, sizeof text - strlen(text) - 1); /* "-1" is no quota */
    return dcr_cores_of_quota(text);
}

/* The group at path below where it is mounted, and all around it. */
static int least_quota(const char *mount, char *path, int cores)
{
    char dir[4224];
    for (;;) {
        snprintf(dir, sizeof dir, "%s%s", mount, path);
        int quota = quota_of(dir);
        cores = quota && quota < cores ? quota : cores;
        char *slash = strrchr(path, '/');
        if (!slash)
            return cores;
        *slash = '\0';
    }
}

/* Lines are "0::/path" of version 2, "4:cpu,cpuacct:/path" of version 1. */
static int within_quotas(int cores)
{
    char line[4200];
    FILE *f = fopen("/proc/self/cgroup", "re");
    while (f && fgets(line, sizeof line, f)) {
        char *first = strchr(line, ':'), *second = first ? strchr(first + 1, ':') : NULL;
        if (!second)
            continue;
        char *path = second + 1;
        *second = '\0';
        path[strcspn(path, "\n")] = '\0';
        if (!first[1])
            cores = least_quota("/sys/fs/cgroup", path, cores);
        else if (strncmp(first + 1, "cpu", 3) == 0 && (first[4] == ',' || !first[4]))
            cores = least_quota("/sys/fs/cgroup/cpu", path, cores);
    }
    if (f)
        fclose(f);
    return cores;
}

int dcr_cores(void)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return within_quotas(n > 0 ? n : 1);
}

static atomic_int n_working;

void dcr_cores_work(int change)
{
    atomic_fetch_add(&n_working, change);
}

int dcr_cores_spare(void)
{
    if (atomic_fetch_add(&n_working, 1) < dcr_cores())
        return 1;
    atomic_fetch_sub(&n_working, 1);
    return 0;
}
