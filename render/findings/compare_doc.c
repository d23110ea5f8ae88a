/* compare_doc.c - see compare_doc.h. */
#include "render/findings/compare_doc.h"

#include "render/metrics/cores.h"
#include "render/findings/rules/trials.h"
#include "render/findings/changes_said.h"
#include "render/findings/claims.h"
#include "render/say/format.h"
#include "render/say/say.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* "Data loading" inside a sentence; "I/O" stays. */
static const char *small(struct report *rep, const char *name)
{
    int is_word = name[0] >= 'A' && name[0] <= 'Z' && name[1] >= 'a' && name[1] <= 'z';
    return is_word ? report_text(rep, "%c%s", tolower((unsigned char)name[0]), name + 1) : name;
}

/* A part of a step in a sentence. The trace of one rank of many does not tell transfer from waiting. */
static const char *part_words(const struct comparison *c, enum part p)
{
    const struct compared *wait = &c->part[PART_WAIT];
    return p == PART_TRANSFER ? (wait->has_before || wait->has_after ? "transfer" : "communication")
           : p == PART_WAIT   ? class_words(CLASS_IMBALANCE, AS_TIME)
                              : part_name(p);
}

/* The subject of a sentence, singular. What can be saved of compute is the time of slow kernels. */
static const char *cause_words(struct report *rep, const struct prediction *p)
{
    return p->cls == CLASS_COMPUTE                        ? say_phrase(&rep->arena, &PHRASE(SLOW_KERNELS))
           : p->cls == CLASS_COPY || p->cls == CLASS_HOST ? class_words(p->cls, AS_TIME)
                                                          : p->name;
}

static int is_of(enum cause_class cls, enum part p)
{
    static const unsigned parts[N_CLASSES] = {[CLASS_COMPUTE] = 1U << PART_COMPUTE,
                                              [CLASS_MEMORY] = 1U << PART_COMPUTE,
                                              [CLASS_COMMUNICATION] = 1U << PART_TRANSFER | 1U << PART_WAIT,
                                              [CLASS_IMBALANCE] = 1U << PART_WAIT,
                                              [CLASS_DATA] = 1U << PART_DATA | 1U << PART_WAIT,
                                              [CLASS_IO] = 1U << PART_IO | 1U << PART_WAIT,
                                              [CLASS_COPY] = 1U << PART_COPY,
                                              [CLASS_HOST] = 1U << PART_OTHER,
                                              [CLASS_OVERHEAD] = 1U << PART_OTHER};
    return parts[cls] >> p & 1;
}

/* ---- what is known ------------------------------------------------------------------------------------------------
 */

/* Of the mean step, like the predictions. */
static int64_t saved_ns(const struct comparison *c)
{
    return c->step.before_ns - c->step.after_ns;
}

/* May the difference be chance? Then it is not known whether anything was saved. */
static int is_chance(const struct comparison *c)
{
    const struct compared *k = comparison_judged(c);
    return k->change_ns.has && !k->is_significant;
}

/* The removed cause whose prediction is c->expected_mean_ns; NULL = none. */
static const struct prediction *removed(const struct comparison *c)
{
    for (int i = 0; i < c->n_predictions; i++)
        if (c->predictions[i].is_removed)
            return &c->predictions[i];
    return NULL;
}

/* What its forecast does without, as the report before says it. */
static const char *without_words(struct report *rep, const struct prediction *p)
{
    return p->is_exchange ? say_phrase(&rep->arena, &PHRASE(NAME_ANY_EXCHANGE))
                          : report_text(rep, "any %s", small(rep, cause_words(rep, p)));
}

/* The share of a cause's time that is left. is_left: is it large enough to mention? */
static double left_ratio(const struct prediction *p)
{
    return p->before_ns > 0 ? (double)p->after_ns / (double)p->before_ns : 0;
}
static int is_left(const struct prediction *p)
{
    const double little = 0.1;
    return p->cls != CLASS_COMPUTE && left_ratio(p) > little;
}

