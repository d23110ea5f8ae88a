/* compare.c - see compare.h. */
#include "render/findings/rules/compare.h"

#include "render/findings/rules/analyse.h"
#include "render/metrics/cores.h"
#include "render/metrics/gain.h"
#include "render/metrics/known.h"
#include "render/metrics/recorded.h"
#include "render/metrics/series/differing.h"
#include "render/metrics/series/series.h"
#include "render/metrics/stats.h"
#include "render/say/format.h"
#include "render/say/say.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The runs of one side. */
struct side {
    const struct report *rep;
    const struct run_result **runs;
    int n;
    int64_t n_steps, part_ns[N_PARTS], step_ns;
    double (*mean)[N_PARTS]; /* shape (BOOTSTRAP_RESAMPLES), NULL: too few steps */
};

/* What is compared: a node count, a number of ranks, and a configuration; NULL: all configurations that the other side
 * lacks. */
struct what {
    int n_nodes, n_ranks;
    const char *key;
};

static const char *key_of(struct report *arena_of, const struct run_result *r)
{
    struct dcr_buf b = {0};
    scaling_key(r, &b);
    dcr_buf_printf(&b, "|%s|%lld", r->run->config_hash, (long long)r->run->program.global_batch);
    const char *key = dcr_arena_strdup(&arena_of->arena, dcr_buf_text(&b));
    dcr_buf_release(&b);
    return key;
}

static int is_at(const struct report *rep, int run, const struct what *w)
{
    const struct run_result *r = &rep->runs[run];
    return r->has_steps && r->n_nodes == w->n_nodes && r->n_ranks == w->n_ranks && !is_left_out(rep, run);
}

static int has_key(struct report *arena_of, const struct report *rep, const struct what *w, const char *key)
{
    for (int i = 0; i < rep->n_runs; i++)
        if (is_at(rep, i, w) && strcmp(key_of(arena_of, &rep->runs[i]), key) == 0)
            return 1;
    return 0;
}

static void collect(struct report *arena_of, struct side *s, const struct report *rep, const struct report *other,
                    const struct what *w)
{
    s->rep = rep;
    s->runs = dcr_arena_alloc(&arena_of->arena, (size_t)(rep->n_runs + 1) * sizeof(*s->runs));
    for (int i = 0; i < rep->n_runs; i++) {
        const char *key = key_of(arena_of, &rep->runs[i]);
        if (is_at(rep, i, w) && (w->key ? strcmp(key, w->key) == 0 : !has_key(arena_of, other, w, key)))
            s->runs[s->n++] = &rep->runs[i];
    }
}

/* Every step of every run counts once. */
static void fill_means(struct side *s)
{
    int64_t sum[N_PARTS] = {0}, weight = 0;
    for (int i = 0; i < s->n; i++) {
        const struct run_result *r = s->runs[i];
        for (int64_t k = 0; k < r->n_counted; k++)
            for (int p = 0; p < N_PARTS; p++)
                sum[p] += r->step_part_ns[k][p];
        weight += r->n_counted * r->n_rank_results;
        s->n_steps += r->n_counted;
    }
    s->step_ns = apportion(sum, N_PARTS, 1, weight, s->part_ns);
}

/* What a step would take without a class. If that is not known for each step, each step gets the gain of the run. */
static int64_t step_without(const struct run_result *r, int64_t step, int cls)
{
    int is_of_run = cls == CLASS_HOST || cls == CLASS_MEMORY || cls == CLASS_COMPUTE;
    int64_t gain = is_of_run ? r->classes[cls].gain_ns : r->step_gain_ns[step][cls], ns = r->step_ns[step];
    return gain < ns ? ns - gain : 0;
}

/* The median of the steps as they were, or, cls >= 0, as they would be without that class. */
static int64_t median(struct report *arena_of, const struct side *s, int cls)
{
    int64_t *x = dcr_arena_alloc(&arena_of->arena, ((size_t)s->n_steps + 1) * sizeof *x);
    size_t n = 0;
    for (int i = 0; i < s->n; i++)
        for (int64_t k = 0; k < s->runs[i]->n_counted; k++)
            x[n++] = cls < 0 ? s->runs[i]->step_ns[k] : step_without(s->runs[i], k, cls);
    return spread_of(x, n).median_ns;
}

