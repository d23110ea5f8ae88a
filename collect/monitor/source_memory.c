/* source_memory.c - bytes that the host's memory controllers read and wrote, by the counters beside the cores
 * ("uncore") that Linux names in /sys/bus/event_source. They count the traffic of all programs, with prefetched and
 * written lines, and Linux shows them only to users who may observe the whole machine. source:
 * Documentation/ABI/testing/sysfs-bus-event_source-devices-events and -format; perf_event_open(2);
 * arch/x86/events/intel/uncore_snbep.c and uncore_snb.c for the names of the events */
#include "collect/monitor/perf.h"
#include "collect/monitor/source.h"
#include "collect/record/procfs.h"
#include "lib/archive/format.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Event names of one kind of processor: reads and writes of all controllers. A server that also has free-running
 * counters counts the same traffic twice, so only the first kind that is found is used. */
static const struct {
    const char *unit, *read, *write;                                 /* unit: beginning of the folder's name */
} kinds[] = {{"uncore_imc_", "cas_count_read", "cas_count_write"},   /* Xeon: one unit for each channel */
             {"uncore_imc_free_running", "read", "write"},           /* Xeon without those: one for each controller */
             {"uncore_imc_free_running", "data_read", "data_write"}, /* desktop, since Tiger Lake */
             {"uncore_imc", "data_reads", "data_writes"}};           /* desktop, before */

enum { MOST_COUNTERS = 512 };

struct counter {
    int fd, is_write;
    double bytes; /* of one count */
};

struct memory {
    char devices[300];
    int (*open_counter)(uint32_t type, uint64_t config, int cpu);
    struct counter counters[MOST_COUNTERS];
    int n;
};

/* The content of a small file of a unit, without the end of its line. returns 0 or -1 */
static int read_text(const struct memory *m, const char *unit, const char *name, char *out, size_t n)
{
    char path[700];
    snprintf(path, sizeof path, "%s/%.80s/%.100s", m->devices, unit, name);
    if (procfs_read(path, out, n, NULL) <= 0)
        return -1;
    out[strcspn(out, "\n")] = '\0';
    return 0;
}

/* Puts the bits of a value where a field's format says, lowest first: "config:0-7,35". returns 0, or -1 if the format
 * is another one, or is too small for the value */
static int put_field(const char *format, uint64_t value, uint64_t *config)
{
    if (strncmp(format, "config:", 7) != 0)
        return -1;
    for (const char *at = format + 7; *at;) {
        char *end;
        unsigned long first = strtoul(at, &end, 10), last = first;
        if (end == at)
            return -1;
        if (*end == '-')
            last = strtoul(at = end + 1, &end, 10);
        if (end == at || last > 63 || first > last)
            return -1;
        for (unsigned long bit = first; bit <= last; bit++, value >>= 1)
            *config |= (value & 1) << bit;
        at = *end == ',' ? end + 1 : end;
        if (*end && *end != ',')
            return -1;
    }
    return value ? -1 : 0;
}

/* "event=0x04,umask=0x03" as the kernel wants it in perf_event_attr.config. returns 0 or -1 */
static int parse_event(const struct memory *m, const char *unit, char *text, uint64_t *config)
{
    char *rest = NULL;
    *config = 0;
    for (char *term = strtok_r(text, ",", &rest); term; term = strtok_r(NULL, ",", &rest)) {
        char name[100], format[64], *equals = strchr(term, '='), *end = NULL;
        uint64_t value = equals ? strtoull(equals + 1, &end, 0) : 1;
        snprintf(name, sizeof name, "format/%.*s", (int)(equals ? equals - term : (long)strlen(term)), term);
        if ((end && *end) || read_text(m, unit, name, format, sizeof format) != 0 ||
            put_field(format, value, config) != 0)
            return -1;
    }
    return 0;
}

/* Bytes of one count: the kernel's scale, which is in MiB. returns 0 or -1 */
static int bytes_of_count(const struct memory *m, const char *unit, const char *event, double *bytes)
{
    char name[100], text[64], *end;
    snprintf(name, sizeof name, "events/%s.unit", event);
    if (read_text(m, unit, name, text, sizeof text) != 0 || strcmp(text, "MiB") != 0)
        return -1;
    snprintf(name, sizeof name, "events/%s.scale", event);
    if (read_text(m, unit, name, text, sizeof text) != 0)
        return -1;
    *bytes = strtod(text, &end) * 1048576;
    return end != text && *bytes > 0 ? 0 : -1;
}

static int unknown_form(struct dcr_err *err, const char *unit, const char *what)
{
    return dcr_err_set(err, DCR_FAIL, "the kernel's description of '%s/%s' has an unknown form", unit, what);
}

