/* phrases.c - the phrases that all claims use. See claims.h. */
#include "render/findings/claims.h"

#include "render/findings/rules/trials.h"
#include "render/metrics/known.h"
#include "render/say/format.h"
#include "render/say/say.h"
#include "render/findings/narrate.h"

const char *nodes_text(struct report *rep, int n)
{
    return report_text(rep, "%s", fmt_count(n, counted_word(rep->unit)).text);
}

/* The run that a claim is about; of a series that of the largest node count. */
static const struct run_result *last_run_of(const struct report *rep, const struct claim *c)
{
    if (c->run >= 0 || c->series < 0)
        return c->run >= 0 ? &rep->runs[c->run] : NULL;
    const struct series *s = &rep->series[c->series];
    return run_of_point(rep, &s->points[s->n_points - 1]);
}

const char *claim_class_name(const struct report *rep, const struct claim *c)
{
    const struct run_result *r = last_run_of(rep, c);
    return r ? run_class_name(r, c->cls) : class_words(c->cls, AS_TITLE);
}

int is_part_of_gain(const struct claim *c)
{
    return c->cls == CLASS_COMMUNICATION && c->gain_basis != GAIN_BOUND && c->action.id != ADVICE_NO_COLLECTIVES &&
           !is_advice_to_look(c);
}

const char *claim_gain_text(struct report *rep, const struct claim *c)
{
    if (c->gain_ns <= 0 || c->gain_ns >= c->step_ns)
        return "";
    const struct slot gain = slot_time(c->gain_ns), after = slot_time(c->step_ns - c->gain_ns),
                      now = slot_time(c->step_ns),
                      factor = slot_factor((double)c->step_ns / (double)(c->step_ns - c->gain_ns));
    if (fmt_is_same(fmt_time(after.count), fmt_time(now.count)))
        return ""; /* no gain to state */
    if (!c->is_measuring) {
        struct phrase p = c->gain_basis == GAIN_BOUND ? PHRASE(GAIN_UP_TO, gain, now, factor)
                          : is_part_of_gain(c)        ? PHRASE(GAIN_PART, gain, now, factor)
                                                      : PHRASE(GAIN_ABOUT, gain, now, factor);
        return say_phrase(&rep->arena, &p);
    }
    struct phrase p =
        c->gain_basis == GAIN_BOUND ? PHRASE(MEASURED_LEAST, after, now) : PHRASE(MEASURED_ABOUT, after, now);
    return say_phrase(&rep->arena, &p);
}

int is_advice_to_look(const struct claim *c)
{
    return c->action.id == ADVICE_TRACE_ALL_RANKS || c->action.id == ADVICE_FIND_WAITS_IN_COMPUTE ||
           c->action.id == ADVICE_FIND_PYTHON || c->action.id == ADVICE_LATE_WAITS;
}

const struct series_point *previous_point(const struct report *rep, const struct run_result *r)
{
    if (r->series < 0)
        return NULL;
    const struct series *s = &rep->series[r->series];
    const struct series_point *before = NULL;
    for (int i = 0; i < s->n_points && s->points[i].n_nodes < r->n_nodes; i++)
        before = &s->points[i];
    return before;
}

const struct trial *claim_trial(const struct report *rep, const struct claim *c)
{
    const struct run_result *r = c->cls == CLASS_COMMUNICATION ? last_run_of(rep, c) : NULL;
    return r ? trial_advised(r) : NULL;
}

const char *claim_expected(struct report *rep, const struct claim *c)
{
    const struct trial *t = claim_trial(rep, c);
    if (!t || !t->has_forecast)
        return "";
    const struct run_result *r = last_run_of(rep, c);
    const struct phrase said[] = {PHRASE(EXPECTED_MEDIAN, slot_things(r->n_nodes, counted_word(rep->unit)),
                                         slot_time(t->step_ns), slot_time(r->step.median_ns)),
                                  t->is_over_half ? PHRASE(EXPECTED_OVER_HALF) : PHRASE(NONE),
                                  t->is_less_spent ? PHRASE(EXPECTED_LESS_SPENT) : PHRASE(NONE)};
    return say_phrases(&rep->arena, said, 3);
}

const char *action_sentence(struct report *rep, struct action a)
{
    return say_capital(&rep->arena, *a.ours ? a.ours : a.generic);
}