/* The cause that the headline may name: its decrease explains half of the saving. NULL = none */
static const struct prediction *cause_of(const struct comparison *c)
{
    const struct prediction *p = removed(c);
    if (p && 2 * p->predicted_mean_ns < saved_ns(c))
        p = NULL;
    for (int i = 0; i < c->n_predictions && !p; i++)
        if (2 * (c->predictions[i].before_ns - c->predictions[i].after_ns) >= saved_ns(c))
            p = &c->predictions[i];
    return p && p->cls != CLASS_COMPUTE && p->cls != CLASS_MEMORY && saved_ns(c) > 0 ? p : NULL;
}

/* The part that changed most, by more than chance; N_PARTS = none. but: a part to skip; any_way: also parts that
 * changed in the other direction than the step */
static enum part changed_most(const struct comparison *c, enum part but, int any_way)
{
    enum part most = N_PARTS;
    int64_t by = 0;
    for (enum part p = 0; p < N_PARTS; p++) {
        int64_t d = c->part[p].before_ns - c->part[p].after_ns;
        d = any_way ? llabs(d) : saved_ns(c) < 0 ? -d : d;
        if (p != but && compared_has(&c->part[p]) && (c->part[p].is_significant || !c->step.change_ns.has) && d > by) {
            by = d;
            most = p;
        }
    }
    return most;
}

/* The part of a cause that fell most; N_PARTS = none fell. */
static enum part part_of(const struct comparison *c, const struct prediction *cause)
{
    enum part most = N_PARTS;
    int64_t by = 0;
    for (enum part p = 0; p < N_PARTS && cause; p++) {
        int64_t d = c->part[p].before_ns - c->part[p].after_ns;
        if (is_of(cause->cls, p) && compared_has(&c->part[p]) && d > by) {
            by = d;
            most = p;
        }
    }
    return most;
}

/* Parts that grew (sign > 0) or fell by an amount that matters beside the forecast. Parts of removed causes are left
 * out. */
static int parts_changed(struct report *rep, const struct comparison *c, int sign, enum part out[N_PARTS])
{
    int n = 0;
    int64_t beside = c->expected_mean_ns > 0 ? c->expected_mean_ns : saved_ns(c);
    for (enum part p = 0; p < N_PARTS; p++) {
        const struct compared *k = &c->part[p];
        int64_t by = sign * (k->after_ns - k->before_ns);
        int is_named = 0;
        for (int i = 0; i < c->n_predictions && sign < 0; i++)
            is_named |= c->predictions[i].is_removed && is_of(c->predictions[i].cls, p);
        if (!is_named && compared_has(k) && (double)by > rep->thresholds.loss_matters * (double)beside &&
            (k->change_ns.has ? k->is_significant : sign > 0))
            out[n++] = p;
    }
    return n;
}

static const char *parts_list(struct report *rep, const struct comparison *c, const enum part *parts, int n)
{
    const char *names[N_PARTS];
    for (int i = 0; i < n; i++)
        names[i] = part_words(c, parts[i]);
    return say_list(&rep->arena, names, n);
}

/* Was clearly more saved than predicted? More than rounding explains, and the interval of the saving does not contain
 * the prediction. */
static int is_beyond(const struct comparison *c)
{
    const struct interval *i = &c->step.change_ns;
    double predicted = (double)c->expected_mean_ns;
    int is_within = i->has && -i->hi <= predicted && predicted <= -i->lo;
    return predicted > 0 && !is_within && (double)saved_ns(c) > 1.005 * predicted;
}

/* ---- findings -----------------------------------------------------------------------------------------------------
 */

/* Of steps with other numbers of samples: how many samples a second. */
static struct phrase throughput_of(const struct comparison *c)
{
    double before = c->equal.per_second_before, after = c->equal.per_second_after;
    return is_chance(c)
               ? PHRASE(NO_CHANGE_OF_THROUGHPUT, slot_number(before), slot_number(after))
               : PHRASE(THROUGHPUT_CHANGED, slot_number(after), slot_number(before), slot_factor(after / before));
}

