/* breakdown_waits.c - waiting at collectives and what is saved without a cause. See breakdown_inside.h. */
#include "render/metrics/breakdown/breakdown_inside.h"
#include "render/metrics/gain.h"
#include "render/metrics/stats.h"

#include <string.h>

/* Charges the waiting at one collective to what the last rank did longer than the others on average. */
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
    s->rank_unnamed[last] += sum > 0 ? (double)wait * excess[CAT_OTHER] / sum : 0;
}

/* The last rank is the one with the shortest time in the collective. On a tie, the rank that was busy longest before is
 * the last, so that rank numbers decide only between ranks that did the same. */
static int comes_later(const struct arrival *x, const struct arrival *y)
{
    int64_t x_busy = x->outside_ns, y_busy = y->outside_ns;
    if (x->dur_ns != y->dur_ns)
        return x->dur_ns < y->dur_ns;
    for (int c = 0; c < N_CATEGORIES; c++) {
        x_busy += x->part_ns[c];
        y_busy += y->part_ns[c];
    }
    if (x_busy != y_busy)
        return x_busy > y_busy;
    for (int c = 0; c < N_CATEGORIES; c++)
        if (x->part_ns[c] != y->part_ns[c])
            return x->part_ns[c] > y->part_ns[c];
    return 0;
}

/* Work of a rank before a collective. Loading and writing are causes of their own. */
static int64_t work_before(const struct arrival *a)
{
    return a->part_ns[CAT_COMPUTE] + a->part_ns[CAT_COPY] + a->part_ns[CAT_OTHER] + a->outside_ns;
}

/* Did the last rank work alone, while the others had next to no work since the collective before? */
static void add_alone(struct sums *s, const struct arrival *a, int n, int last, int64_t wait)
{
    int64_t own = work_before(&a[last]), all = own + a[last].part_ns[CAT_DATA] + a[last].part_ns[CAT_IO], others = 0;
    for (int r = 0; r < n; r++)
        if (r != last && work_before(&a[r]) > others)
            others = work_before(&a[r]);
    if (own <= 0 || (double)others > s->alone_others * (double)own)
        return;
    s->alone[last].own += (double)own;
    s->alone[last].others += (double)others;
    /* Work explains no more waiting than it lasts: the rank may have come late to the collective before too. */
    double each = (double)wait / (n - 1), explained = each < (double)all ? each : (double)all;
    s->alone[last].wait += explained * (n - 1) * (double)own / (double)all;
}

/* One collective of all ranks: which rank came last, what the others waited for, what each removal would save. */
static void add_collective(struct sums *s, const struct arrival *a, int n, int is_replayed)
{
    int last = 0;
    int64_t wait = 0;
    for (int r = 1; r < n; r++)
        if (comes_later(&a[r], &a[last]))
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
    add_alone(s, a, n, last, wait);
    s->gain[CLASS_IMBALANCE] += replay_gain(a, n, (struct removal){-1, 1, 0});
    s->gain[CLASS_DATA] += replay_gain(a, n, (struct removal){CAT_DATA, 0, 0});
    s->gain[CLASS_IO] += replay_gain(a, n, (struct removal){CAT_IO, 0, 0});
    s->gain[CLASS_COPY] += replay_gain(a, n, (struct removal){CAT_COPY, 0, 0});
    s->gain[CLASS_OVERHEAD] += replay_gain(a, n, (struct removal){CAT_OTHER, 0, 0});
}

/* Is it known what ranks did between the collectives of a step? Traces of GPUs only give the durations of collectives.
 */
static int knows_before(const struct grid *g, size_t step)
{
    for (int r = 0; r < g->n_ranks; r++)
        for (uint32_t k = 0; k < grid_at(g, step, r)->n_collectives; k++) {
            const struct collective *c = &g->ranks[r]->collectives[grid_at(g, step, r)->first_collective + k];
            for (int i = 0; i < N_CATEGORIES; i++)
                if (c->since_ns[i] || c->outside_ns)
                    return 1;
        }
    return 0;
}

