/* top.c - the top of the report: headline, first action, how sure, the verdict in two sentences; and the order in which
 * causes are acted on. */
#include "render/findings/actions.h"
#include "render/findings/claims.h"

#include "render/findings/rules/analyse.h"
#include "render/metrics/known.h"
#include "render/metrics/rule.h"
#include "render/metrics/series/series.h"
#include "render/findings/rules/compare.h"
#include "render/metrics/changes.h"
#include "render/findings/rules/trials.h"
#include "render/say/format.h"
#include "render/say/say.h"
#include "render/findings/failed.h"
#include "render/findings/narrate.h"
#include "render/findings/ranking.h"
#include "render/findings/run_said.h"
#include "render/findings/shares.h"

#include <stdbool.h>
#include <string.h>

/* Two texts, separated by a space if both have words. */
static const char *joined(struct report *rep, const char *a, const char *b)
{
    return report_text(rep, "%s%s%s", a, *a && *b ? " " : "", b);
}

/* The series with most points; on a tie the first. */
static const struct series *main_series(const struct report *rep)
{
    const struct series *best = NULL;
    for (int i = 0; i < rep->n_series; i++)
        if (rep->series[i].n_points > 1 && (!best || rep->series[i].n_points > best->n_points))
            best = &rep->series[i];
    return best;
}

/* The run that the answer is about. */
static const struct run_result *told_run(const struct report *rep, const struct series *s)
{
    return s ? run_of_point(rep, &s->points[s->told]) : &rep->runs[rep->n_runs - 1];
}

/* Index of the claim that comes first, -1 when there is none. */
static int claim_to_act_on(const struct report *rep, const struct series *s, const struct run_result *r)
{
    if (!s || s->limit_claim < 0)
        return r->n_claims ? r->claims[0] : -1;
    int saves_more = claim_that_saves_more(rep, r, &rep->claims[s->limit_claim]);
    return saves_more >= 0 ? saves_more : s->limit_claim;
}

/* Time before the first operation of a GPU in the steps, if that is a fifth of them or more; else 0. */
static int64_t lead_ns(const struct run *a)
{
    int64_t most = 0;
    for (int i = 0; i < a->n_traces; i++)
        for (int k = 0; k < a->traces[i].n_devices; k++) {
            const struct run_device *d = &a->traces[i].devices[k];
            most = 5 * d->steps_lead_ns > d->steps_ns && d->steps_lead_ns > most ? d->steps_lead_ns : most;
        }
    return most;
}

/* A run that computes, and whose kernels are the best that are known: no cause to remove. */
static int is_all_healthy(const struct report *rep, const struct claim *c)
{
    return c->cls == CLASS_COMPUTE && c->series < 0 && !c->has_gain && !is_compute_waiting(&rep->runs[c->run]);
}

/* More cores, a larger machine, a larger share or more nodes: one way to compute faster. */
static bool is_of_cores(enum advice id)
{
    return id == ADVICE_COMPUTE || id == ADVICE_LARGER_MACHINE || id == ADVICE_LARGER_SHARE ||
           id == ADVICE_MORE_CORES_OR_NODES;
}

/* Better kernels and fewer ranks are two ways to compute faster. */
static int is_same_advice(const struct claim *a, const struct claim *b)
{
    return a->action.id == b->action.id || (is_of_cores(a->action.id) && is_of_cores(b->action.id));
}

/* The run whose gain is stated: for a series the one that its finding is about. */
static const struct run_result *run_of_claim(struct report *rep, const struct claim *c)
{
    return c->run >= 0 ? &rep->runs[c->run] : c->series >= 0 ? told_run(rep, &rep->series[c->series]) : NULL;
}

const char *exchange_of_gain(struct dcr_arena *a, const struct run_result *r, int64_t gain_ns)
{
    return is_gain_of_exchange(r, gain_ns) ? say_phrase(a, &PHRASE(NAME_ANY_EXCHANGE))
                                           : run_part_name(r, PART_TRANSFER);
}

