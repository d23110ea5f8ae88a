/* nsys_csv.c - `nsys stats --report cuda_gpu_trace` and `cuda_api_trace` as CSV, the same as the pipit library writes
 * them (a row at the begin, with the time of the end, and one at the end), and `nvtx_pushpop_trace`,
 * `nvtx_gpu_proj_trace`, `cuda_kern_exec_trace` and `mpi_event_trace`. source: Nsight Systems User Guide, "Report
 * Scripts". Test: render_foreign.sh */
#include "render/import/text/parsers.h"

#include "lib/base/csv.h"
#include "lib/trace/step_name.h"
#include "render/device/activity.h"
#include "render/import/text/decimal.h"
#include "render/import/text/from_line.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const gpu_words[] = {"Start", "Duration", "CorrId", "GrdX", "Name", NULL};
static const char *const api_words[] = {"Start", "Duration", "Name", "Result", "CorrID", NULL};
static const char *const nvtx_words[] = {"Start", "End", "Duration", "Name", "RangeStack", NULL};
static const char *const proj_words[] = {"Projected Start", "Projected Duration", "Name", "RangeStack", NULL};
static const char *const exec_words[] = {"Kernel Start", "Kernel Dur", "Kernel Name", NULL};
static const char *const mpi_words[] = {"Start", "End", "Duration", "Event", "PeerRank", NULL};
static const char *const pipit_gpu_words[] = {"Name", "streamId", "Event Type", "Timestamp (ns)", "_matching_timestamp",
                                              NULL};
static const char *const pipit_api_words[] = {
    "Name", "Process", "Trace Type", "Event Type", "Timestamp (ns)", "_matching_timestamp", NULL};

int nsys_gpu_csv_is(const char *head, size_t n)
{
    return line_with(head, n, gpu_words) || line_with(head, n, pipit_gpu_words);
}

int nsys_api_csv_is(const char *head, size_t n)
{
    return line_with(head, n, api_words) || line_with(head, n, pipit_api_words);
}

int nsys_nvtx_csv_is(const char *head, size_t n)
{
    return line_with(head, n, nvtx_words) != NULL;
}

int nsys_proj_csv_is(const char *head, size_t n)
{
    return line_with(head, n, proj_words) != NULL;
}

int nsys_exec_csv_is(const char *head, size_t n)
{
    return line_with(head, n, exec_words) != NULL;
}

int nsys_mpi_csv_is(const char *head, size_t n)
{
    return line_with(head, n, mpi_words) != NULL;
}

struct columns {
    int start, duration, end, name, kind, event, correlation, device, stream, grid[3], memory;
    int start_scale, duration_scale; /* decimal places to nanoseconds */
    long lines_before;               /* of the table, in its file */
};

/* "Start (ns)", "Start(nsec)" or "Start (us)" ...: the column and how many decimal places its unit is above a
 * nanosecond. */
static int timed(const struct dcr_csv *csv, const char *what, int *scale)
{
    static const struct {
        const char *unit;
        int scale;
    } units[] = {{"ns", 0},  {"us", 3},   {"\xc2\xb5s", 3}, {"ms", 6},  {"s", 9},
                 {"sec", 9}, {"nsec", 0}, {"usec", 3},      {"msec", 6}};
    char name[64];
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        *scale = units[i].scale;
        for (int has_space = 0; has_space < 2; has_space++) {
            snprintf(name, sizeof name, "%s%s(%s)", what, has_space ? " " : "", units[i].unit);
            int c = dcr_csv_column(csv, name);
            if (c >= 0)
                return c;
        }
    }
    return -1;
}

/* The first of these columns that is there. */
static int one_of(const struct dcr_csv *csv, const char *const *names)
{
    for (; *names; names++)
        if (dcr_csv_column(csv, *names) >= 0)
            return dcr_csv_column(csv, *names);
    return -1;
}

static int one_timed(const struct dcr_csv *csv, const char *const *names, int *scale)
{
    int c = -1;
    for (; *names && c < 0; names++)
        c = timed(csv, *names, scale);
    return c;
}

