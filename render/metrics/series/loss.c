/* loss.c - the time lost between two points of a series: by part, and by cause. Sums to the loss exactly. */
#include "render/metrics/cores.h"
#include "render/metrics/known.h"
#include "render/metrics/rule.h"
#include "render/metrics/series/series.h"
#include "render/metrics/stats.h"

struct series_loss loss_between(const int64_t *from_parts, const int64_t *to_parts, int64_t num, int64_t den)
{
    struct series_loss l = {0};
    int64_t ideal[N_PARTS];
    l.ideal_ns = apportion(from_parts, N_PARTS, num, den, ideal);
    for (int p = 0; p < N_PARTS; p++) {
        l.actual_ns += to_parts[p];
        l.part_ns[p] = to_parts[p] - ideal[p];
        if (l.part_ns[p] > l.part_ns[l.largest])
            l.largest = p;
    }
    l.loss_ns = l.actual_ns - l.ideal_ns;
    return l;
}

static void add_loss(struct series *s, int from, int to)
{
    const struct series_point *a = &s->points[from], *b = &s->points[to];
    int is_weak = s->kind == SCALING_WEAK;
    struct series_loss l = loss_between(a->part_ns, b->part_ns, is_weak ? 1 : a->n_nodes, is_weak ? 1 : b->n_nodes);
    l.from = from;
    l.to = to;
    s->losses[s->n_losses++] = l;
}

int is_host_only(const struct report *rep, const struct series_point *p)
{
    int n = 0;
    for (int i = 0; i < p->n_runs; i++)
        n += rep->runs[p->runs[i]].run->has_host_steps;
    return n > 0;
}

int is_transfer_collective(const struct report *rep, const struct series_point *p)
{
    for (int i = 0; i < p->n_runs; i++) {
        const struct run_result *r = &rep->runs[p->runs[i]];
        if ((double)r->collective_ns < 0.9 * (double)r->part_ns[PART_TRANSFER])
            return 0;
    }
    return 1;
}

void losses(struct report *rep, struct series *s)
{
    s->losses = dcr_arena_alloc(&rep->arena, (size_t)(s->n_points + 1) * sizeof *s->losses);
    s->losses_why = REASON(NONE);
    if (s->kind == SCALING_NONE)
        return;
    if (s->kind == SCALING_UNKNOWN) {
        s->losses_why = REASON(KIND_OF_SCALING);
        return;
    }
    for (int i = 0; i < s->n_points; i++)
        if (s->points[i].step.n == 0) {
            const struct run_result *r = run_of_point(rep, &s->points[i]);
            s->losses_why = r->run->summary.n_steps
                                ? REASON(FILES_WITHOUT_PHASES)
                                : REASON(PHASES_NOT_AT_ALL_POINTS, slot_name(counted_word(rep->unit)));
            return;
        }
    for (int i = 0; i < s->n_points; i++)
        if (is_host_only(rep, &s->points[i]))
            s->losses_why = REASON(HOST_MAY_ENQUEUE);
    if (s->losses_why.code) {
        for (int i = 0; i < s->n_points; i++)
            s->points[i].compute_speedup = 0;
        return;
    }
    for (int i = 1; i < s->n_points; i++)
        add_loss(s, i - 1, i);
    if (s->n_points > 2)
        add_loss(s, 0, s->n_points - 1);
}

/* What ranks waited for when they waited for each other. */
enum waited { WAITED_DATA, WAITED_IO, WAITED_RANK /* last by other work */, WAITED_CORE, N_WAITED };

/* Waiting of a point by its cause, over its repetitions; sums to its waiting. If cores were shared, only what unequal
 * work explains is waiting for a rank. The rest is waiting for a rank without a core. */
