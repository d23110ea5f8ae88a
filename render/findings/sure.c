/* sure.c - how sure the answer of the report is: cause and forecast separately, what is unknown, and how to find out.
 */
#include "render/findings/claims.h"

#include "render/findings/failed.h"
#include "render/findings/rules/rules.h"
#include "render/metrics/series/series.h"
#include "render/findings/narrate.h"
#include "render/findings/ranking.h"
#include "render/findings/shares.h"
#include "render/say/format.h"
#include "render/say/say.h"

#include <string.h>

static void add(struct report *rep, enum sure_item item, struct phrase p)
{
    for (int i = 0; i < SAID_MAX && p.id != PHRASE_NONE; i++)
        if (rep->sure[item][i].id == PHRASE_NONE) {
            rep->sure[item][i] = p;
            return;
        }
}

static int is_repeated(const struct series *s)
{
    for (int i = 0; s && i < s->n_points; i++)
        if (s->points[i].n_runs > 1)
            return 1;
    return 0;
}

/* The confidence in runs without steps: for a series that of its least trusted run, else that of r. */
static enum confidence least_sure(struct report *rep, const struct series *s, const struct run_result *r,
                                  const char **because)
{
    enum confidence least = r->confidence;
    *because = r->confidence_because;
    for (int i = 0; s && i < s->n_points; i++) {
        const struct run_result *k = &rep->runs[s->points[i].runs[0]];
        double differ = repetition_spread(rep, &s->points[i]);
        if (k->confidence < least || (i == 0 && k->confidence == least)) {
            least = k->confidence;
            *because = say_phrase(&rep->arena, &PHRASE(SURE_AT, slot_things(k->n_nodes, counted_word(rep->unit)),
                                                       slot_name(k->confidence_because)));
        }
        if (least > CONFIDENCE_LOW && differ > rep->thresholds.step_cv) {
            least = CONFIDENCE_LOW;
            *because =
                say_phrase(&rep->arena, &PHRASE(SURE_RUNS_DIFFER, slot_things(k->n_nodes, counted_word(rep->unit)),
                                                slot_percent(differ)));
        }
    }
    return least;
}

/* The 95 % interval of exactly what the headline claims: the share of the first claim, the speed-up of a series that
 * scales well, or what a run without a cause mostly does. */
static struct phrase interval_of(struct report *rep, const struct series *s, const struct run_result *r,
                                 const struct claim *c)
{
    struct slot at = slot_things(r->n_nodes, counted_word(rep->unit));
    enum cause_class most = is_mostly_unnamed(r) ? CLASS_OVERHEAD : CLASS_COMPUTE;
    struct interval i = c ? c->interval : claimed_interval(r, most);
    if (s && s->said.headline.id != PHRASE_NONE && s->limit_claim < 0) {
        const struct series_point *last = &s->points[s->n_points - 1];
        i = last->speedup_interval;
        return !i.has || last->speedup <= 0 || s->said.headline.id == PHRASE_SCALING_UNLIKE
                   ? PHRASE(NONE)
                   : PHRASE(INTERVAL_OF_SPEEDUP, at,
                            slot_name(report_text(rep, "%s", fmt_range(i.lo, i.hi, fmt_x).text)));
    }
    if (!i.has || (!c && r->run->has_host_steps) || (c && c->is_interval_told && c->confidence != CONFIDENCE_HIGH))
        return PHRASE(NONE); /* there is no interval, or the confidence gives it */
    struct slot of = slot_name(c ? c->interval_of : share_name(rep, r, most));
    struct slot range = slot_name(report_text(rep, "%s", fmt_percent_range(i.lo, i.hi).text));
    return r->n_nodes > 0 ? PHRASE(INTERVAL_OF_SHARE_AT, of, at, range) : PHRASE(INTERVAL_OF_SHARE, of, range);
}

/*  returns  were single steps counted? */
static int add_steps(struct report *rep, const struct series *s, const struct run_result *r)
{
    int64_t steps = s ? 0 : r->n_counted, summarised = 0;
    int runs = s ? 0 : 1, n_summarised = 0;
    for (int i = 0; s && i < s->n_points; i++)
        for (int k = 0; k < s->points[i].n_runs; k++, runs++)
            steps += rep->runs[s->points[i].runs[k]].n_counted;
    const int is_of_all = is_ranked(rep); /* then the headline is of all runs */
    if (is_of_all)
        steps = runs = 0;
    for (int i = 0; i < rep->n_runs; i++) {
        if (is_of_all) {
            steps += rep->runs[i].n_counted;
            runs += rep->runs[i].n_counted > 0;
        }
        summarised += rep->runs[i].run->summary.n_steps;
        n_summarised += rep->runs[i].run->summary.n_steps > 0;
    }
    if (steps > 0 && runs < rep->n_runs)
        add(rep, SURE_CAUSE, PHRASE(COUNTED_OF_GIVEN, slot_count(steps), slot_count(runs), slot_count(rep->n_runs)));
    else if (steps > 0)
        add(rep, SURE_CAUSE, PHRASE(COUNTED, slot_count(steps), slot_count(runs)));
    else if (summarised > 0)
        add(rep, SURE_CAUSE, PHRASE(COUNTED_MEANS, slot_count(summarised), slot_count(n_summarised)));
    else if (s || are_steps_missed(r))
        add(rep, SURE_UNKNOWN, PHRASE(COUNTED_NONE));
    return steps > 0;
}