/* is_replayed 0: the whole step tells which rank was late, and what a removal saves is computed elsewhere. */
static void add_collectives(struct sums *s, const struct grid *g, size_t step, struct arrival *a, int is_replayed)
{
    uint32_t n = grid_at(g, step, 0)->n_collectives;
    for (uint32_t k = 0; k < n; k++) {
        for (int r = 0; r < g->n_ranks; r++) {
            const struct collective *c = &g->ranks[r]->collectives[grid_at(g, step, r)->first_collective + k];
            memcpy(a[r].part_ns, is_replayed ? c->since_ns : grid_at(g, step, r)->part_ns, sizeof a[r].part_ns);
            a[r].part_ns[CAT_COMM] = is_replayed ? a[r].part_ns[CAT_COMM] : 0;
            a[r].outside_ns = c->outside_ns;
            a[r].dur_ns = c->dur_ns;
            a[r].samples = grid_at(g, step, r)->samples;
        }
        add_collective(s, a, g->n_ranks, is_replayed);
    }
}

/* Messages between two ranks level the ranks before the next collective, so the order at that one is chance. Then a
 * step counts as one exchange: the rank with the least communication was busy longest, and the others waited for it.
 * Waiting that this does not explain has no known cause. */
static void add_messages(struct sums *s, const struct grid *g, size_t step, struct arrival *a, int64_t waited_ns)
{
    int64_t before = 0, explained = 0;
    for (int r = 0; r < g->n_ranks; r++) {
        const struct step_record *k = grid_at(g, step, r);
        a[r] = (struct arrival){.dur_ns = k->part_ns[CAT_COMM], .samples = k->samples};
        memcpy(a[r].part_ns, k->part_ns, sizeof a[r].part_ns);
        a[r].part_ns[CAT_COMM] = 0;
        before += s->rank_caused[r];
    }
    add_collective(s, a, g->n_ranks, 0);
    s->n_whole_steps++;
    for (int r = 0; r < g->n_ranks; r++)
        explained += s->rank_caused[r];
    explained -= before;
    s->cause[CAT_OTHER] += waited_ns > explained ? (double)(waited_ns - explained) : 0;
}

/* Waiting at the collectives of a step, summed over ranks. */
static int64_t waiting_at_collectives(const struct grid *g, size_t step, struct split split)
{
    int64_t sum = -g->n_ranks * split.collective_ns;
    for (int r = 0; r < g->n_ranks; r++)
        for (uint32_t k = 0; k < grid_at(g, step, r)->n_collectives; k++)
            sum += g->ranks[r]->collectives[grid_at(g, step, r)->first_collective + k].dur_ns;
    return sum;
}

/* Without collectives to replay, a step counts as one exchange at its end. A removal then saves only time of the rank
 * that is busy longest. With equal work all ranks are busy for the mean, so the waiting is saved. */
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
            step_parts(grid_at(g, step, r), transfer_ns, of_rank);
            int64_t busy = grid_at(g, step, r)->step_ns - of_rank[PART_WAIT] - of_rank[own[i].part];
            busiest = busy > busiest ? busy : busiest;
        }
        int64_t gain = grid_mean_step(g, step) - busiest;
        s->gain[own[i].cls] += gain > 0 ? gain : 0;
    }
}

/* Without any exchange a step lasts as long as its busiest rank: transfer and the waits that ranks cause each other in
 * turn are saved. If one rank is always last, its time stays. */
static int64_t without_exchange(const struct grid *g, size_t step)
{
    int64_t busiest = 0;
    for (int r = 0; r < g->n_ranks; r++) {
        int64_t busy = grid_at(g, step, r)->step_ns - grid_at(g, step, r)->part_ns[CAT_COMM];
        busiest = busy > busiest ? busy : busiest;
    }
    int64_t gain = grid_mean_step(g, step) - busiest;
    return gain > 0 ? gain : 0;
}

