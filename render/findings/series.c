/* series.c - what limits scaling: the finding of a series of node counts. */
#include "render/findings/claims.h"

#include "render/metrics/calls.h"
#include "render/metrics/cores.h"
#include "render/metrics/gain.h"
#include "render/metrics/known.h"
#include "render/metrics/rule.h"
#include "render/metrics/series/differing.h"
#include "render/metrics/series/series.h"
#include "render/findings/rules/rules.h"
#include "render/findings/actions.h"
#include "render/findings/exchange.h"
#include "render/findings/failed.h"
#include "render/findings/run_said.h"
#include "render/findings/shares.h"
#include "render/say/format.h"
#include "render/say/say.h"
#include "render/findings/narrate.h"
#include "render/findings/series_scaling.h"

#include <stdlib.h>
#include <math.h>
#include <string.h>

static double part_share(const struct series_point *p, int64_t ns)
{
    return p->step.mean_ns > 0 ? (double)ns / (double)p->step.mean_ns : 0;
}

static int64_t comm_of(const int64_t *part)
{
    return part[PART_TRANSFER] + part[PART_WAIT];
}

/* The last node count before efficiency falls below its threshold; the first one when it falls at once. */
static const struct series_point *good_until(const struct report *rep, const struct series *s)
{
    const struct series_point *good = &s->points[0];
    for (int i = 1; i < s->n_points; i++) {
        if (s->points[i].efficiency < rep->thresholds.efficiency)
            break;
        good = &s->points[i];
    }
    return good;
}

/* The loss from the reference to the largest node count; NULL when it is n/a. */
static const struct series_loss *whole_loss(const struct series *s)
{
    for (int i = 0; i < s->n_losses; i++)
        if (s->losses[i].from == 0 && s->losses[i].to == s->n_points - 1)
            return &s->losses[i];
    return NULL;
}

/* What lost most: a single part, or communication as transfer and waiting together, named by its larger half. */
struct cause {
    enum cause_class cls;
    int64_t lost_ns;
    enum part part; /* PART_TRANSFER stands for all of communication, PART_WAIT for waiting alone */
};

static int is_mostly_files(const struct run_result *r)
{
    return files_in_loading(r) > r->part_ns[PART_DATA] / 2;
}

static enum cause_class class_of_wait(const struct run_result *r)
{
    int64_t data = r->wait_cause_ns[CAT_DATA], io = r->wait_cause_ns[CAT_IO], half = r->part_ns[PART_WAIT] / 2;
    return data > half ? (is_mostly_files(r) ? CLASS_IO : CLASS_DATA) : io > half ? CLASS_IO : CLASS_IMBALANCE;
}

/* Mean of a part beyond that of the fastest rank. Where ranks wait for a late one, it is the late rank's and ends
 * together with the waiting. With two ranks both are equal. */
static int64_t uneven_part(const struct run_result *r, enum part part)
{
    int64_t least = INT64_MAX, sum = 0;
    for (int i = 0; i < r->n_rank_results; i++) {
        int64_t ns = r->ranks[i].part_ns[part];
        least = ns < least ? ns : least;
        sum += ns;
    }
    return r->n_rank_results > 1 ? sum / r->n_rank_results - least : 0;
}

/* Compute that was lost to the exchange: at the same cores, the backward pass takes longer while gradients travel
 * beside it, and by no more than they do, nor than compute lost in all. An exchange that hardly any step waits for, or
 * that does not grow, is no headline. */
static int64_t compute_lost_beside(const struct run_result *at_end, const struct series *s, const struct series_loss *l)
{
    int64_t lost = lost_beside_exchange(s, (int)(l - s->losses)), hidden = at_end->hidden_comm_ns;
    int64_t exposed = comm_of(at_end->part_ns), compute = l->part_ns[PART_COMPUTE];
    int is_beside = at_end->run->program.allreduce_is_overlapped == 1 && 10 * exposed >= at_end->step.mean_ns &&
                    comm_of(l->part_ns) > 0;
    lost = lost < hidden ? lost : hidden;
    lost = lost < compute ? lost : compute;
    return is_beside && lost > 0 ? lost : 0;
}

static struct cause largest_cause(const struct run_result *at_end, const struct series *s, const struct series_loss *l)
{
    static const struct {
        enum part part;
        enum cause_class cls;
    } single[] = {{PART_COMPUTE, CLASS_COMPUTE},
                  {PART_DATA, CLASS_DATA},
                  {PART_IO, CLASS_IO},
                  {PART_COPY, CLASS_COPY},
                  {PART_OTHER, CLASS_OVERHEAD}};
    int is_wait = l->part_ns[PART_WAIT] > l->part_ns[PART_TRANSFER];
    /* Both belong to the all-reduce and are weighed as one, with what it cost the backward pass. The larger half is
     * named. */
    struct cause c = {is_wait ? class_of_wait(at_end) : CLASS_COMMUNICATION, comm_of(l->part_ns),
                      is_wait ? PART_WAIT : PART_TRANSFER};
    const int64_t beside = is_wait ? 0 : compute_lost_beside(at_end, s, l);
    int64_t most = c.lost_ns + beside;
    for (size_t i = 0; i < sizeof single / sizeof *single; i++) {
        int64_t lost = l->part_ns[single[i].part], weighed = lost - (single[i].part == PART_COMPUTE ? beside : 0);
        int is_work = single[i].part == PART_COMPUTE || single[i].part == PART_OTHER;
        int is_of_late = is_work && c.part == PART_WAIT && c.cls == CLASS_IMBALANCE;
        weighed -= is_of_late ? uneven_part(at_end, single[i].part) : 0;
        if (weighed > most) {
            c = (struct cause){single[i].cls, lost, single[i].part};
            most = weighed;
        }
    }
    if (c.cls == CLASS_DATA && is_mostly_files(at_end))
        c.cls = CLASS_IO;
    return c;
}

