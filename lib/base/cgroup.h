/* cgroup.h - the control groups of this process that limit its processor time, version 1 or 2. */
#ifndef DCR_CGROUP_H
#define DCR_CGROUP_H

#include <stddef.h>

/** dcr_cgroup_cpu - calls level for the group of this process and every one around it, as far as they can be seen;
 * where the cpu controller is mounted says /proc/self/mounts.
 *  dir           the group's folder; borrows, for the call
 *  quota_cores   of cpu.max, or cpu.cfs_quota_us by cpu.cfs_period_us; 0 = none, or it cannot be read */
void dcr_cgroup_cpu(void (*level)(void *ctx, const char *dir, int is_v2, double quota_cores), void *ctx);

/** dcr_cgroup_mount - mount point of the cpu controller by what /proc/self/mounts holds: of type cgroup2, or cgroup
 * with cpu among its options.
 *  returns  0, or -1 when there is none, or it is longer than n - 1 bytes */
int dcr_cgroup_mount(const char *mounts, int is_v2, char *out, size_t n);
/** dcr_cgroup_path - this process's group below that by what /proc/self/cgroup holds: "0::/path" of version 2, the
 * line with cpu anywhere in its list of version 1 ("3:cpuacct,cpu:/path").
 *  returns  as dcr_cgroup_mount */
int dcr_cgroup_path(const char *cgroup, int is_v2, char *out, size_t n);
/** dcr_cgroup_quota - cores of "quota period": "max 100000" (0), "150000 100000" (1.5).
 *  returns  0 = no limit, or not understood */
double dcr_cgroup_quota(const char *text);

#endif
