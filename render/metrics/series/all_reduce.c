/* all_reduce.c - what the all-reduces of a step should take by measurements of the network alone: a calibration in an
 * archive, or a log of nccl-tests. Compares this with the transfer of each point, and forecasts further points. Called
 * by laws.c. */
#include "render/metrics/recorded.h"
#include "render/metrics/series/series.h"
#include "render/metrics/fit.h"
#include "render/metrics/series/network.h"
#include "render/say/format.h"

#include <limits.h>
#include <math.h>
#include <string.h>

/* Sizes within this factor of the message make the fit: libraries change their algorithm between small and large. */
static const double near_factor = 16;
enum { MAX_ROWS = 1024 };

/* T(p, S) / 1 all-reduce = latency log2 p + S 2 (p - 1) / p / bus bandwidth. */
static double latency_shape(int n_ranks)
{
    return log2(n_ranks);
}

static double bandwidth_shape(int n_ranks)
{
    return 2.0 * (n_ranks - 1) / n_ranks;
}

/* ---- the fit ----------------------------------------------------------------------------------------- */

struct network_fit {
    struct fit f;    /* fit of relative times, so that every size has the same weight */
    double term[2];  /* ns: of the shapes, bandwidth per byte; none is negative */
    int is_used[2];  /* a term that would be negative is left out */
    int n;           /* sizes and counts of ranks that made it */
    double residual; /* largest relative one */
    double message_bytes;
};

static double time_of(const struct network_fit *n, int n_ranks, double count, double bytes)
{
    return count * n->term[0] * latency_shape(n_ranks) + bytes * n->term[1] * bandwidth_shape(n_ranks);
}

static int rows_of(const struct curves *c, double message, double (*x)[FIT_MAX_PARAMETERS], double *y)
{
    int n = 0;
    for (int i = 0; i < c->n; i++) {
        const struct curve *k = &c->list[i];
        double least = (double)k->points[0].bytes, most = (double)k->points[k->n_points - 1].bytes;
        double m = message < least ? least : message > most ? most : message;
        for (int p = 0; p < k->n_points && n < MAX_ROWS; p++) {
            double bytes = (double)k->points[p].bytes, ns = (double)k->points[p].median_ns;
            if (bytes > m * near_factor || bytes * near_factor < m)
                continue;
            x[n][0] = latency_shape(k->n_ranks) / ns;
            x[n][1] = bytes * bandwidth_shape(k->n_ranks) / ns;
            y[n++] = 1;
        }
    }
    return n;
}

/* Least squares of (law - measured) / measured over the sizes near the message, no term below 0. */
static struct network_fit fit_network(const struct curves *c, double message)
{
    double x[MAX_ROWS][FIT_MAX_PARAMETERS], y[MAX_ROWS], half;
    struct network_fit out = {.is_used = {1, 1}, .message_bytes = message};
    out.n = rows_of(c, message, x, y);
    out.f = fit_linear((const double(*)[FIT_MAX_PARAMETERS])x, y, out.n, 2);
    if (!out.f.has)
        return out;
    for (int k = 0; k < 2; k++)
        if (out.f.parameter[k] < 0) {
            for (int i = 0; i < out.n; i++)
                x[i][0] = x[i][1 - k]; /* the other term alone */
            out.is_used[k] = 0;
            out.f = fit_linear((const double(*)[FIT_MAX_PARAMETERS])x, y, out.n, 1);
            break; /* if both terms were below 0, the times would be impossible */
        }
    int at = 0;
    for (int k = 0; k < 2; k++)
        out.term[k] = out.is_used[k] ? out.f.parameter[at++] : 0;
    for (int i = 0; i < out.n; i++) {
        double e = fabs(fit_at(&out.f, x[i], &half) - 1);
        out.residual = e > out.residual ? e : out.residual;
    }
    return out;
}