/* Time in which the cause of the limit shows at a point. */
static int64_t cause_ns(const struct cause *c, const struct series_point *p)
{
    return c->part == PART_TRANSFER ? comm_of(p->part_ns) : p->part_ns[c->part];
}

/* ---- the finding ------------------------------------------------------------------------------------------ */

static struct slot slot_nodes(const struct report *rep, const struct series_point *p)
{
    return slot_things(p->n_nodes, counted_word(rep->unit));
}

/* A speed-up by more nodes below this factor counts as none: "no faster". */
static const double no_faster_ratio = 1.02;

/* The first point that no larger point clearly beats; NULL: the largest is the fastest, or it is unknown. */
static const struct series_point *stops_after(const struct series *s)
{
    const struct series_point *best = fastest_point(s), *last = &s->points[s->n_points - 1];
    for (const struct series_point *p = s->points; best && p < last; p++)
        if (best->throughput < no_faster_ratio * p->throughput)
            return p;
    return NULL;
}

static const struct phrase file_work[] = {[FILES_BOTH] = {.id = PHRASE_NAME_USING_FILES},
                                          [FILES_READ] = {.id = PHRASE_NAME_READING},
                                          [FILES_WRITTEN] = {.id = PHRASE_NAME_WRITING}};

static const char *waited_for(struct report *rep, const struct run_result *r)
{
    const double nearly_all = 0.9; /* of the waiting, for one rank */
    const struct phrase whom =
        is_in_turn(rep, r)                                              ? PHRASE(NAME_IN_TURN)
        : !r->straggler.has && is_doubtful(r) && r->uneven_wait_ns == 0 ? PHRASE(NAME_CORELESS)
        : !r->straggler.has ? waits_mostly_for(r, CAT_COMM) ? PHRASE(NAME_WORK_BETWEEN) : PHRASE(NAME_OTHER_RANKS)
        : r->straggler.wait_ratio > nearly_all ? PHRASE(NAME_RANK, slot_count(r->straggler.rank))
                                               : PHRASE(NAME_LATE);
    return say_phrase(&rep->arena, &whom);
}

/* The run of a point whose lack of cores comes before any other cause. A rank's own threads come second if they do on
 * the page of the run. */
static const struct run_result *shared_first(const struct report *rep, const struct series_point *p)
{
    for (int i = 0; i < p->n_runs; i++) {
        const struct run_result *r = &rep->runs[p->runs[i]];
        int is_first = r->n_claims && rep->claims[r->claims[0]].cls == CLASS_SHARED;
        if (is_doubtful(r) && (is_first || r->shared.kind != SHARED_OWN_THREADS))
            return r;
    }
    return NULL;
}

static struct phrase shared_headline(const struct report *rep, const struct series *s, const struct run_result *r)
{
    const struct series_point *last = &s->points[s->n_points - 1], *stop = stops_after(s);
    int64_t cores = (int64_t)r->shared.cores;
    if (r->shared.kind == SHARED_OVERSUBSCRIBED && cores > 0 && others_ratio(r) > rep->thresholds.loss_matters)
        return stop ? PHRASE(SCALING_STOPS_CORES_OTHERS, slot_nodes(rep, stop), slot_count(r->n_ranks),
                             slot_count(cores))
                    : PHRASE(SCALING_SHARES_CORES_OTHERS, slot_count(r->n_ranks), slot_count(cores),
                             slot_nodes(rep, last));
    if (r->shared.kind == SHARED_OVERSUBSCRIBED && cores > 0)
        return stop ? PHRASE(SCALING_STOPS_CORES, slot_nodes(rep, stop), slot_count(cores))
                    : PHRASE(SCALING_SHARES_CORES, slot_count(r->n_ranks), slot_count(cores), slot_nodes(rep, last));
    if (r->shared.kind == SHARED_THROTTLED && r->shared.run_ratio >= 0)
        return PHRASE(SCALING_QUOTA, slot_percent(r->shared.run_ratio), slot_nodes(rep, last));
    if (r->shared.kind == SHARED_STEAL && r->shared.run_ratio >= 0)
        return PHRASE(SCALING_STEAL, slot_percent(r->shared.run_ratio), slot_nodes(rep, last));
    return stop ? PHRASE(SCALING_STOPS_WAITING, slot_nodes(rep, stop)) : PHRASE(SCALING_WAITS, slot_nodes(rep, last));
}

/* Waiting for ranks that load or use files is a part of what that costs, and the share of all of it is judged. */
static int is_cost(const struct run_result *r, const struct cause *c)
{
    return c->part == PART_WAIT && (c->cls == CLASS_DATA || c->cls == CLASS_IO) && r->classes[c->cls].has_share;
}