/* All runs after must be the same trial. If there are several runs before, the mean of their forecasts counts. */
static struct tried tried_of(const struct side *a, const struct side *b, int64_t before_ns, int64_t after_ns)
{
    struct tried t = {.before_ns = before_ns, .achieved_ns = after_ns, .command = ""};
    int n = 0;
    for (int i = 1; i < b->n; i++)
        if (strcmp(b->runs[i]->trial_key, b->runs[0]->trial_key) != 0)
            return t;
    for (int i = 0; i < a->n && *b->runs[0]->trial_key; i++)
        for (int k = 0; k < a->runs[i]->n_trials; k++) {
            const struct trial *trial = &a->runs[i]->trials[k];
            if (!trial->has_forecast || strcmp(trial->key, b->runs[0]->trial_key) != 0)
                continue;
            t.kind = trial->kind;
            t.command = trial->command;
            t.forecast_ns += trial->step_ns;
            t.is_less_spent |= trial->is_less_spent;
            n++;
        }
    t.has = n > 0 && after_ns > 0;
    t.forecast_ns = n ? t.forecast_ns / n : 0;
    t.error_ratio = t.has ? (double)t.forecast_ns / (double)after_ns - 1 : 0;
    return t;
}

/* The same archive, or, for files without a hash, the same nanoseconds in every step. */
static int is_same(const struct run_result *a, const struct run_result *b)
{
    const char *x = a->run->manifest_sha256, *y = b->run->manifest_sha256;
    if (*x || *y)
        return strcmp(x, y) == 0;
    return a->n_counted > 0 && a->n_counted == b->n_counted && a->n_rank_results == b->n_rank_results &&
           memcmp(a->step_part_ns, b->step_part_ns, (size_t)a->n_counted * sizeof *a->step_part_ns) == 0;
}

/* Steps are drawn within runs, and runs among their repetitions. */
static int draw(struct side *s, uint64_t seed)
{
    double(*of_run)[BOOTSTRAP_RESAMPLES][N_PARTS] = calloc((size_t)s->n, sizeof *of_run);
    s->mean = calloc(BOOTSTRAP_RESAMPLES, sizeof *s->mean);
    int is_enough = of_run && s->mean;
    struct draws d = {seed};
    for (int i = 0; i < s->n && is_enough; i++) {
        const struct run_result *r = s->runs[i];
        is_enough = r->n_counted >= BOOTSTRAP_MIN_STEPS;
        if (is_enough)
            bootstrap_means((const int64_t(*)[N_PARTS])r->step_part_ns, (size_t)r->n_counted, &d, of_run[i]);
    }
    for (int k = 0; k < BOOTSTRAP_RESAMPLES && is_enough; k++) {
        double weight = 0;
        for (int i = 0; i < s->n; i++) {
            int run = (int)draw_below(&d, (size_t)s->n);
            double n = (double)s->runs[run]->n_counted;
            for (int p = 0; p < N_PARTS; p++)
                s->mean[k][p] += n * of_run[run][k][p] / s->runs[run]->n_rank_results;
            weight += n;
        }
        for (int p = 0; p < N_PARTS; p++)
            s->mean[k][p] /= weight;
    }
    free(of_run);
    if (!is_enough) {
        free(s->mean);
        s->mean = NULL;
    }
    return is_enough;
}

static int knows(const struct side *s, enum part part)
{
    for (int i = 0; i < s->n; i++)
        if (is_part_known(s->runs[i], part))
            return 1;
    return 0;
}

/* part < 0: the whole step. */
static struct compared compared_of(const struct side *a, const struct side *b, int part)
{
    struct compared c = {.before_ns = part < 0 ? a->step_ns : a->part_ns[part],
                         .after_ns = part < 0 ? b->step_ns : b->part_ns[part]};
    c.has_before = part < 0 || knows(a, (enum part)part);
    c.has_after = part < 0 || knows(b, (enum part)part);
    if (!compared_has(&c)) /* there is no difference to a part that was not recorded */
        return c;
    double *change = a->mean && b->mean ? calloc(BOOTSTRAP_RESAMPLES, sizeof *change) : NULL;
    if (!change)
        return c;
    for (int k = 0; k < BOOTSTRAP_RESAMPLES; k++)
        for (int p = 0; p < N_PARTS; p++)
            change[k] += part < 0 || p == part ? b->mean[k][p] - a->mean[k][p] : 0;
    c.change_ns = percentile_interval(change, BOOTSTRAP_RESAMPLES);
    c.is_significant = c.change_ns.has && (c.change_ns.lo > 0 || c.change_ns.hi < 0);
    free(change);
    return c;
}

