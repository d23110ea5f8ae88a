/* recorded.c - which part of a run its traces cover, and whether events are missing in it. This file alone decides by
 * what time sums of recorded calls are divided, and when such sums are not valid. Called wherever they are used.
 * Test: tests/unit/test_recorded.c */
#include "render/metrics/recorded.h"

int64_t rank_watched_ns(const struct run_rank *k)
{
    return k->process_seconds > 0 && k->process_seconds < 9e9 ? (int64_t)(k->process_seconds * 1e9) : 0;
}

int rank_lost_events(const struct run_rank *k)
{
    return k->n_dropped > k->n_dropped_gpu || k->n_bad_blocks || k->n_missing_blocks || k->is_torn || k->lost_from_ns;
}

static int is_damaged(const struct run_rank *k)
{
    return k->n_bad_blocks || k->n_missing_blocks || k->is_torn;
}

int rank_lost_sums(const struct run_rank *k)
{
    return rank_lost_events(k) &&
           (is_damaged(k) || !k->n_dropped_known || k->n_dropped_known != k->n_dropped - k->n_dropped_gpu);
}

int rank_lost_steps(const struct run_rank *k)
{
    return rank_lost_events(k) && (is_damaged(k) || !k->has_step_sums);
}

int lost_steps(const struct run *a)
{
    for (int i = 0; i < a->ranks_len; i++)
        if (a->ranks[i].source == STEPS_TRACE && rank_lost_steps(&a->ranks[i]))
            return 1;
    return 0;
}

/* A time of the window, limited to the time in which the rank's monitor saw its processes. */
static int64_t while_watched(const struct run_rank *k, int64_t t_ns)
{
    t_ns = t_ns > k->watched_from_ns ? t_ns : k->watched_from_ns;
    return t_ns < k->watched_to_ns ? t_ns : k->watched_to_ns;
}

