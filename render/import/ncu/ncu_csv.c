/* ncu_csv.c - `ncu --csv`: --page details has one line per kernel and metric, --page raw one per kernel, with a column
 * per metric and a line of units. Per kernel name: how often it ran under the profiler and the means of the metrics
 * that say what it is limited by. Numbers are in the locale of the run: "1,234.5" or "1.234,5"; a number that can be
 * read in only one way tells which. Test: tests/unit/test_ncu.c */
#include "render/import/text/parsers.h"

#include "lib/base/csv.h"
#include "render/import/text/from_line.h"
#include "render/import/text/gpu_samples.h"
#include "render/import/ncu/ncu_counters.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const details[] = {"ID", "Kernel Name", "Metric Name", "Metric Unit", "Metric Value", NULL};
static const char *const summary[] = {"Kernel Name", "Invocations", "Metric Name", "Metric Unit", "Average", NULL};
static const char *const raw[] = {"\"Kernel Name\"", "\"Grid Size\"", "__", NULL};
static const char *const *const tables[] = {details, summary, raw};
/* What ncu prints beside its tables, or without one. */
static const char *const talks[][2] = {{"==PROF== ", NULL}, {"==ERROR== ", NULL}};

static const char *table_in(const char *head, size_t n)
{
    const char *line = NULL;
    for (size_t i = 0; i < sizeof tables / sizeof *tables && !line; i++)
        line = line_with(head, n, tables[i]);
    return line;
}

/* A line that begins as ncu's messages do. */
static const char *talk_in(const char *head, size_t n, const char *const *words)
{
    const char *line = line_with(head, n, words);
    return line && strncmp(line, words[0], strlen(words[0])) == 0 ? line : NULL;
}

int ncu_csv_is(const char *head, size_t n)
{
    return table_in(head, n) || talk_in(head, n, talks[0]) || talk_in(head, n, talks[1]);
}

enum { N_NAMES = 3 };
static const struct {
    const char *names[N_NAMES]; /* of sections, and of the counters themselves; NULL = no more */
} metrics[] = {{{"Duration", "gpu__time_duration.sum"}},
               {{"Compute (SM) Throughput", "sm__throughput.avg.pct_of_peak_sustained_elapsed"}},
               {{"Memory Throughput", "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"}},
               {{"DRAM Throughput", "dram__throughput.avg.pct_of_peak_sustained_elapsed",
                 "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"}},
               {{"Achieved Occupancy", "sm__warps_active.avg.pct_of_peak_sustained_active"}}};
enum { N_METRICS = sizeof metrics / sizeof *metrics, MAX_KERNELS = 2048 };

/* Which of them a name is; -1 none. */
static int metric_of(const char *name)
{
    for (int m = 0; m < N_METRICS; m++)
        for (int i = 0; i < N_NAMES && metrics[m].names[i]; i++)
            if (strcmp(name, metrics[m].names[i]) == 0)
                return m;
    return -1;
}

/* How numbers are written. */
enum style { POINT, COMMA, N_STYLES };

struct kernel {
    const char *name;
    int64_t n[N_STYLES][N_METRICS];
    double sum[N_STYLES][N_METRICS];
    char unit[16]; /* of the duration, as of its first line; ncu scales each line by itself */
    struct ncu_sums sums[N_STYLES];
};

struct profile {
    struct run *run;
    struct dcr_csv *csv;
    struct kernel *kernels; /* shape (MAX_KERNELS) */
    int n;
    int64_t n_left_out;                 /* rows of further kernels */
    int64_t n_only[N_STYLES];           /* values that are numbers in this style and not in the other */
    struct samples_left left[N_STYLES]; /* values that are no numbers in this style */
    struct ncu_launch launch[N_STYLES]; /* that is being read */
    int is_cut;                         /* the last row */
    int64_t weight;                     /* launches in a row */
};