/* Global batch of all runs of a side; -1 = not known, or not of one size. */
static int64_t batch_of(const struct side *s)
{
    int64_t batch = s->runs[0]->run->program.global_batch;
    for (int i = 1; i < s->n; i++)
        batch = s->runs[i]->run->program.global_batch == batch ? batch : -1;
    return batch;
}

/* Samples of a mean step. The last of an epoch may have fewer than the batch. */
static double samples_of(const struct side *s)
{
    double sum = 0;
    for (int i = 0; i < s->n; i++)
        sum += s->runs[i]->throughput * 1e-9 * (double)s->runs[i]->step.mean_ns * (double)s->runs[i]->n_counted;
    return s->n_steps > 0 ? sum / (double)s->n_steps : 0;
}

static double step_of(const double mean[N_PARTS])
{
    double sum = 0;
    for (int p = 0; p < N_PARTS; p++)
        sum += mean[p];
    return sum;
}

/* Steps of other batches are not the same work, so the times of as many samples are compared. */
static struct equal_work equal_work_of(const struct side *a, const struct side *b)
{
    struct equal_work e = {0};
    int64_t batch[] = {batch_of(a), batch_of(b)};
    double samples[] = {samples_of(a), samples_of(b)};
    if (batch[0] <= 0 || batch[1] <= 0 || batch[0] == batch[1] || samples[0] <= 0 || samples[1] <= 0 ||
        a->step_ns <= 0 || b->step_ns <= 0)
        return e;
    /* Steps for as many samples as before. Damaged files may hold any number. */
    const double longest_ns = 1e18;
    double x = (double)batch[0] / samples[0], y = (double)batch[0] / samples[1];
    if (x * (double)a->step_ns > longest_ns || y * (double)b->step_ns > longest_ns)
        return e;
    e.samples_before = batch[0];
    e.samples_after = batch[1];
    e.per_second_before = 1e9 * samples[0] / (double)a->step_ns;
    e.per_second_after = 1e9 * samples[1] / (double)b->step_ns;
    e.time = (struct compared){.before_ns = llround(x * (double)a->step_ns),
                               .after_ns = llround(y * (double)b->step_ns),
                               .has_before = 1,
                               .has_after = 1};
    double(*drawn)[BOOTSTRAP_RESAMPLES] = a->mean && b->mean ? calloc(2, sizeof *drawn) : NULL;
    for (int k = 0; k < BOOTSTRAP_RESAMPLES && drawn; k++) {
        double before = x * step_of(a->mean[k]), after = y * step_of(b->mean[k]);
        drawn[0][k] = after - before;
        drawn[1][k] = after > 0 ? before / after : 0;
    }
    if (drawn) {
        e.time.change_ns = percentile_interval(drawn[0], BOOTSTRAP_RESAMPLES);
        e.ratio = percentile_interval(drawn[1], BOOTSTRAP_RESAMPLES);
        e.time.is_significant = e.time.change_ns.lo > 0 || e.time.change_ns.hi < 0;
    }
    free(drawn);
    return e;
}

/* Mean time that a class costs a step, over the runs of a side. is_exchange: all communication instead of transfer */
static int64_t class_ns(const struct side *s, enum cause_class cls, int is_exchange)
{
    int64_t sum = 0;
    for (int i = 0; i < s->n; i++)
        sum += is_exchange ? s->runs[i]->comm_ns : s->runs[i]->classes[cls].share_ns;
    return sum / s->n;
}

/* The run that a claim of the report before is about. NULL: of none */
static const struct run_result *run_of(const struct report *before, const struct claim *c)
{
    if (c->run >= 0)
        return &before->runs[c->run];
    const struct series *s = c->series >= 0 ? &before->series[c->series] : NULL;
    return s ? run_of_point(before, &s->points[s->told]) : NULL;
}

/* The cause that the report before names first, if it is about a run of this side and has a forecast; else N_CLASSES.
 * The forecast of a series for compute is about scaling, so it does not count. */
static enum cause_class named_first(const struct side *a)
{
    const struct report *before = a->rep;
    int first = before->first_claim;
    const struct claim *c = first >= 0 && first < before->n_claims ? &before->claims[first] : NULL;
    const struct run_result *r = c ? run_of(before, c) : NULL;
    for (int i = 0; i < a->n; i++)
        if (a->runs[i] == r)
            return c->has_gain && (c->run >= 0 || c->cls != CLASS_COMPUTE) ? c->cls : N_CLASSES;
    return N_CLASSES;
}