/* Opens the event of a unit on one processor of each socket, which the unit names in `cpumask` ("0,28", "0-3"). */
static int open_event(struct memory *m, const char *unit, const char *event, int is_write, struct dcr_err *err)
{
    char name[100], text[256], cpus[256];
    uint64_t config;
    double bytes;
    snprintf(name, sizeof name, "events/%s", event);
    if (read_text(m, unit, "cpumask", cpus, sizeof cpus) != 0 || read_text(m, unit, name, text, sizeof text) != 0 ||
        parse_event(m, unit, text, &config) != 0 || bytes_of_count(m, unit, event, &bytes) != 0 ||
        read_text(m, unit, "type", text, sizeof text) != 0)
        return unknown_form(err, unit, event);
    uint32_t type = (uint32_t)strtoul(text, NULL, 10);
    int n = 0;
    for (char *at = cpus, *end; *at; at = *end ? end + 1 : end) {
        long first = strtol(at, &end, 10), last = first;
        int is_number = end != at;
        if (*end == '-') {
            last = strtol(at = end + 1, &end, 10);
            is_number &= end != at;
        }
        if (!is_number || (*end && *end != ',') || first < 0 || last < first)
            return unknown_form(err, unit, "cpumask");
        for (long cpu = first; cpu <= last; cpu++, n++) {
            if (m->n == MOST_COUNTERS)
                return dcr_err_set(err, DCR_FAIL, "the memory controllers have more than %d counters", MOST_COUNTERS);
            struct counter *c = &m->counters[m->n];
            *c = (struct counter){m->open_counter(type, config, (int)cpu), is_write, bytes};
            if (c->fd < 0) {
                char why[200];
                perf_why(why, sizeof why, errno);
                return dcr_err_set(err, DCR_FAIL, "the counters of the memory controllers cannot be read: %s", why);
            }
            m->n++;
        }
    }
    return n ? DCR_OK : unknown_form(err, unit, "cpumask");
}

static int has_event(const struct memory *m, const char *unit, const char *event)
{
    char path[700];
    snprintf(path, sizeof path, "%s/%.80s/events/%s", m->devices, unit, event);
    return access(path, R_OK) == 0;
}

/* Opens the counters of all units of a kind. A machine without such units is no error: it opens none. */
static int open_kind(struct memory *m, size_t kind, struct dcr_err *err)
{
    int rc = DCR_OK;
    DIR *dir = opendir(m->devices);
    for (const struct dirent *e; dir && rc == DCR_OK && (e = readdir(dir)) != NULL;) {
        const char *unit = e->d_name;
        if (strncmp(unit, kinds[kind].unit, strlen(kinds[kind].unit)) != 0 || !has_event(m, unit, kinds[kind].read) ||
            !has_event(m, unit, kinds[kind].write))
            continue;
        rc = open_event(m, unit, kinds[kind].read, 0, err);
        if (rc == DCR_OK)
            rc = open_event(m, unit, kinds[kind].write, 1, err);
    }
    if (dir)
        closedir(dir);
    return rc;
}

static void destroy(void *ctx)
{
    const struct memory *m = ctx;
    for (int i = 0; i < m->n; i++)
        close(m->counters[i].fd);
}

static int configure(void *ctx, const struct source_config *config, struct dcr_err *err)
{
    struct memory *m = ctx;
    snprintf(m->devices, sizeof m->devices, "%s/sys/bus/event_source/devices", config->root ? config->root : "");
    m->open_counter = config->open_counter ? config->open_counter : perf_open_cpu;
    int rc = DCR_OK;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds && rc == DCR_OK && m->n == 0; k++)
        rc = open_kind(m, k, err);
    if (rc == DCR_OK && m->n == 0)
        rc = dcr_err_set(err, DCR_FAIL, "this kernel names no counter of the memory controllers");
    return rc;
}

static int sample(void *ctx, const struct tick *now, struct dcr_buf *row, struct outputs *out, struct dcr_err *err)
{
    const struct memory *m = ctx;
    (void)out;
    double bytes[2] = {0};
    for (int i = 0; i < m->n; i++) {
        uint64_t count;
        if (perf_count(m->counters[i].fd, &count) != 0)
            return dcr_err_set(err, DCR_FAIL, "a counter of the memory controllers cannot be read");
        bytes[m->counters[i].is_write] += (double)count * m->counters[i].bytes;
    }
    cell_time(row, now);
    cell_int(row, now->mono_ns);
    cell_unsigned(row, (uint64_t)bytes[0]);
    cell_unsigned(row, (uint64_t)bytes[1]);
    cell_end(row);
    return DCR_OK;
}

/* Each reading asks every controller of the machine, so one a second is enough. */
const struct source source_memory = {
    "memory", DCR_MEMORY_MONITOR_COLUMNS(SOURCE_CELL), sizeof(struct memory), configure, sample, destroy, NULL, 1000};