static int find(const struct dcr_csv *csv, struct columns *c)
{
    static const char *const names[] = {"Name", "Kernel Name", "Event", NULL};
    static const char *const starts[] = {"Start", "Projected Start", "Kernel Start", "Timestamp", NULL};
    static const char *const durations[] = {"Duration", "Projected Duration", "Kernel Dur", NULL};
    int ignored;
    *c = (struct columns){
        .name = one_of(csv, names),
        .kind = dcr_csv_column(csv, "type"),
        .event = dcr_csv_column(csv, "Event Type"),
        .end = dcr_csv_column(csv, "_matching_timestamp"),
        .device = dcr_csv_column(csv, "Device"),
        .grid = {dcr_csv_column(csv, "GrdX"), dcr_csv_column(csv, "GrdY"), dcr_csv_column(csv, "GrdZ")}};
    c->start = one_timed(csv, starts, &c->start_scale);
    c->duration = one_timed(csv, durations, &c->duration_scale);
    c->correlation = dcr_csv_column(csv, "CorrId") >= 0 ? dcr_csv_column(csv, "CorrId") : dcr_csv_column(csv, "CorrID");
    c->stream = dcr_csv_column(csv, "Strm") >= 0 ? dcr_csv_column(csv, "Strm") : dcr_csv_column(csv, "streamId");
    c->memory = timed(csv, "Bytes", &ignored);
    return c->name >= 0 && c->start >= 0 && (c->duration >= 0 || c->end >= 0) ? 0 : -1;
}

/* "1,234,567.8" without its commas. returns  bytes; -1 when the commas do not separate groups of three digits, as a
 * decimal comma does not */
static int ungroup(const char *text, char *plain, size_t cap)
{
    size_t n = 0, digits = 0;
    int n_groups = 0;
    const char *p = text + (*text == '-');
    if (strlen(text) >= cap || *p == '0')
        return -1;
    for (; *p && *p != '.'; p++) {
        if (*p == ',' ? digits == 0 || digits > 3 || (n_groups++ && digits != 3) : !isdigit((unsigned char)*p))
            return -1;
        digits = *p == ',' ? 0 : digits + 1;
    }
    if (digits != 3 || (*p && p[1 + strspn(p + 1, "0123456789")]))
        return -1;
    for (p = text; *p; p++)
        if (*p != ',')
            plain[n++] = *p;
    return (int)n;
}

/* returns  0; -1 when it is no number; DCR_FAIL with a sentence when the meaning of its commas is unclear */
static int number(const struct dcr_csv *csv, int column, int scale, int64_t *out, const char *file, struct dcr_err *err)
{
    char plain[64];
    const char *text = dcr_csv_text(csv, column), *end = text + strlen(text);
    if (strchr(text, ',')) {
        int n = ungroup(text, plain, sizeof plain);
        if (n < 0)
            return dcr_err_set(
                err, DCR_FAIL,
                "'%s' has a number with a comma on line %ld that does not separate groups of three digits; "
                "write its numbers without separators",
                file, dcr_csv_line(csv));
        text = plain;
        end = plain + n;
    }
    while (end > text && end[-1] == ' ')
        end--;
    for (const char *p = text; p < end; p++) /* decimal_scaled would end there */
        if (strchr(" '}]", *p))
            return -1;
    return text < end ? decimal_scaled(text, end, scale, out) : -1;
}

/* Begin and length of a row: 1 when it is an operation, 0 when it is the end of one, -1 when it cannot be read;
 * DCR_FAIL as number. */
static int interval(const struct dcr_csv *csv, const struct columns *c, int64_t *start, int64_t *dur, const char *file,
                    struct dcr_err *err)
{
    int64_t end;
    if (c->event >= 0 && strcmp(dcr_csv_text(csv, c->event), "Enter") != 0)
        return 0;
    int rc = number(csv, c->start, c->start_scale, start, file, err);
    if (rc)
        return rc;
    if (c->duration >= 0)
        return (rc = number(csv, c->duration, c->duration_scale, dur, file, err)) != 0 ? rc : 1;
    if ((rc = number(csv, c->end, c->start_scale, &end, file, err)) != 0)
        return rc;
    return __builtin_sub_overflow(end, *start, dur) ? -1 : 1;
}