/* Digits, possibly in groups of three, and a fraction. returns  1; 0: it is no such number */
static int number(const char *text, enum style style, double *out)
{
    const char group = style == POINT ? ',' : '.', point = style == POINT ? '.' : ',';
    char plain[64], *end;
    size_t n = 0, n_digits = 0, n_groups = 0;
    int is_fraction = 0;
    for (const char *p = text; *p && n + 1 < sizeof plain; p++) {
        if (*p == group && !is_fraction && (n_groups++ ? n_digits == 3 : n_digits >= 1 && n_digits <= 3)) {
            n_digits = 0;
            continue;
        }
        if (*p == point && !is_fraction) {
            is_fraction = 1;
            plain[n++] = '.';
            if (n_groups && n_digits != 3)
                return 0;
        } else if (isdigit((unsigned char)*p) || (n && strchr("eE+-", *p)) || (!n && *p == '-')) {
            plain[n++] = *p;
            n_digits += !is_fraction;
        } else {
            return 0;
        }
    }
    plain[n] = '\0';
    *out = strtod(plain, &end);
    return end > plain && !*end && strlen(text) < sizeof plain && (is_fraction || !n_groups || n_digits == 3);
}

/* Nanoseconds in a unit of time, as versions of ncu write it; 0 = none. */
static double unit_ns(const char *unit)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"nsecond", 1},     {"ns", 1},        {"usecond", 1e3}, {"us", 1e3},     {"\xce\xbcs", 1e3},
                 {"\xc2\xb5s", 1e3}, {"msecond", 1e6}, {"ms", 1e6},      {"second", 1e9}, {"s", 1e9}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(unit, units[i].name) == 0)
            return units[i].ns;
    return 0;
}

static struct kernel *kernel_of(struct profile *p, const char *name)
{
    for (int i = 0; i < p->n; i++)
        if (strcmp(p->kernels[i].name, name) == 0)
            return &p->kernels[i];
    if (p->n == MAX_KERNELS) {
        p->n_left_out++;
        return NULL;
    }
    p->kernels[p->n].name = run_text(p->run, name);
    return &p->kernels[p->n++];
}

static int is_not_measured(const char *text)
{
    return !*text || strcasecmp(text, "n/a") == 0;
}

/* No duration is below 0; shares may pass 100 % by a little, since counters of one metric come from several passes. */
static int is_possible(int m, double v)
{
    enum { MOST_PERCENT = 110 };
    return isfinite(v) && v >= 0 && (m == 0 || v <= MOST_PERCENT);
}

/* One value of metric m: durations in one unit, all others in percent ("Memory Throughput" also is a line in bytes per
 * second). */
static void add(struct profile *p, struct kernel *k, int m, const char *unit, const char *text)
{
    double v[N_STYLES], factor = 1;
    int is_value[N_STYLES];
    if (m < 0 || (m > 0 && strcmp(unit, "%") != 0) || is_not_measured(text))
        return;
    if (m == 0 && !*k->unit)
        snprintf(k->unit, sizeof k->unit, "%s", unit);
    else if (m == 0 && strcmp(k->unit, unit) != 0) {
        if (!(unit_ns(unit) > 0) || !(unit_ns(k->unit) > 0))
            return;
        factor = unit_ns(unit) / unit_ns(k->unit);
    }
    for (int i = 0; i < N_STYLES; i++) {
        is_value[i] = number(text, (enum style)i, &v[i]) && is_possible(m, v[i]);
        if (is_value[i]) {
            k->n[i][m] += p->weight;
            k->sum[i][m] += v[i] * factor * (double)p->weight;
        } else {
            samples_leave(&p->left[i], text);
        }
    }
    for (int i = 0; i < N_STYLES; i++)
        p->n_only[i] += is_value[i] && !is_value[!i];
}

/* One value of counter c; factor converts its unit to ours. is_shown: it is also one of the metrics, which report what
 * is wrong with it. */
static void count(struct profile *p, int c, double factor, const char *text, int is_shown)
{
    double v;
    int is_value[N_STYLES];
    if (c < 0 || is_not_measured(text))
        return;
    for (int i = 0; i < N_STYLES; i++) {
        is_value[i] = number(text, (enum style)i, &v) && ncu_launch_take(&p->launch[i], c, v * factor);
        if (!is_value[i] && !is_shown)
            samples_leave(&p->left[i], text);
    }
    for (int i = 0; i < N_STYLES && !is_shown; i++)
        p->n_only[i] += is_value[i] && !is_value[!i];
}