static void add_forecast(struct report *rep, const struct claim *c)
{
    if (!c)
        return;
    if (!c->has_gain)
        add(rep, SURE_UNKNOWN, PHRASE(GAIN_NOT_KNOWN, slot_reason(&c->gain_why)));
    else
        add(rep, SURE_FORECAST, c->gain_basis == GAIN_ESTIMATE ? PHRASE(GAIN_IS_ESTIMATE) : PHRASE(GAIN_IS_BOUND));
}

/* It is a fact that ranks had too few cores, even if the times of their steps tell little. */
static void add_fact(struct report *rep, const struct series *s, const struct claim *c, const struct run_result *r)
{
    if (c && c->cls == CLASS_SHARED && r->shared.kind)
        add(rep, SURE_CAUSE,
            s ? PHRASE(CORES_FACT_ON, slot_things(r->n_nodes, counted_word(rep->unit)), slot_name(r->shared.because))
              : PHRASE(CORES_FACT, slot_name(r->shared.because)));
}

static void add_confidence(struct report *rep, const struct run_result *r, const struct claim *c, enum confidence sure,
                           const char *because)
{
    const struct slot level = slot_name(rep->confidence), why = slot_name(because);
    if (sure != CONFIDENCE_HIGH && *because)
        add(rep, SURE_DOUBT,
            r->has_steps && c && c->cls == CLASS_SHARED ? PHRASE(DOUBT_OF_PARTS, level, why)
                                                        : PHRASE(CONFIDENCE, level, why));
}

/* What emulated nodes do not show and, for our program, how to measure it. */
static void add_real_nodes(struct report *rep, int is_ours)
{
    int n_kind[NODES_SHARES + 1] = {0};
    for (int i = 0; i < rep->n_runs; i++)
        n_kind[rep->runs[i].run->node_kind] += rep->runs[i].n_nodes > 1;
    const struct phrase how = n_kind[NODES_EMULATED]     ? PHRASE(NODES_OF_RANKS)
                              : n_kind[NODES_SHARES]     ? PHRASE(NODES_OF_PARTS)
                              : n_kind[NODES_ONE_KERNEL] ? PHRASE(NODES_OF_KERNEL)
                                                         : PHRASE(NONE);
    add(rep, SURE_UNKNOWN, how);
    if (is_ours && how.id == PHRASE_NODES_OF_PARTS)
        add(rep, SURE_IMPROVE, PHRASE(SUBMIT_ON_CLUSTER));
}

void say_how_sure(struct report *rep, const struct series *s, const struct run_result *r, const struct claim *c)
{
    /* The advice may be on another claim than the headline. */
    const struct claim *told = s && s->limit_claim >= 0 ? &rep->claims[s->limit_claim] : c;
    const char *because = told ? told->confidence_because : r->confidence_because;
    enum confidence sure = told ? told->confidence : r->confidence;
    add_fact(rep, s, c, r);
    int is_shared =
        told && told->cls == CLASS_SHARED; /* the finding is not a share of step time, so no interval fits */
    if (!add_steps(rep, s, r))
        sure = least_sure(rep, s, r, &because);
    else if (!is_shared)
        add(rep, SURE_CAUSE, interval_of(rep, s, r, told));
    if (s && sure == CONFIDENCE_HIGH && !is_repeated(s)) {
        sure = CONFIDENCE_MEDIUM;
        because = say_phrase(&rep->arena, &PHRASE(SURE_ONE_RUN, slot_name(counted_word(rep->unit))));
    }
    rep->confidence = confidence_word(sure);
    const struct phrase of_all = is_ranked(rep) ? ranking_doubt(rep) : PHRASE(NONE);
    add(rep, SURE_DOUBT, of_all);
    if (!is_failed(r) && of_all.id == PHRASE_NONE) /* how a run ended is certain */
        add_confidence(rep, r, c, sure, because);
    if (s || r->has_steps || are_steps_missed(r)) /* other runs have no gain in steps */
        add_forecast(rep, c);
    const int is_ours = strcmp(r->run->program.name, "dcrnn-train") == 0;
    if (s)
        add_real_nodes(rep, is_ours);
    if (s && !is_repeated(s))
        add(rep, SURE_IMPROVE,
            !is_ours                                  ? PHRASE(REPEAT_RUNS, slot_name(counted_word(rep->unit)))
            : strcmp(r->run->scheduler, "slurm") == 0 ? PHRASE(REPEAT_SUBMIT)
                                                      : PHRASE(REPEAT_WITH));
    rep->how_sure = say_phrases(&rep->arena, rep->sure[SURE_CAUSE], SAID_MAX);
    const char *doubt = say_phrases(&rep->arena, rep->sure[SURE_DOUBT], SAID_MAX);
    rep->how_sure = report_text(rep, "%s%s%s", rep->how_sure, *rep->how_sure && *doubt ? " " : "", doubt);
}
