/* breakdown.c - where the time of a step goes, over all ranks of one run. */
#include "render/analyse/analyse.h"

#include "render/narrate/format.h"

#include <stdlib.h>
#include <string.h>

/* The steps that all ranks have, as one row of step records per step. */
struct grid {
    int n_ranks;
    const struct run_rank **ranks; /* shape (n_ranks): those with steps */
    size_t n_steps;
    uint32_t *index; /* shape (n_steps)(n_ranks): position in ranks[r]->steps */
};

static const struct step_record *at(const struct grid *g, size_t step, int r)
{
    return &g->ranks[r]->steps[g->index[step * (size_t)g->n_ranks + (size_t)r]];
}

/* Intersects the ranks' step numbers; each rank's steps ascend. */
static void make_grid(struct report *rep, struct run_result *out, struct grid *g)
{
    const struct run *run = out->run;
    g->ranks = dcr_arena_alloc(&rep->arena, (size_t)(run->ranks_len + 1) * sizeof(*g->ranks));
    size_t most = 0;
    for (int i = 0; i < run->ranks_len; i++)
        if (run->ranks[i].n_steps) {
            g->ranks[g->n_ranks++] = &run->ranks[i];
            if (run->ranks[i].n_steps > most)
                most = run->ranks[i].n_steps;
        }
    if (g->n_ranks == 0)
        return;
    size_t n = (size_t)g->n_ranks;
    g->index = dcr_arena_alloc(&rep->arena, g->ranks[0]->n_steps * n * sizeof *g->index);
    size_t *cursor = dcr_arena_alloc(&rep->arena, n * sizeof *cursor);
    for (size_t i = 0; i < g->ranks[0]->n_steps; i++) {
        int64_t number = g->ranks[0]->steps[i].step;
        int is_common = 1;
        for (size_t r = 0; r < n; r++) {
            const struct run_rank *k = g->ranks[r];
            while (cursor[r] < k->n_steps && k->steps[cursor[r]].step < number)
                cursor[r]++;
            is_common &= cursor[r] < k->n_steps && k->steps[cursor[r]].step == number;
            g->index[g->n_steps * n + r] = (uint32_t)cursor[r];
        }
        g->n_steps += (size_t)is_common;
    }
    out->n_steps = (int64_t)g->n_steps;
    out->n_partial_steps = (int64_t)(most - g->n_steps);
}

static int64_t mean_step(const struct grid *g, size_t step)
{
    int64_t sum = 0, mean;
    for (int r = 0; r < g->n_ranks; r++)
        sum += at(g, step, r)->step_ns;
    apportion(&sum, 1, 1, g->n_ranks, &mean);
    return mean;
}

size_t warmup_steps(const int64_t *x, size_t n, double ratio, double share)
{
    enum { TOO_FEW = 4 };
    if (n < TOO_FEW)
        return 0;
    int64_t later = spread_of(x + n / 2, n - n / 2).median_ns;
    size_t most = (size_t)((double)n * share), k = 0;
    while (k < most && (double)x[k] > ratio * (double)later)
        k++;
    return k;
}

/* Finds the warm-up and fills the counted steps. Returns the index of the first counted one. */
static size_t count_steps(struct report *rep, struct run_result *out, const struct grid *g)
{
    const struct thresholds *t = &rep->thresholds;
    int64_t *x = dcr_arena_alloc(&rep->arena, g->n_steps * sizeof *x);
    for (size_t i = 0; i < g->n_steps; i++)
        x[i] = mean_step(g, i);
    size_t first = warmup_steps(x, g->n_steps, t->warmup_ratio, t->warmup_share);
    out->n_warmup = (int64_t)first;
    out->n_counted = (int64_t)(g->n_steps - first);
    out->step_ns = x + first;
    out->step_number = dcr_arena_alloc(&rep->arena, (size_t)out->n_counted * sizeof *out->step_number);
    for (size_t i = first; i < g->n_steps; i++)
        out->step_number[i - first] = at(g, i, 0)->step;
    if (first)
        out->warmup_because =
            report_text(rep, "the first %sof %zu steps took more than %.2f times the median of the later half",
                        first > 1 ? report_text(rep, "%zu ", first) : "", g->n_steps, t->warmup_ratio);
    else
        out->warmup_because =
            report_text(rep, "no leading step took more than %.2f times the median of the later half", t->warmup_ratio);
    return first;
}