struct recorded_rank recorded_of_rank(const struct run_rank *k)
{
    const struct dct_window *w = &k->window;
    struct recorded_rank r = {.ns = rank_watched_ns(k), .to_ns = rank_watched_ns(k)};
    if (!w->until_ns)
        return r;
    if (!r.ns || k->watched_to_ns <= k->watched_from_ns)
        return (struct recorded_rank){0};
    int64_t open = w->since_ns ? while_watched(k, w->until_ns) - while_watched(k, w->since_ns) : 0;
    int64_t sum = w->closed_ns + (open > 0 ? open : 0);
    r.ns = sum < r.ns ? sum : r.ns;
    r.from_ns = while_watched(k, w->first_ns) - k->watched_from_ns;
    r.to_ns = while_watched(k, w->since_ns ? w->until_ns : w->last_ns) - k->watched_from_ns;
    return r;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Adds the losses of a rank. If the time of one rank's loss is unknown, so is that of the whole (-1). */
static void add_loss(const struct run_rank *k, struct recorded *r)
{
    int64_t from = k->lost_from_ns > 0 && k->watched_from_ns > 0 ? k->lost_from_ns - k->watched_from_ns : -1;
    if (!rank_lost_events(k))
        return;
    r->n_ranks_lost++;
    r->n_ranks_lost_sums += rank_lost_sums(k);
    r->n_lost += k->n_dropped > k->n_dropped_gpu ? k->n_dropped - k->n_dropped_gpu : 0;
    r->lost_from_ns = r->n_ranks_lost == 1 ? from : earlier(r->lost_from_ns, from);
}

/* Is the recorded time of the rank known? It is 0 if the window never opened. */
static int is_told(const struct run *a, const struct run_rank *k)
{
    if (!k->window.until_ns) /* if the run has a window: the rank has no trace, or one of an earlier recorder */
        return !a->has_window && rank_watched_ns(k) > 0;
    return rank_watched_ns(k) > 0 && k->watched_to_ns > k->watched_from_ns;
}

struct recorded recorded_part(const struct run *a)
{
    struct recorded r = {.is_part = a->has_window, .from_ns = INT64_MAX};
    int n_told = 0, n_watched = 0;
    for (int i = 0; i < a->ranks_len; i++) {
        int told = is_told(a, &a->ranks[i]);
        struct recorded_rank k = told ? recorded_of_rank(&a->ranks[i]) : (struct recorded_rank){0};
        r.watched_ns += rank_watched_ns(&a->ranks[i]);
        r.ns += k.ns;
        n_told += told;
        n_watched += rank_watched_ns(&a->ranks[i]) > 0;
        if (k.ns > 0) {
            r.from_ns = earlier(r.from_ns, k.from_ns);
            r.to_ns = k.to_ns > r.to_ns ? k.to_ns : r.to_ns;
        }
        add_loss(&a->ranks[i], &r);
    }
    r.is_never_open = !r.ns && n_told > 0 && n_told == a->ranks_len;
    if (!r.ns || n_told < a->ranks_len)
        r.ns = r.from_ns = r.to_ns = 0;
    if (n_watched < a->ranks_len)
        r.watched_ns = 0;
    if (r.n_ranks_lost_sums)
        r.why = REASON(EVENTS_LOST);
    else if (!r.watched_ns)
        r.why = REASON(WALL_UNKNOWN);
    else if (r.is_never_open)
        r.why = REASON(WINDOW_NEVER_OPEN);
    else if (!r.ns)
        r.why = REASON(WINDOW_UNKNOWN);
    return r;
}

double whole_run_ns(const struct run *a)
{
    int is_known = a->is_complete && *a->collector_version && a->ranks_len > 0 && a->ranks_len == a->n_ranks;
    return is_known ? (double)recorded_part(a).watched_ns / a->ranks_len : 0;
}

/* Nanoseconds for one event: `make bench-collect` on a Zen 3, about (docs/performance.md). */
#define COST_RANGE_NS 60
#define COST_MPI_NS 100
#define COST_FILE_NS 60

struct recording_cost recording_cost(const struct run *a)
{
    struct recorded part = recorded_part(a);
    struct recording_cost c = {0};
    double ranges = (double)a->ranges.n, mpi = 0, files = 0;
    for (int i = 0; i < a->n_mpi_calls; i++)
        mpi += (double)a->mpi_calls[i].sum.n;
    for (int i = 0; i < a->n_files; i++)
        for (int k = 0; k < DCT_N_IO; k++)
            files += (double)a->files[i].sum[k].n;
    double ns = ranges * COST_RANGE_NS + mpi * COST_MPI_NS + files * COST_FILE_NS;
    c.has = *a->collector_version && ranges + mpi + files > 0 && !part.n_ranks_lost_sums && part.ns > 0 &&
            ns < (double)part.ns; /* damaged files may hold any number */
    if (c.has) {
        c.n_events = (int64_t)(ranges + mpi + files);
        c.ns = (int64_t)ns;
        c.ratio = ns / (double)part.ns;
    }
    c.has_cpu = a->collector_cpu_ns > 0 && part.watched_ns > 0;
    if (c.has_cpu) {
        c.cpu_ns = a->collector_cpu_ns;
        c.cpu_ratio = (double)c.cpu_ns / (double)part.watched_ns;
    }
    return c;
}

/* ---- in words -------------------------------------------------------------------------------------- */

const char *recorded_noun(const struct run *a)
{
    return recorded_part(a).is_part ? "the recorded part of the run" : "the run";
}

struct window_said window_said(const struct run *a)
{
    struct recorded part = recorded_part(a);
    if (part.is_never_open)
        return (struct window_said){.length = PHRASE(WINDOW_CLOSED)};
    if (part.ns <= 0 || part.watched_ns <= 0)
        return (struct window_said){.length = PHRASE(WINDOW_LENGTH_UNKNOWN)};
    return (struct window_said){
        .length = PHRASE(WINDOW_LENGTH, slot_time(part.ns / a->ranks_len), slot_time(part.watched_ns / a->ranks_len)),
        .between = PHRASE(WINDOW_BETWEEN, slot_time(part.from_ns), slot_time(part.to_ns))};
}

struct phrase lost_events(const struct run *a)
{
    struct recorded part = recorded_part(a);
    const struct slot n = slot_count((int64_t)part.n_lost);
    if (!part.n_lost)
        return PHRASE(NONE);
    if (part.lost_from_ns < 0 || part.watched_ns <= 0)
        return PHRASE(LOST_EVENTS, n);
    return PHRASE(LOST_AFTER, n, slot_time(part.lost_from_ns), slot_time(part.watched_ns / a->ranks_len));
}

/* Is it known of each rank that lost events since when they are missing? It need not have been watched for that. */
static int is_loss_timed(const struct run *a)
{
    for (int i = 0; i < a->ranks_len; i++)
        if (rank_lost_events(&a->ranks[i]) && a->ranks[i].lost_from_ns <= 0)
            return 0;
    return 1;
}

struct phrase steps_of_lost(const struct run_result *r)
{
    struct recorded part = recorded_part(r->run);
    if (!part.n_ranks_lost || !r->has_steps)
        return PHRASE(NONE);
    int is_of_traces = 0;
    for (int i = 0; i < r->run->ranks_len; i++)
        is_of_traces |= r->run->ranks[i].source == STEPS_TRACE;
    if (!is_of_traces)
        return PHRASE(NONE);
    if (!lost_steps(r->run))
        return PHRASE(STEPS_ARE_SUMMED);
    return is_loss_timed(r->run) ? PHRASE(STEPS_BEFORE_LOSS) : PHRASE(STEPS_MAY_LACK);
}