/* The expected effect of an action. */
static const char *expected_of(struct report *rep, const struct claim *c)
{
    const struct slot after = slot_time(c->step_ns - c->gain_ns), now = slot_time(c->step_ns),
                      factor = slot_factor((double)c->step_ns / (double)(c->step_ns - c->gain_ns));
    if (*c->expected || !*c->gain_text)
        return c->expected;
    const struct run_result *r = run_of_claim(rep, c);
    const struct slot cause =
        slot_name(r && c->cls == CLASS_COMMUNICATION ? exchange_of_gain(&rep->arena, r, c->gain_ns)
                                                     : class_words(c->cls, AS_TIME));
    const struct phrase said[] = {c->action.id == ADVICE_MORE_WORK_PER_RANK ? PHRASE(EXPECT_IDEAL, after, now, factor)
                                  : c->action.id == ADVICE_ALONE || c->action.id == ADVICE_ALONE_BARRIER
                                      ? PHRASE(EXPECT_SHARED_OUT, after, now, factor)
                                  : c->cls == CLASS_IMBALANCE   ? PHRASE(EXPECT_BALANCED, after, now, factor)
                                  : c->gain_basis == GAIN_BOUND ? PHRASE(EXPECT_AT_BEST, after, now, factor)
                                  : (c->action.is_short_of_cores && c->cls != CLASS_DATA) ||
                                          c->cls == CLASS_COMPUTE /* compute cannot be removed completely */
                                      ? PHRASE(EXPECT_LESS, after, now, factor)
                                      : *cause.name ? PHRASE(EXPECT_WITHOUT, cause, after, now, factor)
                                                    : PHRASE(EXPECT_ABOUT, after, now, factor),
                                  is_part_of_gain(c) ? PHRASE(EXPECT_PART) : PHRASE(NONE)};
    return say_phrases(&rep->arena, said, 2);
}

/* The gain is of one run. If its point has repetitions, the run is named, because its step is not the mean that the
 * answer states. */
static const char *run_of_expected(struct report *rep, const struct claim *c)
{
    const struct run_result *r = run_of_claim(rep, c);
    const struct series *s = r && r->series >= 0 ? &rep->series[r->series] : NULL;
    for (int i = 0; s && i < s->n_points; i++)
        for (int k = 0; k < s->points[i].n_runs && s->points[i].n_runs > 1; k++)
            if (&rep->runs[s->points[i].runs[k]] == r)
                return say_phrase(&rep->arena, &PHRASE(TIMES_OF_RUN, slot_name(r->label)));
    return "";
}

/* The expected effect, and the run it is for. */
static const char *expected_said(struct report *rep, const struct claim *c)
{
    const char *text = expected_of(rep, c);
    return *text ? joined(rep, text, run_of_expected(rep, c)) : text;
}

static struct to_do advised_by(struct report *rep, const struct claim *c, const char *steps)
{
    return (struct to_do){.text = report_text(rep, "%s.", action_sentence(rep, c->action)),
                          .is_first = 1,
                          .expected = expected_said(rep, c),
                          .check = c->action.check,
                          .also = steps};
}

/* Advice for a run that computes: how to be faster, and what is unknown about its compute. */
static struct to_do advised_of_compute(struct report *rep, const struct run_result *r, const struct claim *c)
{
    const char *unrecorded = unrecorded_in_compute(rep, r);
    const struct phrase known[] = {*unrecorded ? PHRASE(COMPUTE_UNRECORDED, slot_name(unrecorded)) : PHRASE(NONE),
                                   is_memory_judged(r) ? PHRASE(NONE) : PHRASE(COMPUTE_MEMORY), remedy_of_memory(r)};
    int is_unnamed = r->classes[CLASS_OVERHEAD].verdict == VERDICT_WATCH;
    return (struct to_do){.text = report_text(rep, "%s.", action_sentence(rep, c->action)),
                          .result = say_phrases(&rep->arena, known, 3),
                          .also = is_unnamed ? report_text(rep, "%s.", action_for_unnamed(rep, r)) : ""};
}

/* More nodes than the fastest point has bring no gain. NULL = the largest point is the fastest, or something else
 * limits. */
static const struct series_point *better_point(const struct series *s)
{
    const struct series_point *best = s ? fastest_point(s) : NULL;
    return best && best != &s->points[s->n_points - 1] && s->limit_claim < 0 ? best : NULL;
}