/* What a step's collectives say when all ranks made the same number of them. */
struct split {
    int has;             /* 0: counts differ or nothing recorded; the step is split as one */
    int64_t transfer_ns; /* sum over collectives of the shortest duration */
};

static struct split split_step(const struct grid *g, size_t step)
{
    struct split s = {1, 0};
    uint32_t n = at(g, step, 0)->n_collectives;
    for (int r = 1; r < g->n_ranks; r++)
        s.has &= at(g, step, r)->n_collectives == n;
    s.has &= n > 0;
    if (!s.has) {
        s.transfer_ns = INT64_MAX;
        for (int r = 0; r < g->n_ranks; r++)
            if (at(g, step, r)->part_ns[CAT_COMM] < s.transfer_ns)
                s.transfer_ns = at(g, step, r)->part_ns[CAT_COMM];
        return s;
    }
    for (uint32_t k = 0; k < n; k++) {
        int64_t shortest = INT64_MAX;
        for (int r = 0; r < g->n_ranks; r++) {
            int64_t d = g->ranks[r]->collectives[at(g, step, r)->first_collective + k].dur_ns;
            shortest = d < shortest ? d : shortest;
        }
        s.transfer_ns += shortest;
    }
    return s;
}

/* A step of one rank in report parts: exposed communication becomes transfer (never more than was exposed) and waiting.
 */
static void parts_of(const struct step_record *s, int64_t transfer_ns, int64_t part[N_PARTS])
{
    int64_t comm = s->part_ns[CAT_COMM];
    part[PART_COMPUTE] = s->part_ns[CAT_COMPUTE];
    part[PART_TRANSFER] = transfer_ns < comm ? transfer_ns : comm;
    part[PART_WAIT] = comm - part[PART_TRANSFER];
    part[PART_DATA] = s->part_ns[CAT_DATA];
    part[PART_IO] = s->part_ns[CAT_IO];
    part[PART_COPY] = s->part_ns[CAT_COPY];
    part[PART_OTHER] = s->part_ns[CAT_OTHER];
}

/* Sums over the counted steps. */
struct sums {
    int64_t (*rank_part)[N_PARTS]; /* shape (n_ranks) */
    int64_t *rank_total, *rank_hidden, *rank_caused, *n_last;
    int64_t n_matched;          /* collectives seen by all ranks */
    double cause[N_CATEGORIES]; /* of waiting; CAT_COMM = outside the steps */
    int64_t gain[N_CLASSES];
    int64_t n_bytes_steps, samples;
    double bytes;
    int has_samples;
};

/* Gives the waiting at one collective to what the last rank did longer than the others on average. */
static void blame(struct sums *s, const struct arrival *a, int n, int last, int64_t wait)
{
    double excess[N_CATEGORIES] = {0}, sum = 0;
    for (int c = 0; c < N_CATEGORIES; c++) {
        double others = 0;
        for (int r = 0; r < n; r++)
            if (r != last)
                others += (double)(c == CAT_COMM ? a[r].outside_ns : a[r].part_ns[c]);
        double own = (double)(c == CAT_COMM ? a[last].outside_ns : a[last].part_ns[c]);
        excess[c] = own - others / (n - 1);
        excess[c] = excess[c] > 0 ? excess[c] : 0;
        sum += excess[c];
    }
    for (int c = 0; c < N_CATEGORIES; c++)
        s->cause[c] += sum > 0 ? (double)wait * excess[c] / sum : c == CAT_OTHER ? (double)wait : 0;
}