/* The cause that was named first, then those with the larger gain. */
static int comes_before(const struct prediction *p, const struct prediction *q, enum cause_class first)
{
    return p->cls == first || (q->cls != first && p->predicted_mean_ns > q->predicted_mean_ns);
}

/* The forecast of the first removed cause is what is expected. */
static void expect(struct comparison *c)
{
    for (int i = c->n_predictions; i-- > 0;)
        if (c->predictions[i].is_removed) {
            c->expected_ns = c->predictions[i].predicted_ns > 0 ? c->predictions[i].predicted_ns : 0;
            c->expected_mean_ns = c->predictions[i].predicted_mean_ns;
        }
}

static void fill_predictions(struct report *rep, struct comparison *c, const struct side *a, const struct side *b)
{
    const enum cause_class first = named_first(a);
    for (int k = 0; k < N_CLASSES; k++) {
        int64_t gain = 0;
        int n_limits = 0;
        for (int i = 0; i < a->n; i++) {
            gain += a->runs[i]->classes[k].gain_ns;
            n_limits += a->runs[i]->classes[k].verdict == VERDICT_LIMITS;
        }
        gain /= a->n;
        int is_first = k == (int)first;
        if (k == CLASS_SHARED || (2 * n_limits <= a->n && !is_first) || gain <= 0)
            continue;
        int is_exchange = k == CLASS_COMMUNICATION && is_gain_of_exchange(a->runs[0], gain);
        struct prediction p = {.cls = (enum cause_class)k,
                               .name = is_exchange ? "Communication" : run_class_name(a->runs[0], (enum cause_class)k),
                               .is_exchange = is_exchange,
                               .predicted_ns = c->median_before_ns - median(rep, a, k),
                               .predicted_mean_ns = gain,
                               .basis = gain_basis_of(a->runs[0], (enum cause_class)k),
                               .before_ns = class_ns(a, (enum cause_class)k, is_exchange),
                               .after_ns = class_ns(b, (enum cause_class)k, is_exchange)};
        for (int i = 0; i < a->n && k == CLASS_IMBALANCE; i++) {
            const struct straggler *s = &a->runs[i]->straggler;
            p.as_fast_ns = s->has && s->as_fast_ns > p.as_fast_ns ? s->as_fast_ns : p.as_fast_ns;
        }
        p.as_fast_ns = p.as_fast_ns > gain ? p.as_fast_ns : 0;
        p.is_removed = 2 * p.after_ns <= p.before_ns;
        int limiting = 0;
        for (int i = 0; i < b->n; i++)
            limiting += b->runs[i]->classes[k].verdict == VERDICT_LIMITS;
        p.still_limits = 2 * limiting > b->n;
        /* Only kernels can be removed from compute, and from communication not the waiting for a late rank. */
        if (k == CLASS_COMPUTE || is_exchange) {
            int64_t left = 0;
            for (int i = 0; i < b->n; i++)
                left += b->runs[i]->gain_ns[k];
            p.is_removed = 2 * (left / b->n) <= gain;
        }
        int at = c->n_predictions++;
        for (; at > 0 && comes_before(&p, &c->predictions[at - 1], first); at--)
            c->predictions[at] = c->predictions[at - 1];
        c->predictions[at] = p;
    }
    expect(c);
}

/* Of all traced GPUs of a side together: time with a kernel running / time of their steps; -1 = not known. */
static double utilization(const struct side *s)
{
    int64_t kernel = 0, steps = 0;
    for (int i = 0; i < s->n; i++)
        for (int t = 0; t < s->runs[i]->run->n_traces; t++)
            for (int k = 0; k < s->runs[i]->run->traces[t].n_devices; k++) {
                const struct run_device *d = &s->runs[i]->run->traces[t].devices[k];
                kernel += d->steps_ns > 0 ? d->steps_kernel_ns : 0;
                steps += d->steps_ns > 0 ? d->steps_ns : 0;
            }
    return steps > 0 ? (double)kernel / (double)steps : -1;
}

/* Batches of a step, equal in all runs of a side; 0 = not known. */
static int64_t batches_of(const struct side *s)
{
    int64_t n = s->runs[0]->accumulation.micro_batches;
    for (int i = 1; i < s->n; i++)
        n = s->runs[i]->accumulation.micro_batches == n ? n : 0;
    return n;
}