/* Ends a launch. */
static void end_launch(struct profile *p, struct kernel *k)
{
    for (int i = 0; i < N_STYLES; i++) {
        if (k && !ncu_launch_is_empty(&p->launch[i]))
            ncu_sums_add(&k->sums[i], &p->launch[i]);
        ncu_launch_clear(&p->launch[i]);
    }
}

/* The next row. ncu may print something more after the table. */
static int next(struct profile *p, struct dcr_err *err)
{
    int rc;
    do
        rc = dcr_csv_next(p->csv, err);
    while (rc == DCR_FAIL && strncmp(dcr_csv_text(p->csv, 0), "==", 2) == 0);
    p->is_cut = rc == DCR_FAIL && dcr_csv_is_cut(p->csv);
    return p->is_cut ? DCR_END : rc;
}

/* Invocations of a summary; a row of anything else is one launch. */
static int64_t weight_of(const char *text)
{
    size_t n = strspn(text, "0123456789");
    return n && !text[n] && n < 10 ? strtoll(text, NULL, 10) : 1;
}

static int read_details(struct profile *p, struct dcr_err *err)
{
    int name = dcr_csv_column(p->csv, "Kernel Name"), metric = dcr_csv_column(p->csv, "Metric Name"), rc;
    int unit = dcr_csv_column(p->csv, "Metric Unit"), value = dcr_csv_column(p->csv, "Metric Value");
    int id = dcr_csv_column(p->csv, "ID"), n = dcr_csv_column(p->csv, "Invocations");
    value = value >= 0 ? value : dcr_csv_column(p->csv, "Average"); /* --print-summary */
    char launch[32] = "";
    struct kernel *last = NULL;
    while ((rc = next(p, err)) == 0) {
        struct kernel *k = kernel_of(p, dcr_csv_text(p->csv, name));
        const char *what = dcr_csv_text(p->csv, metric), *in = dcr_csv_text(p->csv, unit);
        double factor = 0;
        if (k != last || strncmp(launch, dcr_csv_text(p->csv, id), sizeof launch - 1) != 0)
            end_launch(p, last);
        snprintf(launch, sizeof launch, "%s", dcr_csv_text(p->csv, id));
        last = k;
        if (!k)
            continue;
        int m = metric_of(what), c = n < 0 ? ncu_counter_of(what, in, &factor) : -1; /* a mean is not of one launch */
        p->weight = weight_of(dcr_csv_text(p->csv, n));
        add(p, k, m, in, dcr_csv_text(p->csv, value));
        count(p, c, factor, dcr_csv_text(p->csv, value), m >= 0);
    }
    end_launch(p, last);
    return rc;
}

/* A column of the raw page: metric m, counter c, -1 neither; with its unit and the factor from it to ours. */
struct column {
    int at, m, c;
    char unit[16];
    double factor;
};
enum { MAX_USED = 256 };

/* The columns that are used: those of a metric once. Their units are in the current row, unless has_units is 0.
 * columns: shape (MAX_USED). returns  number of columns */
static int columns_of(const struct dcr_csv *csv, int has_units, struct column *columns)
{
    int n = 0, is_known[N_METRICS] = {0};
    for (int i = 0; i < dcr_csv_n_columns(csv) && n < MAX_USED; i++) {
        const char *name = dcr_csv_name(csv, i), *unit = has_units ? dcr_csv_text(csv, i) : "";
        struct column x = {.at = i, .m = metric_of(name), .c = -1};
        x.c = ncu_counter_of(name, unit, &x.factor);
        x.m = x.m >= 0 && is_known[x.m]++ ? -1 : x.m;
        snprintf(x.unit, sizeof x.unit, "%s", unit);
        if (x.m >= 0 || x.c >= 0)
            columns[n++] = x;
    }
    return n;
}

/* The first row holds the units, and no kernel. */
static int read_raw(struct profile *p, struct dcr_err *err)
{
    struct column *columns = calloc(MAX_USED, sizeof *columns);
    int name = dcr_csv_column(p->csv, "Kernel Name"), n = -1, rc = 0;
    if (!columns)
        return dcr_err_set(err, DCR_FATAL, "out of memory");
    while (!rc && (rc = next(p, err)) == 0) {
        const char *kernel = dcr_csv_text(p->csv, name);
        struct kernel *k = *kernel ? kernel_of(p, kernel) : NULL;
        if (n < 0 || !*kernel)
            n = columns_of(p->csv, !*kernel, columns);
        for (int i = 0; k && i < n; i++) {
            const char *text = dcr_csv_text(p->csv, columns[i].at);
            add(p, k, columns[i].m, columns[i].unit, text);
            count(p, columns[i].c, columns[i].factor, text, columns[i].m >= 0);
        }
        end_launch(p, k);
    }
    free(columns);
    return rc;
}