static struct phrase headline_of(struct report *rep, const struct comparison *c)
{
    const struct slot after = slot_time(c->step.after_ns), before = slot_time(c->step.before_ns);
    const struct prediction *p = cause_of(c);
    enum part most = changed_most(c, N_PARTS, 0);
    int64_t by = most < N_PARTS ? c->part[most].before_ns - c->part[most].after_ns : 0;
    const char *part = 2 * llabs(by) >= llabs(saved_ns(c)) && by != 0 ? part_words(c, most) : NULL;
    if (!c->step.change_ns.has)
        return PHRASE(CHANGE_UNKNOWN, slot_count(c->least_steps));
    if (comparison_is_of_samples(c))
        return throughput_of(c);
    if (c->batches_after)
        return PHRASE(STEP_OF_BATCHES, slot_count(c->batches_after), after, slot_count(c->batches_before), before);
    if (is_chance(c))
        return PHRASE(NO_CHANGE, before, after);
    if (p) {
        const struct slot cause = slot_name(small(rep, cause_words(rep, p)));
        int may_be_fixed = p->cls == CLASS_DATA || p->cls == CLASS_IO || p->cls == CLASS_IMBALANCE;
        return p->still_limits               ? PHRASE(CAUSE_STILL_LIMITS, cause, after, before)
               : may_be_fixed && !is_left(p) ? PHRASE(CAUSE_FIXED, cause, after, before)
                                             : PHRASE(CAUSE_NO_LIMIT, cause, after, before);
    }
    return !part              ? PHRASE(STEP_CHANGED, after, before)
           : saved_ns(c) >= 0 ? PHRASE(STEP_FASTER_BY, after, before, slot_name(part))
                              : PHRASE(STEP_SLOWER_BY, after, before, slot_name(part));
}

static struct phrase part_changed(struct report *rep, const struct comparison *c, enum part p)
{
    if (p == N_PARTS)
        return PHRASE(NONE);
    const struct compared *k = &c->part[p];
    const struct slot name = slot_name(say_capital(&rep->arena, part_words(c, p))), before = slot_time(k->before_ns),
                      after = slot_time(k->after_ns);
    double share = saved_ns(c) > 0 ? (double)(k->before_ns - k->after_ns) / (double)saved_ns(c) : 0;
    return k->after_ns > k->before_ns ? PHRASE(PART_GREW, name, before, after)
           : !is_chance(c) && share >= 0.01 && share < 0.995
               ? PHRASE(PART_SAVED, name, before, after, slot_percent(share))
               : PHRASE(PART_FELL, name, before, after);
}

static struct phrase of_programs(const struct comparison *c)
{
    return *c->program_before ? PHRASE(COMPARED_PROGRAMS, slot_name(c->program_before), slot_name(c->program_after))
                              : PHRASE(NONE);
}

/* How much faster the run is by the clock, where the time between steps changes that. */
static struct phrase with_time_between(const struct report *rep, const struct comparison *c)
{
    const double before = c->coverage_before, after = c->coverage_after;
    if (before <= 0 || after <= 0 || c->step.after_ns <= 0 || fabs(after / before - 1) <= rep->thresholds.loss_matters)
        return PHRASE(NONE);
    double of_steps = is_chance(c) ? 1 : (double)c->step.before_ns / (double)c->step.after_ns;
    return PHRASE(RUN_FASTER, slot_percent(1 - before), slot_percent(1 - after),
                  slot_factor(of_steps * after / before));
}

