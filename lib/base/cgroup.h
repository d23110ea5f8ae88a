/* cgroup.h - the control groups of this process that limit its processor time, version 1 or 2. */
#ifndef DCR_CGROUP_H
#define DCR_CGROUP_H

#include <stdio.h>

/** dcr_cgroup_cpu - calls level for this process's group and for each group around it that can be read.
 * /proc/self/mounts tells where the cpu controller is mounted.
 *  dir           the group's folder; borrows, for the call
 *  quota_cores   from cpu.max, or cpu.cfs_quota_us divided by cpu.cfs_period_us; 0 = none, or it cannot be read */
void dcr_cgroup_cpu(void (*level)(void *ctx, const char *dir, int is_v2, double quota_cores), void *ctx);

/** dcr_cgroup_mount - mount point of the cpu controller, from /proc/self/mounts: type cgroup2, or cgroup with cpu among
 * its options.
 *  returns  0, or -1 when there is none, or it is longer than n - 1 bytes */
int dcr_cgroup_mount(FILE *mounts, int is_v2, char *out, size_t n);
/** dcr_cgroup_path - path of this process's group below that mount point, from /proc/self/cgroup. Version 2 uses the
 * line "0::/path", version 1 the line whose list contains cpu ("3:cpuacct,cpu:/path"). returns  as dcr_cgroup_mount */
int dcr_cgroup_path(FILE *cgroup, int is_v2, char *out, size_t n);
/** dcr_cgroup_quota - cores of "quota period": "max 100000" (0), "150000 100000" (1.5).
 *  returns  0 = no limit, or not understood */
double dcr_cgroup_quota(const char *text);

#endif