/* Is the answer about one run that crashed after steps were recorded? */
static int is_crash(const struct series *s, const struct run_result *r)
{
    return !(s && *s->headline) && is_crashed(r);
}

/* is_stepless gets 1 if the answer is r->stepless_action. */
static struct to_do what_to_do(struct report *rep, const struct series *s, const struct run_result *r,
                               const struct claim *c, int *is_stepless)
{
    const struct series_point *best = better_point(s);
    if (best) {
        const struct phrase use[] = {PHRASE(USE_FEWER, slot_things(best->n_nodes, counted_word(rep->unit))),
                                     r->has_steps || *r->run->collector_version ? PHRASE(NONE) : PHRASE(WATCH_NEXT)};
        return (struct to_do){.text = say_phrases(&rep->arena, use, 2), .is_first = 1};
    }
    if (is_crash(s, r)) {
        int is_long;
        const struct stepless_advice crash = advise_failed(rep, r, &is_long);
        return (struct to_do){.text = advice_words(rep, r->run, &crash.first),
                              .is_first = 1,
                              .result = say_phrase(&rep->arena, &crash.result)};
    }
    if (c && is_all_healthy(rep, c))
        return advised_of_compute(rep, &rep->runs[c->run], c);
    /* A program that is known not to train gets no advice on steps. */
    const char *steps = r->has_steps || !run_may_be_torch(r->run) ? "" : rep->steps_action;
    const struct phrase lead = lead_ns(r->run) > 0 ? PHRASE(PROFILE_LATER, slot_time(lead_ns(r->run))) : PHRASE(NONE);
    if (c)
        return advised_by(rep, c, steps);
    if (is_mostly_unnamed(r) && lead.id)
        return (struct to_do){.text = say_phrase(&rep->arena, &lead), .is_first = 1};
    if (r->has_steps && *r->unnamed_action)
        return (struct to_do){.text = report_text(rep, "%s.", r->unnamed_action), .is_first = 1};
    if (r->has_steps)
        return (struct to_do){.text = say_phrase(&rep->arena, &PHRASE(NOTHING_FIRST))};
    *is_stepless = 1;
    return r->stepless_action;
}

/* The run that a claim of shared cores is about. */
static const struct run_result *shared_run_of(const struct report *rep, const struct claim *c,
                                              const struct run_result *r)
{
    return c->run >= 0 ? &rep->runs[c->run] : r;
}

/* For emulated nodes that are too many for their machine: the command for the same series on nodes of a cluster. */
static const char *command_elsewhere(struct report *rep, const struct series *s, const struct run_result *r)
{
    const char *counts = "";
    if (r->shared.kind != SHARED_OVERSUBSCRIBED || !run_is_one_machine(r->run))
        return "";
    for (int i = 0; i < s->n_points; i++)
        counts = report_text(rep, "%s%s%d", counts, i ? " " : "", s->points[i].n_nodes);
    return trial_on_cluster(rep, r, counts);
}

/* What the largest run shows about other causes, for an answer that is about another run. */
static void judge_beside(struct report *rep, const struct run_result *r, const struct claim *c)
{
    bool has_others = r->judged[0].id == PHRASE_LIMITS_TOO;
    int n = 0;
    struct phrase too = limits_too(rep, r, c->cls, &rep->said);
    if (too.id != PHRASE_NONE)
        rep->ruled_out[n++] = too;
    for (int i = has_others; i < JUDGED_MAX && n < JUDGED_MAX; i++)
        rep->ruled_out[n++] = r->judged[i];
}

/* The headline of a series counts waiting for other ranks as communication. A part of that is no next limit. */
static bool is_part_of(enum cause_class cls, enum cause_class of)
{
    return cls == of || (cls == CLASS_IMBALANCE && of == CLASS_COMMUNICATION);
}

/* The next limit of a run must not be what the headline of its series is about. */
static void drop_told_next(struct report *rep, const struct series *s, const struct run_result *r)
{
    if (!s || s->limit_claim < 0 || !is_part_of(next_of_run(rep, r), rep->claims[s->limit_claim].cls))
        return;
    int n = 0;
    for (int i = 0; i < JUDGED_MAX; i++)
        if (rep->ruled_out[i].id != r->judged[0].id)
            rep->ruled_out[n++] = rep->ruled_out[i];
    while (n < JUDGED_MAX)
        rep->ruled_out[n++] = PHRASE(NONE);
}