static void say_support_of(struct report *rep, struct comparison *c)
{
    const struct compared *s = &c->step;
    struct said *out = &c->said;
    said_add(out, of_programs(c));
    if (comparison_is_of_samples(c)) {
        said_add(out, PHRASE(SAMPLES_OF_STEP, slot_count(c->equal.samples_after), slot_count(c->equal.samples_before)));
        said_add(out, PHRASE(STEP_WAS, slot_time(s->before_ns), slot_time(s->after_ns)));
        return; /* parts of steps of other work do not explain the change */
    }
    if (c->batches_after) {
        int64_t was = s->before_ns / c->batches_before, is = s->after_ns / c->batches_after;
        said_add(out, PHRASE(BATCH_TAKES, slot_time(is), slot_time(was),
                             slot_factor((double)was / (double)(is > 0 ? is : 1))));
        said_add(out, PHRASE(BATCH_LABEL));
        return;
    }
    if (!s->change_ns.has)
        said_add(out, PHRASE(STEP_WAS, slot_time(s->before_ns), slot_time(s->after_ns)));
    else if (!is_chance(c) && s->before_ns > 0 && s->after_ns > 0)
        said_add(out, s->after_ns <= s->before_ns
                          ? PHRASE(STEPS_FASTER, slot_factor((double)s->before_ns / (double)s->after_ns))
                          : PHRASE(STEPS_SLOWER, slot_factor((double)s->after_ns / (double)s->before_ns)));
    if (s->change_ns.has)
        said_add(out, with_time_between(rep, c));
    enum part of = part_of(c, cause_of(c)), most = changed_most(c, of, 0);
    if (of == N_PARTS && most == N_PARTS)
        most = changed_most(c, N_PARTS, 1);
    int is_more = most < N_PARTS && (of == N_PARTS || llabs(c->part[most].before_ns - c->part[most].after_ns) >
                                                          c->part[of].before_ns - c->part[of].after_ns);
    said_add(out, part_changed(rep, c, of));
    if (is_more)
        said_add(out, part_changed(rep, c, most));
    if (of == N_PARTS && most == N_PARTS && s->is_significant)
        said_add(out, PHRASE(NO_PART_CHANGED));
}

static void put(struct phrase out[COMPARED_MAX], struct phrase p)
{
    phrase_put(out, COMPARED_MAX, p);
}

/* Single slow steps affect the mean, which the headline states, but not the median, which forecasts of a command use.
 * If the two disagree, both are stated. */
static struct phrase median_of(const struct comparison *c)
{
    const double differ = 0.05;
    if (comparison_is_of_other_work(c) || is_chance(c) || c->median_after_ns <= 0 || c->step.after_ns <= 0 ||
        !c->step.change_ns.has)
        return PHRASE(NONE);
    double median = (double)c->median_before_ns / (double)c->median_after_ns,
           mean = (double)c->step.before_ns / (double)c->step.after_ns;
    return fabs(mean / median - 1) < differ ? PHRASE(NONE)
                                            : PHRASE(MEDIAN_STEP_WENT, slot_time(c->median_after_ns),
                                                     slot_time(c->median_before_ns), slot_factor(median));
}

static int is_growth_said(const struct said *s)
{
    for (int i = 0; i < SAID_MAX; i++)
        if (s->support[i].id == PHRASE_PART_GREW)
            return 1;
    return 0;
}

static void say_more(struct report *rep, struct comparison *c)
{
    enum part grew[N_PARTS];
    int n = saved_ns(c) > 0 && !comparison_is_of_other_work(c) && !is_chance(c) && !is_growth_said(&c->said)
                ? parts_changed(rep, c, 1, grew)
                : 0;
    if (c->nodes_before && *c->nodes_before) {
        put(c->more, PHRASE(NODES_BEFORE, slot_name(c->nodes_before)));
        put(c->more, PHRASE(NODES_AFTER, slot_name(c->nodes_after)));
    }
    if (n)
        put(c->more,
            n == 1 ? part_changed(rep, c, grew[0]) : PHRASE(PARTS_GREW, slot_name(parts_list(rep, c, grew, n))));
    if (c->utilization_before >= 0 && c->utilization_after >= 0)
        put(c->more,
            PHRASE(GPU_UTILIZATION_WENT, slot_percent(c->utilization_before), slot_percent(c->utilization_after)));
    put(c->more, median_of(c));
}

/* Why more was saved than predicted. */
static struct phrase beyond(struct report *rep, const struct comparison *c)
{
    const char *others[N_CLASSES];
    enum part fell[N_PARTS];
    int n_others = 0, n = parts_changed(rep, c, -1, fell);
    if (removed(c)->as_fast_ns > 0)
        return PHRASE(BEYOND_RANK);
    for (int i = 0; i < c->n_predictions; i++)
        if (c->predictions[i].is_removed && &c->predictions[i] != removed(c))
            others[n_others++] = small(rep, cause_words(rep, &c->predictions[i]));
    return n_others ? PHRASE(BEYOND_CAUSES, slot_name(say_list(&rep->arena, others, n_others)))
           : n      ? PHRASE(BEYOND_PARTS, slot_name(parts_list(rep, c, fell, n)))
                    : PHRASE(BEYOND_NOTHING);
}