/* "NVIDIA A100-SXM4-80GB (0)" -> 0; a plain number is itself; 0 when nothing is said. */
static int64_t device_of(const char *text)
{
    const char *open = strrchr(text, '(');
    int64_t v = 0;
    const char *p = open ? open + 1 : text, *end = p;
    while (isdigit((unsigned char)*end))
        end++;
    return end > p && decimal_scaled(p, end, 0, &v) == 0 ? v : 0;
}

static enum op_kind kind_of(const struct dcr_csv *csv, const struct columns *c, const char *name)
{
    const char *kind = dcr_csv_text(csv, c->kind);
    int is_cuda = strncasecmp(name, "[CUDA ", 6) == 0; /* "[CUDA memcpy HtoD]", "[CUDA Unified Memory memcpy HtoD]" */
    if ((is_cuda && strcasestr(name, "memcpy")) || strstr(kind, "MEMCPY"))
        return OP_MEMCPY;
    if ((is_cuda && strcasestr(name, "memset")) || strstr(kind, "MEMSET"))
        return OP_MEMSET;
    return OP_COMPUTE;
}

static int open_csv(struct dcr_csv **csv, struct from_line *lines, struct dcr_stream *from, struct dcr_stream *s,
                    const char *const *words, const char *const *other, struct columns *c, struct dcr_err *err)
{
    int rc = from_line_open(lines, s, words, from, err);
    if (!rc && !line_with(lines->bytes, lines->len, words)) {
        const char *line = line_with(lines->bytes, lines->len, other);
        lines->pos = line ? (size_t)(line - lines->bytes) : 0;
    }
    long before = 0;
    for (size_t i = 0; !rc && i < lines->pos; i++)
        before += lines->bytes[i] == '\n';
    if (rc || (rc = dcr_csv_open(csv, from, err)))
        return rc;
    rc = find(*csv, c)
             ? dcr_err_set(err, DCR_FAIL, "'%s' lacks columns of an nsys trace; export it again with nsys", s->name)
             : 0;
    c->lines_before = before;
    return rc;
}

/* Rows whose cells do not match the header. */
struct astray {
    int64_t n;
    char why[96]; /* of the first */
};

/* The next row. Rows whose cells do not match the header are counted. Text after the table (nsys stats writes one
 * report below the other) is named and skipped. */
static int next(struct run *r, struct dcr_csv *csv, const struct columns *c, const char *file, struct astray *astray,
                struct dcr_err *err)
{
    struct dcr_err why;
    int rc;
    while ((rc = dcr_csv_next(csv, &why)) == DCR_FAIL) {
        const char *first = dcr_csv_text(csv, 0);
        if (dcr_csv_is_cut(csv)) {
            run_add_gap(r, PHRASE(LAST_LINE_CUT, slot_name(file)));
            return DCR_END;
        }
        if (strncmp(first, "Processing [", 12) == 0 || strncmp(first, " ** ", 4) == 0) {
            run_add_gap(r, PHRASE(FURTHER_TABLES, slot_name(file)), PHRASE(EACH_SEPARATE));
            return DCR_END;
        }
        if (astray->n++ == 0)
            snprintf(astray->why, sizeof astray->why, "line %ld has other cells than the header",
                     c->lines_before + dcr_csv_line(csv));
    }
    if (rc < 0 && err)
        *err = why;
    return rc;
}

static void say_astray(struct run *r, const char *file, const struct astray *astray)
{
    if (astray->n)
        run_add_gap(r,
                    PHRASE(ROWS_LEFT_OUT, slot_count(astray->n), slot_name(file), slot_name(run_text(r, astray->why))));
}