void breakdown_waits(struct sums *s, const struct grid *g, size_t step, struct split split, const int64_t part[N_PARTS],
                     struct arrival *a)
{
    const int64_t exchange_ns = without_exchange(g, step), outside_before = (int64_t)s->cause[CAT_COMM];
    const int64_t few = 4; /* ranks that work in turn wait as long at the collective as for each other's messages */
    int is_in_messages = g->n_ranks > 1 && part[PART_WAIT] > 0 &&
                         (!split.has || few * waiting_at_collectives(g, step, split) < part[PART_WAIT]);
    int is_matched = split.has && g->n_ranks > 1 && !is_in_messages, is_replayed = is_matched && knows_before(g, step);
    s->is_estimated |= is_matched && !is_replayed;
    if (is_in_messages)
        add_messages(s, g, step, a, part[PART_WAIT]);
    else if (is_matched)
        add_collectives(s, g, step, a, is_replayed);
    if (!is_replayed)
        add_unmatched(s, g, step, part, split.transfer_ns);
    /* Waiting for work between steps ends if all ranks share it, however fast the exchange is. */
    const int64_t between_ns = is_replayed ? ((int64_t)s->cause[CAT_COMM] - outside_before) / g->n_ranks : 0;
    s->gain[CLASS_IMBALANCE] += between_ns;
    s->gain[CLASS_COMMUNICATION] += exchange_ns > between_ns ? exchange_ns - between_ns : 0;
}

/* What a rank does when it computes, copies and is busy in no named phase. */
static int64_t busy_of(const struct rank_result *k)
{
    return k->part_ns[PART_COMPUTE] + k->part_ns[PART_COPY] + k->part_ns[PART_OTHER];
}

/* At the others' speed, the rank needs as long as the busiest of them. If it has more samples than they have, it is not
 * slow. */
static int64_t as_fast_as_the_next(const struct run_result *out, int worst)
{
    int64_t next = 0, samples = 0, n = out->n_rank_results;
    for (int r = 0; r < n; r++) {
        next = r != worst && busy_of(&out->ranks[r]) > next ? busy_of(&out->ranks[r]) : next;
        samples = out->ranks[r].samples > 0 && samples >= 0 ? samples + out->ranks[r].samples : -1;
    }
    if (samples > 0 && (double)(n * out->ranks[worst].samples) > 1.01 * (double)samples)
        return 0;
    int64_t more = busy_of(&out->ranks[worst]) - next;
    return more > 0 ? more : 0;
}

/* The worse rank comes last more often. On a tie it costs the others more; on a second tie it is busier. */
static int is_worse(const struct rank_result *x, const struct rank_result *y)
{
    if (x->n_last != y->n_last)
        return x->n_last > y->n_last;
    return x->caused_wait_ns != y->caused_wait_ns ? x->caused_wait_ns > y->caused_wait_ns : busy_of(x) > busy_of(y);
}

/* The rank that causes most waiting. If a step has several collectives, the first one levels the ranks, and chance
 * decides which rank is last in the others. Then the count names no rank. */
static int causes_most(const struct run_result *out)
{
    int most = 0;
    for (int r = 1; r < out->n_rank_results; r++)
        if (out->ranks[r].caused_wait_ns > out->ranks[most].caused_wait_ns)
            most = r;
    return most;
}

static void take_rank(const struct run_result *out, struct straggler *w, int rank, const struct sums *s)
{
    int64_t all = 0;
    for (int r = 0; r < out->n_rank_results; r++)
        all += out->ranks[r].caused_wait_ns;
    w->rank = out->ranks[rank].rank;
    w->is_of_steps = 2 * s->n_whole_steps > s->n_matched;
    w->wins_ratio = (double)out->ranks[rank].n_last / (double)s->n_matched;
    w->wait_ratio = all > 0 ? (double)out->ranks[rank].caused_wait_ns / (double)all : 0;
    w->caused_ns =
        out->ranks[rank].caused_wait_ns / (out->n_rank_results - 1); /* the others waited, not the rank itself */
    w->caused_ratio = (double)w->caused_ns / (double)out->step.mean_ns;
    w->as_fast_ns = as_fast_as_the_next(out, rank);
}

/* A rank is a straggler when it comes last clearly more often than its share, or causes clearly more of the waiting,
 * and the others pay for it. */