/* Steps / time from the first step to the last, mean over the runs of a side; 0 = not known. */
static double coverage(const struct side *s)
{
    double sum = 0;
    for (int i = 0; i < s->n; i++) {
        if (s->runs[i]->coverage_ratio <= 0)
            return 0;
        sum += s->runs[i]->coverage_ratio;
    }
    return s->n ? sum / s->n : 0;
}

/* Is a step the same work on both sides? */
static void fill_work(struct comparison *c, const struct side *a, const struct side *b)
{
    c->coverage_before = coverage(a);
    c->coverage_after = coverage(b);
    c->equal = equal_work_of(a, b);
    int is_known = batch_of(a) > 0 && batch_of(b) > 0; /* the samples of a step, however many batches they make */
    int64_t before = is_known ? 0 : batches_of(a), after = is_known ? 0 : batches_of(b);
    if (before && after && before != after) {
        c->batches_before = before;
        c->batches_after = after;
    }
}

static const unsigned may_be_changed =
    1U << UNLIKE_PROGRAM | 1U << UNLIKE_COMMIT | 1U << UNLIKE_BLAS | 1U << UNLIKE_THREADS | 1U << UNLIKE_QUOTA;

/* Other emulated nodes are a valid change, like another option, but not together with one: it would be unknown which of
 * the two brought the gain. */
static int is_change_of_nodes(const struct run *a, const struct run *b, unsigned which)
{
    return which & 1U << UNLIKE_NODES && a->node_kind == NODES_SHARES && b->node_kind == NODES_SHARES &&
           !(which & may_be_changed) && !has_other_command(a, b);
}

/* Code, its version, kernels, threads and CPU quota may be what was changed; the machine below may not. The batch may
 * if samples are compared. */
static const char *differing(struct report *rep, const struct run *a, const struct run *b, int is_of_samples)
{
    const struct run_program *p = &a->program, *q = &b->program;
    unsigned which = unlike(&rep->thresholds, a, b);
    if (is_change_of_nodes(a, b, which))
        which &= ~(1U << UNLIKE_NODES);
    return strcmp(p->model, q->model) != 0                        ? "model"
           : strcmp(p->dataset, q->dataset) != 0                  ? "data set"
           : p->global_batch != q->global_batch && !is_of_samples ? "global batch"
           : a->n_ranks != b->n_ranks                             ? "number of ranks"
                                                                  : unlike_names(rep, which & ~may_be_changed);
}

static int64_t least_steps(const struct side *s, int64_t least)
{
    for (int i = 0; i < s->n; i++)
        least = s->runs[i]->n_counted < least ? s->runs[i]->n_counted : least;
    return least;
}

static int has_losses(const struct side *s)
{
    for (int i = 0; i < s->n; i++)
        if (lost_steps(s->runs[i]->run))
            return 1;
    return 0;
}

/* Why the runs of a side are doubtful; PHRASE_NONE: they are not. which: "before", "after". */
static struct phrase doubt(struct report *rep, const struct side *s, const char *which)
{
    const struct slot side = slot_name(which);
    int64_t least = INT64_MAX, most = 0;
    for (int i = 0; i < s->n; i++) {
        const struct run_result *r = s->runs[i];
        if (is_doubtful(r)) /* the words are copied, because `before` does not last */
            return r->shared.kind == SHARED_OWN_THREADS
                       ? PHRASE(DOUBT_OWN_THREADS, side)
                       : PHRASE(DOUBT_CORES, side, slot_name(say_phrase(&rep->arena, &r->shared.said)));
        if (has_bad_clock(s->rep, r))
            return PHRASE(DOUBT_CLOCK, side);
        if (lost_steps(r->run))
            return PHRASE(DOUBT_LOST, side);
        least = r->step.mean_ns < least ? r->step.mean_ns : least;
        most = r->step.mean_ns > most ? r->step.mean_ns : most;
    }
    if ((double)s->n_steps < rep->thresholds.few_steps)
        return PHRASE(DOUBT_STEPS, side, slot_count(s->n_steps), slot_count((int64_t)ceil(rep->thresholds.few_steps)));
    if ((double)(most - least) > rep->thresholds.step_cv * (double)s->step_ns)
        return PHRASE(DOUBT_SPREAD, side, slot_percent((double)(most - least) / (double)s->step_ns));
    return PHRASE(NONE);
}

