/* stepless.c - headline and support of runs whose steps are not known: what else their files say. Called by claims.c.
 */
#include "render/narrate/stepless.h"

#include "render/analyse/analyse.h"
#include "render/narrate/claims.h"
#include "render/narrate/devices.h"
#include "render/narrate/format.h"

#include <stdlib.h>
#include <string.h>

static const char *cell(const struct foreign_table *t, size_t row, int column)
{
    return t->cells[row * (size_t)t->n_columns + (size_t)column];
}

static size_t n_rows(const struct foreign_table *t)
{
    return t->n_cells / (size_t)t->n_columns;
}

/* -1 when the cell holds no number. */
static double value(const struct foreign_table *t, size_t row, int column)
{
    const char *text = cell(t, row, column);
    char *end;
    double v = strtod(text, &end);
    return end > text && !*end ? v : -1;
}

/* "Parallel" is column `column` of "Region|#Elapsed, s|...|#Parallel|...". */
static const char *column_name(struct report *rep, const struct foreign_table *t, int column)
{
    const char *p = t->columns;
    for (; column > 0; column--)
        p = strchr(p, '|') + 1;
    p += *p == '#';
    return report_text(rep, "%.*s", (int)strcspn(p, "|"), p);
}

/* Bytes, time, algbw and busbw out of place, time and busbw in place (render/import/nccl_tests.c). */
static const char *say_nccl_tests(struct report *rep, const struct foreign_table *t)
{
    double best = -1, bytes = 0;
    for (size_t i = 0; i < n_rows(t); i++)
        for (int c = 3; c <= 5; c += 2)
            if (value(t, i, 0) >= 0 && value(t, i, c) > best) {
                best = value(t, i, c);
                bytes = value(t, i, 0);
            }
    return best < 0 ? ""
                    : report_text(rep, "The collective of '%s' reaches a bus bandwidth of %s GB/s, with %s.", t->file,
                                  fmt_number(best).text, fmt_bytes(bytes).text);
}

/* Region, elapsed, useful, then efficiencies, the parallel one first (render/import/talp.c). */
static const char *say_talp(struct report *rep, const struct foreign_table *t)
{
    size_t longest = 0;
    int lowest = -1;
    for (size_t i = 1; i < n_rows(t); i++)
        if (strcmp(cell(t, longest, 0), "Global") != 0 &&
            (strcmp(cell(t, i, 0), "Global") == 0 || value(t, i, 1) > value(t, longest, 1)))
            longest = i;
    if (n_rows(t) == 0 || value(t, longest, 3) < 0)
        return "";
    for (int c = 4; c < t->n_columns; c++)
        if (value(t, longest, c) >= 0 && (lowest < 0 || value(t, longest, c) < value(t, longest, lowest)))
            lowest = c;
    return report_text(rep, "By TALP the parallel efficiency of region '%s' is %s (POP accepts 0.80 and above)%s.",
                       cell(t, longest, 0), cell(t, longest, 3),
                       lowest < 0 ? ""
                                  : report_text(rep, "; its lowest factor is %s with %s", column_name(rep, t, lowest),
                                                cell(t, longest, lowest)));
}

/* Kind, bytes at the peak of all ...; the last row is their sum (render/import/memory_timeline.c). */
static const char *say_memory(struct report *rep, const struct foreign_table *t)
{
    size_t n = n_rows(t), most = 0;
    double all = n ? value(t, n - 1, 1) : -1;
    for (size_t i = 0; i + 1 < n; i++)
        most = value(t, i, 1) > value(t, most, 1) ? i : most;
    return all <= 0 ? ""
                    : report_text(rep, "The framework held %s of memory at most, %s of it %s.", fmt_bytes(all).text,
                                  fmt_percent(value(t, most, 1) / all).text, cell(t, most, 0));
}

static const char *say_table(struct report *rep, const struct foreign_table *t)
{
    if (strcmp(t->kind, "nccl-tests log") == 0)
        return say_nccl_tests(rep, t);
    if (strcmp(t->kind, "TALP report") == 0)
        return say_talp(rep, t);
    if (strcmp(t->kind, "PyTorch memory timeline") == 0)
        return say_memory(rep, t);
    if (strncmp(t->kind, "nsys", 4) == 0 && n_rows(t))
        return report_text(rep, "%s: most is '%.80s'.", t->caption, cell(t, 0, 0));
    return n_rows(t) ? report_text(rep, "'%s' is shown as it is: %s.", t->file, t->caption) : "";
}

/* All monitored GPUs, each sample once. */
static const char *say_monitors(struct report *rep, const struct run *r)
{
    double sum = 0;
    int64_t n = 0;
    int n_gpus = 0;
    for (int i = 0; i < r->nodes_len; i++)
        for (int k = 0; k < r->nodes[i].n_gpus; k++) {
            const struct sampled *u = &r->nodes[i].gpus[k].utilization_percent;
            sum += u->sum / 100;
            n += (int64_t)u->n;
            n_gpus += u->n > 0;
        }
    if (!n)
        return "";
    double mean = sum / (double)n;
    return report_text(rep, "By its monitor GPU utilisation was %s in the mean of %s of %s%s.", fmt_percent(mean).text,
                       fmt_count(n, "sample").text, fmt_count(n_gpus, "GPU").text,
                       mean < rep->thresholds.gpu_utilization
                           ? report_text(rep, ", below %s", fmt_percent(rep->thresholds.gpu_utilization).text)
                           : "");
}

/* The first thing that files without steps say; "" nothing. */
static const char *evidence_headline(struct report *rep, const struct run *r)
{
    const char *text = "";
    for (int i = 0; i < r->n_tables && !*text; i++)
        text = say_table(rep, &r->tables[i]);
    if (!*text && !*r->collector_version)
        text = say_monitors(rep, r);
    if (!*text && r->n_traces)
        text = report_text(rep, "The trace '%s' holds no kernel, copy or memset of a GPU.", r->traces[0].file);
    return text;
}

static void say_mpi(struct report *rep, struct run_result *r)
{
    struct mpi_share m = mpi_share(r->run);
    if (!m.has)
        return;
    double largest = (double)m.largest->sum.ns;
    r->support = report_text(
        rep,
        "%s%sThe ranks spent %s of the time that their processes were watched in MPI calls but MPI_Init and "
        "MPI_Finalize (%s of %s, summed over the ranks), %s in %s.",
        r->support, *r->support ? " " : "", fmt_percent(m.ratio).text, fmt_time(m.ns).text, fmt_time(m.wall_ns).text,
        (int64_t)m.largest->sum.ns == m.ns ? "all of it"
                                           : report_text(rep, "%s of it", fmt_percent(largest / (double)m.ns).text),
        m.largest->name);
}

void say_without_steps(struct report *rep, struct run_result *r)
{
    const char *evidence = "";
    r->headline = device_headline(rep, r->run);
    if (!r->headline && !r->step.n)
        evidence = evidence_headline(rep, r->run);
    if (*evidence)
        r->headline = evidence;
    else if (!r->headline)
        r->headline = report_text(rep, "Where the time of a step goes%s%s is unknown: no %s were recorded.",
                                  r->n_nodes ? " at " : "", r->n_nodes ? nodes_text(rep, r->n_nodes) : "",
                                  r->step.n ? "phases of a step" : "steps");
    if (r->has_throughput)
        r->support =
            report_text(rep, "By %s%s it processed %s samples per second.", r->run->summary.n_steps ? "the " : "",
                        r->throughput_source, fmt_number(r->throughput).text);
    say_mpi(rep, r);
}
