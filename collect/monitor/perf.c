/* perf.c - see perf.h; perf_event_open(2). */
#include "collect/monitor/perf.h"

#include "collect/record/procfs.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
    const char *name;
    uint32_t type;
    uint64_t config;
} counters[N_PERF] = {
    {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {"llc_misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    {"stalled_cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND},
    {"task_clock_ns", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
};

static int open_event(struct perf_event_attr a, pid_t pid, int cpu)
{
    a.size = sizeof a;
    a.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    return (int)syscall(SYS_perf_event_open, &a, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

int perf_open_cpu(uint32_t type, uint64_t config, int cpu)
{
    return open_event((struct perf_event_attr){.type = type, .config = config}, -1, cpu);
}

void perf_why(char *out, size_t n, int error)
{
    char level[32];
    if (error == EACCES || error == EPERM) {
        if (procfs_read("/proc/sys/kernel/perf_event_paranoid", level, sizeof level, NULL) <= 0)
            snprintf(level, sizeof level, "not readable");
        level[strcspn(level, "\n")] = '\0';
        snprintf(out, n, "it is not permitted (kernel.perf_event_paranoid is %s; containers may forbid it altogether)",
                 level);
    } else if (error == ENOENT || error == EOPNOTSUPP || error == ENODEV) {
        snprintf(out, n, "this machine shows no such counter, and many virtual machines have none");
    } else if (error == ENOSYS) {
        snprintf(out, n, "this kernel has no perf_event_open");
    } else {
        snprintf(out, n, "perf_event_open: %s", strerror(error));
    }
}

void perf_open(struct perf *p, pid_t pid)
{
    for (int c = 0; c < N_PERF; c++) {
        struct perf_event_attr a = {
            .type = counters[c].type, .config = counters[c].config, .inherit = 1, .exclude_hv = 1};
        p->fd[c] = open_event(a, pid, -1);
        if (p->fd[c] < 0 && (errno == EACCES || errno == EPERM)) { /* users may still be allowed to count user mode */
            p->is_user_only[c] = a.exclude_kernel = 1;
            p->fd[c] = open_event(a, pid, -1);
        }
        if (p->fd[c] < 0)
            perf_why(p->why[c], sizeof p->why[c], errno);
    }
}

void perf_leave(struct perf *p, const char *why)
{
    for (int c = 0; c < N_PERF; c++) {
        p->fd[c] = -1;
        snprintf(p->why[c], sizeof p->why[c], "%s", why);
    }
}

int perf_count(int fd, uint64_t *out)
{
    struct {
        uint64_t value, enabled, running;
    } r;
    if (fd < 0 || read(fd, &r, sizeof r) != (ssize_t)sizeof r || r.running == 0)
        return -1;
    double scale = (double)r.enabled / (double)r.running;
    *out = r.enabled == r.running ? r.value : (uint64_t)((double)r.value * scale);
    return 0;
}

json_t *perf_describe(const struct perf *p)
{
    json_t *o = json_object();
    for (int c = 0; c < N_PERF; c++) {
        char line[240];
        if (p->fd[c] >= 0)
            snprintf(line, sizeof line, "ok%s", p->is_user_only[c] ? ": user mode only" : "");
        else
            snprintf(line, sizeof line, "n/a because %s", p->why[c]);
        json_object_set_new(o, counters[c].name, json_string(line));
    }
    return o;
}

void perf_close(struct perf *p)
{
    for (int c = 0; c < N_PERF; c++)
        if (p->fd[c] >= 0)
            close(p->fd[c]);
}