static void wait_causes(const struct report *rep, const struct series_point *p, int64_t out[N_WAITED])
{
    int64_t sum[N_WAITED] = {0}, total = 0;
    for (int i = 0; i < p->n_runs; i++) {
        const struct run_result *r = &rep->runs[p->runs[i]];
        int64_t of_run[N_WAITED] = {[WAITED_DATA] = r->wait_cause_ns[CAT_DATA], [WAITED_IO] = r->wait_cause_ns[CAT_IO]};
        for (int c = 0; c < N_CATEGORIES; c++)
            of_run[WAITED_RANK] += c == CAT_DATA || c == CAT_IO ? 0 : r->wait_cause_ns[c];
        if (is_doubtful(r)) {
            of_run[WAITED_CORE] = of_run[WAITED_RANK] - r->uneven_wait_ns;
            of_run[WAITED_RANK] = r->uneven_wait_ns;
        }
        for (int w = 0; w < N_WAITED; w++)
            total += of_run[w], sum[w] += of_run[w];
    }
    if (total == 0)
        sum[WAITED_RANK] = total = 1;
    apportion(sum, N_WAITED, p->part_ns[PART_WAIT], total, out);
}

/* The part of a point's overhead in which GPUs waited for their host; 0 = not every run has a GPU trace that gives it.
 */
static int host_of(const struct report *rep, const struct series_point *p, int64_t *ns)
{
    int64_t sum = 0;
    for (int i = 0; i < p->n_runs; i++) {
        const struct class_result *c = &rep->runs[p->runs[i]].classes[CLASS_HOST];
        if (!c->has_share)
            return 0;
        sum += c->share_ns;
    }
    sum /= p->n_runs;
    *ns = sum < p->part_ns[PART_OTHER] ? sum : p->part_ns[PART_OTHER];
    return 1;
}

/* The lost overhead without the waiting of GPUs for their host. The ideal overhead is split in the proportion of the
 * first point. Both parts sum to the lost overhead. */
static void split_overhead(const struct report *rep, const struct series *s, struct series_loss *l)
{
    const struct series_point *a = &s->points[l->from], *b = &s->points[l->to];
    int64_t before = 0, now = 0, overhead = a->part_ns[PART_OTHER], of[2] = {0};
    l->class_ns[LOST_OTHER] = l->part_ns[PART_OTHER];
    l->has_host = host_of(rep, a, &before) && host_of(rep, b, &now);
    if (!l->has_host)
        return;
    if (overhead > 0) {
        const int64_t parts[2] = {before, overhead - before};
        apportion(parts, 2, b->part_ns[PART_OTHER] - l->part_ns[PART_OTHER], overhead, of);
    }
    l->class_ns[LOST_HOST] = now - of[0];
    l->class_ns[LOST_OTHER] -= l->class_ns[LOST_HOST];
}

/* The share of a point's loading that is calls on files. */
static double files_share(const struct report *rep, const struct series_point *p)
{
    double files = 0, data = 0;
    for (int i = 0; i < p->n_runs; i++) {
        files += (double)files_in_loading(&rep->runs[p->runs[i]]);
        data += (double)rep->runs[p->runs[i]].part_ns[PART_DATA];
    }
    return data > 0 ? files / data : 0;
}

/* Why the class is not judged in the class table, of the run that lost first. */
static struct reason why_no_class(const struct report *rep, const struct series_point *b, const struct series_point *a,
                                  enum cause_class cls)
{
    const struct series_point *points[] = {b, a};
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < points[i]->n_runs; k++) {
            const struct class_result *c = &rep->runs[points[i]->runs[k]].classes[cls];
            if (c->verdict == VERDICT_NA && c->why.code)
                return c->why;
        }
    return REASON(LOSS_NOT_AT_BOTH_POINTS);
}

static int has_verdict(const struct report *rep, const struct series_point *p, enum cause_class cls)
{
    for (int i = 0; i < p->n_runs; i++)
        if (rep->runs[p->runs[i]].classes[cls].verdict != VERDICT_NA)
            return 1;
    return 0;
}

/* Is it known how much of the waiting was for ranks with more work? Not if all of it may be waiting for a core. */
static int tells_late_ranks(const struct report *rep, const struct series_point *p)
{
    for (int i = 0; i < p->n_runs; i++) {
        const struct run_result *r = &rep->runs[p->runs[i]];
        if (is_doubtful(r) && r->part_ns[PART_WAIT] > 0 && r->uneven_wait_ns == 0 &&
            r->classes[CLASS_IMBALANCE].verdict == VERDICT_NA)
            return 0;
    }
    return 1;
}

