/* scaling_intervals.c - intervals of step times, speed-up and efficiency of a series: by bootstrap over steps and
 * repetitions, or from the standard error if only summaries were kept. */
#include "render/metrics/series/series.h"
#include "render/metrics/stats.h"

#include <math.h>
#include <stdlib.h>

/* Mean parts of a step of a point in each resample, per rank. With several repetitions, the runs are drawn too. */
static double (*draw_parts(const struct report *rep, const struct series_point *p, uint64_t seed))[N_PARTS]
{
    double(*out)[N_PARTS] = calloc(BOOTSTRAP_RESAMPLES, sizeof *out);
    double(*of_run)[BOOTSTRAP_RESAMPLES][N_PARTS] = calloc((size_t)p->n_runs, sizeof *of_run);
    if (!out || !of_run) {
        free(out);
        out = NULL;
        goto done;
    }
    struct draws d = {seed};
    for (int i = 0; i < p->n_runs; i++) {
        const struct run_result *r = &rep->runs[p->runs[i]];
        bootstrap_means((const int64_t(*)[N_PARTS])r->step_part_ns, (size_t)r->n_counted, &d, of_run[i]);
    }
    for (int k = 0; k < BOOTSTRAP_RESAMPLES; k++) {
        double weight = 0;
        for (int i = 0; i < p->n_runs; i++) {
            int run = (int)draw_below(&d, (size_t)p->n_runs);
            const struct run_result *r = &rep->runs[p->runs[run]];
            double n = (double)r->n_counted;
            for (int part = 0; part < N_PARTS; part++)
                out[k][part] += n * of_run[run][k][part] / r->n_rank_results;
            weight += n;
        }
        for (int part = 0; part < N_PARTS; part++)
            out[k][part] /= weight;
    }
done:
    free(of_run);
    return out;
}

/* Mean step time of a point in each resample. */
static double *draw_steps(const struct report *rep, const struct series_point *p, uint64_t seed)
{
    double(*parts)[N_PARTS] = draw_parts(rep, p, seed), *out = parts ? calloc(BOOTSTRAP_RESAMPLES, sizeof *out) : NULL;
    for (int k = 0; out && k < BOOTSTRAP_RESAMPLES; k++)
        for (int part = 0; part < N_PARTS; part++)
            out[k] += parts[k][part];
    free(parts);
    return out;
}

static int has_intervals(const struct report *rep, const struct series_point *p)
{
    for (int i = 0; i < p->n_runs; i++)
        if (rep->runs[p->runs[i]].n_counted < BOOTSTRAP_MIN_STEPS)
            return 0;
    return 1;
}

struct interval part_interval(const struct report *rep, const struct series_point *p, enum part part)
{
    struct interval out = {0};
    double(*parts)[N_PARTS] = has_intervals(rep, p) ? draw_parts(rep, p, (uint64_t)p->n_nodes) : NULL;
    double *x = parts ? calloc(BOOTSTRAP_RESAMPLES, sizeof *x) : NULL;
    for (int k = 0; x && k < BOOTSTRAP_RESAMPLES; k++)
        x[k] = parts[k][part];
    if (x)
        out = percentile_interval(x, BOOTSTRAP_RESAMPLES);
    free(x);
    free(parts);
    return out;
}

/* Summaries have no single steps, so the mean is taken as normal with the standard error of the summary. */
static double relative_variance(const struct report *rep, const struct series_point *p)
{
    double variance = 0;
    for (int i = 0; i < p->n_runs; i++) {
        const struct run_summary *m = &rep->runs[p->runs[i]].run->summary;
        if (m->n_steps < BOOTSTRAP_MIN_STEPS || m->stdev_ns < 0 || m->mean_ns <= 0)
            return -1;
        double e = (double)m->stdev_ns / (double)m->mean_ns / p->n_runs;
        variance += e * e / (double)m->n_steps;
    }
    return variance;
}

int is_interval_of_summary(const struct report *rep, const struct series *s, const struct series_point *p)
{
    return p->speedup_interval.has && relative_variance(rep, &s->points[0]) >= 0 && relative_variance(rep, p) >= 0;
}

static void fill_summary_intervals(const struct report *rep, struct series *s)
{
    double reference = relative_variance(rep, &s->points[0]);
    for (int i = 1; reference >= 0 && i < s->n_points; i++) {
        struct series_point *p = &s->points[i];
        double here = relative_variance(rep, p), n = (double)p->n_nodes / s->points[0].n_nodes;
        if (here < 0 || p->speedup <= 0 || n <= 0)
            continue;
        double f = exp(1.959964 * sqrt(reference + here));
        p->speedup_interval = (struct interval){1, p->speedup / f, p->speedup * f};
        p->efficiency_interval = (struct interval){1, p->speedup / f / n, p->speedup * f / n};
    }
}

/* Samples per step cancel: the speed-up varies as the ratio of step times does. */
static void fill_speedup_intervals(const struct report *rep, struct series *s)
{
    double *reference = has_intervals(rep, &s->points[0]) ? draw_steps(rep, &s->points[0], 1) : NULL;
    for (int i = 0; reference && i < s->n_points; i++) {
        struct series_point *p = &s->points[i];
        double *here = has_intervals(rep, p) ? draw_steps(rep, p, (uint64_t)i + 1) : NULL;
        double *speedup = calloc(BOOTSTRAP_RESAMPLES, sizeof *speedup);
        if (here && speedup) {
            double mean = (double)s->points[0].step.mean_ns / (double)p->step.mean_ns;
            for (int k = 0; k < BOOTSTRAP_RESAMPLES; k++)
                speedup[k] = p->speedup * (reference[k] / here[k]) / mean;
            if (i > 0 && p->speedup > 0) {
                p->speedup_interval = percentile_interval(speedup, BOOTSTRAP_RESAMPLES);
                double n = (double)p->n_nodes / s->points[0].n_nodes;
                p->efficiency_interval = p->speedup_interval;
                p->efficiency_interval.lo /= n;
                p->efficiency_interval.hi /= n;
            }
            p->step_interval = percentile_interval(here, BOOTSTRAP_RESAMPLES);
        }
        free(speedup);
        free(here);
    }
    free(reference);
}

void speedup_intervals(const struct report *rep, struct series *s)
{
    fill_speedup_intervals(rep, s);
    fill_summary_intervals(rep, s);
}

struct interval point_share_interval(const struct report *rep, const struct series_point *p, enum part a, enum part b)
{
    double(*parts)[N_PARTS] = has_intervals(rep, p) ? draw_parts(rep, p, 1) : NULL;
    double *share = parts ? calloc(BOOTSTRAP_RESAMPLES, sizeof *share) : NULL;
    struct interval out = {0};
    for (int k = 0; share && k < BOOTSTRAP_RESAMPLES; k++) {
        double step = 0;
        for (int part = 0; part < N_PARTS; part++)
            step += parts[k][part];
        share[k] = step > 0 ? (parts[k][a] + (a == b ? 0 : parts[k][b])) / step : 0;
    }
    if (share)
        out = percentile_interval(share, BOOTSTRAP_RESAMPLES);
    free(share);
    free(parts);
    return out;
}
