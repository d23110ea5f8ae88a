/* confidence.c - how reliable statements about a run are, and why not more so: for a share compared with a threshold,
 * and for runs without known steps. Rules: docs/metrics.md#confidence. See claims.h. */
#include "render/findings/claims.h"

#include "render/findings/rules/analyse.h"
#include "render/metrics/calls.h"
#include "render/metrics/cores.h"
#include "render/metrics/recorded.h"
#include "render/metrics/series/series.h"
#include "render/say/format.h"
#include "render/say/say.h"

#include <math.h>
#include <string.h>

static const char *because_of(struct report *rep, struct phrase p)
{
    return say_phrase(&rep->arena, &p);
}

static struct phrase few(int64_t n_steps, double need)
{
    return PHRASE(SURE_FEW_STEPS, slot_count(n_steps), slot_count((int64_t)ceil(need)));
}

static struct slot range_of(struct report *rep, struct interval i)
{
    return slot_name(report_text(rep, "%s", fmt_percent_range(i.lo, i.hi).text));
}

/* The point of a series that has this run as a repetition. */
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
        *because = because_of(rep, PHRASE(SURE_SHARED_CORES));
        return CONFIDENCE_LOW;
    }
    if ((double)r->n_counted < rep->thresholds.few_steps) {
        *because = because_of(rep, few(r->n_counted, rep->thresholds.few_steps));
        return CONFIDENCE_LOW;
    }
    for (int k = 0; k < r->run->ranks_len; k++)
        if (r->run->ranks[k].n_dropped_gpu || rank_lost_steps(&r->run->ranks[k])) {
            *because = because_of(rep, PHRASE(SURE_EVENTS_LOST));
            return CONFIDENCE_LOW;
        }
    if (has_bad_clock(rep, r)) {
        *because = because_of(rep, PHRASE(SURE_BAD_CLOCK));
        return CONFIDENCE_LOW;
    }
    const struct series_point *p = r->series >= 0 && rep->series ? point_of(rep, r) : NULL;
    if (p && p->n_runs > 1 && repetition_spread(rep, p) > rep->thresholds.step_cv) {
        *because =
            because_of(rep, PHRASE(SURE_REPETITIONS, slot_count(p->n_runs), slot_percent(repetition_spread(rep, p))));
        return CONFIDENCE_LOW;
    }
    if (i.has && threshold >= 0 && i.lo <= threshold && i.hi >= threshold) {
        *is_interval = 1;
        *because = because_of(rep, PHRASE(SURE_NEAR_THRESHOLD, slot_name(share), range_of(rep, i)));
        return CONFIDENCE_MEDIUM;
    }
    if (r->run->node_kind == NODES_EMULATED || (r->run->node_kind == NODES_SHARES && !has_shares(r->run))) {
        *because = because_of(rep, PHRASE(SURE_EMULATED));
        return CONFIDENCE_MEDIUM;
    }
    if (r->shared.is_of_several) {
        *because = because_of(rep, PHRASE(SURE_PROCESSES));
        return CONFIDENCE_MEDIUM;
    }
    *is_interval = i.has;
    *because = because_of(rep, i.has ? PHRASE(SURE_INTERVAL, slot_name(share), range_of(rep, i))
                                     : PHRASE(SURE_STEPS, slot_count(r->n_counted)));
    return CONFIDENCE_HIGH;
}

/* ---- runs without steps --------------------------------------------------------------------------- */

/* Confidence in a run of which only means and spreads were kept. */
static enum confidence of_summary(struct report *rep, const struct run_summary *m, const char **because)
{
    double clock = m->clock_max_mhz > 0 && m->clock_mean_mhz > 0 ? m->clock_mean_mhz / m->clock_max_mhz : 1;
    if ((double)m->n_steps < rep->thresholds.few_steps) {
        *because = because_of(rep, few(m->n_steps, rep->thresholds.few_steps));
        return CONFIDENCE_LOW;
    }
    if (clock < rep->thresholds.clock) {
        *because = because_of(rep, PHRASE(SURE_CLOCK, slot_percent(clock)));
        return CONFIDENCE_LOW;
    }
    *because = because_of(rep, PHRASE(SURE_SUMMARY, slot_count(m->n_steps)));
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
        *because = because_of(rep, PHRASE(SURE_SHARED_CORES));
        return CONFIDENCE_LOW;
    }
    if (a->summary.n_steps)
        return of_summary(rep, &a->summary, because);
    if (a->n_traces) {
        *because = because_of(rep, PHRASE(SURE_UNMARKED));
        return CONFIDENCE_LOW;
    }
    if (a->n_tables) {
        *because = because_of(rep, PHRASE(SURE_OTHER_TOOL));
        return CONFIDENCE_MEDIUM;
    }
    if (mpi_share(a).has || file_time(a).ratio > rep->thresholds.io_limits) {
        *because = because_of(rep, a->has_window ? PHRASE(SURE_SUMS_OF_PART) : PHRASE(SURE_SUMS_OF_RUN));
        return CONFIDENCE_MEDIUM;
    }
    if ((double)n_samples(a) >= rep->thresholds.few_steps) {
        *because = because_of(rep, PHRASE(SURE_SAMPLES));
        return CONFIDENCE_MEDIUM;
    }
    *because = because_of(rep, n_samples(a) ? PHRASE(SURE_FEW_SAMPLES, slot_count(n_samples(a)),
                                                     slot_count((int64_t)rep->thresholds.few_steps))
                                            : PHRASE(SURE_NOTHING));
    return CONFIDENCE_LOW;
}
