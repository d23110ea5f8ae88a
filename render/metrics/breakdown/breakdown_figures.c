/* breakdown_figures.c - what follows from the sums of a breakdown: intervals, time around the steps, bandwidth,
 * throughput, efficiencies. See breakdown_inside.h. */
#include "render/metrics/breakdown/breakdown_inside.h"
#include "render/metrics/stats.h"

#include <stdlib.h>

void breakdown_intervals(struct run_result *out)
{
    if (out->n_counted < BOOTSTRAP_MIN_STEPS)
        return;
    double(*mean)[N_PARTS] = calloc(BOOTSTRAP_RESAMPLES, sizeof *mean);
    double *value = calloc(BOOTSTRAP_RESAMPLES, sizeof *value), *total = calloc(BOOTSTRAP_RESAMPLES, sizeof *total);
    if (!mean || !value || !total)
        goto out;
    struct draws d = {1};
    bootstrap_means((const int64_t(*)[N_PARTS])out->step_part_ns, (size_t)out->n_counted, &d, mean);
    for (int k = 0; k < BOOTSTRAP_RESAMPLES; k++)
        for (int p = 0; p < N_PARTS; p++)
            total[k] += mean[k][p];
    for (int p = 0; p < N_PARTS; p++) {
        for (int k = 0; k < BOOTSTRAP_RESAMPLES; k++)
            value[k] = mean[k][p] / total[k];
        out->part_interval[p] = percentile_interval(value, BOOTSTRAP_RESAMPLES);
    }
    for (int k = 0; k < BOOTSTRAP_RESAMPLES; k++)
        value[k] = (mean[k][PART_TRANSFER] + mean[k][PART_WAIT]) / total[k];
    out->comm_interval = percentile_interval(value, BOOTSTRAP_RESAMPLES);
    for (int k = 0; k < BOOTSTRAP_RESAMPLES; k++)
        value[k] = total[k] / out->n_rank_results;
    out->step_interval = percentile_interval(value, BOOTSTRAP_RESAMPLES);
out:
    free(total);
    free(value);
    free(mean);
}

/* Time around the steps, means over ranks. */
void breakdown_outside(struct run_result *out, const struct grid *g)
{
    double coverage = 0;
    int n_wall = 0;
    for (int r = 0; r < g->n_ranks; r++) {
        const struct run_rank *k = g->ranks[r];
        int64_t in_steps = steps_of_all(k->steps, k->n_steps, &k->seen).ns;
        if (k->wall_ns >= in_steps && k->wall_ns > 0) {
            coverage += (double)in_steps / (double)k->wall_ns;
            n_wall++;
        }
        out->validation_ns += k->validation_ns / g->n_ranks;
        out->io_outside_ns += k->outside_ns[CAT_IO] / g->n_ranks;
        out->wall_ns += k->wall_ns / g->n_ranks;
    }
    out->coverage_ratio = n_wall == g->n_ranks ? coverage / n_wall : 0;
}

/* Bandwidths as nccl-tests defines them (doc/PERFORMANCE.md): bytes of one rank's buffer over the transfer time. */
/* Hidden communication moved bytes too. Its transfer time is unknown, only how long it was under way. The rank with the
 * shortest such time waited least for others, so the bandwidth is at least that of this rank. */
void breakdown_bandwidth(struct run_result *out, const struct sums *s)
{
    int n = out->n_rank_results;
    int64_t t = out->collective_ns, hidden = n ? INT64_MAX : 0;
    for (int r = 0; r < n; r++)
        hidden = out->ranks[r].hidden_comm_ns < hidden ? out->ranks[r].hidden_comm_ns : hidden;
    t += hidden;
    if (s->n_bytes_steps == 0)
        return;
    out->bytes_per_step = s->bytes / (double)(out->n_counted * n);
    out->collectives_per_step = s->n_collectives / (out->n_counted * n);
    if (t <= 0 || n < 2)
        return;
    out->algbw_gb_s = out->bytes_per_step / (double)t; /* bytes per ns = GB/s */
    out->busbw_gb_s = out->algbw_gb_s * 2 * (n - 1) / n;
}

void breakdown_throughput(struct run_result *out, const struct sums *s)
{
    const struct run *run = out->run;
    if (out->has_steps && s->has_samples && s->samples > 0) {
        out->throughput = (double)s->samples / (double)out->n_counted / ((double)out->step.mean_ns / 1e9);
        out->throughput_source = THROUGHPUT_OF_STEPS;
    } else if (out->has_steps && run->program.global_batch > 0) {
        out->throughput = (double)run->program.global_batch / ((double)out->step.mean_ns / 1e9);
        out->throughput_source = run->program.batch_is_label ? THROUGHPUT_OF_LABEL : THROUGHPUT_OF_PROGRAM;
    } else {
        int m = run_metric("throughput_samples_per_sec"), n = 0;
        if (run->summary.throughput > 0) {
            out->throughput = run->summary.throughput;
            out->throughput_source = THROUGHPUT_OF_SUMMARY;
            out->has_throughput = 1;
            return;
        }
        double sum = 0;
        for (size_t i = 0; i < run->n_epochs; i++)
            if (run->epochs[i].value[m] > 0) {
                sum += run->epochs[i].value[m];
                n++;
            }
        out->throughput = n ? sum / n : 0;
        out->throughput_source = THROUGHPUT_OF_METRICS;
    }
    out->has_throughput = out->throughput > 0;
    if (!out->has_throughput) {
        out->throughput_source = THROUGHPUT_OF_NOTHING;
        out->throughput_why = !out->has_steps || run->is_foreign ? REASON(NO_SAMPLES) : REASON(NO_SAMPLES_OF_STEPS);
    }
}