/* Can an advised change affect this part? It affects the exchange of gradients and the waiting in it. */
static int is_of_trial(const struct tried *t, enum part p)
{
    return p == PART_TRANSFER || p == PART_WAIT || (p == PART_COMPUTE && t->is_less_spent);
}

/* Names another part that changed. Another pair of runs may show a different change. */
static struct phrase beside_tried(struct report *rep, const struct comparison *c)
{
    enum part most = N_PARTS;
    int64_t by = 0;
    for (enum part p = 0; p < N_PARTS; p++) {
        const struct compared *k = &c->part[p];
        int64_t d = k->after_ns - k->before_ns;
        if (!is_of_trial(&c->tried, p) && compared_has(k) && k->is_significant && llabs(d) > llabs(by)) {
            most = p;
            by = d;
        }
    }
    if (most == N_PARTS || (double)llabs(by) <= rep->thresholds.loss_matters * (double)llabs(saved_ns(c)))
        return PHRASE(NONE);
    const struct slot part = slot_name(part_words(c, most)), time = slot_time(llabs(by));
    return by < 0 ? PHRASE(TRIED_BESIDE_FELL, part, time) : PHRASE(TRIED_BESIDE_GREW, part, time);
}

/* If transfer fell, the support of the headline gives both values, because the check of the advice asks for them. */
static void say_tried(struct comparison *c)
{
    const double even = 0.0005; /* prints as 0.0 % */
    const struct tried *t = &c->tried;
    const struct slot error = slot_percent(fabs(t->error_ratio)), forecast = slot_time(t->forecast_ns);
    put(c->forecast, PHRASE(TRIED, slot_time(t->achieved_ns)));
    put(c->forecast, fabs(t->error_ratio) < even ? PHRASE(FORECAST_ABOUT, forecast)
                     : t->error_ratio > 0        ? PHRASE(FORECAST_TOO_LONG, forecast, error)
                                                 : PHRASE(FORECAST_TOO_SHORT, forecast, error));
}

static void say_forecast(struct report *rep, struct comparison *c)
{
    const struct prediction *p = removed(c);
    const struct slot forecast = slot_time(c->expected_mean_ns);
    if (c->tried.has) {
        say_tried(c);
        return;
    }
    if (!p) {
        if (c->n_predictions && !is_chance(c)) {
            const struct prediction *first = &c->predictions[0];
            const char *words = cause_words(rep, first);
            const struct slot cause = slot_name(say_capital(&rep->arena, words)),
                              all = slot_name(without_words(rep, first)), before = slot_time(first->before_ns),
                              after = slot_time(first->after_ns), predicted = slot_time(first->predicted_mean_ns);
            int is_same = fmt_is_same(fmt_time(first->before_ns), fmt_time(first->after_ns));
            put(c->forecast, is_same ? PHRASE(CAUSE_STAYED, cause, after) : PHRASE(CAUSE_WENT, cause, before, after));
            if (first->predicted_mean_ns > 0)
                put(c->forecast, first->basis == GAIN_BOUND ? PHRASE(FORECAST_WITHOUT_UP_TO, all, predicted)
                                                            : PHRASE(FORECAST_WITHOUT_ABOUT, all, predicted));
        }
        return;
    }
    if (is_chance(c)) {
        put(c->forecast, PHRASE(SAVING_NOT_KNOWN, forecast));
        return;
    }
    const struct slot cause = slot_name(without_words(rep, p));
    put(c->forecast, saved_ns(c) >= 0 ? PHRASE(STEP_GOT_SHORTER, slot_time(saved_ns(c)))
                                      : PHRASE(STEP_GOT_LONGER, slot_time(-saved_ns(c))));
    if (is_left(p) || saved_ns(c) < 0) { /* for a longer step, a time alone would read as an increase */
        put(c->forecast, p->basis == GAIN_BOUND ? PHRASE(FORECAST_WITHOUT_UP_TO, cause, forecast)
                                                : PHRASE(FORECAST_WITHOUT_ABOUT, cause, forecast));
        put(c->forecast, is_left(p) ? PHRASE(CAUSE_LEFT, slot_name(say_capital(&rep->arena, cause_words(rep, p))),
                                             slot_percent(left_ratio(p)))
                                    : PHRASE(NONE));
        return;
    }
    put(c->forecast, p->basis == GAIN_BOUND ? PHRASE(FORECAST_UP_TO, forecast) : PHRASE(FORECAST_ABOUT, forecast));
    put(c->forecast, is_beyond(c) ? beyond(rep, c) : PHRASE(NONE));
}

