/* rules_communication.c - transfer, and waiting for the rank that comes last. See rules.h. */
#include "render/findings/rules/rules.h"
#include "render/metrics/cores.h"
#include "render/metrics/known.h"
#include "render/metrics/rule.h"

#include "render/model/build.h"

#include <string.h>

/* The time lost between two node counts, and the part of it that transfer lost. */
struct explained {
    double ratio;     /* 0..1; 0 = none, or too little was lost */
    int64_t from, to; /* node counts */
};

/* The part of the loss up to this run. */
static struct explained transfer_of_loss(const struct report *rep, const struct run_result *r)
{
    const struct explained none = {0};
    if (r->series < 0)
        return none;
    const struct series *s = &rep->series[r->series];
    for (int i = 0; i < s->n_losses; i++) {
        const struct series_loss *l = &s->losses[i];
        const struct series_point *a = &s->points[l->from], *b = &s->points[l->to];
        if (b->n_nodes != r->n_nodes || b->step.mean_ns == 0 || a->step.mean_ns == 0)
            continue;
        double before = (double)a->part_ns[PART_TRANSFER] / (double)a->step.mean_ns;
        double now = (double)b->part_ns[PART_TRANSFER] / (double)b->step.mean_ns;
        int64_t grown = 0;
        for (int p = 0; p < N_PARTS; p++)
            grown += l->part_ns[p] > 0 ? l->part_ns[p] : 0;
        if (now <= before || grown == 0 || l->part_ns[PART_TRANSFER] <= 0 ||
            (double)l->loss_ns < rep->thresholds.loss_matters * (double)b->step.mean_ns)
            return none;
        return (struct explained){(double)l->part_ns[PART_TRANSFER] / (double)grown, a->n_nodes, b->n_nodes};
    }
    return none;
}

/* If ranks are late in turn (no core, a neighbour's interrupts), they wait in every exchange, and removing one exchange
 * saves nothing. A limit must be worth removing. */
static void only_if_it_matters(const struct thresholds *t, const struct run_result *r, struct class_result *c)
{
    if (c->verdict == VERDICT_LIMITS && (double)c->gain_ns <= t->loss_matters * (double)r->step.mean_ns)
        c->verdict = VERDICT_WATCH;
}

/* Calls of MPI that the recorder saw, except those that only begin and end a program. */
static int64_t mpi_calls(const struct run *a)
{
    uint64_t n = 0;
    for (int i = 0; i < a->n_mpi_calls; i++)
        if (!run_is_mpi_frame(a->mpi_calls[i].name) && a->mpi_calls[i].sum.n < INT64_MAX - n)
            n += a->mpi_calls[i].sum.n;
    return (int64_t)n;
}

/* Why there is no communication in the steps: it may lie outside them. n: number of calls outside */
static struct reason why_no_communication(int64_t n)
{
    return n ? REASON(COMMUNICATION_OUTSIDE, slot_count(n)) : REASON(NO_COMMUNICATION);
}

/* Above the threshold of waiting for one rank it limits, whatever the threshold of all waiting gives. */
static void limits_by_straggler(const struct thresholds *t, struct class_result *w)
{
    if (w->share_ratio <= t->straggler_wait)
        return;
    w->verdict = VERDICT_LIMITS;
    if (w->share_ratio <= t->comm_limits) {
        w->threshold_name = "straggler_wait";
        w->threshold_ratio = t->straggler_wait;
    }
}

static struct phrase last_in(const struct straggler *s)
{
    const struct slot rank = slot_count(s->rank), share = slot_percent(s->wins_ratio);
    return s->is_of_steps ? PHRASE(STRAGGLER_WAITS_LEAST, rank, share, slot_name("communication"))
                          : PHRASE(STRAGGLER_LAST, rank, share, slot_name("exchanges"));
}