void breakdown_straggler(const struct report *rep, struct run_result *out, const struct sums *s)
{
    const double never_less_than = 0.75; /* of two ranks, one is last in half of the collectives by chance */
    int n = out->n_rank_results;
    if (n < 2 || s->n_matched == 0 || out->step.mean_ns == 0)
        return;
    int worst = 0;
    for (int r = 1; r < n; r++)
        if (is_worse(&out->ranks[r], &out->ranks[worst]))
            worst = r;
    struct straggler *w = &out->straggler, by_wait = {0};
    double wins = rep->thresholds.straggler_wins / n,
           enough = n == 2 || wins > never_less_than ? never_less_than : wins;
    take_rank(out, w, worst, s);
    w->is_mostly_last = w->wins_ratio > enough;
    w->has = w->is_mostly_last && w->caused_ratio > rep->thresholds.straggler_wait;
    take_rank(out, &by_wait, causes_most(out), s);
    w->has &= by_wait.caused_ns <= w->caused_ns;
    by_wait.has = s->n_matched > out->n_counted && by_wait.wait_ratio > enough &&
                  by_wait.caused_ratio > rep->thresholds.straggler_wait;
    if (by_wait.has &&
        (!w->is_mostly_last || by_wait.rank != w->rank)) /* it caused more than the one last most often */
        *w = by_wait;
}

void breakdown_alone(const struct report *rep, struct run_result *out, const struct sums *s)
{
    double all = 0;
    for (int r = 0; r < out->n_rank_results; r++)
        all += (double)s->rank_caused[r];
    for (int r = 0; r < out->n_rank_results && out->straggler.has; r++) {
        const struct alone_sums *a = &s->alone[r];
        if (out->ranks[r].rank != out->straggler.rank)
            continue;
        out->alone = (struct alone){.has = 2 * a->wait > all &&
                                           a->wait >= rep->thresholds.alone_wait * (double)s->rank_caused[r],
                                    .rank = out->straggler.rank,
                                    .own_ns = (int64_t)(a->own / (double)out->n_counted),
                                    .others_ns = (int64_t)(a->others / (double)out->n_counted)};
    }
}

/* The causes of waiting, scaled so that they sum to the waiting that the breakdown shows. */
void breakdown_causes(struct run_result *out, const struct sums *s)
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

/* No removal saves more than its cause's own time and the waiting that it caused. */
static void cap_gains(int64_t gain[N_CLASSES], const int64_t part[N_PARTS], const int64_t late[N_CATEGORIES])
{
    const int64_t most[N_CLASSES] = {
        [CLASS_DATA] = part[PART_DATA] + late[CAT_DATA],
        [CLASS_IO] = part[PART_IO] + late[CAT_IO],
        [CLASS_COPY] = part[PART_COPY] + late[CAT_COPY],
        [CLASS_OVERHEAD] = part[PART_OTHER] + late[CAT_OTHER],
        [CLASS_IMBALANCE] = part[PART_WAIT] - late[CAT_DATA] - late[CAT_IO],
    };
    static const enum cause_class capped[] = {CLASS_DATA, CLASS_IO, CLASS_COPY, CLASS_OVERHEAD, CLASS_IMBALANCE};
    for (size_t i = 0; i < sizeof capped / sizeof *capped; i++)
        if (gain[capped[i]] > most[capped[i]]) /* the ranks of one step may wait less than late ranks caused */
            gain[capped[i]] = most[capped[i]] > 0 ? most[capped[i]] : 0;
}

void breakdown_cap_gains(struct run_result *out, const struct sums *s)
{
    if (s->is_estimated)
        cap_gains(out->gain_ns, out->part_ns, out->wait_cause_ns);
}

void breakdown_step_gains(const struct sums *s, const struct sums *before, const struct grid *g,
                          const int64_t part[N_PARTS], int64_t gain[N_CLASSES])
{
    for (int c = 0; c < N_CLASSES; c++)
        gain[c] = s->gain[c] - before->gain[c];
    if (!s->is_estimated)
        return;
    int64_t mean[N_PARTS], late[N_CATEGORIES];
    for (int p = 0; p < N_PARTS; p++)
        mean[p] = part[p] / g->n_ranks;
    for (int c = 0; c < N_CATEGORIES; c++)
        late[c] = (int64_t)((s->cause[c] - before->cause[c]) / g->n_ranks);
    cap_gains(gain, mean, late);
}