/* 95 % prediction interval. It is relative like the fit, so that it stays above 0. */
static struct interval interval_of(const struct network_fit *n, int n_ranks, double count, double bytes)
{
    double ns = time_of(n, n_ranks, count, bytes), half, x[FIT_MAX_PARAMETERS];
    const double shape[] = {count * latency_shape(n_ranks) / ns, bytes * bandwidth_shape(n_ranks) / ns};
    int at = 0;
    for (int k = 0; k < 2; k++)
        if (n->is_used[k])
            x[at++] = shape[k];
    if (at < 2)
        x[1] = 0;
    (void)fit_at(&n->f, x, &half);
    return (struct interval){n->f.n_free > 0, ns / (1 + half), ns * (1 + half)};
}

/* ---- the points -------------------------------------------------------------------------------------- */

/* Bytes that a rank gives into the collectives of a step, and in how many. */
struct message {
    double bytes, count;
    int is_counted; /* count was recorded, not assumed */
};

/* MPI all-reduce calls per rank and step; 0 = not recorded, or events were lost. */
static double calls_a_step(const struct run_result *r)
{
    static const char *const names[] = {"MPI_Allreduce", "MPI_Iallreduce"};
    double n = 0;
    if (!r->run->n_mpi_calls || recorded_part(r->run).n_ranks_lost_sums)
        return 0;
    for (int i = 0; i < r->run->n_mpi_calls; i++)
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            n += strcmp(r->run->mpi_calls[i].name, names[k]) == 0 ? (double)r->run->mpi_calls[i].sum.n : 0;
    return r->n_steps > 0 && r->n_ranks > 0 ? n / run_all_steps(r->run, r->n_steps) / r->n_ranks : 0;
}

/* Mean number of collectives in a step of native traces; 0 = not recorded, or sent meanwhile by another thread. */
static double collectives_a_step(const struct run_result *r)
{
    double n = 0, steps = 0;
    for (int i = 0; i < r->run->ranks_len; i++) {
        const struct run_rank *k = &r->run->ranks[i];
        for (size_t j = 0; j < k->n_steps && k->source == STEPS_TRACE; j++) {
            if (!k->steps[j].n_collectives && rank_lost_events(k)) /* its calls are known only as sums */
                continue;
            n += k->steps[j].n_collectives;
            steps++;
        }
    }
    return steps > 0 && r->hidden_comm_ns == 0 ? n / steps : 0;
}

static struct message message_of(const struct report *rep, const struct series_point *p)
{
    const struct run_result *r = run_of_point(rep, p);
    double calls = calls_a_step(r), n = calls >= 1 ? calls : collectives_a_step(r);
    struct message m = {.bytes = r->bytes_per_step, .count = n >= 1 ? n : 1, .is_counted = n >= 1};
    if (m.bytes <= 0 && r->run->program.allreduce_bytes_per_step > 0)
        m.bytes = (double)r->run->program.allreduce_bytes_per_step;
    return m;
}

static void add_point(struct report *rep, struct all_reduce *a, const struct series_point *p, enum network net,
                      const struct network_fit *n)
{
    if (p->n_ranks < 2)
        return; /* one rank has no other to reduce with */
    struct all_reduce_point *out = &a->points[a->n_points++];
    *out = (struct all_reduce_point){.n_nodes = p->n_nodes, .n_ranks = p->n_ranks};
    struct message m = message_of(rep, p);
    out->is_counted = m.is_counted;
    out->is_count_of_last = !m.is_counted && a->is_counted;
    m.count = out->is_count_of_last ? a->count : m.count;
    out->bytes = m.bytes;
    out->count = m.count;
    if (net == NETWORK_BETWEEN && p->n_nodes == 1)
        out->why = REASON(REDUCE_INSIDE_NODE);
    else if (m.bytes <= 0)
        out->why = REASON(REDUCE_BYTES_UNKNOWN);
    else
        out->predicted_ns = (int64_t)llround(time_of(n, p->n_ranks, m.count, m.bytes));
    int is_hidden = 0, is_apart = is_transfer_collective(rep, p);
    for (int i = 0; i < p->n_runs; i++)
        is_hidden |= rep->runs[p->runs[i]].hidden_comm_ns > 0;
    out->measured_ns = is_host_only(rep, p) || !is_apart ? 0 : p->part_ns[PART_TRANSFER];
    if (out->measured_ns > 0)
        out->measured_interval = part_interval(rep, p, PART_TRANSFER);
    if (out->why.code)
        return;
    out->interval = interval_of(n, p->n_ranks, m.count, m.bytes);
    if (!is_apart)
        out->why = REASON(REDUCE_NOT_APART);
    else if (out->measured_ns <= 0)
        out->why = REASON(REDUCE_NO_TRANSFER);
    else if (is_hidden)
        out->why = REASON(REDUCE_HIDDEN);
    else {
        out->has_residual = 1;
        out->residual_ratio = (double)out->predicted_ns / (double)out->measured_ns - 1;
    }
}