/* A set of runs has no sentence about a single one. */
static const char *early_end(struct report *rep, const struct run_result *r)
{
    const struct phrase ended = phrase_of_early_end(rep, r);
    return is_ranked(rep) || ended.id == PHRASE_NONE ? "" : say_phrase(&rep->arena, &ended);
}

void top_sentences(struct report *rep)
{
    const struct series *s = main_series(rep);
    const struct run_result *r = is_ranked(rep) ? &rep->runs[ranking_first(rep)] : told_run(rep, s);
    rep->first_series = s ? (int)(s - rep->series) : r->series > 0 ? r->series : 0;
    rep->first_claim = claim_to_act_on(rep, s, r);
    for (int i = 0; i < rep->n_claims; i++)
        rep->claims[i].expected = claim_expected(rep, &rep->claims[i]);
    const struct claim *c = rep->first_claim >= 0 ? &rep->claims[rep->first_claim] : NULL;
    rep->headline = s && *s->headline ? s->headline : r->headline;
    int n_scaling = 0;
    for (int i = 0; i < rep->n_series; i++)
        n_scaling += rep->series[i].n_points > 1;
    rep->headline_series = s && *s->headline && n_scaling <= 1 ? (int)(s - rep->series) : -1;
    if (s && *s->headline && n_scaling > 1) {
        struct said of_one = s->said;
        of_one.where = slot_name(report_text(rep, "%s (%s scaling)", s->label, scaling_word(s->kind)));
        rep->headline = say_headline(&rep->arena, &of_one);
        rep->said = of_one;
    } else
        rep->said = s && *s->headline ? s->said : r->said;
    rep->support = s && *s->support ? s->support : r->support;
    if (is_ranked(rep)) {
        ranking_say(rep);
        rep->said = ranking_said(rep, r);
        rep->headline = say_headline(&rep->arena, &rep->said);
        rep->support = say_support(&rep->arena, &rep->said);
        rep->first_of = ranking_name(rep, r);
    }
    rep->first_of = is_ranked(rep) ? rep->first_of : "";
    rep->steps_action = r->steps_action;
    int is_stepless = 0;
    struct to_do first = what_to_do(rep, s, r, c, &is_stepless);
    const char *all = first.text, *const more_of[] = {first.expected, first.check, first.result, first.also};
    for (size_t i = 0; i < sizeof more_of / sizeof *more_of; i++)
        all = joined(rep, all, more_of[i] ? more_of[i] : "");
    rep->first_action = report_text(rep, "%s%s", first.is_first ? "Do first: " : "", all);
    rep->first = first;
    c = is_crash(s, r) ? NULL : c; /* no command or forecast belongs to the advice on a crash */
    const struct trial *t = c ? claim_trial(rep, c) : NULL;
    rep->first_command = t ? t->command : c && c->is_measuring ? shared_run_of(rep, c, r)->command_again : "";
    rep->is_first_measuring = !t && c && c->is_measuring;
    rep->first_elsewhere = c && c->cls == CLASS_SHARED && s ? command_elsewhere(rep, s, shared_run_of(rep, c, r)) : "";
    rep->has_first_forecast = t && t->has_forecast;
    rep->first_forecast_ns = t ? t->step_ns : 0;
    rep->next_action = is_stepless ? r->stepless_advice : all;
    if (!is_ranked(rep))
        memcpy(rep->ruled_out, r->judged, sizeof rep->ruled_out);
    if (!is_ranked(rep) && c && c->series >= 0)
        judge_beside(rep, r, c);
    if (!is_ranked(rep))
        drop_told_next(rep, s, r);
    say_how_sure(rep, s, r, c);
    /* For a series that scales, the headline has the speed-up, so the next sentence says what its largest run does. */
    const char *first_support = s && *s->headline ? say_phrase(&rep->arena, &s->said.support[0]) : "";
    const char *second = s && s->limit_claim < 0 && s->n_losses ? r->headline
                         : *first_support                       ? joined(rep, first_support, rep->first_action)
                         : r->has_steps                         ? joined(rep, early_end(rep, r), rep->first_action)
                                                                : rep->support;
    rep->verdict = report_text(rep, "%s%s%s", rep->headline, *second ? " " : "", second);
}