int comparison_is_repeated(const struct comparison *c)
{
    return c->n_before > 1 || c->n_after > 1;
}

static int64_t size_of_change(const struct compared *c)
{
    return compared_has(c) ? llabs(c->after_ns - c->before_ns) : -1;
}

int comparison_order(const struct comparison *c, enum part *out)
{
    int n = 0;
    for (enum part p = 0; p < N_PARTS; p++) {
        if (!c->part[p].before_ns && !c->part[p].after_ns)
            continue;
        int at = n++;
        for (; at > 0 && size_of_change(&c->part[out[at - 1]]) < size_of_change(&c->part[p]); at--)
            out[at] = out[at - 1];
        out[at] = p;
    }
    return n;
}

static void judge(struct report *rep, struct comparison *c, const struct side *a, const struct side *b)
{
    struct phrase why = *c->differing             ? PHRASE(DOUBT_DIFFERING, slot_name(c->differing))
                        : c->n_same == c->n_after ? PHRASE(DOUBT_SAME)
                                                  : doubt(rep, a, "before");
    why = why.id ? why : doubt(rep, b, "after");
    c->confidence = why.id ? CONFIDENCE_LOW : CONFIDENCE_HIGH;
    if (!why.id && (a->n < 2 || b->n < 2)) {
        c->confidence = comparison_is_repeated(c) ? CONFIDENCE_MEDIUM : CONFIDENCE_LOW;
        why = comparison_is_repeated(c) ? PHRASE(DOUBT_ONE_RUN) : PHRASE(DOUBT_NOT_REPEATED);
    }
    c->doubt = why.id ? why : PHRASE(DOUBT_NONE, slot_count(a->n), slot_count(b->n));
}

/* "0.25 core, 50 Mbit/s each" of the first node, with its period if nothing else distinguishes it from `other`. */
static const char *nodes_words(struct report *rep, const struct run *a, const struct run *other)
{
    const struct node_share *s = &a->nodes[0].share, *o = &other->nodes[0].share;
    const char *words = share_words(rep, s, a->nodes_len);
    if (strcmp(words, share_words(rep, o, other->nodes_len)) != 0 || s->period_us == o->period_us)
        return words;
    return report_text(rep, "%s, a quota every %s", words, fmt_time(s->period_us * 1000).text);
}

static void compare_at(struct report *rep, const struct report *before, const struct what *w)
{
    struct side a = {0}, b = {0};
    collect(rep, &a, before, rep, w);
    collect(rep, &b, rep, before, w);
    if (a.n == 0 || b.n == 0)
        return;
    struct comparison *c = &rep->comparisons[rep->n_comparisons++];
    *c = (struct comparison){.n_nodes = w->n_nodes,
                             .n_ranks = w->n_ranks,
                             .n_before = a.n,
                             .n_after = b.n,
                             .series = b.runs[0]->series,
                             .label = "",
                             .anchor = "",
                             .sentence = "",
                             .support = "",
                             .confidence_because = ""};
    for (int i = 1; i < b.n; i++)
        c->series = b.runs[i]->series == c->series ? c->series : -1;
    for (int i = 0; i < b.n; i++)
        for (int k = 0; k < a.n; k++)
            c->n_same += is_same(b.runs[i], a.runs[k]);
    fill_means(&a);
    fill_means(&b);
    draw(&a, 1);
    draw(&b, 2);
    c->steps_before = a.n_steps;
    c->steps_after = b.n_steps;
    c->median_before_ns = median(rep, &a, -1);
    c->median_after_ns = median(rep, &b, -1);
    fill_work(c, &a, &b);
    int is_of_samples = comparison_is_of_samples(c); /* forecasts are of steps of the batch before */
    c->tried =
        is_of_samples ? (struct tried){.command = ""} : tried_of(&a, &b, c->median_before_ns, c->median_after_ns);
    c->tried.command = dcr_arena_strdup(&rep->arena, c->tried.command);
    c->step = compared_of(&a, &b, -1);
    c->utilization_before = utilization(&a);
    c->utilization_after = utilization(&b);
    for (int p = 0; p < N_PARTS; p++)
        c->part[p] = compared_of(&a, &b, p);
    c->achieved_ns = c->median_before_ns - c->median_after_ns;
    if (!comparison_is_of_other_work(c))
        fill_predictions(rep, c, &a, &b);
    c->differing = ""; /* repetitions of one side may differ among themselves too */
    for (int i = 0; i < a.n && !*c->differing; i++)
        c->differing = differing(rep, b.runs[0]->run, a.runs[i]->run, is_of_samples);
    for (int i = 1; i < b.n && !*c->differing; i++)
        c->differing = differing(rep, a.runs[0]->run, b.runs[i]->run, is_of_samples);
    c->nodes_before = c->nodes_after = "";
    const struct run *x = a.runs[0]->run, *y = b.runs[0]->run;
    if (x->node_kind == NODES_SHARES && y->node_kind == NODES_SHARES &&
        unlike(&rep->thresholds, x, y) & 1U << UNLIKE_NODES) {
        c->nodes_before = nodes_words(rep, x, y);
        c->nodes_after = nodes_words(rep, y, x);
    }
    c->program_before = c->program_after = "";
    const char *programs[2];
    if (has_other_program(x, y, programs) && *programs[0] && *programs[1]) {
        c->program_before = dcr_arena_strdup(&rep->arena, programs[0]);
        c->program_after = dcr_arena_strdup(&rep->arena, programs[1]);
    }
    c->lost_before = has_losses(&a);
    c->lost_after = has_losses(&b);
    c->least_steps = least_steps(&b, least_steps(&a, INT64_MAX));
    judge(rep, c, &a, &b);
    free(a.mean);
    free(b.mean);
}