/* What a rank does that loads data, uses files or copies; with the rank, if it is one alone. */
static const char *work_said(struct report *rep, const struct run_result *r, const struct cause *c)
{
    const struct phrase name = c->part == PART_DATA && c->cls == CLASS_IO ? PHRASE(NAME_READING)
                               : c->cls == CLASS_IO                       ? file_work[files_used(r)]
                               : c->part == PART_COPY                     ? PHRASE(NAME_COPYING)
                                                                          : PHRASE(NONE);
    const char *what = name.id                ? say_phrase(&rep->arena, &name)
                       : c->cls == CLASS_DATA ? part_name(PART_DATA)
                                              : part_name(c->part);
    return say_capital(&rep->arena, on_its_rank(rep, r, c->cls, what));
}

static struct phrase communication_headline(struct report *rep, const struct series_point *last, const struct cause *c)
{
    const struct series_point *before = last - 1;
    const struct run_result *r = run_of_point(rep, last);
    double now = part_share(last, cause_ns(c, last)), then = part_share(before, cause_ns(c, before));
    if (c->part == PART_WAIT && c->cls == CLASS_IMBALANCE && r->alone.has)
        return PHRASE(SCALING_SERIAL, slot_count(r->alone.rank),
                      slot_percent((double)r->alone.own_ns / (double)r->step.mean_ns), slot_nodes(rep, last));
    if (is_cost(r, c))
        return PHRASE(SCALING_COST, slot_name(work_said(rep, r, c)), slot_percent(r->classes[c->cls].share_ratio),
                      slot_nodes(rep, last));
    if (c->part == PART_WAIT) {
        double share = r->classes[c->cls].has_share ? r->classes[c->cls].share_ratio : now; /* as on the run's page */
        return PHRASE(SCALING_WAITING, slot_name(waited_for(rep, r)), slot_percent(share), slot_nodes(rep, last));
    }
    const char *what = say_capital(
        &rep->arena, is_gradient_exchange(r) ? say_phrase(&rep->arena, &PHRASE(NAME_GRADIENTS)) : "communication");
    const double least = 0.001; /* less is not worth a comparison */
    return now > then && then > least && can_exchange(rep, before)
               ? PHRASE(SCALING_COMMUNICATION_GROWS, slot_name(what), slot_percent(now), slot_nodes(rep, last),
                        slot_percent(then), slot_nodes(rep, before))
               : PHRASE(SCALING_COMMUNICATION, slot_name(what), slot_percent(now), slot_nodes(rep, last));
}

static struct phrase part_headline(struct report *rep, const struct series_point *last, const struct cause *c)
{
    int64_t now = last->part_ns[c->part];
    const char *what = work_said(rep, run_of_point(rep, last), c);
    return PHRASE(SCALING_PART, slot_name(what), slot_time(now), slot_nodes(rep, last), slot_time(now - c->lost_ns));
}

static struct phrase speedup_of(const struct report *rep, const struct series *s, const struct series_point *p)
{
    if (p->speedup <= 0)
        return PHRASE(NONE);
    return PHRASE(SPEEDUP, slot_nodes(rep, p), slot_factor(p->speedup), slot_nodes(rep, &s->points[0]),
                  slot_ratio(p->efficiency));
}

/* Which share of the time from the first step to the last the steps cover, mean over the repetitions; 0 = not known. */
static double coverage_of(const struct report *rep, const struct series_point *p)
{
    double sum = 0;
    for (int i = 0; i < p->n_runs; i++) {
        if (rep->runs[p->runs[i]].coverage_ratio <= 0)
            return 0;
        sum += rep->runs[p->runs[i]].coverage_ratio;
    }
    return p->n_runs ? sum / p->n_runs : 0;
}

/* The speed-up by the clock, where the time between steps changes it. */
static struct phrase speedup_with_rest(const struct report *rep, const struct series *s, const struct series_point *p)
{
    const double there = coverage_of(rep, &s->points[0]), here = coverage_of(rep, p);
    if (p->speedup <= 0 || there <= 0 || here <= 0 || fabs(here / there - 1) <= rep->thresholds.loss_matters)
        return PHRASE(NONE);
    return PHRASE(SPEEDUP_WITH_REST, slot_percent(1 - there), slot_nodes(rep, &s->points[0]), slot_percent(1 - here),
                  slot_nodes(rep, p), slot_factor(p->speedup * here / there));
}

/* How fast the largest point is, and that it is no faster than a smaller one. */
static void add_speed(const struct report *rep, struct series *s)
{
    const struct series_point *last = &s->points[s->n_points - 1], *stop = stops_after(s);
    const struct series_point *shown = stop && stop != &s->points[0] ? stop : last;
    if (!stop || stop != &s->points[0])
        said_add(&s->said, speedup_of(rep, s, shown));
    if (stop && last->throughput * no_faster_ratio < stop->throughput)
        said_add(&s->said, PHRASE(SLOWER, slot_nodes(rep, last), slot_nodes(rep, stop), slot_number(last->throughput),
                                  slot_number(stop->throughput)));
    else if (stop)
        said_add(&s->said, PHRASE(NO_FASTER, slot_nodes(rep, last), slot_nodes(rep, stop),
                                  slot_number(last->throughput), slot_number(stop->throughput)));
    said_add(&s->said, speedup_with_rest(rep, s, last));
}

