/* source_cpu.c - processor and memory of the host: /proc/stat, /proc/meminfo, the cgroup's throttling. */
#include "collect/record/procfs.h"
#include "collect/monitor/source.h"
#include "lib/archive/format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, N_FIELDS };

/* Files that are read at each sample and stay open. */
enum { STAT, MEMINFO, VMSTAT, PSI_CPU, PSI_MEMORY, PSI_IO, N_FILES };
static const char *const paths[N_FILES] = {"/proc/stat",          "/proc/meminfo",          "/proc/vmstat",
                                           PROCFS_PRESSURE "cpu", PROCFS_PRESSURE "memory", PROCFS_PRESSURE "io"};

struct cpu {
    struct cgroup_cpu cgroup;
    int fds[N_FILES];
    int has_previous;
    uint64_t previous[N_FIELDS], previous_switches;
    int64_t previous_ns;
};

static int configure(void *ctx, const struct source_config *config, struct dcr_err *err)
{
    struct cpu *c = ctx;
    (void)config;
    (void)err;
    cgroup_cpu_find(&c->cgroup);
    for (int i = 0; i < N_FILES; i++)
        c->fds[i] = -1;
    return DCR_OK;
}

static void destroy(void *ctx)
{
    struct cpu *c = ctx;
    for (int i = 0; i < N_FILES; i++)
        if (c->fds[i] >= 0)
            close(c->fds[i]);
}

static int parse_times(const char *text, uint64_t out[N_FIELDS])
{
    if (strncmp(text, "cpu ", 4) != 0)
        return -1;
    const char *at = text + 4;
    for (int i = 0; i < N_FIELDS; i++) {
        char *end;
        out[i] = strtoull(at, &end, 10);
        if (end == at)
            return -1;
        at = end;
    }
    return 0;
}

static int read_file(struct cpu *c, int which, char *out, size_t n, struct dcr_err *err)
{
    return procfs_reread(&c->fds[which], paths[which], out, n, err);
}

static int put_memory(struct cpu *c, struct dcr_buf *row, struct dcr_err *err)
{
    char text[8192];
    uint64_t total = 0, available = 0;
    int n = read_file(c, MEMINFO, text, sizeof text, err);
    if (n >= 0 && (procfs_field(text, "MemTotal", &total) != 0 || total == 0 ||
                   procfs_field(text, "MemAvailable", &available) != 0))
        n = dcr_err_set(err, DCR_WARN, "'/proc/meminfo' has no MemTotal and MemAvailable");
    double used = (double)(total - available);
    cell_real_if(row, n >= 0, 100 * used / (double)total, 2);
    cell_real_if(row, n >= 0, used * 1024 / 1e9, 3);
    cell_real_if(row, n >= 0, (double)total * 1024 / 1e9, 3);
    return n < 0 ? DCR_WARN : DCR_OK;
}

/* Counters since boot of page faults and of waiting of the whole host. If the kernel lacks them, the cells are empty
 * and the metadata say why (meta.c). */
static void put_faults_and_pressure(struct cpu *c, struct dcr_buf *row)
{
    static const char *const faults[] = {"pgfault", "pgmajfault"};
    static const struct {
        int file;
        const char *line;
    } pressure[] = {{PSI_CPU, "some"}, {PSI_MEMORY, "some"}, {PSI_MEMORY, "full"}, {PSI_IO, "some"}, {PSI_IO, "full"}};
    char text[32 << 10];
    uint64_t value = 0;
    int has_text = read_file(c, VMSTAT, text, sizeof text, NULL) > 0;
    for (int i = 0; i < 2; i++) {
        int has = has_text && procfs_field(text, faults[i], &value) == 0;
        cell_if(row, has, value);
    }
    for (size_t i = 0; i < sizeof pressure / sizeof *pressure; i++) {
        if (i == 0 || pressure[i].file != pressure[i - 1].file)
            has_text = read_file(c, pressure[i].file, text, sizeof text, NULL) > 0;
        int has = has_text && procfs_pressure(text, pressure[i].line, &value) == 0;
        cell_if(row, has, value);
    }
}

static int sample(void *ctx, const struct tick *now, struct dcr_buf *row, struct outputs *out, struct dcr_err *err)
{
    struct cpu *c = ctx;
    (void)out;
    char text[64 << 10];
    uint64_t t[N_FIELDS], running = 0, switches = 0;
    int rc = read_file(c, STAT, text, sizeof text, err);
    if (rc < 0)
        return rc;
    if (parse_times(text, t) != 0)
        return dcr_err_set(err, DCR_FAIL, "'/proc/stat' does not begin with the times of the processors");

    uint64_t total = 0, busy = 0, d[N_FIELDS];
    for (int i = 0; i < N_FIELDS; i++) {
        /* iowait may run backwards (proc(5)) */
        d[i] = t[i] >= c->previous[i] ? t[i] - c->previous[i] : 0;
        total += d[i];
        if (i != IDLE && i != IOWAIT && i != STEAL)
            busy += d[i];
    }
    int has_shares = c->has_previous && total > 0;
    double percent = has_shares ? 100.0 / (double)total : 0;

    cell_time(row, now);
    cell_real_if(row, has_shares, percent * (double)busy, 2);
    rc = put_memory(c, row, err);
    cell_int(row, now->mono_ns);
    cell_real_if(row, has_shares, percent * (double)d[IOWAIT], 2);
    cell_real_if(row, has_shares, percent * (double)d[STEAL], 2);
    int has_running = procfs_field(text, "procs_running", &running) == 0;
    cell_if(row, has_running, running);
    int has_switches = procfs_field(text, "ctxt", &switches) == 0, is_later = now->mono_ns > c->previous_ns;
    cell_real_if(row, has_switches && c->has_previous && is_later,
                 (double)(switches - c->previous_switches) * 1e9 / (double)(now->mono_ns - c->previous_ns), 1);
    uint64_t throttled_ns, n_throttled;
    int has_throttling = cgroup_cpu_throttled(&c->cgroup, &throttled_ns, &n_throttled, err) == 0;
    cell_if(row, has_throttling, throttled_ns);
    cell_if(row, has_throttling, n_throttled);
    if (!has_throttling)
        rc = DCR_WARN;
    put_faults_and_pressure(c, row);
    cell_end(row);

    memcpy(c->previous, t, sizeof t);
    c->previous_switches = has_switches ? switches : 0;
    c->previous_ns = now->mono_ns;
    c->has_previous = 1;
    return rc;
}

const struct source source_cpu = {
    "cpu", DCR_CPU_MONITOR_COLUMNS(SOURCE_CELL), sizeof(struct cpu), configure, sample, destroy, NULL, 0};