/* The factor of the law's largest error at the runs. The scatter of a calibration does not include it. */
static double worst_miss(const struct all_reduce *a)
{
    double worst = 1;
    for (int i = 0; i < a->n_points; i++) {
        double of = a->points[i].has_residual ? 1 + a->points[i].residual_ratio : 1;
        worst = fmax(worst, fmax(of, 1 / of));
    }
    return worst;
}

static void look_ahead(struct report *rep, const struct series *s, struct all_reduce *a, const struct network_fit *n,
                       int is_shared)
{
    const int widest = 10; /* a wider interval is of no use */
    const struct series_point *last = &s->points[s->n_points - 1];
    struct message m = message_of(rep, last);
    double miss = worst_miss(a);
    a->ahead_why = a->mismatch.code       ? a->mismatch
                   : is_shared            ? REASON(NO_TREND_CORES_SHARED)
                   : miss * miss > widest ? REASON(REDUCE_LAW_MISSES, slot_number(miss))
                                          : REASON(NONE);
    for (int k = 0; k < SERIES_AHEAD && !a->ahead_why.code; k++) {
        int ranks = last->n_ranks * (2 << k);
        struct interval i = interval_of(n, ranks, m.count, m.bytes);
        if (!i.has || i.hi > widest * i.lo) {
            a->ahead_why = REASON(REDUCE_TOO_WIDE, slot_count(widest));
            break;
        }
        i.lo = fmin(i.lo, time_of(n, ranks, m.count, m.bytes) / miss);
        i.hi = fmax(i.hi, time_of(n, ranks, m.count, m.bytes) * miss);
        a->ahead[a->n_ahead++] =
            (struct all_reduce_point){.n_nodes = last->n_nodes * (2 << k),
                                      .n_ranks = ranks,
                                      .predicted_ns = (int64_t)llround(time_of(n, ranks, m.count, m.bytes)),
                                      .interval = i,
                                      .bytes = m.bytes,
                                      .count = m.count};
    }
}

/* Largest and smallest message that was measured. */
static void sizes_of(const struct curves *c, double *least, double *most)
{
    *least = INFINITY;
    *most = 0;
    for (int i = 0; i < c->n; i++) {
        const struct curve *k = &c->list[i];
        *least = fmin(*least, (double)k->points[0].bytes);
        *most = fmax(*most, (double)k->points[k->n_points - 1].bytes);
    }
}

/* "2 and 4 ranks"; n: how many counts */
static const char *counts_of(struct report *rep, const struct curves *c, int *n)
{
    const char *text = "", *next = "";
    *n = 0;
    for (int last = 0, least = 0;; last = least) { /* logs come in any order and may name one twice */
        least = INT_MAX;
        for (int i = 0; i < c->n; i++)
            if (c->list[i].n_ranks > last && c->list[i].n_ranks < least)
                least = c->list[i].n_ranks;
        if (least == INT_MAX)
            break;
        text = report_text(rep, "%s%s%s", text, *n > 1 ? ", " : "", next);
        next = report_text(rep, "%d", least);
        ++*n;
    }
    return report_text(rep, "%s%s%s ranks", text, *n > 1 ? " and " : "", next);
}