/* Node time is the sum over all nodes, for the same work. */
static struct phrase node_time(const struct report *rep, const struct series *s)
{
    const struct series_point *first = &s->points[0], *good = first, *last = &s->points[s->n_points - 1];
    if (speedup_with_rest(rep, s, last).id) /* nodes are paid by the clock, and efficiency is that of steps */
        return PHRASE(NONE);
    for (int i = 1; i < s->n_points && s->points[i].efficiency >= rep->thresholds.efficiency; i++)
        good = &s->points[i];
    if (last->efficiency <= 0 || good->efficiency <= 0)
        return PHRASE(NONE);
    const struct slot first_nodes = slot_nodes(rep, first), last_nodes = slot_nodes(rep, last),
                      of_first = slot_factor(1 / last->efficiency),
                      of_good = slot_factor(good->efficiency / last->efficiency),
                      unit = slot_name(counted_word(rep->unit));
    return good == last         ? PHRASE(NODES_PAY, last_nodes, of_first, first_nodes, unit)
           : good != first      ? PHRASE(NODES_STOP_PAYING, slot_nodes(rep, good), last_nodes, of_good, unit)
           : last->speedup <= 1 ? PHRASE(NODES_DO_NOT_PAY, last_nodes, of_first, first_nodes, unit)
                                : PHRASE(NODES_COST, last_nodes, of_first, first_nodes, unit);
}

/* The phase that lost more than half of what its part lost, if there is one. */
static void add_phase_lost(const struct report *rep, struct series *s, const struct series_loss *l, enum part part)
{
    const struct series_phase *phase = phase_that_lost(s, (int)(l - s->losses), part);
    if (!phase)
        return;
    int64_t lost = phase->lost_ns[l - s->losses];
    int is_beside = strcmp(phase->name, "backward") == 0 &&
                    run_of_point(rep, &s->points[l->to])->run->program.allreduce_is_overlapped == 1;
    said_add(&s->said, is_beside                 ? PHRASE(COMPUTE_LOST_BESIDE, slot_time(lost))
                       : lost > l->part_ns[part] ? PHRASE(COMPUTE_LOST_MORE, slot_name(phase->name), slot_time(lost))
                                                 : PHRASE(COMPUTE_LOST_IN, slot_name(phase->name), slot_time(lost)));
}

/* How compute does if communication limits. A loss of at most a tenth of compute is no second cause. */
static void add_compute_beside(const struct report *rep, struct series *s, const struct series_loss *l)
{
    const struct series_point *last = &s->points[l->to];
    int64_t lost = l->part_ns[PART_COMPUTE];
    if (10 * lost <= last->part_ns[PART_COMPUTE]) {
        said_add(&s->said,
                 last->compute_speedup <= 0 ? PHRASE(NONE)
                 : run_is_on_one_host(run_of_point(rep, last)->run) || small_messages(run_of_point(rep, last)).call
                     ? PHRASE(COMPUTE_SCALES_ON_HOST, slot_factor(last->compute_speedup))
                     : PHRASE(COMPUTE_SCALES, slot_factor(last->compute_speedup)));
        return;
    }
    said_add(&s->said, PHRASE(COMPUTE_LOST_TOO, slot_time(lost)));
    add_phase_lost(rep, s, l, PART_COMPUTE);
}

/* Transfer cannot be told from waiting where ranks wait for cores. */
static void add_why_shared(const struct report *rep, struct series *s, const struct run_result *shared,
                           const struct series_loss *l)
{
    const struct series_point *last = &s->points[l->to];
    double delay = others_of(shared->run).delay, others = others_ratio(shared);
    int64_t compute = last->part_ns[PART_COMPUTE], ideal = compute - l->part_ns[PART_COMPUTE];
    if (delay > rep->thresholds.run_delay_limits)
        said_add(&s->said, PHRASE(CORE_AWAITED_ON, slot_nodes(rep, last), slot_percent(delay)));
    if (others > rep->thresholds.loss_matters)
        said_add(&s->said, PHRASE(OTHER_PROGRAMS, slot_percent(others)));
    if (10 * (compute - ideal) <= compute)
        return;
    said_add(&s->said, PHRASE(COMPUTE_STAYS, slot_time(compute), slot_time(ideal)));
    add_phase_lost(rep, s, l, PART_COMPUTE);
}

/* Training that scales has no cause to look for. Communication may limit its runs all the same. */
static struct phrase communication_beside(const struct report *rep, const struct series_point *last, struct phrase said)
{
    if (said.id == PHRASE_COMMUNICATION_TOO)
        return PHRASE(COMMUNICATION_LIMITS_ON, slot_nodes(rep, last), said.slot[0], said.slot[1]);
    if (said.id == PHRASE_WAITING_TOO)
        return PHRASE(WAITING_LIMITS_ON, slot_nodes(rep, last), said.slot[0], said.slot[1]);
    if (said.id != PHRASE_COMMUNICATION_NOT_CAUSE && said.id != PHRASE_COMMUNICATION_NEAR)
        return said;
    return PHRASE(COMMUNICATION_TIME, said.slot[0], slot_time(last->step.mean_ns));
}

