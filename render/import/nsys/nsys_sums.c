/* nsys_sums.c - the summaries of `nsys stats --format csv` (cuda_gpu_kern_sum, cuda_api_sum, cuda_gpu_mem_time_sum,
 * cuda_gpu_mem_size_sum, cuda_kern_exec_sum, nvtx_sum, nvtx_gpu_proj_sum, nvtx_kern_sum, mpi_event_sum,
 * mpi_msg_size_sum, osrt_sum ...): one table or several below each other, as nsys wrote them, with the name in front.
 * source: Nsight Systems User Guide, "Report Scripts". Test: render_foreign.sh */
#include "render/import/text/parsers.h"

#include "lib/base/buf.h"
#include "lib/base/utf8.h"
#include "render/import/text/from_line.h"
#include "render/import/text/gpu_samples.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BYTES = 64 << 20, MAX_COLUMNS = 32, MIN_COLUMNS = 3 };

/* Headers of times (newer, older), of sizes, and of reports with special columns. */
static const char *const headers[][4] = {{"Range", "Total Proj Time", "Range Instances", NULL},
                                         {"NVTX Range", "Kern Inst", "Total Time", NULL},
                                         {"Count", "KAvg", "Kernel Name", NULL},
                                         {"Total Message Volume", "Instances", "Source", NULL},
                                         {"Time (%)", "Total Time", NULL},
                                         {"Time(%)", "Total Time", NULL},
                                         {"Total (", "Count", "Operation", NULL},
                                         {"Total,", "Operations,", "Operation", NULL}};

static int is_header(const char *line, size_t n)
{
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        if (line_with(line, n, headers[i]))
            return 1;
    return 0;
}

int nsys_sums_is(const char *head, size_t n)
{
    return is_header(head, n);
}

/* Cells of a line, quotes taken off in place. */
static int split(char *line, char **cells)
{
    int n = 0;
    for (char *p = line; p && n < MAX_COLUMNS; n++) {
        char *to = p, *from = p;
        int is_quoted = 0;
        cells[n] = p;
        for (; *from && (is_quoted || *from != ','); from++) {
            if (*from != '"')
                *to++ = *from;
            else if (is_quoted && from[1] == '"')
                *to++ = *++from;
            else
                is_quoted = !is_quoted;
        }
        p = *from ? from + 1 : NULL;
        *to = '\0';
    }
    return n;
}

static int is_one_of(const char *name, const char *const *names)
{
    for (; *names; names++)
        if (strcmp(name, *names) == 0)
            return 1;
    return 0;
}

/* Is it that column, with a unit or without? */
static int is_named(const char *cell, const char *column)
{
    size_t n = strlen(column);
    return strncmp(cell, column, n) == 0 && (!cell[n] || strncmp(cell + n, " (", 2) == 0);
}

/* The kind of a table, by the columns that only it has. */
static const char *caption_of(char *const *cells, int n)
{
    static const struct {
        const char *column, *caption;
    } known[] = {{"Total Proj Time", "NVTX ranges on the GPU, from the first to the last operation launched inside"},
                 {"Kern Inst", "Kernels of the GPU by the NVTX range that launched them"},
                 {"KAvg", "Kernels of the GPU: means of the launch (A), of the wait (Q) and of the execution (K)"},
                 {"Total Message Volume", "Bytes of MPI messages by call"},
                 {"Category", "Calls of the API and operations of the GPU, by summed time"},
                 {"Range", "NVTX ranges, by summed time; ranges may hold others, whose time counts twice then"},
                 {"Num Calls", "Calls of an API, by summed time"},
                 {"Source", "Calls of MPI, by summed time"},
                 {"Instances", "Kernels of the GPU, by summed time"},
                 {"Operations", "Memory operations of the GPU"},
                 {"Operation", "Memory operations of the GPU"}};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        for (int i = 0; i < n; i++)
            if (is_named(cells[i], known[k].column))
                return known[k].caption;
    return "Summary of nsys";
}

/* A table being read: the column of names first, then the others. */
struct reading {
    struct foreign_table *table;
    int n, name;
    int is_share[MAX_COLUMNS], is_number[MAX_COLUMNS]; /* by their names: "Time (%)", "Total Time (ns)", "Average" */
};