/* Runs with steps; n_nodes >= 0: only those on as many nodes. returns the last of them, NULL = none */
static const struct run_result *with_steps(const struct report *rep, int n_nodes)
{
    for (int i = rep->n_runs; i-- > 0;)
        if (rep->runs[i].has_steps && !is_left_out(rep, i) && (n_nodes < 0 || rep->runs[i].n_nodes == n_nodes))
            return &rep->runs[i];
    return NULL;
}

static const char *on_nodes(struct report *rep, const struct run_result *r)
{
    return report_text(rep, "%s%s%s", r->n_nodes > 0 ? fmt_count(r->n_nodes, counted_word(rep->unit)).text : "",
                       r->n_nodes > 0 ? " with " : "", fmt_count(r->n_ranks, "rank").text);
}

static struct reason why_none(struct report *rep, const struct report *before)
{
    const struct report *sides[] = {before, rep};
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < sides[k]->n_runs; i++)
            if (!sides[k]->runs[i].has_steps && sides[k]->runs[i].step.mean_ns > 0)
                return REASON(COMPARE_NO_SINGLE_STEPS);
    const struct run_result *now = with_steps(rep, -1), *then = with_steps(before, -1);
    if (!now || !then)
        return now ? REASON(COMPARE_NO_STEPS_BEFORE) : then ? REASON(COMPARE_NO_STEPS_AFTER) : REASON(COMPARE_NO_STEPS);
    for (int i = rep->n_runs; i-- > 0;) {
        const struct run_result *r = &rep->runs[i], *of_size = r->has_steps ? with_steps(before, r->n_nodes) : NULL;
        if (of_size)
            return REASON(COMPARE_OTHER_RANKS, slot_name(on_nodes(rep, of_size)), slot_name(on_nodes(rep, r)));
    }
    return REASON(COMPARE_OTHER_SIZES, slot_name(counted_word(rep->unit)));
}

int compare(struct report *rep, const struct report *before)
{
    rep->comparisons = dcr_arena_alloc(&rep->arena, (size_t)(rep->n_runs + 1) * sizeof *rep->comparisons);
    struct what *done = dcr_arena_alloc(&rep->arena, (size_t)(rep->n_runs + 1) * sizeof *done);
    for (int i = 0, n = 0; i < rep->n_runs; i++) {
        const struct run_result *r = &rep->runs[i];
        struct what w = {r->n_nodes, r->n_ranks, NULL};
        const char *key = key_of(rep, r);
        if (has_key(rep, before, &w, key))
            w.key = key;
        int is_new = r->has_steps && !is_left_out(rep, i);
        for (int k = 0; k < n; k++)
            is_new &= done[k].n_nodes != w.n_nodes || done[k].n_ranks != w.n_ranks || !done[k].key != !w.key ||
                      (w.key && strcmp(done[k].key, w.key) != 0);
        if (!is_new)
            continue;
        done[n++] = w;
        compare_at(rep, before, &w);
    }
    rep->no_comparison = rep->n_comparisons ? REASON(NONE) : why_none(rep, before);
    return rep->n_comparisons;
}