/* Each run may be limited, although the training scales. */
static void add_limit_of_run(struct report *rep, struct series *s, const struct series_point *last)
{
    const struct run_result *r = run_of_point(rep, last);
    enum cause_class cls = r->n_claims ? rep->claims[r->claims[0]].cls : CLASS_COMPUTE;
    if (cls == CLASS_COMPUTE || cls == CLASS_COMMUNICATION || cls == CLASS_SHARED || !r->said.headline.id)
        return;
    said_add(&s->said,
             PHRASE(RUN_LIMITED_ON, slot_nodes(rep, last), slot_name(say_phrase(&rep->arena, &r->said.headline))));
    for (int i = 0; i < 2; i++)
        said_add(&s->said, rep->claims[r->claims[0]].said.support[i]);
}

static const struct claim *claim_of_run(const struct report *rep, const struct run_result *r, enum cause_class cls)
{
    for (int i = 0; i < r->n_claims; i++)
        if (rep->claims[r->claims[i]].cls == cls)
            return &rep->claims[r->claims[i]];
    return NULL;
}

static void add_why(const struct report *rep, struct series *s, const struct cause *c, const struct series_loss *l,
                    const struct run_result *shared)
{
    const struct series_point *last = &s->points[l->to];
    const struct claim *late = c->part == PART_WAIT ? claim_of_run(rep, run_of_point(rep, last), c->cls) : NULL;
    if (shared) {
        add_why_shared(rep, s, shared, l);
    } else if (late) {
        for (int i = 0; i < SAID_MAX; i++) /* which rank is late, by how much, and why */
            said_add(&s->said, late->said.support[i]);
        return;
    } else if (c->part == PART_TRANSFER || c->part == PART_WAIT) {
        const struct slot comm = slot_time(comm_of(last->part_ns)), step = slot_time(last->step.mean_ns);
        said_add(&s->said, s->told < s->n_points - 1 ? PHRASE(COMMUNICATION_TIME_ON, slot_nodes(rep, last), comm, step)
                                                     : PHRASE(COMMUNICATION_TIME, comm, step));
        if (is_point_part_known(rep, last, PART_WAIT))
            said_add(&s->said, phrase_of_split(run_of_point(rep, last), last->part_ns));
        const struct phrase turns = phrase_of_turns(rep, run_of_point(rep, last));
        said_add(&s->said, turns);
        if (turns.id)
            return;
        said_add(&s->said, phrase_of_small_messages(run_of_point(rep, last)));
        add_compute_beside(rep, s, l);
        return;
    } else if (c->part != PART_COMPUTE) {
        said_add(&s->said, PHRASE(STEP_LONGER, slot_time(l->loss_ns), slot_time(l->ideal_ns)));
    }
    const struct phrase said = phrase_of_communication(run_of_point(rep, last), last->part_ns, last->step.mean_ns);
    if (s->said.headline.id == PHRASE_SCALING_GOOD)
        said_add(&s->said, communication_beside(rep, last, said));
    else
        said_add(&s->said, said);
}

static enum confidence series_confidence(struct report *rep, const struct series *s, const char **because)
{
    const struct series_point *last = &s->points[s->told];
    enum confidence worst = CONFIDENCE_HIGH;
    *because = "";
    for (int i = 0; i <= s->told; i++) {
        const struct run_result *r = run_of_point(rep, &s->points[i]);
        const char *why;
        enum confidence c = confidence_of(rep, r, (struct interval){0}, -1, &why);
        if (c < CONFIDENCE_HIGH && c <= worst) { /* of equal ones the largest node count, where it matters most */
            worst = c;
            *because = say_phrase(&rep->arena, &PHRASE(SURE_AT, slot_nodes(rep, &s->points[i]), slot_name(why)));
        }
    }
    for (int i = 0; worst > CONFIDENCE_LOW && i <= s->told; i++)
        if (repetition_spread(rep, &s->points[i]) > rep->thresholds.step_cv) {
            worst = CONFIDENCE_LOW;
            *because = say_phrase(&rep->arena, &PHRASE(SURE_RUNS_DIFFER, slot_nodes(rep, &s->points[i]),
                                                       slot_percent(repetition_spread(rep, &s->points[i]))));
        }
    unsigned which = unlike_in_series(rep, s);
    if (worst > CONFIDENCE_LOW && which) {
        worst = CONFIDENCE_LOW;
        *because = say_phrase(&rep->arena, &PHRASE(SURE_RUNS_UNLIKE, slot_name(unlike_names(rep, which))));
    }
    if (worst == CONFIDENCE_HIGH && last->n_runs < 2) {
        worst = CONFIDENCE_MEDIUM;
        *because = say_phrase(&rep->arena, &PHRASE(SURE_ONE_RUN, slot_name(counted_word(rep->unit))));
    }
    return worst;
}