/* Are all ranks known to have processed the same number of samples? */
static int has_equal_samples(const struct run_result *r)
{
    int is_equal = r->ranks[0].samples > 0;
    for (int i = 1; i < r->n_rank_results; i++)
        is_equal &= r->ranks[i].samples == r->ranks[0].samples;
    return is_equal;
}

/* Does the rank that comes last lack a core no more than the others? Then it may have more work. */
static int may_have_more_work(const struct run_result *r)
{
    const double alike = 1.1; /* two equal ranks differ by less */
    double of_late = 0, most = 0;
    if (!r->straggler.has || has_equal_samples(r))
        return 0;
    for (int i = 0; i < r->run->ranks_len; i++) {
        double delay = waiting_for_core(r->run, &r->run->ranks[i]);
        if (r->run->ranks[i].rank == r->straggler.rank)
            of_late = delay;
        else if (delay > most)
            most = delay;
    }
    return of_late <= alike * most;
}

/* A rank that waits in a receive for a late sender looks like one that receives for long. Where such time is a limit,
 * waiting is not ruled out. */
static void unless_in_messages(const struct thresholds *t, struct run_result *r)
{
    const int64_t messages = r->part_ns[PART_TRANSFER] - r->collective_ns;
    if (r->classes[CLASS_IMBALANCE].verdict == VERDICT_FINE && rule_share(r, messages) > t->comm_limits)
        rule_not_measured(r, CLASS_IMBALANCE,
                          REASON(WAITING_IN_MESSAGES, slot_time(messages), slot_percent(rule_share(r, messages))));
}

/* Waiting for a rank without a core is not waiting for a slow rank: only what unequal work explains counts. */
static void rule_imbalance_when_shared(struct report *rep, struct run_result *r, int64_t caused)
{
    const struct thresholds *t = &rep->thresholds;
    struct class_result *w = &r->classes[CLASS_IMBALANCE];
    int64_t wait = r->part_ns[PART_WAIT];
    if (caused > 0 && r->uneven_wait_ns == 0 && !may_have_more_work(r)) {
        rule_not_measured(r, CLASS_IMBALANCE,
                          REASON(WAITING_FOR_CORES, slot_time(wait), slot_percent(rule_share(r, wait))));
        return;
    }
    w->share_ns = r->uneven_wait_ns;
    w->share_ratio = rule_share(r, w->share_ns);
    w->share_interval = r->cause_interval[CLASS_IMBALANCE];
    rule_grade(w, t->comm_limits, t->straggler_wait);
    if (r->straggler.has)
        limits_by_straggler(t, w);
    if (w->verdict == VERDICT_FINE && may_have_more_work(r)) {
        rule_not_measured(r, CLASS_IMBALANCE,
                          REASON(LATE_OR_CORELESS, slot_count(r->straggler.rank), slot_percent(r->straggler.wins_ratio),
                                 slot_name(rule_last_counts(&r->straggler))));
        return;
    }
    if (r->straggler.has)
        rule_found(w, last_in(&r->straggler));
    rule_found(w, PHRASE(FOUND_WAITING, slot_time(wait)));
    rule_found(w, 1000 * (wait - w->share_ns) < r->step.mean_ns ? PHRASE(FOUND_UNEVEN)
                  : w->share_ns                                 ? PHRASE(FOUND_UNEVEN_PART, slot_time(w->share_ns))
                                                                : PHRASE(FOUND_UNEVEN_NOTHING));
    only_if_it_matters(t, r, w);
}

/* All waiting, and how much of it belongs to other classes, if that shows in three digits. */
static struct phrase all_waiting(const struct run_result *r, int64_t caused)
{
    int64_t wait = r->part_ns[PART_WAIT];
    return 1000 * (wait - caused) < wait ? PHRASE(FOUND_WAITING, slot_time(wait))
                                         : PHRASE(FOUND_WAITING_FOR, slot_time(wait), slot_time(wait - caused));
}