/* If a part was recorded at neither point, its 0 is no measurement. */
static void say_unknown(const struct report *rep, const struct series *s, struct series_loss *l)
{
    static const struct {
        enum loss_class lost;
        enum cause_class cls;
        enum part part;
    } of[] = {{LOST_COMPUTE, CLASS_COMPUTE, PART_COMPUTE},
              {LOST_IMBALANCE, CLASS_IMBALANCE, PART_WAIT},
              {LOST_COMMUNICATION, CLASS_COMMUNICATION, PART_TRANSFER},
              {LOST_COPY, CLASS_COPY, PART_COPY},
              {LOST_DATA, CLASS_DATA, PART_DATA},
              {LOST_IO, CLASS_IO, PART_IO}};
    const struct series_point *a = &s->points[l->from], *b = &s->points[l->to];
    unsigned parts = known_loss_parts(rep, s, l);
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        int is_known = of[i].lost == LOST_IMBALANCE
                           ? (has_verdict(rep, a, of[i].cls) || has_verdict(rep, b, of[i].cls)) &&
                                 tells_late_ranks(rep, a) && tells_late_ranks(rep, b)
                           : (int)(parts >> of[i].part & 1);
        l->class_why[of[i].lost] =
            is_known || l->class_ns[of[i].lost] ? REASON(NONE) : why_no_class(rep, b, a, of[i].cls);
    }
    l->class_why[LOST_HOST] = l->has_host ? REASON(NONE) : why_no_class(rep, b, a, CLASS_HOST);
}

void loss_classes(struct report *rep)
{
    for (int i = 0; i < rep->n_series; i++)
        for (int k = 0; k < rep->series[i].n_losses; k++) {
            const struct series *s = &rep->series[i];
            struct series_loss *l = &rep->series[i].losses[k];
            const struct series_point *a = &s->points[l->from], *b = &s->points[l->to];
            int64_t before[N_WAITED], now[N_WAITED], waited = a->part_ns[PART_WAIT];
            wait_causes(rep, a, before);
            wait_causes(rep, b, now);
            /* what ideal scaling leaves of the waiting, by cause */
            apportion(before, N_WAITED, b->part_ns[PART_WAIT] - l->part_ns[PART_WAIT], waited ? waited : 1, before);
            if (waited == 0)
                before[WAITED_RANK] = b->part_ns[PART_WAIT] - l->part_ns[PART_WAIT];
            l->class_ns[LOST_COMPUTE] = l->part_ns[PART_COMPUTE];
            l->class_ns[LOST_COMMUNICATION] = l->part_ns[PART_TRANSFER];
            l->class_ns[LOST_COPY] = l->part_ns[PART_COPY];
            l->class_ns[LOST_DATA] = l->part_ns[PART_DATA] + now[WAITED_DATA] - before[WAITED_DATA];
            l->class_ns[LOST_IO] = l->part_ns[PART_IO] + now[WAITED_IO] - before[WAITED_IO];
            /* calls on files in loading are I/O, with their share of the waiting that loading causes, as in a run */
            int64_t files = (int64_t)((double)(b->part_ns[PART_DATA] + now[WAITED_DATA]) * files_share(rep, b) -
                                      (double)(b->part_ns[PART_DATA] - l->part_ns[PART_DATA] + before[WAITED_DATA]) *
                                          files_share(rep, a));
            l->class_ns[LOST_DATA] -= files;
            l->class_ns[LOST_IO] += files;
            split_overhead(rep, s, l);
            /* waiting that may be for a core at one point does not count as a change */
            int64_t late = now[WAITED_RANK] - before[WAITED_RANK];
            int is_told = tells_late_ranks(rep, a) && tells_late_ranks(rep, b);
            l->class_ns[LOST_IMBALANCE] = is_told ? late : 0;
            l->class_ns[LOST_CORES] = now[WAITED_CORE] - before[WAITED_CORE] + (is_told ? 0 : late);
            say_unknown(rep, s, l);
        }
}