/* Ids are paths into report.json. The loss of communication is in two of its fields. */
static void add_series_numbers(struct report *rep, int index, struct claim *c, const struct cause *cause,
                               const struct series_loss *l)
{
    const struct series *s = &rep->series[index];
    int at = l->to, loss = (int)(l - s->losses);
    const struct series_point *last = &s->points[at];
    const char *point = report_text(rep, "series.%d.points.%d", index, at);
    const char *lost = report_text(rep, "series.%d.losses.%d.parts_ns", index, loss);
    claim_number(rep, c, report_text(rep, "%s.step.mean_ns", point), "ns", (double)last->step.mean_ns);
    claim_number(rep, c, report_text(rep, "%s.efficiency", point), "ratio", last->efficiency);
    int n_parts = cause->part == PART_TRANSFER ? 2 : 1; /* transfer and waiting */
    const enum part parts[] = {cause->part, PART_WAIT};
    for (int i = 0; i < n_parts; i++) {
        const char *key = part_key(parts[i]);
        if (!is_point_part_known(rep, last, parts[i]))
            continue; /* null in report.json */
        claim_number(rep, c, report_text(rep, "%s.parts_ns.%s", point, key), "ns", (double)last->part_ns[parts[i]]);
        claim_number(rep, c, report_text(rep, "%s.%s", lost, key), "ns", (double)s->losses[loss].part_ns[parts[i]]);
    }
}

static int add_series_claim(struct report *rep, int index, const struct cause *cause, const struct series_loss *l)
{
    struct series *s = &rep->series[index];
    const struct series_point *last = &s->points[l->to];
    const struct run_result *r = run_of_point(rep, last);
    struct claim *c = claim_add(rep);
    c->series = index;
    const struct run_result *shared = shared_first(rep, last);
    c->cls = shared ? CLASS_SHARED : cause->cls;
    c->id = report_text(rep, "series%d.limit", index);
    c->confidence = series_confidence(rep, s, &c->confidence_because);
    c->evidence = "index.html#scaling";
    c->action = shared ? action_for(rep, shared, CLASS_SHARED) : action_for_scaling(rep, r, cause->cls);
    c->is_measuring = shared && is_advice_to_measure(shared);
    /* Compute cannot be removed, but its loss against ideal scaling can be regained. The run itself estimates the gain
     * of a core for each rank, as on its page. Without that, the gain is all that was lost with shared cores; if the
     * reference had too few cores too, it is unknown. */
    const struct run_result *of = shared ? shared : r;
    int64_t own_ns = shared && is_gain_of_cores_told(rep, shared) ? shared->gain_ns[CLASS_SHARED] : 0;
    int is_unnamed = !shared && cause->cls == CLASS_OVERHEAD; /* it may be work, which cannot be removed */
    int is_beside = shared && is_advice_beside_cores(&c->action);
    c->has_gain = !is_unnamed && !is_beside && (!shared || !series_shared_run(rep, &s->points[0]));
    c->gain_basis = own_ns > 0 ? gain_basis_of(shared, CLASS_SHARED)
                    : shared   ? GAIN_ESTIMATE
                               : gain_basis_of(r, cause->cls);
    c->gain_ns = !c->has_gain                  ? 0
                 : own_ns > 0                  ? own_ns
                 : shared                      ? l->loss_ns
                 : cause->cls == CLASS_COMPUTE ? cause->lost_ns
                                               : r->classes[cause->cls].gain_ns;
    c->step_ns = of->step.mean_ns;
    c->gain_text = claim_gain_text(rep, c);
    c->gain_why = c->has_gain  ? REASON(NONE)
                  : is_unnamed ? REASON(GAIN_OF_UNNAMED)
                  : is_beside  ? REASON(GAIN_BESIDE_CORES)
                               : REASON(GAIN_REFERENCE_SHARED);
    c->threshold_ratio = rep->thresholds.efficiency;
    c->threshold_name = "efficiency";
    c->rule = say_phrase(&rep->arena, &PHRASE(RULE_EFFICIENCY, slot_ratio(rep->thresholds.efficiency)));
    claim_grounds(rep, c, of, cause->cls);
    c->window = report_text(rep, "%s at %s", c->window, nodes_text(rep, of->n_nodes));
    c->interval =
        !shared && is_cost(r, cause)
            ? claimed_interval(r, cause->cls)
            : point_share_interval(rep, last, cause->part, cause->part == PART_TRANSFER ? PART_WAIT : cause->part);
    c->interval_of = !c->interval.has               ? ""
                     : !shared && is_cost(r, cause) ? share_name(rep, r, cause->cls)
                     : cause->part == PART_TRANSFER ? "communication"
                                                    : part_name(cause->part);
    if (shared)
        shared_numbers(rep, c, shared);
    add_series_numbers(rep, index, c, cause, l);
    if (!shared && is_cost(r, cause)) /* the share of the headline */
        claim_number(rep, c, report_text(rep, "runs.%s.classes.%s.share_ratio", r->slug, class_key(cause->cls)),
                     "ratio", r->classes[cause->cls].share_ratio);
    return rep->n_claims - 1;
}

