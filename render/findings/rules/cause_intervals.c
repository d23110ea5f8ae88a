/* cause_intervals.c - intervals of the shares of causes that include waiting or calls on files. Such a share is not one
 * part of a step, so the interval of a part does not fit. Called by rules.c. */
#include "render/findings/rules/rules.h"
#include "render/metrics/cores.h"
#include "render/metrics/rule.h"
#include "render/metrics/stats.h"

#include <stdlib.h>

/* Waiting as the breakdown shows it (ns) for each ns of waiting that the collectives of the steps assign to causes. */
static double scale_of_causes(const struct run_result *r)
{
    double waited = 0, given = 0;
    for (int64_t k = 0; k < r->n_counted; k++) {
        waited += (double)r->step_part_ns[k][PART_WAIT];
        for (int c = 0; c < N_CATEGORIES; c++)
            given += r->step_cause_ns[k][c];
    }
    return given > 0 ? waited / given : 0;
}

/* Waiting of one step that a cause is charged with. All waiting except that for loading and writing is imbalance. If
 * cores were shared, the split of the whole run applies. unit: ns, sum over ranks */
static double caused_in(const struct run_result *r, int64_t step, int category, double scale)
{
    if (!is_doubtful(r))
        return r->step_cause_ns[step][category] * scale;
    double all = (double)r->part_ns[PART_WAIT];
    return all > 0 ? (double)r->step_part_ns[step][PART_WAIT] * (double)r->wait_cause_ns[category] / all : 0;
}

/* Columns of the resamples. The shares are of the first column. */
enum { OF_STEP, OF_DATA, OF_IO, OF_IMBALANCE };

/* files: the share of loading that calls on files take. Every step uses that of the run, as its class does. */
static void fill_row(const struct run_result *r, int64_t k, double causes, double files, int64_t row[N_PARTS])
{
    const int64_t *part = r->step_part_ns[k];
    double loading = (double)part[PART_DATA] + caused_in(r, k, CAT_DATA, causes), uneven = 0;
    if (is_doubtful(r) && r->part_ns[PART_WAIT] > 0)
        uneven = (double)part[PART_WAIT] * (double)r->uneven_wait_ns / (double)r->part_ns[PART_WAIT];
    for (int c = 0; c < N_CATEGORIES && !is_doubtful(r); c++)
        uneven += c == CAT_DATA || c == CAT_IO ? 0 : caused_in(r, k, c, causes);
    for (int p = 0; p < N_PARTS; p++)
        row[OF_STEP] += part[p];
    row[OF_DATA] = (int64_t)((1 - files) * loading);
    row[OF_IO] = (int64_t)((double)part[PART_IO] + caused_in(r, k, CAT_IO, causes) + files * loading);
    row[OF_IMBALANCE] = (int64_t)uneven;
}

void cause_intervals(struct run_result *r)
{
    static const enum cause_class of[] = {[OF_DATA] = CLASS_DATA, [OF_IO] = CLASS_IO, [OF_IMBALANCE] = CLASS_IMBALANCE};
    if (r->n_counted < BOOTSTRAP_MIN_STEPS)
        return;
    int64_t(*row)[N_PARTS] = calloc((size_t)r->n_counted, sizeof *row);
    double(*mean)[N_PARTS] = calloc(BOOTSTRAP_RESAMPLES, sizeof *mean),
    *value = calloc(BOOTSTRAP_RESAMPLES, sizeof *value);
    if (!row || !mean || !value)
        goto out;
    double causes = scale_of_causes(r);
    double files = r->part_ns[PART_DATA] > 0 ? (double)files_in_loading(r) / (double)r->part_ns[PART_DATA] : 0;
    for (int64_t k = 0; k < r->n_counted; k++)
        fill_row(r, k, causes, files, row[k]);
    struct draws d = {1}; /* as for the parts, so that a cause that is one part has that part's interval */
    bootstrap_means((const int64_t(*)[N_PARTS])row, (size_t)r->n_counted, &d, mean);
    for (int i = OF_DATA; i <= OF_IMBALANCE; i++) {
        for (int k = 0; k < BOOTSTRAP_RESAMPLES; k++)
            value[k] = mean[k][OF_STEP] > 0 ? mean[k][i] / mean[k][OF_STEP] : 0;
        r->cause_interval[of[i]] = percentile_interval(value, BOOTSTRAP_RESAMPLES);
    }
out:
    free(value);
    free(mean);
    free(row);
}

struct interval claimed_interval(const struct run_result *r, enum cause_class cls)
{
    static const enum part parts[N_CLASSES] = {
        [CLASS_COMPUTE] = PART_COMPUTE, [CLASS_COPY] = PART_COPY, [CLASS_OVERHEAD] = PART_OTHER};
    enum judged_by by = r->classes[cls].judged.by;
    if (by == JUDGED_RUN || by == JUDGED_IO_WAIT) /* no shares of the steps */
        return (struct interval){0};
    switch (cls) {
    case CLASS_DATA:
    case CLASS_IO:
    case CLASS_IMBALANCE:
        return r->cause_interval[cls];
    case CLASS_COMMUNICATION:
        return r->comm_interval;
    case CLASS_COMPUTE:
    case CLASS_COPY:
    case CLASS_OVERHEAD:
        return r->part_interval[parts[cls]];
    default:
        return (struct interval){0}; /* no share of the steps */
    }
}
