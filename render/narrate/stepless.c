/* stepless.c - headline and support of runs whose steps are not known: what else their files say. Called by claims.c.
 */
#include "render/narrate/stepless.h"

#include "render/analyse/analyse.h"
#include "render/model/talp.h"
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

/* Whether column p of "Region|#Elapsed, s|...|#Parallel|..." has this title. */
static int is_titled(const char *p, const char *title)
{
    size_t n = strlen(title);
    p += *p == '#';
    return strncmp(p, title, n) == 0 && (!p[n] || p[n] == '|');
}

/* v: shape (N_TALP); -1 where the table has no such column or no number in it (render/import/talp.c). */
static void talp_row(const struct foreign_table *t, size_t row, double *v)
{
    for (int e = 0; e < N_TALP; e++) {
        const char *p = t->columns;
        v[e] = -1;
        for (int c = 0; c < t->n_columns; c++, p = strchr(p, '|') ? strchr(p, '|') + 1 : "")
            if (is_titled(p, talp_title((enum talp_efficiency)e)))
                v[e] = value(t, row, c);
    }
}

/* "OpenMP with 0.94 (in it OpenMP load balance with 0.95)"; NULL: no factor that is known is below 1. */
static const char *lowest_text(struct report *rep, const double *v, enum talp_efficiency of)
{
    enum talp_efficiency e = talp_lowest_factor(v, of);
    if (e == TALP_NONE || v[e] >= 1)
        return NULL;
    const char *inner = lowest_text(rep, v, e);
    return report_text(rep, "%s with %.2f%s", talp_title(e), v[e], inner ? report_text(rep, " (in it %s)", inner) : "");
}

/* What is no factor of the host's efficiency, and a product that is not it. */
static const char *talp_support(struct report *rep, const double *v)
{
    const char *text = "";
    if (!talp_agrees(v, TALP_PARALLEL))
        text = report_text(
            rep,
            "Its factors multiply to %.2f, which differs from %.2f by more than rounding: DLB does not measure "
            "them against the same time.",
            talp_product(v, TALP_PARALLEL), v[TALP_PARALLEL]);
    const char *inner = lowest_text(rep, v, TALP_GPU);
    if (v[TALP_GPU] >= 0)
        text = report_text(rep,
                           "%s%sThat is the side of the host; on the side of the GPUs, no factor of it, the parallel "
                           "efficiency is %.2f%s%s.",
                           text, *text ? " " : "", v[TALP_GPU], inner ? "; its lowest factor is " : "",
                           inner ? inner : "");
    return text;
}

/* Of 'Global', else of the region that took longest. */
static const char *say_talp(struct report *rep, const struct foreign_table *t, const char **support)
{
    size_t longest = 0;
    double v[N_TALP];
    for (size_t i = 1; i < n_rows(t); i++)
        if (strcmp(cell(t, longest, 0), "Global") != 0 &&
            (strcmp(cell(t, i, 0), "Global") == 0 || value(t, i, 1) > value(t, longest, 1)))
            longest = i;
    if (n_rows(t) == 0)
        return "";
    talp_row(t, longest, v);
    if (v[TALP_PARALLEL] < 0)
        return "";
    const char *lowest = lowest_text(rep, v, TALP_PARALLEL);
    *support = talp_support(rep, v);
    return report_text(rep, "By TALP the parallel efficiency of region '%s' is %.2f (POP accepts 0.80 and above)%s%s.",
                       cell(t, longest, 0), v[TALP_PARALLEL], lowest ? "; its lowest factor is " : "",
                       lowest ? lowest : "");
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

static const char *say_table(struct report *rep, const struct foreign_table *t, const char **support)
{
    if (strcmp(t->kind, "nccl-tests log") == 0)
        return say_nccl_tests(rep, t);
    if (strcmp(t->kind, "TALP report") == 0)
        return say_talp(rep, t, support);
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

/* The first thing that files without steps say; "" nothing. support: what else that table says, unchanged if nothing.
 */
static const char *evidence_headline(struct report *rep, const struct run *r, const char **support)
{
    const char *text = "";
    for (int i = 0; i < r->n_tables && !*text; i++)
        text = say_table(rep, &r->tables[i], support);
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
        evidence = evidence_headline(rep, r->run, &r->support);
    if (*evidence)
        r->headline = evidence;
    else if (!r->headline)
        r->headline = report_text(rep, "Where the time of a step goes%s%s is unknown: no %s were recorded.",
                                  r->n_nodes ? " at " : "", r->n_nodes ? nodes_text(rep, r->n_nodes) : "",
                                  r->step.n ? "phases of a step" : "steps");
    if (r->has_throughput)
        r->support =
            report_text(rep, "%s%sBy %s%s it processed %s samples per second.", r->support, *r->support ? " " : "",
                        r->run->summary.n_steps ? "the " : "", r->throughput_source, fmt_number(r->throughput).text);
    say_mpi(rep, r);
}