static int is_on_gpus(const struct run *r)
{
    for (int i = 0; i < r->n_traces; i++)
        if (r->traces[i].n_devices)
            return 1;
    return strcmp(r->program.backend, "cuda") == 0;
}

static int is_any_inside(const struct curves *c)
{
    for (int i = 0; i < c->n; i++)
        if (!c->list[i].is_across)
            return 1;
    return 0;
}

void all_reduce(struct report *rep, struct series *s, int is_shared)
{
    struct all_reduce *a = &s->all_reduce;
    *a = (struct all_reduce){.of = ""};
    const struct series_point *last = &s->points[s->n_points - 1];
    const struct run *r = run_of_point(rep, last)->run;
    enum network net = network_of(rep, last);
    struct message m = message_of(rep, last);
    struct curves c[2] = {network_calibrated(rep, s, net), network_nccl_tested(rep, net)};
    /* GPUs reduce through NCCL, but dccollect calibrate measures MPI between hosts. */
    int first = is_on_gpus(r), use = c[first].n ? first : !first;
    if (last->n_ranks < 2) {
        a->why = REASON(REDUCE_NO_TWO_RANKS);
        return;
    }
    if (!c[use].n) {
        struct reason *refused = dcr_arena_alloc(&rep->arena, sizeof *refused);
        *refused = c[first].refused.code ? c[first].refused : c[!first].refused;
        a->why = refused->code ? REASON(REDUCE_UNUSABLE, slot_reason(refused)) : REASON(REDUCE_NOT_CALIBRATED);
        return;
    }
    if (m.bytes <= 0) {
        a->why = REASON(REDUCE_BYTES_UNKNOWN);
        return;
    }
    double message = m.bytes / m.count, least, most;
    sizes_of(&c[use], &least, &most);
    if (message > most * near_factor || message * near_factor < least) {
        a->why =
            REASON(REDUCE_OTHER_SIZES, slot_name(c[use].of), slot_bytes(least), slot_bytes(most), slot_bytes(message));
        return;
    }
    a->least_bytes = least;
    a->most_bytes = most;
    struct network_fit n = fit_network(&c[use], message);
    if (!n.f.has) {
        a->why = REASON(REDUCE_FEW_SIZES, slot_name(c[use].of), slot_bytes(n.message_bytes));
        return;
    }
    if (use != first && (is_on_gpus(r) || *r->program.backend))
        a->mismatch = use ? REASON(REDUCE_MEASURED_ON_GPUS) : REASON(REDUCE_MEASURED_ON_HOSTS);
    else if (net == NETWORK_ANY && last->n_nodes > 1 && is_any_inside(&c[use]))
        a->mismatch = REASON(REDUCE_MEASURED_INSIDE);
    a->source = use ? LAW_BY_NCCL_TESTS : LAW_BY_CALIBRATION;
    a->of = report_text(rep, "%s (%s)", c[use].of, counts_of(rep, &c[use], &a->n_counts));
    if (c[use].refused.code)
        a->left_out = c[use].refused;
    else if (c[!use].n)
        a->left_out = REASON(REDUCE_SECOND, slot_name(c[!use].of), slot_name(use ? "nccl-tests" : "a calibration"),
                             slot_name(use ? "GPUs" : "CPUs"));
    a->bytes = m.bytes;
    a->count = m.count;
    a->is_counted = m.is_counted;
    a->latency_ns = n.term[0];
    a->busbw_gb_per_s = n.term[1] > 0 ? 1 / n.term[1] : 0; /* bytes per ns = GB/s */
    a->n_fitted = n.n;
    a->fit_residual_ratio = n.residual;
    a->points = dcr_arena_alloc(&rep->arena, (size_t)s->n_points * sizeof *a->points);
    for (int i = 0; i < s->n_points; i++)
        add_point(rep, a, &s->points[i], net, &n);
    look_ahead(rep, s, a, &n, is_shared);
}