int nsys_gpu_csv_read(struct run *r, struct dcr_stream *s, struct dcr_err *err)
{
    struct foreign_trace t = {.file = s->name, .kind = FOREIGN_NSYS_GPU_CSV, .rank = -1, .world_size = -1};
    struct from_line *lines = malloc(sizeof *lines);
    struct activity *a = activity_new(0);
    struct dcr_csv *csv = NULL;
    struct dcr_stream from;
    struct columns c;
    struct astray astray = {.n = 0};
    int rc = lines && a ? open_csv(&csv, lines, &from, s, gpu_words, pipit_gpu_words, &c, err)
                        : dcr_err_set(err, DCR_FATAL, "out of memory reading '%s'", s->name);
    while (!rc && (rc = next(r, csv, &c, s->name, &astray, err)) == 0) {
        int64_t start, dur;
        const char *name = dcr_csv_text(csv, c.name);
        int what = interval(csv, &c, &start, &dur, s->name, err);
        if (what == DCR_FAIL) {
            rc = what;
            break;
        }
        if (what == 0)
            continue;
        struct device_op op = {.device = device_of(dcr_csv_text(csv, c.device)),
                               .start_ns = start,
                               .dur_ns = dur,
                               .kind = kind_of(csv, &c, name),
                               .name = name,
                               .name_len = strlen(name),
                               .correlation = -1,
                               .blocks_per_sm = -1,
                               .occupancy_ratio = -1};
        t.n_events++;
        if (what < 0 || activity_op(a, &op))
            t.n_unusable++;
        else
            t.n_negative += dur < 0;
    }
    if (rc == DCR_END)
        rc = activity_finish(a, &r->arena, &t.devices, &t.n_devices, &t.steps, err);
    if (!rc) {
        run_add_trace(r, &t);
        say_astray(r, s->name, &astray);
    }
    dcr_csv_close(csv);
    activity_free(a);
    free(lines);
    return rc;
}

/* ---- calls of the runtime and of MPI, ranges of NVTX ----------------------------------------------------- */

/* A trace of which sums by name are kept. */
struct summed {
    enum foreign_kind kind;
    const char *const *words, *const *other; /* of its header, as one tool or another writes it */
    const char *caption, *columns;
};

struct call {
    const char *name;
    int64_t n, sum_ns, max_ns;
};
enum { MAX_CALLS = 1024 };

static struct call *call_of(struct run *r, struct call *calls, int *n, const char *name)
{
    for (int i = 0; i < *n; i++)
        if (strcmp(calls[i].name, name) == 0)
            return &calls[i];
    if (*n == MAX_CALLS)
        return &calls[MAX_CALLS - 1];
    calls[*n].name = *n == MAX_CALLS - 1 ? "further names" : run_text(r, name);
    return &calls[(*n)++];
}

static int by_time(const void *a, const void *b)
{
    const struct call *x = a, *y = b;
    return x->sum_ns != y->sum_ns ? (x->sum_ns > y->sum_ns ? -1 : 1) : strcmp(x->name, y->name);
}

/* The name that a row is summed under: "step 12" and ":step 13" (a range of no domain) are two of "step",
 * "ProfilerStep#7" is one of "ProfilerStep". */
static const char *summed_name(const char *name, enum foreign_kind kind)
{
    static const char profiler[] = "ProfilerStep";
    const char *word;
    int64_t ignored;
    if (kind != FOREIGN_NSYS_NVTX_CSV)
        return name;
    name += *name == ':';
    if (strncmp(name, profiler, sizeof profiler - 1) == 0)
        return profiler;
    return step_name_of(name, &word, &ignored) == STEP_NAME_STEP ? word : name;
}