static void rule_imbalance(struct report *rep, struct run_result *r, int64_t caused)
{
    const struct thresholds *t = &rep->thresholds;
    const struct straggler *s = &r->straggler;
    struct class_result *w = &r->classes[CLASS_IMBALANCE];
    w->share_interval = r->cause_interval[CLASS_IMBALANCE];
    rule_grade(w, t->comm_limits, t->straggler_wait);
    /* A rank that is late because it loads or writes counts for those classes, whatever the balance. */
    int is_unbalanced = r->pop.has && r->pop.load_balance_ratio < t->load_balance;
    if (is_unbalanced || s->has)
        limits_by_straggler(t, w);
    rule_found(w, s->has ? last_in(s) : all_waiting(r, caused));
    if (!s->has)
        rule_found(w, s->is_mostly_last ? last_in(s) : PHRASE(FOUND_NO_LAST));
    if (!s->has && s->is_mostly_last)
        rule_found(w, PHRASE(FOUND_LAST_COSTS, slot_time(s->caused_ns)));
    if (r->pop.has)
        rule_found(w, PHRASE(FOUND_BALANCE, slot_ratio(r->pop.load_balance_ratio)));
    /* A slow rank that is named is not fine, even if the mean waiting of all ranks is small. */
    double of_others = w->share_ratio * r->n_rank_results / (r->n_rank_results - 1);
    if (s->has && w->verdict == VERDICT_FINE && of_others > t->straggler_wait)
        w->verdict = VERDICT_WATCH;
    only_if_it_matters(t, r, w);
}

static struct phrase communication_rule(const struct thresholds *t)
{
    return PHRASE(RULE_TRANSFER, slot_percent(t->comm_limits), slot_percent(t->comm_loss));
}

/* Collectives of a job of one rank take time, though nothing is exchanged. */
static void rule_one_rank(const struct thresholds *t, struct run_result *r)
{
    struct class_result *c =
        rule_begin(r, CLASS_COMMUNICATION, r->comm_ns, communication_rule(t), "comm_limits", t->comm_limits);
    c->share_interval = r->part_interval[PART_TRANSFER];
    rule_grade(c, t->comm_limits, t->comm_watch);
    only_if_it_matters(t, r, c);
    rule_found(c, PHRASE(FOUND_ALONE, slot_time(r->comm_ns)));
}

/* If the ranks' own threads take turns on the cores, that alone makes ranks late in turn. Waiting for each other is
 * then no sign of unequal work if it is no longer than the waiting for cores and no rank is mostly last. */
static int may_be_for_cores(const struct run_result *r)
{
    const double nearly_all = 0.8; /* of the waiting, for one rank: not for a core, unless its compute is longer */
    double delays = 0, n = r->n_rank_results;
    int is_for_one = waited_for_one(r) > nearly_all && !waits_mostly_for(r, CAT_COMPUTE);
    if (!r->shared.own[0].id || r->shared.is_of_several || r->straggler.is_mostly_last || is_for_one)
        return 0;
    for (int i = 0; i < r->run->ranks_len; i++) {
        double delay = waiting_for_core(r->run, &r->run->ranks[i]);
        delays += delay > 0 ? delay : 0;
    }
    return r->classes[CLASS_IMBALANCE].share_ratio <= delays * (n - 1) / n;
}

/* Watch imbalance instead of naming it, without a gain. */
static void rule_imbalance_of_cores(struct run_result *r)
{
    struct class_result *w = &r->classes[CLASS_IMBALANCE];
    if (w->verdict != VERDICT_FINE)
        w->verdict = VERDICT_WATCH;
    r->gain_ns[CLASS_IMBALANCE] = w->gain_ns = 0;
    rule_found(w, PHRASE(FOUND_MAY_BE_CORES));
}