/* ---- how sure -----------------------------------------------------------------------------------------------------
 */

static void add(struct comparison *c, enum sure_item item, struct phrase p)
{
    phrase_put(c->sure[item], SAID_MAX, p);
}

/* "-27.2 ms", with a sign either way. */
static const char *signed_time(struct report *rep, double ns)
{
    return report_text(rep, "%s", fmt_signed(fmt_time(llround(ns)), (double)llround(ns)).text);
}

/* The interval of what the headline states. */
static struct phrase interval_said(struct report *rep, const struct comparison *c)
{
    const struct interval *i = comparison_is_of_samples(c) ? &c->equal.ratio : &c->step.change_ns;
    int is_of_samples = comparison_is_of_samples(c), is_repeated = c->n_before + c->n_after > 2;
    const char *lo = is_of_samples ? report_text(rep, "%s", fmt_x(i->lo).text) : signed_time(rep, i->lo),
               *hi = is_of_samples ? report_text(rep, "%s", fmt_x(i->hi).text) : signed_time(rep, i->hi);
    const struct slot range = slot_name(strcmp(lo, hi)  ? report_text(rep, "%s to %s", lo, hi)
                                        : is_of_samples ? lo
                                                        : report_text(rep, "%s", fmt_time_range(i->lo, i->hi).text));
    if (is_of_samples)
        return is_repeated ? PHRASE(INTERVAL_OF_RATIO, range) : PHRASE(INTERVAL_OF_RATIO_OF_TWO_RUNS, range);
    return is_repeated ? PHRASE(INTERVAL_OF_CHANGE, range) : PHRASE(INTERVAL_OF_TWO_RUNS, range);
}

/* How to remove the doubt. */
static struct phrase improvement(const struct report *rep, const struct comparison *c)
{
    switch (c->doubt.id) {
    case PHRASE_DOUBT_DIFFERING:
        return PHRASE(COMPARE_ALIKE);
    case PHRASE_DOUBT_SAME:
        return PHRASE(COMPARE_OTHERS);
    case PHRASE_DOUBT_CORES:
        return PHRASE(FREE_CORES);
    case PHRASE_DOUBT_OWN_THREADS:
        return PHRASE(MORE_CORES);
    case PHRASE_DOUBT_CLOCK:
        return PHRASE(FULL_CLOCK);
    case PHRASE_DOUBT_LOST:
        return PHRASE(REPEAT_LOST);
    case PHRASE_DOUBT_STEPS:
        return PHRASE(MORE_STEPS, slot_count((int64_t)ceil(rep->thresholds.few_steps)));
    case PHRASE_DOUBT_SPREAD:
        return PHRASE(REPEAT_UNLIKE);
    case PHRASE_DOUBT_ONE_RUN:
        return PHRASE(REPEAT_OTHER);
    default:
        return PHRASE(NONE);
    }
}