int is_series_told(const struct report *rep, int index)
{
    const struct series *s = main_series(rep);
    return rep->n_comparisons == 0 && s && *s->headline && s == &rep->series[index];
}

void top_of_comparison(struct report *rep, const struct comparison *c)
{
    struct dcr_arena *a = &rep->arena;
    const struct phrase *first = &c->said.support[0];
    const char *programs = first->id == PHRASE_COMPARED_PROGRAMS ? say_phrase(a, first) : "",
               *forecast = joined(rep, programs, say_phrases(a, c->forecast, COMPARED_MAX)),
               *unknown = say_phrases(a, c->sure[SURE_UNKNOWN], SAID_MAX);
    const struct phrase sure =
        PHRASE(CONFIDENCE, slot_name(confidence_word(c->confidence)), slot_name(c->confidence_because));
    rep->limits_now = rep->headline ? rep->headline : "";
    rep->headline = c->sentence;
    rep->headline_series = -1;
    rep->said = c->said;
    rep->support = report_text(rep, "%s%s%s", c->support, *rep->limits_now ? " " : "", rep->limits_now);
    rep->verdict = report_text(rep, "%s%s%s%s%s %s", c->sentence, *forecast ? " " : "", forecast, *unknown ? " " : "",
                               unknown, say_phrase(a, &sure));
    memcpy(rep->sure, c->sure, sizeof rep->sure);
    rep->how_sure = say_phrases(a, c->sure[SURE_CAUSE], SAID_MAX);
    rep->confidence = confidence_word(c->confidence);
}

void top_of_changes(struct report *rep)
{
    const char *now = rep->headline ? rep->headline : "";
    rep->said = rep->changes->said;
    rep->headline = rep->changes->sentence;
    rep->headline_series = -1;
    rep->support = rep->changes->support;
    rep->verdict = report_text(rep, "%s %s%s%s", rep->headline, rep->support, *now ? " " : "", now);
    /* These are about the run after the change, and its own page shows them. */
    memset(rep->ruled_out, 0, sizeof rep->ruled_out);
    memcpy(rep->sure, rep->changes->sure, sizeof rep->sure);
    rep->how_sure = say_phrases(&rep->arena, rep->sure[SURE_CAUSE], SAID_MAX);
    rep->confidence = confidence_word(CONFIDENCE_LOW);
}

void narrate(struct report *rep)
{
    claims_of_runs(rep);
    for (int i = 0; i < rep->n_runs; i++)
        say_what_to_do_without_steps(rep, &rep->runs[i]);
    claims_of_series(rep);
    top_sentences(rep);
}

/* ---- what to act on ------------------------------------------------------------------------------- */

static double urgency(const struct report *rep, const struct claim *c)
{
    if (rep->first_claim >= 0 && c == &rep->claims[rep->first_claim])
        return 3;
    if (c->cls == CLASS_SHARED)
        return 2;
    return c->has_gain && c->step_ns > 0 ? (double)c->gain_ns / (double)c->step_ns : 0;
}

int claims_in_order(const struct report *rep, const int *runs, int n_runs, int is_whole, const struct claim **out)
{
    int n = 0;
    for (int i = 0; i < rep->n_claims; i++) {
        const struct claim *c = &rep->claims[i];
        int is_wanted = c->run < 0 && is_whole;
        for (int k = 0; k < n_runs; k++)
            is_wanted |= c->run == runs[k];
        if (!is_wanted)
            continue;
        int at = n++;
        for (; at > 0 && urgency(rep, out[at - 1]) < urgency(rep, c); at--)
            out[at] = out[at - 1];
        out[at] = c;
    }
    int kept = 0, n_others = 0;
    for (int i = 0; i < n; i++)
        n_others += !is_all_healthy(rep, out[i]);
    for (int i = 0; i < n; i++) {
        int is_seen = n_others && is_all_healthy(rep, out[i]);
        for (int k = 0; k < kept; k++)
            is_seen |= out[k]->cls == out[i]->cls && (out[i]->cls != CLASS_COMPUTE || is_same_advice(out[k], out[i]));
        if (!is_seen)
            out[kept++] = out[i];
    }
    return kept;
}