static void begin(struct run *r, const char *file, char **cells, int n, struct reading *x)
{
    static const char *const names[] = {"Name", "Range", "Operation", "Kernel Name", NULL},
                             *const texts[] = {"Style",    "Source",   "Category",   "GridXYZ",
                                               "BlockXYZ", "API Name", "NVTX Range", NULL};
    static const char *const amounts[] = {"Total Time",    "Average",     "Minimum",   "Maximum",    "StdDev",
                                          "Instances",     "Num Calls",   "Calls",     "Operations", "Total",
                                          "Count",         "QCount",      "NVTX Inst", "Kern Inst",  "Range Instances",
                                          "Total GPU Ops", "Avg GPU Ops", NULL};
    struct dcr_buf columns = {0};
    *x = (struct reading){.n = n, .name = n - 1};
    for (int i = 0; i < n; i++)
        if (is_one_of(cells[i], names))
            x->name = i;
    dcr_buf_puts(&columns, cells[x->name]);
    for (int i = 0; i < n; i++)
        if (i != x->name)
            dcr_buf_printf(&columns, "|%s%s", is_one_of(cells[i], texts) ? "" : "#", cells[i]);
    for (int i = 0; i < n; i++) {
        x->is_share[i] = strstr(cells[i], "(%)") != NULL;
        x->is_number[i] = strchr(cells[i], '(') != NULL || is_one_of(cells[i], amounts);
    }
    x->table = run_add_table(r, file, FOREIGN_NSYS_SUMMARY, caption_of(cells, n),
                             dcr_arena_strdup(&r->arena, dcr_buf_text(&columns)));
    x->table->n_columns = n; /* the number of cells; a name may contain a separator */
    dcr_buf_release(&columns);
}

/* A cell that is a number, in place: "1,600" without its separators, "60,0" with a point. returns  0: it is no possible
 * number */
static int clean_number(char *cell, int is_share)
{
    size_t n = strlen(cell), commas = 0, at = 0;
    for (char *p = cell; *p; p++)
        commas += *p == ',';
    char *last = strrchr(cell, ',');
    if (commas == 1 && !strchr(cell, '.') && strlen(last + 1) != 3)
        *last = '.';
    else if (commas) {
        for (char *p = cell; *p; p++) {
            if (*p == ',' && (strspn(p + 1, "0123456789") != 3 || p == cell))
                return 0;
            if (*p != ',')
                cell[at++] = *p;
        }
        cell[at] = '\0';
        n = at;
    }
    char *end;
    double v = n ? strtod(cell, &end) : NAN;
    return n && !*end && isfinite(v) && v >= 0 && (!is_share || v <= 100.5);
}

int nsys_sums_read(struct run *r, struct dcr_stream *s, struct dcr_err *err)
{
    struct dcr_buf b = {.max = MAX_BYTES};
    struct reading x = {.table = NULL};
    struct samples_left left = {.n = 0};
    char *rest, *cells[MAX_COLUMNS], wrong[96] = "";
    int n_line = 0, n_wrong = 0;
    int n_rows = 0, n_tables = r->n_tables, rc = dcr_stream_slurp(s, &b, MAX_BYTES, err);
    if (rc)
        goto out;
    (void)dcr_buf_text(&b);
    rest = b.len ? b.data : NULL;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        n_line++;
        line[strcspn(line, "\r")] = '\0';
        line += utf8_mark(line, strlen(line));
        int is_new = is_header(line, strlen(line)), n = split(line, cells);
        if (is_new && n < MIN_COLUMNS) /* it has other separators */
            x.table = NULL;
        else if (is_new)
            begin(r, s->name, cells, n, &x);
        if (!is_new && x.table && n != x.n && n >= MIN_COLUMNS && n_wrong++ == 0)
            snprintf(wrong, sizeof wrong, "line %d has %d cell%s instead of %d", n_line, n, n == 1 ? "" : "s", x.n);
        if (is_new || !x.table || n != x.n)
            continue; /* text that nsys prints around its tables */
        table_add(r, x.table, "%s", cells[x.name]);
        for (int i = 0; i < n; i++)
            if (i != x.name && x.is_number[i] && *cells[i] && !clean_number(cells[i], x.is_share[i])) {
                samples_leave(&left, cells[i]);
                table_add(r, x.table, "n/a");
            } else if (i != x.name) {
                table_add(r, x.table, "%s", cells[i]);
            }
        n_rows++;
    }
    if (!n_rows) {
        r->n_tables = n_tables;
        rc = dcr_err_set(err, DCR_FAIL, "'%s' is a summary of nsys without a row; export it again", s->name);
    } else {
        gpu_samples_say(r, s->name, &left);
        if (n_wrong)
            run_add_gap(r, PHRASE(ROWS_LEFT_OUT, slot_count(n_wrong), slot_name(s->name), slot_name(wrong)));
    }
out:
    dcr_buf_release(&b);
    return rc;
}