static void write_table(const struct profile *p, const char *file)
{
    enum style style = p->n_only[COMMA] > p->n_only[POINT] ? COMMA : POINT;
    struct foreign_table *t = run_add_table(
        p->run, file, FOREIGN_NCU, "Kernels under the profiler, means over their runs and shares of the device's peak",
        "Kernel|#Profiled|#Duration|#Compute throughput, %|#Memory throughput, %|"
        "#DRAM throughput, %|#Achieved occupancy, %");
    for (int i = 0; i < p->n; i++) {
        const struct kernel *k = &p->kernels[i];
        int64_t most = 0;
        for (int m = 0; m < N_METRICS; m++)
            most = k->n[style][m] > most ? k->n[style][m] : most;
        table_add(p->run, t, "%s", k->name);
        table_add(p->run, t, "%lld", (long long)most);
        for (int m = 0; m < N_METRICS; m++)
            if (k->n[style][m])
                table_add(p->run, t, "%.4g%s%s", k->sum[style][m] / (double)k->n[style][m], m ? "" : " ",
                          m ? "" : k->unit);
            else
                table_add(p->run, t, "n/a");
    }
    for (int i = 0; i < p->n; i++)
        if (p->kernels[i].sums[style].n)
            ncu_sums_keep(p->run, file, p->kernels[i].name, &p->kernels[i].sums[style]);
    gpu_samples_say(p->run, file, &p->left[style]);
    if (p->is_cut)
        run_add_gap(p->run, PHRASE(LAST_LINE_CUT, slot_name(file)));
    if (p->n_left_out)
        run_add_gap(p->run, PHRASE(NCU_KERNELS, slot_count(p->n_left_out), slot_name(file), slot_count(MAX_KERNELS)));
}

/* Output without a table: the reason, in ncu's words if it gives one. */
static int no_table(const char *head, size_t n, const char *file, struct dcr_err *err)
{
    const char *wrong = talk_in(head, n, talks[1]);
    size_t len = wrong ? (size_t)(head + n - wrong) : 0;
    const char *stop = wrong ? memchr(wrong, '\n', len) : NULL;
    len = stop ? (size_t)(stop - wrong) : len;
    if (wrong)
        return dcr_err_set(err, DCR_FAIL, "'%s' is output of ncu, which profiled nothing: %.*s", file,
                           (int)(len < 200 ? len : 200), wrong);
    return dcr_err_set(err, DCR_FAIL, "'%s' is output of ncu without a table; profile with ncu --csv", file);
}

int ncu_csv_read(struct run *r, struct dcr_stream *s, struct dcr_err *err)
{
    struct from_line *lines = malloc(sizeof *lines);
    struct profile p = {.run = r, .weight = 1, .kernels = calloc(MAX_KERNELS, sizeof *p.kernels)};
    struct dcr_stream from;
    end_launch(&p, NULL);
    int rc = lines && p.kernels ? from_line_open(lines, s, details, &from, err)
                                : dcr_err_set(err, DCR_FATAL, "out of memory reading '%s'", s->name);
    if (!rc) {
        const char *line = table_in(lines->bytes, lines->len);
        rc = line ? 0 : no_table(lines->bytes, lines->len, s->name, err);
        lines->pos = line ? (size_t)(line - lines->bytes) : 0;
    }
    if (!rc)
        rc = dcr_csv_open(&p.csv, &from, err);
    if (!rc)
        rc = dcr_csv_column(p.csv, "Metric Name") >= 0 ? read_details(&p, err) : read_raw(&p, err);
    if (rc == DCR_END)
        rc = p.n ? 0
                 : dcr_err_set(err, DCR_FAIL,
                               "'%s' is output of ncu without a kernel; profile a program that runs kernels", s->name);
    if (!rc)
        write_table(&p, s->name);
    dcr_csv_close(p.csv);
    free(p.kernels);
    free(lines);
    return rc;
}
