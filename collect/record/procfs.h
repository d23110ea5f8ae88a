/* procfs.h - small files of /proc, /sys and cgroups. Readers take the text, so that tests need no kernel. */
#ifndef COLLECT_PROCFS_H
#define COLLECT_PROCFS_H

#include "lib/base/err.h"

#include <stddef.h>
#include <stdint.h>

/** procfs_read - reads a whole file into out as a C string; longer files are cut at n - 1 bytes.
 *  returns  bytes read, or DCR_FAIL */
int procfs_read(const char *path, char *out, size_t n, struct dcr_err *err) DCR_MUST_CHECK;
/** procfs_reread - the same for a file that stays open, because it is read again and again.
 *  fd       -1 at first; then the caller closes it */
int procfs_reread(int *fd, const char *path, char *out, size_t n, struct dcr_err *err) DCR_MUST_CHECK;
/** procfs_field - unsigned number after "key" and blanks or a colon at the beginning of a line.
 *  returns  0, or -1 when there is no such line */
int procfs_field(const char *text, const char *key, uint64_t *out) DCR_MUST_CHECK;
/** procfs_line - copy the trimmed rest of the first line that begins with key (and an optional colon). "" when absent.
 */
void procfs_line(const char *text, const char *key, char *out, size_t n);

/** procfs_stat - what is read of the text of /proc/PID/stat.
 *  returns  0, or -1 when the text is no such line */
struct procfs_stat {
    char state;
    int parent;
    uint64_t minor, major; /* page faults */
    uint64_t user, system; /* ticks */
    uint64_t begun;        /* ticks since boot */
    int64_t rss;           /* pages */
};
int procfs_stat(const char *text, struct procfs_stat *out) DCR_MUST_CHECK;

#define PROCFS_PRESSURE "/proc/pressure/"
/** procfs_pressure - time in ns since boot in which some or all ("full") tasks waited, from the text of a file of
 * /proc/pressure (PSI).
 *  returns  0, or -1 when the text does not have it */
int procfs_pressure(const char *text, const char *line, uint64_t *ns) DCR_MUST_CHECK;

/* ---- CPU limits of this process's cgroup, v1 or v2, all levels up to the root ---- */
struct cgroup_cpu {
    int n_levels; /* levels with a quota */
    int has_controller;
    char stat_path[8][512]; /* cpu.stat of these levels */
    int is_v2[8];
    double quota_cores; /* the smallest, 0 = none */
};
/** cgroup_cpu_find - read the levels now. A missing controller is not an error: has_controller is 0. */
void cgroup_cpu_find(struct cgroup_cpu *c);
/** cgroup_cpu_throttled - sums over the levels since boot; both 0 when no level has a quota. */
int cgroup_cpu_throttled(const struct cgroup_cpu *c, uint64_t *throttled_ns, uint64_t *n,
                         struct dcr_err *err) DCR_MUST_CHECK;

#endif