static int read_summed(struct run *r, struct dcr_stream *s, const struct summed *of, struct dcr_err *err)
{
    struct from_line *lines = malloc(sizeof *lines);
    struct call *calls = calloc(MAX_CALLS, sizeof *calls);
    struct dcr_csv *csv = NULL;
    struct dcr_stream from;
    struct columns c;
    struct astray astray = {.n = 0};
    int n = 0;
    int64_t n_bad = 0;
    int rc = lines && calls ? open_csv(&csv, lines, &from, s, of->words, of->other, &c, err)
                            : dcr_err_set(err, DCR_FATAL, "out of memory reading '%s'", s->name);
    while (!rc && (rc = next(r, csv, &c, s->name, &astray, err)) == 0) {
        int64_t start, dur;
        int what = interval(csv, &c, &start, &dur, s->name, err);
        if (what == DCR_FAIL) {
            rc = what;
            break;
        }
        n_bad += what < 0 || (what == 1 && dur < 0);
        if (what != 1 || dur < 0)
            continue;
        struct call *k = call_of(r, calls, &n, summed_name(dcr_csv_text(csv, c.name), of->kind));
        k->n++;
        if (__builtin_add_overflow(k->sum_ns, dur, &k->sum_ns))
            k->sum_ns = INT64_MAX;
        k->max_ns = dur > k->max_ns ? dur : k->max_ns;
    }
    if (rc == DCR_END) {
        rc = 0;
        say_astray(r, s->name, &astray);
        if (n_bad)
            run_add_gap(r, PHRASE(TRACE_UNTIMED, slot_things(n_bad, "call"), slot_name(s->name)));
        qsort(calls, (size_t)n, sizeof *calls, by_time);
        struct foreign_table *t = run_add_table(r, s->name, of->kind, of->caption, of->columns);
        for (int i = 0; i < n; i++) {
            table_add(r, t, "%s", calls[i].name);
            table_add(r, t, "%lld", (long long)calls[i].n);
            table_add(r, t, "%lld", (long long)calls[i].sum_ns);
            table_add(r, t, "%lld", (long long)(calls[i].sum_ns / (calls[i].n ? calls[i].n : 1)));
            table_add(r, t, "%lld", (long long)calls[i].max_ns);
        }
    }
    dcr_csv_close(csv);
    free(calls);
    free(lines);
    return rc;
}

int nsys_api_csv_read(struct run *r, struct dcr_stream *s, struct dcr_err *err)
{
    static const struct summed of = {FOREIGN_NSYS_API_CSV, api_words, pipit_api_words,
                                     "Calls of the CUDA API, by summed time",
                                     "Call|#Calls|#Sum, ns|#Mean, ns|#Max, ns"};
    return read_summed(r, s, &of, err);
}

int nsys_nvtx_csv_read(struct run *r, struct dcr_stream *s, struct dcr_err *err)
{
    static const struct summed of = {
        FOREIGN_NSYS_NVTX_CSV, nvtx_words, nvtx_words,
        "NVTX ranges, by summed time; ranges may hold others, whose time counts twice then",
        "Range|#Calls|#Sum, ns|#Mean, ns|#Max, ns"};
    return read_summed(r, s, &of, err);
}

int nsys_proj_csv_read(struct run *r, struct dcr_stream *s, struct dcr_err *err)
{
    static const struct summed of = {
        FOREIGN_NSYS_NVTX_CSV, proj_words, proj_words,
        "NVTX ranges on the GPU, by summed time from the first to the last operation launched inside; ranges may hold "
        "others, whose time counts twice then",
        "Range|#Calls|#Sum, ns|#Mean, ns|#Max, ns"};
    return read_summed(r, s, &of, err);
}

int nsys_exec_csv_read(struct run *r, struct dcr_stream *s, struct dcr_err *err)
{
    static const struct summed of = {FOREIGN_NSYS_GPU_CSV, exec_words, exec_words, "Kernels of the GPU, by summed time",
                                     "Kernel|#Calls|#Sum, ns|#Mean, ns|#Max, ns"};
    return read_summed(r, s, &of, err);
}

int nsys_mpi_csv_read(struct run *r, struct dcr_stream *s, struct dcr_err *err)
{
    static const struct summed of = {FOREIGN_NSYS_MPI_CSV, mpi_words, mpi_words,
                                     "Calls of MPI, by summed time over all ranks in the file",
                                     "Call|#Calls|#Sum, ns|#Mean, ns|#Max, ns"};
    return read_summed(r, s, &of, err);
}