/* One collective of all ranks: who came last, what the others waited for, what each removal would save. */
static void add_collective(struct sums *s, const struct arrival *a, int n, int is_replayed)
{
    int last = 0;
    int64_t wait = 0;
    for (int r = 1; r < n; r++)
        if (a[r].dur_ns < a[last].dur_ns)
            last = r;
    for (int r = 0; r < n; r++)
        wait += a[r].dur_ns - a[last].dur_ns;
    s->n_matched++;
    s->n_last[last]++;
    s->rank_caused[last] += wait;
    if (n > 1)
        blame(s, a, n, last, wait);
    if (!is_replayed)
        return;
    s->gain[CLASS_IMBALANCE] += replay_gain(a, n, (struct removal){-1, 1, 0});
    s->gain[CLASS_DATA] += replay_gain(a, n, (struct removal){CAT_DATA, 0, 0});
    s->gain[CLASS_IO] += replay_gain(a, n, (struct removal){CAT_IO, 0, 0});
    s->gain[CLASS_COPY] += replay_gain(a, n, (struct removal){CAT_COPY, 0, 0});
    s->gain[CLASS_OVERHEAD] += replay_gain(a, n, (struct removal){CAT_OTHER, 0, 0});
}

/* Is it known what ranks did between the collectives of a step? Traces of GPUs say their durations only. */
static int knows_before(const struct grid *g, size_t step)
{
    for (int r = 0; r < g->n_ranks; r++)
        for (uint32_t k = 0; k < at(g, step, r)->n_collectives; k++) {
            const struct collective *c = &g->ranks[r]->collectives[at(g, step, r)->first_collective + k];
            for (int i = 0; i < N_CATEGORIES; i++)
                if (c->since_ns[i] || c->outside_ns)
                    return 1;
        }
    return 0;
}

/* is_replayed 0: who was late is told by the whole step, and what a removal saves elsewhere. */
static void add_collectives(struct sums *s, const struct grid *g, size_t step, struct arrival *a, int is_replayed)
{
    uint32_t n = at(g, step, 0)->n_collectives;
    for (uint32_t k = 0; k < n; k++) {
        for (int r = 0; r < g->n_ranks; r++) {
            const struct collective *c = &g->ranks[r]->collectives[at(g, step, r)->first_collective + k];
            memcpy(a[r].part_ns, is_replayed ? c->since_ns : at(g, step, r)->part_ns, sizeof a[r].part_ns);
            a[r].part_ns[CAT_COMM] = is_replayed ? a[r].part_ns[CAT_COMM] : 0;
            a[r].outside_ns = c->outside_ns;
            a[r].dur_ns = c->dur_ns;
        }
        add_collective(s, a, g->n_ranks, is_replayed);
    }
}

/* Without collectives to replay a step is one exchange at its end: what goes from the rank that is busy longest then
 * is saved, and no more. Levelled, all ranks are busy for the mean: the waiting goes. */
static void add_unmatched(struct sums *s, const struct grid *g, size_t step, const int64_t part[N_PARTS],
                          int64_t transfer_ns)
{
    static const struct {
        enum cause_class cls;
        enum part part;
    } own[] = {{CLASS_DATA, PART_DATA}, {CLASS_IO, PART_IO}, {CLASS_COPY, PART_COPY}, {CLASS_OVERHEAD, PART_OTHER}};
    s->gain[CLASS_IMBALANCE] += part[PART_WAIT] / g->n_ranks;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        int64_t busiest = 0;
        for (int r = 0; r < g->n_ranks; r++) {
            int64_t of_rank[N_PARTS];
            parts_of(at(g, step, r), transfer_ns, of_rank);
            int64_t busy = at(g, step, r)->step_ns - of_rank[PART_WAIT] - of_rank[own[i].part];
            busiest = busy > busiest ? busy : busiest;
        }
        int64_t gain = mean_step(g, step) - busiest;
        s->gain[own[i].cls] += gain > 0 ? gain : 0;
    }
}

/* Without any exchange a step lasts as long as its busiest rank: transfer and every wait that ranks cause each other in
 * turn go; being last all along stays. */
static int64_t without_exchange(const struct grid *g, size_t step)
{
    int64_t busiest = 0;
    for (int r = 0; r < g->n_ranks; r++) {
        int64_t busy = at(g, step, r)->step_ns - at(g, step, r)->part_ns[CAT_COMM];
        busiest = busy > busiest ? busy : busiest;
    }
    int64_t gain = mean_step(g, step) - busiest;
    return gain > 0 ? gain : 0;
}