/* Time that a mean rank lost from the first point to the last, of whole runs. */
static struct phrase lost_of_runs(const struct series *s)
{
    const struct series_point *first = &s->points[0], *last = &s->points[s->n_points - 1];
    if (first->mpi_ns < 0 || last->mpi_ns < 0)
        return PHRASE(NONE);
    double ideal = (double)first->n_nodes / last->n_nodes;
    int64_t mpi = last->mpi_ns - (int64_t)((double)first->mpi_ns * ideal);
    int64_t rest = last->run_ns - (int64_t)((double)first->run_ns * ideal) - mpi;
    return mpi > 0 && rest > 0 ? PHRASE(RUN_LOST_BOTH, slot_time(mpi), slot_time(rest))
           : mpi > 0           ? PHRASE(RUN_LOST_MPI, slot_time(mpi))
           : rest > 0          ? PHRASE(RUN_LOST_REST, slot_time(rest))
                               : PHRASE(NONE);
}

/* Whole runs are compared. If it scales badly, the headline is what the largest run waits for, if that is known. */
static void find_of_runs(struct report *rep, struct series *s)
{
    const struct series_point *first = &s->points[0], *last = &s->points[s->n_points - 1];
    const struct run_result *shared = series_shared_run(rep, last), *r = run_of_point(rep, last);
    int is_good = good_until(rep, s) == last, has_cause = !is_good && r->n_claims;
    s->said.headline =
        is_good ? PHRASE(SCALING_GOOD, slot_nodes(rep, last), slot_factor(last->speedup), slot_ratio(last->efficiency))
        : has_cause ? r->said.headline
        : shared    ? shared_headline(rep, s, shared)
                    : PHRASE(SCALING_FALLS, slot_ratio(last->efficiency), slot_nodes(rep, last));
    if (has_cause)
        s->said.where = slot_name(nodes_text(rep, last->n_nodes));
    said_add(&s->said, PHRASE(RUN_TIMES, slot_time(first->run_ns), slot_nodes(rep, first), slot_time(last->run_ns),
                              slot_nodes(rep, last), slot_factor(last->speedup)));
    const struct series_point *best = first;
    for (int i = 1; i < s->n_points; i++)
        best = s->points[i].run_ns < best->run_ns ? &s->points[i] : best;
    int is_faster = (double)last->run_ns > no_faster_ratio * (double)best->run_ns;
    said_add(&s->said, is_faster && best != first ? PHRASE(RUN_FASTEST, slot_nodes(rep, best), slot_time(best->run_ns))
                                                  : lost_of_runs(s));
    said_add(&s->said, PHRASE(RUN_ASSUMED));
}

/* Where the time went is not known: there is no loss to split. */
static void find_without_losses(struct report *rep, struct series *s)
{
    const struct series_point *first = &s->points[0], *last = &s->points[s->n_points - 1], *stop = stops_after(s);
    const struct run_result *shared = shared_first(rep, last);
    const struct run_result *r = run_of_point(rep, last);
    /* Without steps there is no speed-up, but the run may say more, even if it is only how it failed. */
    int has_cause = !r->has_steps && (r->n_claims || is_failed(r));
    if (s->is_of_runs) {
        find_of_runs(rep, s);
        return;
    }
    if (last->speedup <= 0) {
        s->said.headline =
            has_cause ? r->said.headline : PHRASE(SCALING_UNKNOWN, slot_nodes(rep, first), slot_nodes(rep, last));
        if (has_cause)
            s->said.where = slot_name(nodes_text(rep, last->n_nodes));
        for (int i = 0; i < 2 && has_cause; i++)
            said_add(&s->said, r->said.support[i]);
        said_add(&s->said, PHRASE(SPEEDUP_UNKNOWN, slot_reason(&s->speedup_why)));
    } else if (!stop && good_until(rep, s) == last) {
        s->said.headline =
            PHRASE(SCALING_GOOD, slot_nodes(rep, last), slot_factor(last->speedup), slot_ratio(last->efficiency));
        said_add(&s->said, speedup_with_rest(rep, s, last));
    } else {
        s->said.headline = shared ? shared_headline(rep, s, shared)
                           : stop ? PHRASE(SCALING_STOPS, slot_nodes(rep, stop))
                                  : PHRASE(SCALING_FALLS, slot_ratio(last->efficiency), slot_nodes(rep, last));
        add_speed(rep, s);
    }
    if (s->losses_why.code)
        said_add(&s->said, PHRASE(NOT_JUDGED, slot_name(say_phrase(&rep->arena, &PHRASE(NAME_LOSSES))),
                                  slot_name(say_mark(say_row(s->losses_why.code)->mark))));
}

/* Nodes with different shares or links: such a series says nothing about scaling. */
static int are_nodes_unlike(const struct report *rep, const struct series *s)
{
    return unlike_in_series(rep, s) >> UNLIKE_NODES & 1;
}

static void say_unlike(const struct report *rep, struct series *s)
{
    const struct series_point *last = &s->points[s->n_points - 1];
    s->said.headline = PHRASE(SCALING_UNLIKE, slot_nodes(rep, &s->points[0]), slot_nodes(rep, last));
    said_add(&s->said, PHRASE(SPEED_OF_UNLIKE, slot_factor(last->speedup)));
}

/* The loss that explains why training stops scaling. If it stopped while the ranks still had a core each, it is not the
 * loss of the whole series, whose largest runs share cores. */
