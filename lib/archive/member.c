/* member.c - see member.h. */
#include "lib/archive/member.h"
#include "lib/base/fs.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define TRACE_END ".dct"
#define SUMMARY_END ".jsonl"
#define OTHER_END ".summary" SUMMARY_END

int dcr_name_number(const char *word, size_t len, const char *prefix)
{
    size_t n = strlen(prefix);
    if (len <= n || len > n + 5 || strncmp(word, prefix, n) != 0)
        return -1;
    int k = 0;
    for (size_t i = n; i < len; i++) {
        if (!isdigit((unsigned char)word[i]))
            return -1;
        k = 10 * k + (word[i] - '0');
    }
    return k <= DCR_MAX_RANK ? k : -1;
}

/* Reads node and rank from the folders of the path; returns the file's own name. */
static const char *read_folders(const char *name, int *node, int *rank)
{
    const char *base = name;
    for (const char *slash; (slash = strchr(base, '/')) != NULL; base = slash + 1) {
        int k = dcr_name_number(base, (size_t)(slash - base), "node");
        *node = k >= 0 ? k : *node;
        k = dcr_name_number(base, (size_t)(slash - base), "rank");
        *rank = k >= 0 ? k : *rank;
    }
    return base;
}

enum dcr_role dcr_role_of(const char *name, int *node, int *rank)
{
    static const struct {
        const char *base;
        enum dcr_role role;
    } known[] = {{DCR_METADATA, DCR_ROLE_METADATA},
                 {DCR_METADATA_TEXT, DCR_ROLE_METADATA_TEXT},
                 {DCR_METRICS, DCR_ROLE_METRICS},
                 {DCR_STEPS, DCR_ROLE_STEPS},
                 {DCR_CALIBRATION, DCR_ROLE_CALIBRATION},
                 {"cpu_monitor.csv", DCR_ROLE_CPU_MONITOR},
                 {"gpu_monitor.csv", DCR_ROLE_GPU_MONITOR},
                 {"net_monitor.csv", DCR_ROLE_NET_MONITOR},
                 {"disk_monitor.csv", DCR_ROLE_DISK_MONITOR},
                 {"memory_monitor.csv", DCR_ROLE_MEMORY_MONITOR},
                 {"clock_monitor.csv", DCR_ROLE_CLOCK_MONITOR},
                 {"process_monitor.csv", DCR_ROLE_PROCESS_MONITOR},
                 {"rank.json", DCR_ROLE_RANK},
                 {"sacct_summary.txt", DCR_ROLE_FOREIGN}};
    static const char *const foreign_folders[] = {"nsys/", "kineto/", "ncu/", "perf/", "dcgm/", "tensorboard/"};
    static const char *const foreign_ends[] = {".nsys-rep", ".sqlite", ".ncu-rep"};
    *node = *rank = -1;
    const char *base = read_folders(name, node, rank);
    for (size_t i = 0; i < sizeof foreign_folders / sizeof *foreign_folders; i++)
        if (strncmp(name, foreign_folders[i], strlen(foreign_folders[i])) == 0)
            return DCR_ROLE_FOREIGN;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(base, known[i].base) == 0)
            return known[i].role;
    if (dcr_ends_with(base, ".dct"))
        return DCR_ROLE_TRACE;
    if (dcr_ends_with(base, SUMMARY_END) && (strncmp(base, "summary-", 8) == 0 || dcr_ends_with(base, OTHER_END)))
        return DCR_ROLE_SUMMARY;
    if (dcr_ends_with(base, ".csv")) {
        int k = dcr_name_number(base, strlen(base) - 4, "steps-rank");
        if (k >= 0) { /* the trainer's own output folder, packed as it is */
            *rank = k;
            return DCR_ROLE_STEPS;
        }
    }
    if (strncmp(name, "log/", 4) == 0 || dcr_ends_with(base, ".log"))
        return DCR_ROLE_LOG;
    for (size_t i = 0; i < sizeof foreign_ends / sizeof *foreign_ends; i++)
        if (dcr_ends_with(base, foreign_ends[i]))
            return DCR_ROLE_FOREIGN;
    return DCR_ROLE_OTHER;
}

static const char *const role_texts[] = {
#define X(id, text) text,
    DCR_ROLES(X)
#undef X
};

const char *dcr_role_text(enum dcr_role role)
{
    return role_texts[role];
}

enum dcr_role dcr_role_of_text(const char *text)
{
    int role = 0;
    while (role < DCR_N_ROLES && (!text || strcmp(role_texts[role], text) != 0))
        role++;
    return (enum dcr_role)role;
}

int dcr_summary_name(const char *trace, char *out, size_t n)
{
    const char *base = dcr_last_part(trace);
    size_t len = strlen(base);
    int is_plain = strncmp(base, "trace-", 6) == 0 && dcr_ends_with(base, TRACE_END);
    int k = is_plain ? snprintf(out, n, "%.*ssummary-%.*s" SUMMARY_END, (int)(base - trace), trace,
                                (int)(len - 6 - strlen(TRACE_END)), base + 6)
                     : snprintf(out, n, "%s" OTHER_END, trace);
    return k < 0 || (size_t)k >= n ? -1 : 0;
}

int dcr_trace_name(const char *summary, char *out, size_t n)
{
    const char *base = dcr_last_part(summary);
    size_t len = strlen(base);
    int k = -1;
    if (dcr_ends_with(base, OTHER_END))
        k = snprintf(out, n, "%.*s", (int)(strlen(summary) - strlen(OTHER_END)), summary);
    else if (strncmp(base, "summary-", 8) == 0 && dcr_ends_with(base, SUMMARY_END))
        k = snprintf(out, n, "%.*strace-%.*s" TRACE_END, (int)(base - summary), summary,
                     (int)(len - 8 - strlen(SUMMARY_END)), base + 8);
    return k < 0 || (size_t)k >= n ? -1 : 0;
}