void rule_communication(struct report *rep, struct run_result *r)
{
    const struct thresholds *t = &rep->thresholds;
    int is_alone = is_one_of_many(r);
    if (r->n_ranks < 2 && !is_alone) {
        rule_not_measured(r, CLASS_COMMUNICATION, REASON(NO_PARTNER));
        rule_not_measured(r, CLASS_IMBALANCE, REASON(ONE_RANK));
        if (r->comm_ns > 0) /* one rank that calls collectives all the same */
            rule_one_rank(t, r);
        return;
    }
    if (r->comm_ns == 0) {
        int64_t outside = r->hidden_comm_ns ? 0 : mpi_calls(r->run);
        rule_not_measured(r, CLASS_COMMUNICATION, why_no_communication(outside));
        r->classes[CLASS_COMMUNICATION].is_unrecorded = !outside;
        rule_not_measured(r, CLASS_IMBALANCE, outside ? REASON(NO_WAITING_IN_STEPS) : REASON(NO_WAITING));
        return;
    }
    int64_t transfer = r->part_ns[PART_TRANSFER], caused = 0;
    for (int i = 0; i < N_CATEGORIES; i++) /* waiting for loading and file writes belongs to those classes */
        caused += i == CAT_DATA || i == CAT_IO ? 0 : r->wait_cause_ns[i];
    struct class_result *c =
        rule_begin(r, CLASS_COMMUNICATION, transfer, communication_rule(t), "comm_limits", t->comm_limits);
    struct class_result *w = rule_begin(r, CLASS_IMBALANCE, caused, PHRASE(RULE_WAITING, slot_percent(t->comm_limits)),
                                        "comm_limits", t->comm_limits);
    w->ruled[1] = PHRASE(RULE_WAITING_UNEVEN, slot_percent(t->straggler_wait), slot_ratio(t->load_balance));
    c->share_interval = r->part_interval[PART_TRANSFER];
    rule_grade(c, t->comm_limits, t->comm_watch);
    const struct explained of_loss = transfer_of_loss(rep, r);
    if (of_loss.ratio > t->comm_loss) {
        c->verdict = VERDICT_LIMITS;
        if (c->share_ratio <= t->comm_limits)
            c->judged = (struct judged){JUDGED_LOST_TIME, of_loss.ratio, "comm_loss", t->comm_loss, {0}};
    }
    only_if_it_matters(t, r, c);
    rule_found(c, is_alone            ? PHRASE(FOUND_OF_ONE_RANK, slot_time(transfer))
                  : is_of_messages(r) ? PHRASE(FOUND_TRANSFER_AT_MOST, slot_time(transfer))
                                      : PHRASE(FOUND_TRANSFER, slot_time(transfer)));
    if (of_loss.ratio > t->comm_loss && !is_alone)
        rule_found(c, PHRASE(FOUND_OF_LOST_TIME, slot_count(of_loss.from), slot_things(of_loss.to, "node"),
                             slot_percent(of_loss.ratio)));
    if (is_alone) {
        rule_not_measured(r, CLASS_IMBALANCE, REASON(ONE_OF_MANY_WAITS));
        return;
    }

    if (is_doubtful(r)) {
        rule_imbalance_when_shared(rep, r, caused);
        unless_in_messages(t, r);
        return;
    }
    rule_imbalance(rep, r, caused);
    if (may_be_for_cores(r)) {
        rule_imbalance_of_cores(r);
        unless_in_messages(t, r);
        return;
    }

    /* Together they are above the threshold although neither is alone: the larger one is named. */
    if (c->verdict != VERDICT_LIMITS && w->verdict != VERDICT_LIMITS &&
        c->share_ratio + w->share_ratio > t->comm_limits) {
        struct class_result *larger = c->gain_ns >= w->gain_ns ? c : w;
        larger->verdict = VERDICT_LIMITS;
        larger->judged =
            (struct judged){larger == c ? JUDGED_WITH_WAITING : JUDGED_WITH_TRANSFER, c->share_ratio + w->share_ratio,
                            "comm_limits", t->comm_limits, r->comm_interval};
        only_if_it_matters(t, r, larger);
    }
    unless_in_messages(t, r);
}