static const struct series_loss *loss_to_explain(const struct report *rep, const struct series *s)
{
    const struct series_point *last = &s->points[s->n_points - 1], *stop = stops_after(s);
    if (!stop || stop + 1 == last || !series_shared_run(rep, last) || series_shared_run(rep, stop + 1))
        return whole_loss(s);
    for (int i = 0; i < s->n_losses; i++)
        if (&s->points[s->losses[i].from] == stop && &s->points[s->losses[i].to] == stop + 1)
            return &s->losses[i];
    return whole_loss(s);
}

/* The largest runs also share cores. */
static void add_cores_too(const struct report *rep, struct series *s)
{
    const struct series_point *last = &s->points[s->n_points - 1];
    const struct run_result *shared = series_shared_run(rep, last);
    said_add(&s->said, shared->shared.kind == SHARED_OVERSUBSCRIBED && shared->shared.cores > 0
                           ? PHRASE(CORES_TOO, slot_nodes(rep, last), slot_count((int64_t)shared->shared.cores))
                           : PHRASE(CORES_AWAITED_TOO, slot_nodes(rep, last)));
}

static void find_series(struct report *rep, int index)
{
    struct series *s = &rep->series[index];
    const struct series_point *last = &s->points[s->n_points - 1];
    const struct series_loss *l = whole_loss(s);
    if (!l) {
        find_without_losses(rep, s);
        return;
    }
    const int is_good =
        good_until(rep, s) == last || (double)l->loss_ns < rep->thresholds.loss_matters * (double)last->step.mean_ns;
    if (is_good && are_nodes_unlike(rep, s)) {
        say_unlike(rep, s);
        return;
    }
    if (!is_good)
        l = loss_to_explain(rep, s);
    s->told = l->to;
    const struct series_point *at = &s->points[l->to];
    const struct run_result *shared = shared_first(rep, at);
    struct cause c = largest_cause(run_of_point(rep, at), s, l);
    if (is_good) {
        s->said.headline =
            PHRASE(SCALING_GOOD, slot_nodes(rep, last), slot_factor(last->speedup), slot_ratio(last->efficiency));
        said_add(&s->said, speedup_with_rest(rep, s, last));
        add_limit_of_run(rep, s, last);
        c = (struct cause){CLASS_COMPUTE, l->part_ns[PART_COMPUTE], PART_COMPUTE}; /* compute was to scale */
    } else {
        s->said.headline = shared                                           ? shared_headline(rep, s, shared)
                           : c.part == PART_TRANSFER || c.part == PART_WAIT ? communication_headline(rep, at, &c)
                                                                            : part_headline(rep, at, &c);
        if (!shared && c.part == PART_COMPUTE)
            add_phase_lost(rep, s, l, PART_COMPUTE);
        add_speed(rep, s);
        if (at != last)
            add_cores_too(rep, s);
        s->limit_claim = add_series_claim(rep, index, &c, l);
        const struct run_result *r = run_of_point(rep, at);
        if (claim_that_saves_more(rep, r, &rep->claims[s->limit_claim]) >= 0)
            said_add(&s->said, PHRASE(RUN_LIMITED_ON, slot_nodes(rep, at),
                                      slot_name(say_phrase(&rep->arena, &r->said.headline))));
    }
    add_why(rep, s, &c, l, shared);
}

/* Lost events of its runs, for the first run that has any. */
static void add_losses(const struct report *rep, struct series *s)
{
    for (int i = 0; i < s->n_points; i++)
        for (int k = 0; k < s->points[i].n_runs; k++) {
            const struct run_result *r = &rep->runs[s->points[i].runs[k]];
            for (int j = 0; j < SAID_MAX; j++)
                if (r->said.support[j].id == PHRASE_EVENTS_LOST || r->said.support[j].id == PHRASE_EVENTS_LOST_AFTER) {
                    said_add(&s->said, r->said.support[j]);
                    return;
                }
        }
}

/* The smallest node count with a run that failed after its first step, behind the speed-up. */
static void add_ending(const struct report *rep, struct series *s)
{
    for (int i = 0; i < s->n_points; i++)
        for (int k = 0; k < s->points[i].n_runs; k++) {
            const struct run_result *r = &rep->runs[s->points[i].runs[k]];
            if (r->has_steps && run_ended_badly(r->run)) {
                said_of_end(&s->said, 1, SAID_MAX, PHRASE(RUN_ENDED_BADLY, slot_nodes(rep, &s->points[i])));
                return;
            }
        }
}

static void say_series(struct report *rep, int index)
{
    struct series *s = &rep->series[index];
    if (s->n_points < 2)
        return;
    series_scaling_texts(rep, s);
    find_series(rep, index);
    add_losses(rep, s);
    add_ending(rep, s);
    s->node_time = s->said.headline.id == PHRASE_SCALING_UNLIKE ? PHRASE(NONE) : node_time(rep, s);
    s->headline = say_headline(&rep->arena, &s->said);
    s->support = say_support(&rep->arena, &s->said);
    if (s->limit_claim >= 0) {
        struct claim *c = &rep->claims[s->limit_claim];
        c->said = s->said;
        c->sentence = s->headline;
        c->support = s->support;
    }
}

void claims_of_series(struct report *rep)
{
    for (int i = 0; i < rep->n_series; i++)
        say_series(rep, i);
}
