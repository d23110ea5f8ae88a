/* confidence.c - how far what is said of a run may be trusted, and why not further: of a share against a threshold, and
 * of runs whose steps are not known. Rules: docs/metrics.md#confidence. See claims.h. */
#include "render/narrate/claims.h"

#include "render/analyse/analyse.h"
#include "render/say/format.h"

#include <string.h>

/* The point of a series that a run is one of the repetitions of. */
static const struct series_point *point_of(const struct report *rep, const struct run_result *r)
{
    const struct series *s = &rep->series[r->series];
    for (int i = 0; i < s->n_points; i++)
        for (int k = 0; k < s->points[i].n_runs; k++)
            if (&rep->runs[s->points[i].runs[k]] == r)
                return &s->points[i];
    return NULL;
}

enum confidence confidence_of(struct report *rep, const struct run_result *r, struct interval i, double threshold,
                              const char **because)
{
    int is_interval;
    return confidence_of_share(rep, r, "the share", i, threshold, because, &is_interval);
}

enum confidence confidence_of_share(struct report *rep, const struct run_result *r, const char *share,
                                    struct interval i, double threshold, const char **because, int *is_interval)
{
    *is_interval = 0;
    if (is_doubtful(r)) {
        *because = r->shared.because;
        return CONFIDENCE_LOW;
    }
    if ((double)r->n_counted < rep->thresholds.few_steps) {
        *because = report_text(rep, "it was seen in %s, too few to conclude", fmt_count(r->n_counted, "step").text);
        return CONFIDENCE_LOW;
    }
    for (int k = 0; k < r->run->ranks_len; k++)
        if (r->run->ranks[k].n_dropped || rank_lost_events(&r->run->ranks[k])) {
            *because = "events of this run were lost";
            return CONFIDENCE_LOW;
        }
    if (has_bad_clock(rep, r)) {
        *because = "a GPU ran below its clock";
        return CONFIDENCE_LOW;
    }
    const struct series_point *p = r->series >= 0 && rep->series ? point_of(rep, r) : NULL;
    if (p && p->n_runs > 1 && repetition_spread(rep, p) > rep->thresholds.step_cv) {
        *because =
            report_text(rep, "its %d repetitions differ by %s", p->n_runs, fmt_percent(repetition_spread(rep, p)).text);
        return CONFIDENCE_LOW;
    }
    if (i.has && threshold >= 0 && i.lo <= threshold && i.hi >= threshold) {
        *is_interval = 1;
        *because = report_text(rep, "the 95 %% interval of %s (%s) includes the threshold", share,
                               fmt_percent_range(i.lo, i.hi).text);
        return CONFIDENCE_MEDIUM;
    }
    if (r->run->node_kind == NODES_EMULATED || (r->run->node_kind == NODES_SHARES && !has_shares(r->run))) {
        *because = "the nodes are emulated on one host";
        return CONFIDENCE_MEDIUM;
    }
    if (r->shared.is_of_several) {
        *because = "which of a rank's processes waited for a core is not recorded";
        return CONFIDENCE_MEDIUM;
    }
    *is_interval = i.has;
    *because = i.has ? report_text(rep, "the 95 %% interval of %s is %s", share, fmt_percent_range(i.lo, i.hi).text)
                     : report_text(rep, "%s counted", fmt_count(r->n_counted, "step").text);
    return CONFIDENCE_HIGH;
}

/* ---- runs without steps --------------------------------------------------------------------------- */

/* Of which means and spreads were kept. */
static enum confidence of_summary(struct report *rep, const struct run_summary *m, const char **because)
{
    double clock = m->clock_max_mhz > 0 && m->clock_mean_mhz > 0 ? m->clock_mean_mhz / m->clock_max_mhz : 1;
    if ((double)m->n_steps < rep->thresholds.few_steps) {
        *because = report_text(rep, "%s, too few to conclude", fmt_count(m->n_steps, "step").text);
        return CONFIDENCE_LOW;
    }
    if (clock < rep->thresholds.clock) {
        *because = report_text(rep, "the SM clock was %s of its highest in the mean", fmt_percent(clock).text);
        return CONFIDENCE_LOW;
    }
    *because = report_text(rep, "of %s only mean and spread were kept", fmt_count(m->n_steps, "step").text);
    return CONFIDENCE_MEDIUM;
}

static int64_t n_samples(const struct run *a)
{
    int64_t n = 0;
    for (int i = 0; i < a->nodes_len; i++)
        for (int k = 0; k < a->nodes[i].n_gpus; k++)
            n += a->nodes[i].gpus[k].utilization_percent.n;
    return n;
}

enum confidence confidence_without_steps(struct report *rep, const struct run_result *r, const char **because)
{
    const struct run *a = r->run;
    if (is_doubtful(r)) {
        *because = r->shared.because;
        return CONFIDENCE_LOW;
    }
    if (a->summary.n_steps)
        return of_summary(rep, &a->summary, because);
    if (a->n_traces) {
        *because =
            "no steps are marked, so that nothing tells whether what was traced is what the run does all the time";
        return CONFIDENCE_LOW;
    }
    if (a->n_tables) {
        *because = "numbers of another tool, of one execution and without their spread";
        return CONFIDENCE_MEDIUM;
    }
    if (mpi_share(a).has || file_time(a).ratio > rep->thresholds.io_limits) {
        *because = a->has_window ? "sums over the part of the run that was recorded"
                                 : "sums over the whole run, its start and end included";
        return CONFIDENCE_MEDIUM;
    }
    if ((double)n_samples(a) >= rep->thresholds.few_steps) {
        *because = "samples tell how busy a GPU was, not why it was no busier";
        return CONFIDENCE_MEDIUM;
    }
    *because = n_samples(a) ? report_text(rep, "%s, too few to conclude", fmt_count(n_samples(a), "sample").text)
                            : "no time of its steps is known";
    return CONFIDENCE_LOW;
}
