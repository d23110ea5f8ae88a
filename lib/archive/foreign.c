/* foreign.c - see foreign.h. Headers of tables as the tools of 2019 to 2025 write them. */
#include "lib/archive/foreign.h"
#include "lib/base/fs.h"
#include "lib/base/utf8.h"

#include <archive.h>
#include <archive_entry.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

const char *dcr_foreign_kind(enum dcr_foreign what)
{
    static const char *const kinds[] = {NULL,
#define X(id, kind) kind,
                                        DCR_FOREIGN_KINDS(X)
#undef X
    };
    return kinds[what];
}

struct head {
    const char *bytes;
    size_t n;
};

static int holds(struct head h, const char *word)
{
    return memmem(h.bytes, h.n, word, strlen(word)) != NULL;
}

static int begins(struct head h, const char *word)
{
    return h.n >= strlen(word) && memcmp(h.bytes, word, strlen(word)) == 0;
}

static struct head first_line(struct head h)
{
    const char *end = memchr(h.bytes, '\n', h.n);
    return (struct head){h.bytes, end ? (size_t)(end - h.bytes) : h.n};
}

/* "2026/04/25 16:06:06.780, 0 %, ...": rows of nvidia-smi without their header */
static int is_bare_row(struct head line)
{
    static const char pattern[] = "dddd/dd/dd dd:dd:dd.ddd, ";
    if (line.n < sizeof pattern)
        return 0;
    for (size_t i = 0; pattern[i]; i++)
        if (pattern[i] == 'd' ? !isdigit((unsigned char)line.bytes[i]) : line.bytes[i] != pattern[i])
            return 0;
    return holds(line, " %") || holds(line, " MiB") || holds(line, " W");
}

static enum dcr_foreign of_json(struct head h)
{
    int is_events = holds(h, "\"traceEvents\"") || holds(h, "\"ph\"");
    int is_kineto = holds(h, "\"schemaVersion\"") || holds(h, "\"deviceProperties\"") ||
                    holds(h, "\"distributedInfo\"") || holds(h, "\"record_shapes\"");
    if (is_kineto && (is_events || h.bytes[0] == '{'))
        return DCR_FOREIGN_KINETO;
    if (is_events)
        return DCR_FOREIGN_CHROME;
    if (h.bytes[0] == '{' && holds(h, "\"dlbVersion\""))
        return DCR_FOREIGN_TALP;
    return h.bytes[0] == '{' && holds(h, "\"scaling_mode\"") && holds(h, "\"world_size\"") ? DCR_FOREIGN_DDP_SCALING
                                                                                           : DCR_FOREIGN_UNKNOWN;
}

static enum dcr_foreign of_table(struct head h)
{
    struct head line = first_line(h);
    if (holds(line, "utilization.gpu") || holds(line, "memory.used [MiB]") || holds(line, "power.draw [W]") ||
        begins(h, "# gpu ") || begins(h, "<?xml version=\"1.0\" ?>\n<!DOCTYPE nvidia_smi_log") ||
        holds((struct head){h.bytes, h.n < 512 ? h.n : 512}, "NVSMI LOG") ||
        holds((struct head){h.bytes, h.n < 512 ? h.n : 512}, "| NVIDIA-SMI ") || is_bare_row(line))
        return DCR_FOREIGN_NVIDIA_SMI;
    if (begins(h, "#Entity") || begins(h, "# Entity") || holds(h, "\nDCGM_FI_") || begins(h, "DCGM_FI_") ||
        holds(line, "DCGM_FI_") || holds(h, "# HELP DCGM_FI_"))
        return DCR_FOREIGN_DCGM;
    if (holds(h, "# nThread ") || (holds(h, "algbw") && holds(h, "busbw")))
        return DCR_FOREIGN_NCCL_TESTS;
    if (begins(h, "==PROF==") || holds(h, "\n==PROF== ") || holds(line, "\"Kernel Name\",\"Context\"") ||
        (holds(h, "\"Kernel Name\"") && holds(h, "\"Metric Name\"")))
        return DCR_FOREIGN_NCU_CSV;
    if (holds(line, "Start (ns),Duration (ns)") || holds(line, "Total Time (ns)") || holds(line, "Time(%),") ||
        holds(line, "Trace Type,Event Type,Timestamp (ns)"))
        return DCR_FOREIGN_NSYS_CSV;
    if (begins(h, "JobID") && (holds(line, "|") || holds(line, "State") || holds(line, "Elapsed")))
        return DCR_FOREIGN_SACCT;
    return DCR_FOREIGN_UNKNOWN;
}

enum dcr_foreign dcr_foreign_of_head(const char *head, size_t n, const char *name)
{
    struct head h = {head, n};
    if (begins(h, "SQLite format 3"))
        return holds(h, "CUPTI_ACTIVITY_KIND_") || holds(h, "NVTX_EVENTS") || holds(h, "TARGET_INFO_") ||
                       holds(h, "META_DATA_EXPORT")
                   ? DCR_FOREIGN_NSYS_SQLITE
                   : DCR_FOREIGN_UNKNOWN;
    if (begins(h, "PERFILE2"))
        return DCR_FOREIGN_PERF;
    if (dcr_ends_with(name, ".nsys-rep") || dcr_ends_with(name, ".qdrep"))
        return DCR_FOREIGN_NSYS_REPORT;
    if (dcr_ends_with(name, ".ncu-rep"))
        return DCR_FOREIGN_NCU_REPORT;
    size_t mark = utf8_mark(h.bytes, h.n);
    h = (struct head){h.bytes + mark, h.n - mark};
    while (h.n && isspace((unsigned char)*h.bytes)) {
        h.bytes++;
        h.n--;
    }
    if (h.n == 0)
        return DCR_FOREIGN_UNKNOWN;
    return *h.bytes == '{' || *h.bytes == '[' ? of_json(h) : of_table(h);
}

enum dcr_foreign dcr_foreign_of_file(const char *path)
{
    enum dcr_foreign what = DCR_FOREIGN_UNKNOWN;
    struct archive *a = archive_read_new();
    struct archive_entry *entry;
    char *head = malloc(DCR_FOREIGN_HEAD);
    if (a && head) {
        archive_read_support_filter_gzip(a);
        archive_read_support_format_raw(a);
        archive_read_support_format_empty(a);
        size_t n = 0;
        if (archive_read_open_filename(a, path, 65536) == ARCHIVE_OK &&
            archive_read_next_header(a, &entry) == ARCHIVE_OK)
            for (la_ssize_t k; n < DCR_FOREIGN_HEAD && (k = archive_read_data(a, head + n, DCR_FOREIGN_HEAD - n)) > 0;)
                n += (size_t)k;
        what = dcr_foreign_of_head(head, n, path);
    }
    free(head);
    archive_read_free(a);
    return what;
}