static void add_step(struct sums *s, struct run_result *out, const struct grid *g, size_t step, size_t row,
                     struct arrival *a)
{
    struct split split = split_step(g, step);
    int64_t *sum = out->step_part_ns[row];
    for (int r = 0; r < g->n_ranks; r++) {
        const struct step_record *k = at(g, step, r);
        int64_t part[N_PARTS];
        parts_of(k, split.transfer_ns, part);
        for (int p = 0; p < N_PARTS; p++) {
            sum[p] += part[p];
            s->rank_part[r][p] += part[p];
        }
        s->rank_total[r] += k->step_ns;
        s->rank_hidden[r] += k->hidden_comm_ns;
        s->bytes += (double)k->bytes;
        s->n_bytes_steps += k->bytes > 0;
        s->has_samples &= k->samples >= 0;
        s->samples += k->samples;
    }
    s->gain[CLASS_COMMUNICATION] += without_exchange(g, step);
    int is_matched = split.has && g->n_ranks > 1, is_replayed = is_matched && knows_before(g, step);
    if (is_matched)
        add_collectives(s, g, step, a, is_replayed);
    if (!is_replayed)
        add_unmatched(s, g, step, sum, split.transfer_ns);
}

static void fill_ranks(struct report *rep, struct run_result *out, const struct grid *g, const struct sums *s,
                       size_t first)
{
    out->n_rank_results = g->n_ranks;
    out->ranks = dcr_arena_alloc(&rep->arena, (size_t)g->n_ranks * sizeof *out->ranks);
    int64_t *x = dcr_arena_alloc(&rep->arena, (size_t)out->n_counted * sizeof *x);
    int64_t slowest = 0, fastest = INT64_MAX;
    for (int r = 0; r < g->n_ranks; r++) {
        struct rank_result *k = &out->ranks[r];
        k->rank = g->ranks[r]->rank;
        k->node = g->ranks[r]->node;
        for (int64_t i = 0; i < out->n_counted; i++)
            x[i] = at(g, first + (size_t)i, r)->step_ns;
        k->step = spread_of(x, (size_t)out->n_counted);
        k->step.mean_ns = apportion(s->rank_part[r], N_PARTS, 1, out->n_counted, k->part_ns);
        k->hidden_comm_ns = s->rank_hidden[r] / out->n_counted;
        k->n_last = s->n_last[r];
        k->caused_wait_ns = s->rank_caused[r] / out->n_counted;
        slowest = s->rank_total[r] > slowest ? s->rank_total[r] : slowest;
        fastest = s->rank_total[r] < fastest ? s->rank_total[r] : fastest;
    }
    out->straggler_x = g->n_ranks > 1 ? (double)slowest / (double)fastest : 0;
}

/* A rank is a straggler when it comes last clearly more often than its share and the others pay for it. */
static void find_straggler(const struct report *rep, struct run_result *out, const struct sums *s)
{
    const double never_less_than = 0.75; /* of two ranks, one is last in half of the collectives by chance */
    int n = out->n_rank_results;
    if (n < 2 || s->n_matched == 0 || out->step.mean_ns == 0)
        return;
    int worst = 0;
    for (int r = 1; r < n; r++)
        if (out->ranks[r].n_last > out->ranks[worst].n_last)
            worst = r;
    struct straggler *w = &out->straggler;
    double wins = rep->thresholds.straggler_wins / n;
    w->rank = out->ranks[worst].rank;
    w->wins_ratio = (double)out->ranks[worst].n_last / (double)s->n_matched;
    w->caused_ns = out->ranks[worst].caused_wait_ns / n;
    w->caused_ratio = (double)w->caused_ns / (double)out->step.mean_ns;
    w->has = w->wins_ratio > (n == 2 || wins > never_less_than ? never_less_than : wins) &&
             w->caused_ratio > rep->thresholds.straggler_wait;
}