static void say_how_sure_of(struct report *rep, struct comparison *c)
{
    const struct prediction *p = removed(c);
    add(c, SURE_CAUSE,
        PHRASE(COUNTED_BOTH, slot_count(c->steps_before), slot_count(c->n_before), slot_count(c->steps_after),
               slot_count(c->n_after)));
    if (c->step.change_ns.has)
        add(c, SURE_CAUSE, interval_said(rep, c));
    add(c, SURE_CAUSE, PHRASE(CONFIDENCE, slot_name(confidence_word(c->confidence)), slot_name(c->confidence_because)));
    if (c->tried.has) {
        add(c, SURE_FORECAST, PHRASE(FORECAST_OF_MEDIAN));
        add(c, SURE_FORECAST, beside_tried(rep, c));
    } else if (p)
        add(c, SURE_FORECAST, p->basis == GAIN_BOUND ? PHRASE(FORECAST_IS_BOUND) : PHRASE(FORECAST_IS_ESTIMATE));
    if (*c->differing)
        add(c, SURE_UNKNOWN, PHRASE(RUNS_DIFFER, slot_name(c->differing)));
    if (c->n_same && c->doubt.id != PHRASE_DOUBT_SAME)
        add(c, SURE_UNKNOWN, PHRASE(COMPARED_SOME_SAME));
    if (c->lost_before)
        add(c, SURE_UNKNOWN, PHRASE(LOST_ON_SIDE, slot_name("Before")));
    if (c->lost_after)
        add(c, SURE_UNKNOWN, PHRASE(LOST_ON_SIDE, slot_name("After")));
    add(c, SURE_IMPROVE, improvement(rep, c));
    if (!comparison_is_repeated(c) && c->doubt.id != PHRASE_DOUBT_SAME)
        add(c, SURE_IMPROVE, PHRASE(REPEAT_BOTH));
}

/* ---- the report ---------------------------------------------------------------------------------------------------
 */

/* A comparison is named by its node count if that is unique, else also by what distinguishes it. */
static void name_comparison(struct report *rep, struct comparison *c)
{
    int n = 0, at = 0, is_ranks = 0, is_series = 0;
    for (int i = 0; i < rep->n_comparisons; i++) {
        const struct comparison *k = &rep->comparisons[i];
        if (k->n_nodes != c->n_nodes)
            continue;
        n++;
        at = k == c ? n : at;
        is_ranks |= k->n_ranks != c->n_ranks;
        is_series |= k != c && k->n_ranks == c->n_ranks;
    }
    c->anchor = n > 1 ? report_text(rep, "%d-%d", c->n_nodes, at) : report_text(rep, "%d", c->n_nodes);
    c->label = c->n_nodes > 0 ? nodes_text(rep, c->n_nodes) : "unknown node count";
    if (is_ranks)
        c->label = report_text(rep, "%s, %s", c->label, fmt_count(c->n_ranks, "rank").text);
    if (is_series)
        c->label = report_text(rep, "%s, %s", c->label, c->series >= 0 ? rep->series[c->series].label : "the others");
}

static void say_comparison(struct report *rep, struct comparison *c)
{
    struct dcr_buf b = {0};
    c->confidence_because = say_phrase(&rep->arena, &c->doubt);
    c->said = (struct said){.where = rep->n_comparisons > 1 ? slot_name(c->label) : (struct slot){0},
                            .is_on = c->n_nodes > 0 && strcmp(c->label, nodes_text(rep, c->n_nodes)) == 0,
                            .headline = headline_of(rep, c)};
    say_support_of(rep, c);
    say_forecast(rep, c);
    say_more(rep, c);
    say_how_sure_of(rep, c);
    c->sentence = say_headline(&rep->arena, &c->said);
    say_put_phrases(&b, c->said.support, SAID_MAX);
    say_put_phrases(&b, c->forecast, COMPARED_MAX);
    say_put_phrases(&b, c->more, COMPARED_MAX);
    c->support = report_text(rep, "%s", dcr_buf_text(&b));
    dcr_buf_release(&b);
}

void narrate_comparisons(struct report *rep)
{
    const struct phrase no_changes = said_no_changes(rep);
    const char *by_name = say_phrase(&rep->arena, &no_changes);
    for (int i = 0; i < rep->n_comparisons; i++)
        name_comparison(rep, &rep->comparisons[i]);
    for (int i = 0; i < rep->n_comparisons; i++)
        say_comparison(rep, &rep->comparisons[i]);
    if (rep->n_comparisons)
        top_of_comparison(rep, &rep->comparisons[rep->n_comparisons - 1]);
    else if (*rep->baseline && !rep->changes)
        rep->verdict =
            report_text(rep, "Nothing to compare with: %s. %s%s%s", say_clause(&rep->arena, &rep->no_comparison),
                        by_name, *by_name ? " " : "", rep->verdict);
}
