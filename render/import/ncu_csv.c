/* ncu_csv.c - `ncu --csv --page details`: one line per kernel and metric. Per kernel name: how often it ran under the
 * profiler and the means of the metrics that say what it is limited by. */
#include "render/import/parsers.h"

#include "lib/csv.h"
#include "render/import/from_line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const words[] = {"ID", "Kernel Name", "Metric Name", "Metric Unit", "Metric Value", NULL};

int ncu_csv_is(const char *head, size_t n)
{
    return line_with(head, n, words) != NULL;
}

static const struct {
    const char *name, *other; /* of sections, and of the counters themselves */
} metrics[] = {{"Duration", "gpu__time_duration.sum"},
               {"Compute (SM) Throughput", "sm__throughput.avg.pct_of_peak_sustained_elapsed"},
               {"Memory Throughput", "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"},
               {"DRAM Throughput", "dram__throughput.avg.pct_of_peak_sustained_elapsed"},
               {"Achieved Occupancy", "sm__warps_active.avg.pct_of_peak_sustained_active"}};
enum { N_METRICS = sizeof metrics / sizeof *metrics, MAX_KERNELS = 2048 };

struct kernel {
    const char *name;
    int64_t n[N_METRICS];
    double sum[N_METRICS];
    char unit[16]; /* of the duration */
};

/* "1,234.5" is a number too. */
static int number(const char *text, double *out)
{
    char plain[64], *end;
    size_t n = 0;
    for (; *text && n + 1 < sizeof plain; text++)
        if (*text != ',')
            plain[n++] = *text;
    plain[n] = '\0';
    *out = strtod(plain, &end);
    return end > plain && !*end;
}

static struct kernel *kernel_of(struct run *r, struct kernel *k, int *n, const char *name)
{
    for (int i = 0; i < *n; i++)
        if (strcmp(k[i].name, name) == 0)
            return &k[i];
    if (*n == MAX_KERNELS)
        return NULL;
    k[*n].name = run_text(r, name);
    return &k[(*n)++];
}

int ncu_csv_read(struct run *r, struct dcr_stream *s, struct dcr_err *err)
{
    struct from_line *lines = malloc(sizeof *lines);
    struct kernel *kernels = calloc(MAX_KERNELS, sizeof *kernels);
    struct dcr_csv *csv = NULL;
    struct dcr_stream from;
    int n = 0;
    int rc = lines && kernels ? from_line_open(lines, s, words, &from, err)
                              : dcr_err_set(err, DCR_FATAL, "out of memory reading '%s'", s->name);
    if (!rc)
        rc = dcr_csv_open(&csv, &from, err);
    int name = rc ? -1 : dcr_csv_column(csv, "Kernel Name"), metric = rc ? -1 : dcr_csv_column(csv, "Metric Name");
    while (!rc && (rc = dcr_csv_next(csv, err)) == 0) {
        struct kernel *k = kernel_of(r, kernels, &n, dcr_csv_text(csv, name));
        double v;
        const char *unit = dcr_csv_text(csv, dcr_csv_column(csv, "Metric Unit"));
        if (!k || !number(dcr_csv_text(csv, dcr_csv_column(csv, "Metric Value")), &v))
            continue;
        for (int m = 0; m < N_METRICS; m++) {
            const char *of = dcr_csv_text(csv, metric);
            if ((strcmp(of, metrics[m].name) && strcmp(of, metrics[m].other)) || (m > 0 && strcmp(unit, "%")))
                continue;                                   /* "Memory Throughput" also is a line in bytes per second */
            if (m == 0 && k->n[0] && strcmp(k->unit, unit)) /* ncu scales each line by itself */
                continue;
            if (m == 0)
                snprintf(k->unit, sizeof k->unit, "%s", unit);
            k->n[m]++;
            k->sum[m] += v;
        }
    }
    if (rc == DCR_END) {
        rc = n ? 0 : dcr_err_set(err, DCR_FAIL, "'%s' is output of ncu without a kernel", s->name);
        struct foreign_table *t =
            n ? run_add_table(r, s->name, "ncu kernels (CSV)",
                              "Kernels under the profiler, means over their runs; shares are of the device's peak",
                              "Kernel|#Profiled|#Duration|#Compute throughput, %|#Memory throughput, %|"
                              "#DRAM throughput, %|#Achieved occupancy, %")
              : NULL;
        for (int i = 0; i < n; i++) {
            const struct kernel *k = &kernels[i];
            int64_t most = 0;
            for (int m = 0; m < N_METRICS; m++)
                most = k->n[m] > most ? k->n[m] : most;
            table_add(r, t, "%s", k->name);
            table_add(r, t, "%lld", (long long)most);
            for (int m = 0; m < N_METRICS; m++)
                if (k->n[m])
                    table_add(r, t, "%.4g%s%s", k->sum[m] / (double)k->n[m], m ? "" : " ", m ? "" : k->unit);
                else
                    table_add(r, t, "n/a");
        }
    }
    dcr_csv_close(csv);
    free(kernels);
    free(lines);
    return rc;
}