/* The causes of waiting, scaled so that they sum to the waiting that the breakdown shows. */
static void fill_causes(struct run_result *out, const struct sums *s)
{
    double sum = 0;
    int64_t weight[N_CATEGORIES], total = 0;
    for (int c = 0; c < N_CATEGORIES; c++)
        sum += s->cause[c];
    for (int c = 0; c < N_CATEGORIES; c++)
        total += weight[c] = sum > 0 ? (int64_t)(s->cause[c] / sum * 1e9) : 0;
    if (total == 0)
        weight[CAT_OTHER] = total = 1;
    apportion(weight, N_CATEGORIES, out->part_ns[PART_WAIT], total, out->wait_cause_ns);
}

static void fill_intervals(struct run_result *out)
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
static void fill_outside(struct run_result *out, const struct grid *g)
{
    double coverage = 0;
    int n_wall = 0;
    for (int r = 0; r < g->n_ranks; r++) {
        const struct run_rank *k = g->ranks[r];
        int64_t in_steps = 0;
        for (size_t i = 0; i < k->n_steps; i++)
            in_steps += k->steps[i].step_ns;
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
/* Hidden communication moved bytes too. How long it needed for them is not known, only how long it was under way; the
 * rank with the least of it waited least for others: bandwidth is at least that. */
static void fill_bandwidth(struct run_result *out, const struct sums *s)
{
    int n = out->n_rank_results;
    int64_t t = out->part_ns[PART_TRANSFER], hidden = n ? INT64_MAX : 0;
    for (int r = 0; r < n; r++)
        hidden = out->ranks[r].hidden_comm_ns < hidden ? out->ranks[r].hidden_comm_ns : hidden;
    t += hidden;
    if (s->n_bytes_steps == 0)
        return;
    out->bytes_per_step = s->bytes / (double)(out->n_counted * n);
    if (t <= 0 || n < 2)
        return;
    out->algbw_gb_s = out->bytes_per_step / (double)t; /* bytes per ns = GB/s */
    out->busbw_gb_s = out->algbw_gb_s * 2 * (n - 1) / n;
}

static void fill_throughput(struct run_result *out, const struct sums *s)
{
    const struct run *run = out->run;
    if (out->has_steps && s->has_samples && s->samples > 0) {
        out->throughput = (double)s->samples / (double)out->n_counted / ((double)out->step.mean_ns / 1e9);
        out->throughput_source = "steps";
    } else if (out->has_steps && run->program.global_batch > 0) {
        out->throughput = (double)run->program.global_batch / ((double)out->step.mean_ns / 1e9);
        out->throughput_source = "program.json";
    } else {
        int m = run_metric("throughput_samples_per_sec"), n = 0;
        if (run->summary.throughput > 0) {
            out->throughput = run->summary.throughput;
            out->throughput_source = run->summary.source;
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
        out->throughput_source = "metrics.csv";
    }
    out->has_throughput = out->throughput > 0;
    if (!out->has_throughput) {
        out->throughput_source = "";
        out->throughput_because = "n/a because neither steps nor metrics.csv say how many samples were processed";
    }
}

static void fill_pop(struct report *rep, struct run_result *out, const struct grid *g, const struct sums *s)
{
    /* What was useful cannot be told from what was waiting; of one rank among many, not transfer from waiting. */
    if ((g->n_ranks > 1 && out->comm_ns == 0) || is_one_of_many(out))
        return;
    int64_t *useful = dcr_arena_alloc(&rep->arena, (size_t)g->n_ranks * sizeof *useful), transfer = 0;
    for (int r = 0; r < g->n_ranks; r++) {
        useful[r] = s->rank_total[r] - s->rank_part[r][PART_TRANSFER] - s->rank_part[r][PART_WAIT];
        transfer += s->rank_part[r][PART_TRANSFER];
    }
    out->pop = pop_of(useful, s->rank_total, g->n_ranks, transfer / g->n_ranks, out->n_counted);
}

static const char *source_of(const struct grid *g)
{
    int n_trace = 0;
    for (int r = 0; r < g->n_ranks; r++)
        n_trace += g->ranks[r]->source == STEPS_TRACE;
    return n_trace == g->n_ranks ? "native traces" : n_trace == 0 ? "steps.csv" : "native traces and steps.csv";
}

static void fill_steps(struct report *rep, struct run_result *out, const struct grid *g)
{
    size_t first = count_steps(rep, out, g), n = (size_t)g->n_ranks;
    struct sums s = {.has_samples = 1};
    s.rank_part = dcr_arena_alloc(&rep->arena, n * sizeof *s.rank_part);
    s.rank_total = dcr_arena_alloc(&rep->arena, n * sizeof *s.rank_total);
    s.rank_hidden = dcr_arena_alloc(&rep->arena, n * sizeof *s.rank_hidden);
    s.rank_caused = dcr_arena_alloc(&rep->arena, n * sizeof *s.rank_caused);
    s.n_last = dcr_arena_alloc(&rep->arena, n * sizeof *s.n_last);
    out->step_part_ns = dcr_arena_alloc(&rep->arena, (size_t)out->n_counted * sizeof *out->step_part_ns);
    struct arrival *a = dcr_arena_alloc(&rep->arena, n * sizeof *a);
    for (size_t i = first; i < g->n_steps; i++)
        add_step(&s, out, g, i, i - first, a);

    int64_t sum[N_PARTS] = {0}, hidden = 0;
    for (int r = 0; r < g->n_ranks; r++) {
        for (int p = 0; p < N_PARTS; p++)
            sum[p] += s.rank_part[r][p];
        hidden += s.rank_hidden[r];
    }
    out->step = spread_of(out->step_ns, (size_t)out->n_counted);
    out->step.mean_ns = apportion(sum, N_PARTS, 1, out->n_counted * g->n_ranks, out->part_ns);
    out->comm_ns = out->part_ns[PART_TRANSFER] + out->part_ns[PART_WAIT];
    out->hidden_comm_ns = hidden / (out->n_counted * g->n_ranks);
    for (int c = 0; c < N_CLASSES; c++) {
        out->gain_ns[c] = s.gain[c] / out->n_counted;
        if (out->gain_ns[c] > out->step.mean_ns)
            out->gain_ns[c] = out->step.mean_ns;
    }
    fill_ranks(rep, out, g, &s, first);
    struct counted counted = {g->n_ranks, g->ranks, g->index + first * n, (size_t)out->n_counted};
    phases_run(rep, out, &counted);
    work_run(out, &counted);
    find_straggler(rep, out, &s);
    fill_causes(out, &s);
    fill_intervals(out);
    fill_outside(out, g);
    fill_bandwidth(out, &s);
    fill_throughput(out, &s);
    fill_pop(rep, out, g, &s);
}

/* Where only a summary was kept: its step time, without phases. */
static void fill_summary(struct run_result *out)
{
    const struct run_summary *m = &out->run->summary;
    if (m->n_steps == 0)
        return;
    out->step = (struct spread){.n = m->n_steps,
                                .mean_ns = m->mean_ns,
                                .median_ns = m->p50_ns > 0 ? m->p50_ns : m->mean_ns,
                                .p95_ns = m->p95_ns > 0 ? m->p95_ns : m->mean_ns,
                                .cv_ratio = m->stdev_ns > 0 ? (double)m->stdev_ns / (double)m->mean_ns : 0};
    out->straggler_x = m->straggler_ratio;
}

void breakdown_run(struct report *rep, struct run_result *out)
{
    struct grid g = {0};
    make_grid(rep, out, &g);
    out->steps_source = out->steps_because = out->warmup_because = out->throughput_because = "";
    int m = run_metric("train_loss");
    for (size_t i = 0; i < out->run->n_epochs; i++)
        out->has_accuracy |= out->run->epochs[i].value[m] == out->run->epochs[i].value[m];
    if (g.n_steps == 0) {
        out->steps_because =
            g.n_ranks ? "n/a because no step was recorded on all ranks"
            : out->run->summary.n_steps
                ? report_text(rep, "n/a because a %s holds step times but no phases", out->run->summary.source)
            : out->run->n_traces ? "n/a because the traces mark no steps"
                                 : "n/a because no steps were recorded (no steps.csv, no trace)";
        fill_summary(out);
        struct sums none = {0};
        fill_throughput(out, &none);
        return;
    }
    out->has_steps = 1;
    out->steps_source = source_of(&g);
    out->n_ranks = g.n_ranks;
    fill_steps(rep, out, &g);
}
